package codegen_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen/c"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/codegen/model"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/plan"
)

// Loops over elements that differ in nothing but their length are one text in C, compiled once.
func TestAlikeKernelsAreOneText(t *testing.T) {
	rendered := func(n int) plan.Kernel {
		k := newKit()
		o, x := k.param(dtype.F32, true, n), k.param(dtype.F32, false, n)
		a := k.rngs(n)
		v := k.load(x, a[0])
		k.out(o, a, v.Mul(v))
		p, err := lower.Lower(k.s, model.Choose(k.s, target()), target())
		require.NoError(t, err)
		text, err := c.Render(p)
		require.NoError(t, err)
		return text
	}
	one, other := rendered(1<<16), rendered(1<<17)
	require.NotEqual(t, one.Name, other.Name)
	require.NotEqual(t, one.Threads, other.Threads)
	require.Equal(t, one.Entry, other.Entry)
	require.Equal(t, one.Source, other.Source)
}
