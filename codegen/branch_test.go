package codegen_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/c"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/codegen/model"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// What is much and chosen by a part of the elements stands behind a condition, once; what is little, what something else looks at, and what is
// nearly all that is computed do not, nor what is chosen but where the result is no number.
func TestRareOperandsAreBehindConditions(t *testing.T) {
	t.Parallel()
	steps := func(x *uop.UOp, n int) *uop.UOp {
		for range n {
			x = x.Mul(x).Add(x.Float(0.5)).Sqrt()
		}
		return x
	}
	for name, want := range map[string]struct {
		value func(x *uop.UOp) *uop.UOp
		ifs   int
	}{
		"much": {func(x *uop.UOp) *uop.UOp { return x.Less(x.Float(2)).Where(steps(x.Neg(), 20), steps(x, 30)) }, 1},
		"of either operand": {func(x *uop.UOp) *uop.UOp {
			return x.Less(x.Float(2)).Where(steps(x, 30), steps(x.Neg(), 12)).Add(steps(x.Exp2(), 20))
		}, 1},
		"little": {func(x *uop.UOp) *uop.UOp { return x.Less(x.Float(2)).Where(steps(x.Neg(), 20), steps(x, 3)) }, 0},
		"but for NaN": {func(x *uop.UOp) *uop.UOp {
			return x.Less(x.Float(2)).Where(steps(x, 30), x.Float(math.NaN())).Add(steps(x.Neg(), 20))
		}, 0},
		"nearly all": {func(x *uop.UOp) *uop.UOp { return x.Less(x.Float(2)).Where(x, steps(x, 60)) }, 0},
		"looked at": {func(x *uop.UOp) *uop.UOp {
			far := steps(x, 30)
			return x.Less(x.Float(2)).Where(x.Neg(), far).Add(far).Mul(steps(x.Neg(), 20))
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit()
			o, p := k.param(dtype.F32, true, 16), k.param(dtype.F32, false, 16)
			a := k.rngs(16)
			k.out(o, a, want.value(k.load(p, a[0])))
			target := c.Target(c.Machine{VectorBytes: 64})
			p1, err := lower.Lower(k.s, model.Choose(k.s, target), target)
			require.NoError(t, err)
			found := 0
			codegen.Visit(p1.Body, func(s codegen.Stmt) {
				if i, ok := s.(*codegen.If); ok {
					found++
					assert.True(t, codegen.Pure(i.Body))
				}
			})
			assert.Equal(t, want.ifs, found, codegen.Dump(p1))
		})
	}
}
