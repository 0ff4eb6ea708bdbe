// Package values tests that values that make no sense are told to who reads what was computed from them, on every device.
package values

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/weft-ml/weft/backends"
	_ "github.com/weft-ml/weft/backends/webgpu"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
	need "github.com/weft-ml/weft/tests/require"
)

type T = tensor.Tensor

var ctx = context.Background()

// bench is a device of the test's own.
type bench struct {
	*engine.Engine
	t testing.TB
}

func open(t testing.TB, device string, o engine.Options) *bench {
	t.Helper()
	e, err := engine.Open(device, o)
	need.Device(t, device, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return &bench{e, t}
}

func (b *bench) leaf(d dtype.DType, raw []byte, shape ...int) *T {
	b.t.Helper()
	u, err := b.FromBytes(d, shape, raw)
	require.NoError(b.t, err)
	return tensor.FromNode(u, b.Engine)
}

func (b *bench) ints(v ...int) *T {
	var raw []byte
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint32(raw, uint32(int32(x)))
	}
	return b.leaf(dtype.I32, raw, len(v))
}

func (b *bench) floats(v ...float32) *T {
	var raw []byte
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	return b.leaf(dtype.F32, raw, len(v))
}

// grid is n×m numbers.
func (b *bench) grid(n, m int) *T {
	v := make([]float32, n*m)
	for i := range v {
		v[i] = float32(i) / 4
	}
	return b.floats(v...).Reshape(n, m)
}

func (b *bench) matrix(n int, v ...float32) *T { return b.floats(v...).Reshape(n, n) }

// onAll runs f on every device.
func onAll(t *testing.T, f func(t *testing.T, b *bench)) {
	for _, d := range []string{"CPU", "WASM", "INTERP", "REF", "WEBGPU"} {
		t.Run(d, func(t *testing.T) { f(t, open(t, d, engine.Options{})) })
	}
}

// wrong are computations of values that make no sense.
var wrong = []struct {
	name, words string
	build       func(b *bench) *T
}{
	{"Gather", "Gather: index 5 is out of range for axis 0 of size 4", func(b *bench) *T {
		return b.grid(4, 2).Gather(0, b.ints(0, 5, 1, 1).Reshape(2, 2))
	}},
	{"Gather negative", "Gather: index -1 is out of range for axis 1 of size 2", func(b *bench) *T {
		return b.grid(4, 2).Gather(1, b.ints(0, -1, 1, 1).Reshape(2, 2))
	}},
	{"Gather far", "Gather: index below -1073741822 is out of range", func(b *bench) *T {
		return b.grid(4, 2).Gather(0, b.ints(0, math.MinInt32, 1, 1).Reshape(2, 2))
	}},
	{"Gather of bytes", "Gather: index 200 is out of range for axis 0 of size 4", func(b *bench) *T {
		return b.grid(4, 2).Gather(0, b.ints(0, 200, 1, 1).To(dtype.U8).Reshape(2, 2))
	}},
	{"At", "At: index 4 is out of range for axis 0 of size 4", func(b *bench) *T { return b.grid(4, 2).At(b.ints(-4, 4)) }},
	{"At below", "At: index -5 is out of range for axis 0 of size 4", func(b *bench) *T { return b.grid(4, 2).At(b.ints(-4, -5)) }},
	{"At two", "At: index 2 is out of range for axis 1 of size 2", func(b *bench) *T { return b.grid(4, 2).At(b.ints(0, 3), b.ints(1, 2)) }},
	{"WithAt", "WithAt: index 9 is out of range for axis 0 of size 4", func(b *bench) *T { return b.grid(4, 2).WithAt(1, b.ints(0, 9)) }},
	{"Take", "Take: index 8 is out of range for 8 elements", func(b *bench) *T { return b.grid(4, 2).Take(b.ints(-8, 8)) }},
	{"TakeAlong", "TakeAlong: index 7 is out of range for axis 0 of size 4", func(b *bench) *T { return b.grid(4, 2).TakeAlong(0, b.ints(1, 7).Reshape(1, 2)) }},
	{"IndexSelect", "IndexSelect: index 4 is out of range for axis 0 of size 4", func(b *bench) *T { return b.grid(4, 2).IndexSelect(0, b.ints(4)) }},
	{"IndexAdd", "IndexAdd: index 4 is out of range for axis 0 of size 4", func(b *bench) *T {
		return b.grid(4, 2).IndexAdd(0, b.ints(0, 4), b.grid(2, 2), 1)
	}},
	{"IndexFill", "IndexFill: index 4 is out of range", func(b *bench) *T { return b.grid(4, 2).IndexFill(0, b.ints(0, 4), 1) }},
	{"IndexPut", "IndexPut: index 2 is out of range for axis 1 of size 2", func(b *bench) *T {
		return b.grid(4, 2).IndexPut([]*T{b.ints(0, 1), b.ints(1, 2)}, b.floats(1, 1), true)
	}},
	{"ScatterAdd", "ScatterAdd: index 4 is out of range for axis 0 of size 4", func(b *bench) *T {
		return b.grid(4, 2).ScatterAdd(0, b.ints(0, 4).Reshape(1, 2), 1)
	}},
	{"MaskedScatter", "MaskedScatter: element 2 is out of range for a source of 2 elements", func(b *bench) *T {
		return b.grid(4, 2).MaskedScatter(b.grid(4, 2).Gt(1), b.floats(1, 2))
	}},
	{"Embedding", "Embedding: id 12 is out of range for a table of 4 rows", func(b *bench) *T {
		return b.grid(4, 2).Embedding(b.ints(1, 12), tensor.EmbeddingOptions{})
	}},
	{"Embedding negative", "Embedding: id -1 is out of range for a table of 4 rows", func(b *bench) *T {
		return b.grid(4, 2).Embedding(b.ints(1, -1), tensor.EmbeddingOptions{})
	}},
	{"EmbeddingBag", "EmbeddingBag: id 4 is out of range for a table of 4 rows", func(b *bench) *T {
		return b.grid(4, 2).EmbeddingBag(b.ints(1, 4).Reshape(1, 2), nil, nil, tensor.BagMean, tensor.EmbeddingOptions{})
	}},
	{"EmbeddingBag beyond", "EmbeddingBag: offset 4 is out of range for a list of 3 ids", func(b *bench) *T {
		return b.grid(4, 2).EmbeddingBag(b.ints(1, 3, 0), b.ints(0, 4), nil, tensor.BagSum, tensor.EmbeddingOptions{})
	}},
	{"EmbeddingBag out of order", "EmbeddingBag: the offset at place 2 is out of order", func(b *bench) *T {
		return b.grid(4, 2).EmbeddingBag(b.ints(1, 3, 0), b.ints(0, 2, 1), nil, tensor.BagMax, tensor.EmbeddingOptions{})
	}},
	{"OneHot", "OneHot: class 3 is out of range for 3 classes", func(b *bench) *T {
		return b.ints(0, 3).OneHot(3)
	}},
	{"CrossEntropy", "CrossEntropy: class 10 is out of range for 10 classes", func(b *bench) *T { return b.grid(3, 10).CrossEntropy(b.ints(0, 10, -100)) }},
	{"CrossEntropy negative", "CrossEntropy: class -1 is out of range", func(b *bench) *T { return b.grid(3, 10).CrossEntropy(b.ints(0, -1, -100)) }},
	{"CrossEntropy smooth", "CrossEntropy: class 10 is out of range", func(b *bench) *T {
		return b.grid(3, 10).CrossEntropy(b.ints(0, 1, 10), tensor.Loss{Smoothing: 0.1, Weight: b.grid(1, 10).Flatten()})
	}},
	{"NLL", "NLL: class 10 is out of range for 10 classes", func(b *bench) *T { return b.grid(3, 10).NLL(b.ints(0, 10, 1), tensor.Loss{Ignore: []int{3}}) }},
	{"MultiMargin", "MultiMargin: class 4 is out of range for 4 classes", func(b *bench) *T { return b.grid(2, 4).MultiMargin(b.ints(0, 4), 1, 1) }},
	{"CTC", "CTC: label 4 is out of range for 4 classes", func(b *bench) *T { return ctc(b, 4, 2, 5, 2) }},
	{"CTC input", "CTC: input length 6 is out of range", func(b *bench) *T { return ctc(b, 1, 2, 6, 2) }},
	{"CTC target", "CTC: target length 3 is out of range", func(b *bench) *T { return ctc(b, 1, 2, 5, 3) }},
	{"MaxUnpool", "MaxUnpool: index 4 is out of range for a plane of 4 elements", func(b *bench) *T {
		return b.grid(1, 2).MaxUnpool(b.ints(0, 4).Reshape(1, 2), tensor.Pool{Size: []int{2}, Axes: 1})
	}},
	{"gradient", "Embedding: id 4 is out of range", func(b *bench) *T {
		w := b.grid(4, 2)
		return w.Embedding(b.ints(1, 4), tensor.EmbeddingOptions{}).Square().Sum().Grad(w)[0]
	}},
	{"through many", "At: index 4 is out of range", func(b *bench) *T {
		return b.grid(4, 2).At(b.ints(1, 4)).Add(1).Contiguous().Sum(1).Exp().Reshape(2, 1).MatMul(b.grid(1, 2)).Mean()
	}},
	{"Inv", "Inv: the matrix is singular: pivot 2 is 0", func(b *bench) *T { return b.matrix(2, 1, 2, 2, 4).Inv() }},
	{"Inv of zeros", "Inv: the matrix is singular: pivot 1 is 0", func(b *bench) *T { return b.matrix(2, 0, 0, 0, 0).Inv() }},
	{"Solve", "Solve: the matrix is singular: pivot 2 is 0", func(b *bench) *T { return b.matrix(2, 1, 2, 2, 4).Solve(b.floats(1, 2)) }},
	{"Solve gradient", "Solve: the matrix is singular", func(b *bench) *T {
		y := b.floats(1, 2)
		return b.matrix(2, 1, 2, 2, 4).Solve(y).Sum().Grad(y)[0]
	}},
	{"SolveTriangular", "SolveTriangular: the matrix is singular: element 2 of its diagonal is 0", func(b *bench) *T {
		return b.matrix(2, 1, 2, 2, 0).SolveTriangular(b.grid(2, 1), true, false)
	}},
	{"MatrixPower", "MatrixPower: the matrix is singular", func(b *bench) *T { return b.matrix(2, 1, 2, 2, 4).MatrixPower(-1) }},
	{"Cholesky", "Cholesky: the matrix is not positive definite: its leading minor of order 2 is not", func(b *bench) *T {
		return b.matrix(2, 1, 2, 2, 1).Cholesky()
	}},
	{"Cholesky of zeros", "Cholesky: the matrix is not positive definite: its leading minor of order 1 is not", func(b *bench) *T {
		return b.matrix(2, 0, 0, 0, 0).Cholesky()
	}},
	{"batch", "Cholesky: the matrix is not positive definite: its leading minor of order 2 is not", func(b *bench) *T {
		return b.floats(1, 0, 0, 1, 4, 0, 0, -1).Reshape(2, 2, 2).Cholesky()
	}},
}

func ctc(b *bench, label, pad, input, target int) *T {
	y, err := b.grid(5, 4).LogSoftmax(-1).Unsqueeze(1).CTC(ctx, b.ints(label, pad).Reshape(1, 2), b.ints(input), b.ints(target), tensor.CTCOptions{})
	require.NoError(b.t, err)
	return y
}

func TestWrongValuesAreTold(t *testing.T) {
	onAll(t, func(t *testing.T, b *bench) {
		for _, c := range wrong {
			t.Run(c.name, func(t *testing.T) {
				y := c.build(b)
				require.NoError(t, y.Realize(ctx), "computing is no reading")
				for range 2 {
					_, err := y.ToList(ctx)
					var v *tensor.ValueError
					require.ErrorAs(t, err, &v)
					assert.ErrorContains(t, err, "tensor: "+c.words)
					assert.Regexp(t, `values_test\.go:\d+`, v.At)
				}
				_, err := y.Mul(2).Sum().Item(ctx)
				require.ErrorContains(t, err, c.words, "and of what is made of it")
			})
		}
	})
}

// right are computations near the edge.
var right = map[string]func(b *bench) *T{
	"At":            func(b *bench) *T { return b.grid(4, 2).At(b.ints(-4, 3, 0, -1)) },
	"no indices":    func(b *bench) *T { return b.grid(4, 2).At(b.leaf(dtype.I32, nil, 0)) },
	"ignored class": func(b *bench) *T { return b.grid(3, 10).CrossEntropy(b.ints(0, 9, -100)) },
	"ignored 255":   func(b *bench) *T { return b.grid(3, 10).NLL(b.ints(0, 9, 255), tensor.Loss{Ignore: []int{255}}) },
	"padded bag": func(b *bench) *T {
		return b.grid(4, 2).EmbeddingBag(b.ints(1, 3).Reshape(1, 2), nil, nil, tensor.BagSum, tensor.EmbeddingOptions{Padding: []int{3}})
	},
	"labels beyond":   func(b *bench) *T { return ctc(b, 1, -1, 5, 1) },
	"histogram":       func(b *bench) *T { return b.floats(-1, 0.5, 9, 1).Histogram(b.floats(0, 1, 2), nil) },
	"masked scatter":  func(b *bench) *T { return b.grid(4, 2).MaskedScatter(b.grid(4, 2).Gt(1), b.floats(1, 2, 3)) },
	"nearly singular": func(b *bench) *T { return b.matrix(2, 1, 2, 2, 4.0001).Inv() },
	"needs exchange":  func(b *bench) *T { return b.matrix(2, 0, 1, 1, 0).Inv() },
	"determinant":     func(b *bench) *T { return b.matrix(4, make([]float32, 16)...).Det() },
	"unit diagonal":   func(b *bench) *T { return b.matrix(2, 0, 2, 2, 0).SolveTriangular(b.grid(2, 1), true, true) },
	"not a number":    func(b *bench) *T { return b.matrix(2, 1, 2, float32(math.NaN()), 4).Inv() },
	"infinite":        func(b *bench) *T { return b.matrix(2, float32(math.Inf(1)), 1, 1, 0).Inv() },
	"indefinite NaN":  func(b *bench) *T { return b.matrix(2, 1, 0, float32(math.NaN()), 1).Cholesky() },
	"best of rows":    func(b *bench) *T { v, _ := b.grid(4, 2).Sort(0, true); return v },
}

func TestRightValuesAreNot(t *testing.T) {
	onAll(t, func(t *testing.T, b *bench) {
		for name, build := range right {
			_, err := build(b).ToList(ctx)
			require.NoError(t, err, name)
		}
	})
}

// What a graph shows to be inside is not looked at.
func TestSureIndicesCostNothing(t *testing.T) {
	b := open(t, "NULL", engine.Options{})
	x := b.grid(8, 1<<17) // a small gather and its flags would be one launch
	launches := func(y *T) int {
		v, err := tensor.Schedule(y)
		require.NoError(t, err)
		return len(v.Launches())
	}
	sure := func(index *T) int { return launches(x.At(index)) }
	any := b.ints(1, 2, 3)
	require.Equal(t, 2, sure(any), "one launch for the flags")
	require.Equal(t, 1, sure(any.Mod(8)))
	require.Equal(t, 1, sure(any.Clamp(0, 7)))
	require.Equal(t, 1, sure(any.Maximum(-8).Minimum(7)))
	require.Equal(t, 1, sure(any.And(7)))
	require.Equal(t, 1, sure(tensor.Arange(7).Add(any.Narrow(0, 0, 1).And(1))))
	require.Greater(t, sure(tensor.Arange(7).Add(any.Narrow(0, 0, 1).And(3))), 1)
	best := b.grid(3, 8).ArgMax(1)
	require.Equal(t, 1, launches(best))
	require.LessOrEqual(t, sure(best), 2, "no flags")
	off := open(t, "NULL", engine.Options{Unchecked: true})
	two := func(x, index *T) int { return launches(x.At(index).Sum().Add(x.At(index.Add(1), index).Sum())) }
	require.Equal(t, two(off.grid(8, 1<<17), off.ints(1, 2, 3))+1, two(x, any), "all flags are one launch")
	require.Equal(t, 1, launches(off.grid(8, 4).At(off.ints(1))))
}

// What shapes and constants can tell is told at the call.
func TestToldAtTheCall(t *testing.T) {
	b := open(t, "INTERP", engine.Options{})
	x := b.grid(4, 2)
	for words, f := range map[string]func(){
		"At [4 2]: index 4 is out of range for axis 0 of size 4":      func() { x.At([]int{0, 4}) },
		"Take [1]: index 8 is out of range for 8 elements":            func() { x.Take(tensor.Full(8, dtype.I32, 1)) },
		"Gather [2 2]: index -1 is out of range for axis 0 of size 4": func() { x.Gather(0, tensor.Full(-1, dtype.I32, 2, 2)) },
		"IndexSelect [1]: no index is in range for axis 0 of size 0":  func() { x.Narrow(0, 0, 0).IndexSelect(0, b.ints(0)) },
		"CTC: blank 4 is out of range for 4 classes": func() {
			_, err := x.Reshape(2, 1, 4).CTC(ctx, b.ints(1).Reshape(1, 1), b.ints(2), b.ints(1), tensor.CTCOptions{Blank: 4})
			require.NoError(t, err)
		},
	} {
		err := tensor.Try(f)
		require.ErrorContains(t, err, words)
	}
}

func TestTurnedOff(t *testing.T) {
	for _, d := range []string{"CPU", "REF"} {
		b := open(t, d, engine.Options{Unchecked: true})
		v, err := tensor.Data[float32](ctx, b.grid(4, 2).At(b.ints(1, 9)))
		require.NoError(t, err)
		require.Equal(t, []float32{0.5, 0.75, 0, 0}, v, "zeros outside")
		_, err = b.matrix(2, 1, 2, 2, 4).Inv().ToList(ctx)
		require.NoError(t, err)
	}
}

// Values of one play that do not depend on a wrong one are read as ever.
func TestOthersAreRead(t *testing.T) {
	onAll(t, func(t *testing.T, b *bench) {
		x := b.grid(4, 2)
		bad, good, fine := x.At(b.ints(1, 9)), x.Mul(4), x.At(b.ints(1, 3))
		require.NoError(t, tensor.Realize(ctx, good, bad, fine))
		v, err := tensor.Data[float32](ctx, good)
		require.NoError(t, err)
		require.Equal(t, []float32{0, 1, 2, 3, 4, 5, 6, 7}, v)
		_, err = fine.ToList(ctx)
		require.NoError(t, err)
		_, err = bad.ToList(ctx)
		require.ErrorContains(t, err, "index 9")
		_, err = bad.Mul(0).Add(good.Sum()).ToList(ctx)
		require.ErrorContains(t, err, "index 9")
		_, err = good.Add(1).ToList(ctx)
		require.NoError(t, err)
		moved := bad.On("INTERP")
		_, err = moved.ToList(ctx)
		require.ErrorContains(t, err, "index 9", "on the way to another device")
	})
}

// A wrong input of a captured function is told of that run, and of the states that it changed.
func TestCapturedRuns(t *testing.T) {
	for _, d := range []string{"CPU", "WASM", "INTERP", "WEBGPU"} {
		t.Run(d, func(t *testing.T) {
			b := open(t, d, engine.Options{})
			table, sum, count := b.grid(4, 2), b.floats(0), b.floats(0)
			require.NoError(t, tensor.Realize(ctx, sum.Own(), count.Own()))
			step, err := tensor.Capture(ctx, func(in ...*T) []*T {
				rows := table.At(in[0]).Sum()
				sum.Assign(sum.Add(rows))
				count.Assign(count.Add(1))
				return []*T{rows, in[0].Add(1)}
			}, b.ints(0, 0))
			require.NoError(t, err)
			run := func(ids ...int) (rows, other error) {
				out, err := step.Run(ctx, b.ints(ids...))
				require.NoError(t, err)
				_, rows = out[0].Item(ctx)
				_, other = out[1].ToList(ctx)
				return rows, other
			}
			rows, other := run(0, 3)
			require.NoError(t, rows)
			require.NoError(t, other)
			_, err = sum.Item(ctx)
			require.NoError(t, err)
			rows, other = run(0, 4)
			require.ErrorContains(t, rows, "At: index 4 is out of range for axis 0 of size 4")
			require.NoError(t, other)
			rows, _ = run(1, 2)
			require.NoError(t, rows, "the next run is another one")
			for range 2 {
				_, err = sum.Item(ctx)
				require.ErrorContains(t, err, "index 4")
			}
			n, err := count.Item(ctx)
			require.NoError(t, err)
			require.Equal(t, 3., n)
			require.NoError(t, sum.Assign(b.floats(0)).Realize(ctx))
			_, err = sum.Item(ctx)
			require.NoError(t, err, "its new value has nothing to do with it")
		})
	}
}

// However long nothing is read, a wrong value is not forgotten, and what waits to be read stays little.
func TestLongUnread(t *testing.T) {
	onAll(t, func(t *testing.T, b *bench) {
		table, sum := b.grid(4, 2), b.floats(0)
		require.NoError(t, sum.Own().Realize(ctx))
		for i := range 300 {
			id := i % 4
			if i == 20 {
				id = 7
			}
			require.NoError(t, sum.Assign(sum.Add(table.At(b.ints(id)).Sum())).Realize(ctx))
		}
		_, err := sum.Item(ctx)
		require.ErrorContains(t, err, "index 7")
		var v *tensor.ValueError
		require.True(t, errors.As(err, &v))
	})
}
