package schedule_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Small sums of sums of sums are computed inside each other only as far as what is computed again costs less than a kernel of its own: what is
// innermost is computed in all loops around it.
func TestSmallSumsInsideEachOtherAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(3)
	x := w.input(dtype.F32, 4, 4)
	y := x
	for range 4 {
		y = w.matmul(x, w.matmul(y, x)).Mul(y.Float(1. / 16))
	}
	y = y.Add(y.Permute(1, 0))
	for _, s := range w.check(t, y).Steps {
		for _, o := range s.Spec.Outs {
			around := 1
			for _, a := range o.Axes {
				around *= a.Arg().(uop.RangeArg).N
			}
			assert.LessOrEqual(t, innermost(o.Value, around), 4096)
		}
	}
}

// innermost is how often the body of the innermost sum of u is computed, if u is computed so many times.
func innermost(u *uop.UOp, times int) int {
	src := u.Src()
	if u.Op() == uop.Reduce {
		for _, r := range src[1:] {
			times *= r.Arg().(uop.RangeArg).N
		}
		src = src[:1]
	}
	most := times
	for _, x := range src {
		most = max(most, innermost(x, times))
	}
	return most
}
