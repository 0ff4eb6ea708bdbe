package variables

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

// What cannot follow a size that varies says so, with the operation and the variable.
func TestOperationsThatCannotFollow(t *testing.T) {
	on(t, "INTERP", engine.Options{}, func(b *bench) {
		n := tensor.NewVariable("n", 2, 9)
		for _, size := range []any{n, n.Bind(4)} {
			x := b.numbers(1, 9, 6).Narrow(0, 0, size)
			y := b.numbers(2, 9, 6)
			for op, f := range map[string]func(){
				"Sort":           func() { x.Sort(0, false) },
				"TopK":           func() { x.TopK(1, 0, true) },
				"Flip":           func() { x.Flip(0) },
				"FFT":            func() { x.FFT(0, 0, tensor.FFTNorm(0)) },
				"Roll":           func() { x.Roll([]int{1}, []int{0}) },
				"Cat":            func() { tensor.Cat(0, x, x) },
				"IndexSelect":    func() { y.IndexSelect(0, x.At(tensor.All, 0).To(dtype.I32)) },
				"Tril":           func() { x.Tril(0) },
				"Diagonal":       func() { x.Diagonal(0) },
				"CumMax":         func() { x.CumMax(0) },
				"LogCumSumExp":   func() { x.LogCumSumExp(0) },
				"Assign":         func() { b.own(9, 6).Assign(x) },
				"Clone":          func() { x.Clone() },
				"Narrow":         func() { x.Narrow(0, 0, 3) },
				"At":             func() { x.At(2) },
				"Reshape":        func() { x.Reshape(4) },
				"Add":            func() { x.Add(y) },
				"Where":          func() { x.Gt(0).Where(x, y) },
				"MatMul":         func() { x.T().MatMul(y) },
				"LayerNorm":      func() { x.T().LayerNorm(nil, nil, 1e-5, 9) },
				"Shrink":         func() { x.Shrink([]int{0, 0}, []int{8, 6}) },
				"Unflatten":      func() { x.Unflatten(0, 3, 3) },
				"Expand":         func() { x.Expand(9, 6) },
				"ReshapeTo":      func() { x.ReshapeTo(n.Plus(1), 6) },
				"SetAt":          func() { x.SetAt(1, 0) },
				"Einsum":         func() { tensor.Einsum("ij,ij->j", x, x) },
				"CrossEntropy":   func() { x.CrossEntropy(y.At(tensor.All, 0)) },
				"Repeat":         func() { x.Repeat(2, 1) },
				"Permute, Merge": func() { x.T().Reshape(-1) },
			} {
				err := tensor.Try(f)
				if assert.Error(b.t, err, op) {
					assert.Regexp(b.t, `n(=4|\(2…9\))`, err.Error(), op)
				}
			}
		}
	})
}

// Values outside of bounds, missing ones, and parts that could lie outside are errors that say which variable.
func TestValuesAreChecked(t *testing.T) {
	onAll(t, func(b *bench) {
		n := tensor.NewVariable("n", 2, 9)
		x := b.numbers(1, 9)
		for want, f := range map[string]func(){
			"variable n is 10, not within its bounds 2…9":   func() { n.Bind(10) },
			"variable n is 1, not within its bounds 2…9":    func() { n.Bind(1) },
			`variable "" from 1 to 2`:                       func() { tensor.NewVariable("", 1, 2) },
			`variable "m" from 3 to 2`:                      func() { tensor.NewVariable("m", 3, 2) },
			"n(2…9) + 1 elements from 0 on, of axis 0":      func() { x.Narrow(0, 0, n.Plus(1)) },
			"1 elements from n(2…9) on, of axis 0":          func() { x.Narrow(0, n, 1) },
			"1 elements from n(2…9) − 3 on":                 func() { x.At(n.Minus(3)) },
			"it must be an integer or be made of variables": func() { x.Narrow(0, 0, 1.5) },
			"axis 0 has n(2…9) elements":                    func() { x.Narrow(0, 0, n).Shape() },
		} {
			err := tensor.Try(f)
			if assert.Error(b.t, err, want) {
				assert.Contains(b.t, err.Error(), want)
				assert.Contains(b.t, err.Error(), "errors_test.go")
			}
		}
		part := x.Narrow(0, 0, n)
		_, err := tensor.Data[float32](ctx, part)
		require.ErrorContains(b.t, err, "variable n(2…9) has no value")
		_, err = part.Sum().Item(ctx)
		require.ErrorContains(b.t, err, "variable n has no value")
		require.ErrorContains(b.t, part.Sum().Realize(ctx), "variable n has no value")
		f := b.capture(func(in ...*T) []*T { return []*T{in[0].Narrow(0, 0, n).Sum(), in[0].Narrow(0, 0, n)} }, x)
		_, err = f.Run(ctx, x)
		require.ErrorContains(b.t, err, "variable n(2…9) has no value")
		_, err = f.With(tensor.Values{n: 12}).Run(ctx, x)
		require.ErrorContains(b.t, err, "variable n is 12, not within its bounds 2…9")
		outs, err := f.With(tensor.Values{n: 3}).Run(ctx, x)
		require.NoError(b.t, err)
		require.Equal(b.t, []int{3}, outs[1].Shape())
		require.Len(b.t, b.values(outs[1]), 3)
		_, err = f.With(tensor.Values{n: 3}).RunInto(ctx, []*T{nil, b.own(9)}, x)
		require.ErrorContains(b.t, err, "result 1")
		_, err = tensor.Capture(ctx, func(in ...*T) []*T { return in }, outs[1])
		require.ErrorContains(b.t, err, "input 0 has the sizes [n=3]")

		// A value of the capture stands where runs give none.
		g := b.capture(func(in ...*T) []*T { return []*T{in[0].Narrow(0, 0, n.Bind(4)).Mul(1)} }, x)
		outs, err = g.Run(ctx, x)
		require.NoError(b.t, err)
		require.Equal(b.t, b.values(x)[:4], b.values(outs[0]))
		outs, err = g.With(tensor.Values{n: 2}).Run(ctx, x)
		require.NoError(b.t, err)
		require.Equal(b.t, b.values(x)[:2], b.values(outs[0]))
	})
}

// An index that does not count is no error.
func TestChecksOfWhatCounts(t *testing.T) {
	onAll(t, func(b *bench) {
		n := tensor.NewVariable("n", 1, 4)

		index := tensor.Of([]int32{0, 2, 7, 1}).On(b.Name())
		for k, good := range map[int]bool{2: true, 3: false} {
			rows := tensor.Of([]float32{1, 2, 3, 4, 5, 6}, 3, 2).On(b.Name()).At(index.Narrow(0, 0, n.Bind(k)))
			v, err := tensor.Data[float32](ctx, rows)
			if good {
				require.NoError(b.t, err)
				require.Equal(b.t, []float32{1, 2, 5, 6}, v)
			} else {
				require.ErrorContains(b.t, err, "index 7")
			}
		}
	})
}
