package lower

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPassOrder(t *testing.T) {
	at := func(name string) int {
		i := slices.IndexFunc(passes, func(p pass) bool { return p.name == name })
		require.GreaterOrEqual(t, i, 0, "no pass %q", name)
		return i
	}
	for _, o := range passOrder {
		assert.Less(t, at(o.first), at(o.then), "%s before %s: %s", o.first, o.then, o.why)
	}
}
