package codegen_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/interp"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/dtype"
)

// Lanes run at once, so they cannot wait for a loop that threads share. A serial loop can.
func TestThreadsLieOutsideLanes(t *testing.T) {
	k := newKit()
	to, from := k.param(dtype.F32, true, 40, 128), k.param(dtype.F32, false, 40, 128)
	a := k.rngs(40, 128)
	k.out(to, a, k.load(from, a[1].Mod(k.Index(40)), a[0]))
	for _, target := range []*codegen.Target{target(), interp.Target(false)} {
		directives, err := codegen.ParseDirectives("split a0 8 exact; vector a0.1; thread a1; order a0.1 a0.0 a1")
		require.NoError(t, err)
		require.ErrorContains(t, lower.Legal(k.s, directives, target), "lanes of a0.1")
		directives, err = codegen.ParseDirectives("split a0 8 exact; vector a0.1; thread a1; order a0.0 a1 a0.1")
		require.NoError(t, err)
		_, err = lower.Lower(k.s, directives, target)
		require.NoError(t, err)
	}
}
