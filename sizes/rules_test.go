package sizes

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/uop"
)

func TestEveryOpHasARule(t *testing.T) {
	for o := uop.Invalid + 1; o < uop.NumOps; o++ {
		require.NotNil(t, ruleOf(&rules, o), "no rule for %v", o)
	}
}
