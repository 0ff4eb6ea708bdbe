package symbolic_test

import (
	"testing"

	"github.com/weft-ml/weft/lawtest"
	"github.com/weft-ml/weft/symbolic"
)

func TestLaws(t *testing.T) {
	t.Parallel()
	lawtest.Check(t, symbolic.Algebra)
}
