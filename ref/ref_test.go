package ref

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

func floats(d dtype.DType, f ...float64) []uop.Value {
	v := make([]uop.Value, len(f))
	for i, x := range f {
		v[i] = uop.FloatValue(d, x)
	}
	return v
}

// eval computes u, whose only buffer holds in.
func eval(u *uop.UOp, in ...float64) []float64 {
	out := Eval(func(*uop.UOp) []uop.Value { return floats(dtype.F32, in...) }, u)[0]
	f := make([]float64, len(out))
	for i, x := range out {
		if u.DType().IsFloat() {
			f[i] = x.Float()
		} else {
			f[i] = float64(x.Int())
		}
	}
	return f
}

func buffer(shape ...int) *uop.UOp {
	return uop.NewBuffer(1, uop.Shape(shape).Numel(), "REF", dtype.F32).Reshape(shape...)
}

func TestMovement(t *testing.T) {
	x := buffer(2, 3)
	in := []float64{1, 2, 3, 4, 5, 6}
	for name, c := range map[string]struct {
		u    *uop.UOp
		want []float64
	}{
		"permute":         {x.Permute(1, 0), []float64{1, 4, 2, 5, 3, 6}},
		"permute reshape": {x.Permute(1, 0).Reshape(6), []float64{1, 4, 2, 5, 3, 6}},
		"flip":            {x.Flip(0, 1), []float64{6, 5, 4, 3, 2, 1}},
		"shrink":          {x.Shrink([]int{0, 1}, []int{2, 3}), []float64{2, 3, 5, 6}},
		"pad":             {x.Pad([]int{1, 0}, []int{0, 1}), []float64{0, 0, 0, 0, 1, 2, 3, 0, 4, 5, 6, 0}},
		"expand":          {x.Reshape(2, 1, 3).Expand(2, 2, 3), []float64{1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}},
		"slide":           {x.Slide(1, 0, 1, 0, 3), []float64{1, 2, 3, 5, 6, 0}},
		"slide back":      {x.Slide(1, 0, -1, 1, 4), []float64{2, 3, 0, 0, 4, 5, 6, 0}},
		"empty":           {x.Shrink([]int{0, 0}, []int{0, 3}), []float64{}},
	} {
		require.Equal(t, c.want, eval(c.u, in...), name)
	}
}

func TestReduce(t *testing.T) {
	x := buffer(2, 3)
	in := []float64{1, 2, 3, 6, 5, 6}
	require.Equal(t, []float64{6, 17}, eval(x.Reduce(uop.Sum, 1), in...))
	require.Equal(t, []float64{7, 7, 9}, eval(x.Reduce(uop.Sum, 0), in...))
	require.Equal(t, []float64{23}, eval(x.Reduce(uop.Sum, 0, 1), in...))
	require.Equal(t, []float64{3, 6}, eval(x.Reduce(uop.MaxOf, 1), in...))
	index := uop.NewIota(3).Cast(dtype.I32).Reshape(1, 3).Expand(2, 3)
	pair := x.Home().ReduceParts(uop.ArgMax, []int{1}, x, index)
	require.Equal(t, []float64{2, 0}, eval(pair.Part(1), in...))
	require.Equal(t, []float64{0, 2}, eval(pair.Part(1), math.NaN(), 2, 3, 4, 5, 6))
	require.Equal(t, []float64{3, 6}, eval(pair, in...))
	se := x.Home().ReduceParts(uop.SumExp, []int{1}, x, x.Int(1))
	require.InDeltaSlice(t, []float64{1 + 0.5 + 0.25, 2.5}, eval(se.Part(1), in...), 1e-6)
	mo := x.Home().ReduceParts(uop.Moments, []int{1}, x.Int(1).Reshape(1, 1).Expand(2, 3), x, x.Int(0))
	require.InDeltaSlice(t, []float64{2, 17. / 3}, eval(mo.Part(1), in...), 1e-6)
	require.InDeltaSlice(t, []float64{2, 2. / 3}, eval(mo.Part(2), in...), 1e-6)
	require.Equal(t, []float64{math.Inf(-1)}, eval(x.Shrink([]int{0, 0}, []int{0, 3}).Reduce(uop.MaxOf, 0, 1), in...))
}

func TestScan(t *testing.T) {
	x := buffer(2, 3)
	in := []float64{1, 2, 3, 6, 5, 6}
	require.Equal(t, []float64{1, 3, 6, 6, 11, 17}, eval(x.Scan(uop.Sum, 1), in...))
	require.Equal(t, []float64{1, 2, 3, 7, 7, 9}, eval(x.Scan(uop.Sum, 0), in...))
	require.Equal(t, []float64{1, 3, 2, 2, 3, 3}, eval(x.Permute(1, 0).Scan(uop.MaxOf, 1), 1, 2, 3, 3, 1, 1))
	linear := x.Home().ScanParts(uop.Linear, 1, x, x.Int(1))
	require.Equal(t, []float64{1, 2, 6, 6, 30, 180}, eval(linear.Part(0), in...))
	require.Equal(t, []float64{1, 3, 10, 1, 6, 37}, eval(linear.Part(1), in...))
}

func TestGatherScatter(t *testing.T) {
	x := buffer(4)
	idx := uop.NewIota(6).Sub(uop.NewInt(dtype.Index, 1))
	require.Equal(t, []float64{0, 1, 2, 3, 4, 0}, eval(x.Gather(idx, 0), 1, 2, 3, 4))
	half := uop.NewIota(6).IDiv(uop.NewInt(dtype.Index, 2))
	one := uop.NewInt(dtype.F32, 1).Reshape(1).Expand(6)
	require.Equal(t, []float64{3, 4, 5, 4}, eval(x.Scatter(half, one, 0, uop.Sum), 1, 2, 3, 4))
	require.Equal(t, []float64{1, 1, 1, 4}, eval(x.Scatter(half, one, 0, uop.Last), 1, 2, 3, 4))
}

func TestMillionElements(t *testing.T) {
	x := uop.NewIota(1000000).Cast(dtype.F32)
	out := Eval(nil, x.Mul(x).Add(x.Int(1)).Reduce(uop.Sum, 0))[0]
	require.InEpsilon(t, 3.33333e17, out[0].Float(), 1e-5)
}
