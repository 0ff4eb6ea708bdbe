package uop_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/ref"
	"github.com/weft-ml/weft/uop"
)

// The code of a number is 0 where it is inside, and tells the number where it is not, or beyond which one it is if it is far outside.
func TestOutsideCode(t *testing.T) {
	t.Parallel()
	const far = 1<<30 - 1
	for _, d := range []dtype.DType{dtype.I8, dtype.U8, dtype.I16, dtype.U16, dtype.I32, dtype.U32, dtype.I64, dtype.U64} {
		for _, a := range []uop.CheckArg{{N: 1}, {N: 10}, {Lo: -10, N: 10}, {N: 1 << 30}, {Lo: -1 << 30, N: 1 << 30}, {N: math.MaxInt32}} {
			for _, v := range integers(d) {
				n := int(v.Int())
				u := uop.NewConst(d, v)
				code := int32(ref.Eval(nil, u.OutsideCode(a))[0][0].Int())
				inside := n >= a.Lo && n < a.N
				if d == dtype.U64 {
					inside = uint64(v) < uint64(a.N)
				}
				require.Equal(t, inside, code == 0, "%v %v %+v", d, n, a)
				if inside {
					continue
				}
				require.Positive(t, code)
				want := max(min(n, a.N-1+far), a.Lo-far)
				if d == dtype.U64 && n < 0 {
					want = a.N - 1 + far
				}
				said := fmt.Sprint(want)
				switch {
				case want == a.N-1+far:
					said = fmt.Sprint("above ", want-1)
				case want == a.Lo-far:
					said = fmt.Sprint("below ", want+1)
				}
				assert.Equal(t, said, a.Number(code), "%v %+v", d, a)
			}
		}
	}
}

func TestCheckNeedsACode(t *testing.T) {
	x := uop.NewInt(dtype.I32, 3)
	require.Panics(t, func() { x.Check(uop.NewInt(dtype.I64, 0), uop.CheckArg{}) })
	y := x.Check(uop.NewInt(dtype.I32, 0), uop.CheckArg{Op: "f", At: "here"})
	require.Equal(t, x.DType(), y.DType())
	require.NotSame(t, y, x.Check(uop.NewInt(dtype.I32, 0), uop.CheckArg{Op: "f", At: "there"}))
}
