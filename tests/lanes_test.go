package tests

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

// quarters is an array of quarters between ±4, whose sums are exact in any order.
func (b *bench) quarters(shape ...int) *tensor.Tensor {
	return b.ints(33, shape...).Sub(16).To(dtype.F32).Div(4)
}

// laneResults computes what has lanes on rows that no vector divides, far apart, or that reach over the edges of an array.
func laneResults(t *testing.T, device string, o engine.Options) map[string][]float32 {
	b := newBench(t, device, o)
	out := map[string]*tensor.Tensor{}
	for _, n := range []int{1, 2, 3, 5, 7, 10, 12, 15, 16, 17, 28, 31, 33, 63, 64, 65, 100, 127, 333} {
		x := b.quarters(5, n)
		with := tensor.Arange(n).Eq(n-1).Where(math.Inf(1), x)
		out[fmt.Sprint("sum ", n)], out[fmt.Sprint("max ", n)] = x.Sum(1), x.Max(1)
		out[fmt.Sprint("infinite ", n)], out[fmt.Sprint("NaN ", n)] = with.Sum(1), with.Sub(with).Add(x).Max(1)
		out[fmt.Sprint("least of positive ", n)] = x.Abs().Add(1).Min(1)
		out[fmt.Sprint("where ", n)] = x.ArgMax(1).To(dtype.F32)
	}
	for _, s := range [][]int{{1, 16}, {16, 16}, {17, 33}, {40, 16}, {3, 100}, {64, 48}, {100, 37}, {5, 20, 24}} {
		x := b.quarters(s...)
		out[fmt.Sprint("transpose ", s)] = x.Transpose(-1, -2).Add(1)
		out[fmt.Sprint("transpose of bytes ", s)] = x.To(dtype.I8).Transpose(-1, -2).Contiguous().To(dtype.F32)
	}
	for step := 2; step < 12; step++ {
		x := b.quarters(3, 20*step)
		out[fmt.Sprint("every ", step)] = x.Reshape(3, 20, step).Select(-1, step-1).Add(1)
		out[fmt.Sprint("every backwards ", step)] = x.Reshape(3, 20, step).Select(-1, 0).Flip(1).Add(1)
	}
	for _, p := range []tensor.Pool{
		{Size: []int{3}, Stride: []int{2}, Padding: []int{1}}, {Size: []int{2}}, {Size: []int{5}, Stride: []int{1}, Padding: []int{2}},
		{Size: []int{4}, Stride: []int{3}, Padding: []int{2}}, {Size: []int{3}, Stride: []int{1}, Padding: []int{1}, Dilation: []int{2}}, {Size: []int{7}, Stride: []int{5}, Padding: []int{3}},
	} {
		p.Axes = 2
		for _, side := range []int{7, 18, 33, 40} {
			x := b.quarters(1, 2, side, side)
			name := fmt.Sprintf("%v %d", p, side)
			out["maximum pool "+name], out["sum pool "+name] = x.MaxPool(p), x.SumPool(p)
			out["gradient of a pool "+name] = x.MaxPool(p).Sum().Grad(x)[0]
		}
	}
	for _, side := range []int{5, 14, 28} {
		x, w, g := b.quarters(2, 3, side, side), b.quarters(3, 1, 3, 3), b.quarters(2, 3, side, side)
		y := x.Conv2D(w, nil, tensor.Conv{Padding: 1, Groups: 3})
		d := y.Mul(g).Sum().Grad(x, w)
		out[fmt.Sprint("depthwise ", side)], out[fmt.Sprint("to pictures ", side)], out[fmt.Sprint("to filters ", side)] = y, d[0], d[1]
		out[fmt.Sprint("to doubled pictures ", side)] = y.Mul(g.Add(g)).Sum().Grad(x)[0]
		out[fmt.Sprint("reflected ", side)] = x.PadMode(tensor.Reflect, []int{2, 1}, []int{1, 2}).Contiguous()
		out[fmt.Sprint("padded ", side)] = x.PadWith(3, []int{2, 1}, []int{1, 2}).Contiguous()
	}
	got := map[string][]float32{}
	for name, x := range out {
		v, err := tensor.Data[float32](context.Background(), x)
		require.NoError(t, err, name)
		got[name] = v
	}
	return got
}

// What lanes do on odd rows, on rows that lie apart and at the edges of arrays is exact here, so the C device gives the
// interpreter's plain loops to the bit: with one thread, several, and with arrays between fences.
func TestLanesAtEdges(t *testing.T) {
	want := laneResults(t, "INTERP", engine.Options{NoOpt: true})
	for _, o := range []engine.Options{{Threads: 1}, {Threads: 3}, {Fence: true}} {
		for name, v := range laneResults(t, "CPU", o) {
			for i := range v {
				if w := want[name][i]; !(v[i] == w || v[i] != v[i] && w != w) {
					assert.Fail(t, "lanes differ", "%s, %+v: element %d is %v, not %v", name, o, i, v[i], w)
					break
				}
			}
		}
	}
}

// What is reduced over a row is computed once for it, also where rows are too few for many threads: the row is not made one axis with
// the blocks of its outputs.
func TestFewRowsAreReducedOnce(t *testing.T) {
	b := newBench(t, "CPU", engine.Options{})
	for _, rows := range []int{2, 16, 31} {
		x := b.floats(rows, 1000)
		for _, y := range []*tensor.Tensor{x.Softmax(1), x.LogSoftmax(1), x.Sub(x.MeanKeep(1))} {
			for _, k := range b.plan(y).Launches() {
				require.NotContains(t, k.Directives, "fuse", k.Name)
			}
		}
	}
}

// A few rows times a matrix that no second cache holds, in the sizes of no benchmark, touch no byte outside of their arrays, have the same bits on
// one thread and on two, and are what sums of float64 say.
func TestFewRowsOfALargeMatrix(t *testing.T) {
	if testing.Short() {
		t.Skip("multiplies matrices of 5 MB")
	}
	ctx := context.Background()
	const inner, columns = 1003, 1301
	for _, d := range []dtype.DType{dtype.F32, dtype.F64} {
		for _, rows := range []int{1, 3, 17} {
			var first []float64
			for _, threads := range []int{1, 2} {
				b := newBench(t, "CPU", engine.Options{Threads: threads, Fence: true})
				x, w := b.floats(rows, inner), b.floats(inner, columns)
				a, err := tensor.Data[float32](ctx, x)
				require.NoError(t, err)
				m, err := tensor.Data[float32](ctx, w)
				require.NoError(t, err)
				var got []float64
				for _, y := range []*tensor.Tensor{x.To(d).MatMul(w.To(d).Contiguous()), w.To(d).Contiguous().Sum(0), w.To(d).Contiguous().Max(0)} {
					v, err := tensor.Data[float64](ctx, y.To(dtype.F64))
					require.NoError(t, err)
					got = append(got, v...)
				}
				if first != nil {
					require.Equal(t, first, got, "%v, %d rows: %d threads", d, rows, threads)
					continue
				}
				first = got
				for c := range columns {
					sums, sum, most := make([]float64, rows), 0., math.Inf(-1)
					for k := range inner {
						v := float64(m[k*columns+c])
						sum, most = sum+v, max(most, v)
						for r := range rows {
							sums[r] += v * float64(a[r*inner+k])
						}
					}
					for r := range rows {
						require.InDelta(t, sums[r], got[r*columns+c], 1e-3, "%v, %d rows", d, rows)
					}
					require.InDelta(t, sum, got[rows*columns+c], 1e-3, "%v", d)
					require.Equal(t, most, got[(rows+1)*columns+c], "%v", d)
				}
			}
		}
	}
}

// Products whose steps lie apart, as in the gradient of a layer's weights, go in blocks of copies: odd sizes of all three axes, batches, narrow and wide
// numbers too, touch no byte outside of their arrays, have the same bits on one thread and on two, and are what sums of float64 say.
func TestProductsAlongColumns(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		d                           dtype.DType
		batch, inner, rows, columns int
		near                        float64
	}{
		{dtype.F32, 1, 1301, 257, 65, 2e-3}, {dtype.F32, 1, 515, 709, 33, 2e-3}, {dtype.F32, 3, 1024, 320, 31, 2e-3}, {dtype.F32, 1, 2048, 512, 7, 2e-3},
		{dtype.F32, 1, 333, 1000, 130, 2e-3}, {dtype.F32, 2, 1283, 256, 24, 2e-3}, {dtype.F32, 1, 700, 1030, 193, 2e-3}, {dtype.F64, 1, 611, 530, 97, 1e-9},
		{dtype.F16, 1, 901, 1100, 75, 0.2}, {dtype.BF16, 2, 777, 1290, 50, 1.5},
	} {
		var first []float64
		for _, threads := range []int{1, 2} {
			b := newBench(t, "CPU", engine.Options{Threads: threads, Fence: true})
			x, y := b.floats(c.batch, c.inner, c.rows).To(c.d).Contiguous(), b.floats(c.batch, c.inner, c.columns).To(c.d).Contiguous()
			data := func(x *tensor.Tensor) []float64 {
				out, err := tensor.Data[float64](ctx, x.To(dtype.F64))
				require.NoError(t, err)
				return out
			}
			xs, ys, got := data(x), data(y), data(x.Transpose(1, 2).MatMul(y))
			if first != nil {
				require.Equal(t, first, got, "%v: %d threads", c, threads)
				continue
			}
			first = got
			want := make([]float64, len(got))
			for k := range c.batch * c.inner {
				for i := range c.rows {
					at, f := (k/c.inner*c.rows+i)*c.columns, xs[k*c.rows+i]
					for j := range c.columns {
						want[at+j] += f * ys[k*c.columns+j]
					}
				}
			}
			for i := range want {
				require.InDelta(t, want[i], got[i], c.near, "%v: element %d", c, i)
			}
		}
	}
}

// Arrays of 32 MB and more are written past the caches: every element arrives, those before the first and behind the last whole
// line too, and the kernel after sees them.
func TestLargeArraysAreWritten(t *testing.T) {
	if testing.Short() {
		t.Skip("computes arrays of 34 MB")
	}
	ctx := context.Background()
	for _, threads := range []int{1, 2} {
		b := newBench(t, "CPU", engine.Options{Threads: threads})
		const rows, columns = 3001, 2999
		x := tensor.Arange(rows*columns).Mod(1009).To(dtype.F32).Reshape(rows, columns).Add(b.ints(1, 1, 1).To(dtype.F32)).Contiguous()
		y := x.Transpose(0, 1).Mul(2).Contiguous()
		z := y.Add(1).Flip(0)
		require.NoError(t, b.Realize(ctx, x.Node(), y.Node(), z.Node()))
		for name, c := range map[string]struct {
			got  *tensor.Tensor
			want func(r, c int) float32
		}{
			"rows":       {x.Transpose(0, 1), func(r, c int) float32 { return float32((c*columns + r) % 1009) }},
			"transposed": {y, func(r, c int) float32 { return 2 * float32((c*columns+r)%1009) }},
			"flipped":    {z, func(r, c int) float32 { return 2*float32((c*columns+columns-1-r)%1009) + 1 }},
		} {
			v, err := tensor.Data[float32](ctx, c.got)
			require.NoError(t, err)
			for i := range v {
				if want := c.want(i/rows, i%rows); v[i] != want {
					require.Fail(t, "wrong", "%s, %d threads: element %d is %v, not %v", name, threads, i, v[i], want)
				}
			}
		}
	}
}

// Lanes go along the elements of arrays that are stacked, not across the arrays, where each lane would ask which of them it reads.
func TestLanesStayWithinStackedArrays(t *testing.T) {
	b := newBench(t, "CPU", engine.Options{})
	var list []*tensor.Tensor
	for range 64 {
		list = append(list, b.floats(16, 256))
	}
	launches := b.plan(tensor.Stack(0, list...)).Launches()
	require.Len(t, launches, 1)
	require.NotContains(t, launches[0].Directives, "vector a0")
}

// Sums over rows that are read once go along the rows, whatever else is used for several of them: a block of rows in registers would read
// each element by itself, and ask first whether there is one.
func TestLanesGoAlongRowsThatAreReadOnce(t *testing.T) {
	b := newBench(t, "CPU", engine.Options{})
	x, places, w := b.floats(8, 64, 128), b.floats(64, 128), b.floats(128)
	words, at := b.floats(65, 128), b.ints(65, 8, 64)
	h := words.At(at).Add(places)
	g := h.LayerNorm(w, w, 1e-5, 128).Mul(x).Sum().Grad(words, places)
	for _, k := range b.plan(g...).Launches() {
		require.NotContains(t, k.Source, "gim_", "%s, %s: lanes that are loaded one by one", k.Name, k.Directives)
	}
}

// A nest that shares its rows with another one is weighed by what all of its rows cost, so a depthwise convolution of what is stored in the same kernel has
// lanes along its results as one alone has, not along the three or seven columns of its filters.
func TestLanesOfJoinedNests(t *testing.T) {
	b := newBench(t, "CPU", engine.Options{})
	for _, side := range []int{3, 7} {
		x, w := b.floats(1, 72, 28, 28), b.floats(72, 1, side, side)
		launches := b.plan(x.ReLU().Contiguous().Conv2D(w, nil, tensor.Conv{Padding: side / 2, Groups: 72})).Launches()
		require.Len(t, launches, 1)
		require.NotContains(t, launches[0].Directives, "vector r")
	}
}
