package legal

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// TestExp2NeverUnderflows: an exponential that is 0 is a product with 0. Processors take a hundred times as long for a
// product of other numbers that is too small, and half of all scores under a causal mask are −∞.
func TestExp2NeverUnderflows(t *testing.T) {
	for _, d := range []dtype.DType{dtype.F32, dtype.F64} {
		y := layoutOf(d)
		least := float64(1 - y.bias - y.frac) // the exponent of the smallest number
		table := uop.NewArena()
		x := table.Param(0, 1, d)
		e := exp2(x)
		for _, at := range []float64{least - 1.5, least - 2, least - 60, 2 * least, 4 * least, -1e30, math.Inf(-1)} {
			env := map[*uop.UOp]uop.Value{x: uop.FloatValue(d, at)}
			require.Zero(t, evaluate(e, env).Float(), "%s 2^%g", d, at)
			for _, u := range uop.Topo(e) {
				if u.Op() != uop.Mul || !u.DType().IsFloat() {
					continue
				}
				a, b, p := evaluate(u.At(0), env).Float(), evaluate(u.At(1), env).Float(), evaluate(u, env).Float()
				normal := math.Abs(p) >= math.Ldexp(1, 1-y.bias)
				assert.True(t, a == 0 || b == 0 || normal, "%s 2^%g: %g · %g is %g", d, at, a, b, p)
			}
		}
		for at := least - 1; at < least+float64(y.frac)+4; at += 0.25 { // denormal results and the first normal ones
			want := uop.FloatValue(d, math.Exp2(at)).Float()
			got := evaluate(e, map[*uop.UOp]uop.Value{x: uop.FloatValue(d, at)}).Float()
			ulp := math.Ldexp(1, int(least))
			assert.True(t, math.Abs(got-want) <= ulp+want*math.Ldexp(1, 1-y.frac), "%s 2^%g: got %g, want %g", d, at, got, want)
		}
	}
}
