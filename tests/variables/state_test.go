package variables

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/tensor"
)

// moved are the bytes that the kernels and copies of a plan move.
func moved(v *engine.View) (n int64) {
	for _, s := range v.Plan.Steps {
		if s.Kind == plan.Copy {
			n += 2 * v.Plan.Slots[s.Slots[0]].Bytes
			continue
		}
		n += v.Plan.Kernels[s.Kernel].Bytes
	}
	return n
}

// What is assigned to a part of a tensor costs what the part costs.
func TestAssignmentToPartWritesPart(t *testing.T) {
	at := tensor.NewVariable("at", 0, 60)
	cases := []struct {
		name  string
		shape []int // of the value
		index func(i any) []any
		bytes int64 // read and written
	}{
		{"a row", []int{8, 4}, func(i any) []any { return []any{i} }, 2 * 4 * 32},
		{"a column", []int{64, 4}, func(i any) []any { return []any{tensor.All, 3} }, 2 * 4 * 256},
		{"a row of columns", []int{3}, func(i any) []any { return []any{i, tensor.R(2, 5), 1} }, 2 * 4 * 3},
		{"three rows", []int{3, 8, 4}, func(i any) []any { return []any{tensor.S(i, 3)} }, 2 * 4 * 96},
		{"a box", []int{3, 2, 4}, func(i any) []any { return []any{tensor.S(i, 3), tensor.R(5, 7)} }, 2 * 4 * 24},
		{"a number", nil, func(i any) []any { return []any{i, 7, 2} }, 2 * 4},
	}
	onAll(t, func(b *bench) {
		for _, c := range cases {
			state := b.numbers(1, 64, 8, 4).Clone()
			require.NoError(b.t, state.Realize(ctx))
			want := b.values(state)
			f := b.capture(func(in ...*T) []*T {
				state.SetAt(in[0], c.index(at)...)
				return nil
			}, b.numbers(2, c.shape...))
			if !b.isNumbers {
				assert.LessOrEqual(b.t, moved(f.Schedule()), c.bytes, "%s, captured", c.name)
			}
			for i := range 5 {
				v := b.numbers(10+i, c.shape...)
				p := (i * 17) % 61
				reference := b.floats(want, 64, 8, 4).WithAt(v, c.index(p)...)
				want = b.values(reference)
				_, err := f.With(tensor.Values{at: p}).Run(ctx, v)
				require.NoError(b.t, err)
				require.Equal(b.t, want, b.values(state), "%s at %d, captured", c.name, p)
			}
			for i := range 5 {
				v := b.numbers(20+i, c.shape...)
				p := (i * 13) % 61
				var index any = p
				if i%2 == 0 {
					index = at.Bind(p)
				}
				want = b.values(b.floats(want, 64, 8, 4).WithAt(v, c.index(p)...))
				state.SetAt(v, c.index(index)...)
				view, err := state.Schedule()
				require.NoError(b.t, err)
				if !b.isNumbers {
					assert.LessOrEqual(b.t, moved(view), c.bytes, "%s", c.name)
				}
				require.Equal(b.t, want, b.values(state), "%s at %v", c.name, index)
			}
		}
	})
}

// A part may be computed from the old elements, of the part or of others, and what was built before has them.
func TestPartsOfOldElements(t *testing.T) {
	onAll(t, func(b *bench) {
		for _, i := range []int{0, 1, 5} {
			x := b.numbers(3, 6, 5).Clone()
			require.NoError(b.t, x.Realize(ctx))
			old := b.values(x)
			row := func(v []float32, i int) []float32 { return v[5*i : 5*i+5] }
			with := func(f func(j int) float32) []float32 {
				v := append([]float32{}, old...)
				for j := range 5 {
					v[5*i+j] = f(j)
				}
				return v
			}
			sum, double := x.Sum(), x.Mul(2)
			x.SetAt(x.At(i).Add(1), i)
			both := x.Sum().Sub(sum)
			require.NoError(b.t, tensor.Realize(ctx, double, x, both))
			for j, v := range b.values(double) {
				require.Equal(b.t, 2*old[j], v)
			}
			want := with(func(j int) float32 { return row(old, i)[j] + 1 })
			require.Equal(b.t, want, b.values(x))
			require.InDelta(b.t, 5, b.values(both)[0], 1e-4)
			_, err := tensor.Data[float32](ctx, sum.Add(1))
			var stale *engine.StaleError
			require.ErrorAs(b.t, err, &stale)

			old = want
			other := (i + 2) % 6
			x.SetAt(x.At(other), i)
			require.Equal(b.t, with(func(j int) float32 { return row(old, other)[j] }), b.values(x), "another row")
			old = b.values(x)
			x.SetAt(x.Flip(0).At(i), i) // of the whole
			require.Equal(b.t, with(func(j int) float32 { return row(old, 5-i)[j] }), b.values(x), "the mirrored row")
		}
	})
}

// Several parts in one plan are written as if one after the other.
func TestPartsOneAfterAnother(t *testing.T) {
	n := tensor.NewVariable("n", 0, 5)
	onAll(t, func(b *bench) {
		x := b.own(6, 4)
		f := b.capture(func(in ...*T) []*T {
			x.Assign(0)
			x.SetAt(in[0], n)
			x.SetAt(in[0].Mul(2), tensor.All, 1)
			x.SetAt(x.At(n).Add(1), 2)
			return []*T{x.Sum(1)}
		}, b.floats([]float32{1}, 1))
		for i := range 6 {
			outs, err := f.With(tensor.Values{n: i}).Run(ctx, b.floats([]float32{float32(i + 1)}, 1))
			require.NoError(b.t, err)
			v := float32(i + 1)
			want := make([]float32, 24)
			for j := range 4 {
				want[4*i+j] = v
			}
			for r := range 6 {
				want[4*r+1] = 2 * v
			}
			for j := range 4 {
				want[8+j] = want[4*i+j] + 1
			}
			require.Equal(b.t, want, b.values(x), "n = %d", i)
			for r, s := range b.values(outs[0]) {
				require.Equal(b.t, want[4*r]+want[4*r+1]+want[4*r+2]+want[4*r+3], s)
			}
		}
	})
}

// The forms of += compute in place and keep the type.
func TestUpdatingAssignments(t *testing.T) {
	onAll(t, func(b *bench) {
		x := b.floats([]float32{1, 2, 3, 4, 5, 6}, 2, 3).Clone()
		x.AddAssign(1)
		x.MulAssign(b.floats([]float32{1, 2, 3}, 3))
		x.SubAssign(x.MaxKeep(1))
		x.DivAssign(2)
		require.Equal(b.t, []float32{-5, -3, 0, -8, -4.5, 0}, b.values(x))
		for name, f := range map[string]func(){
			"wide":  func() { x.AddAssign(b.floats([]float32{1, 2}, 2, 1, 1)) },
			"types": func() { tensor.Of([]int32{1}).Clone().DivAssign(2) },
		} {
			require.Error(b.t, tensor.Try(f), name)
		}
		y := b.floats([]float32{7, 8}, 2)
		z := y.Mul(2)
		y.Replace(b.floats([]float32{1, 2}, 2))
		require.Equal(b.t, []float32{14, 16}, b.values(z), "what was built on it before")
		require.Equal(b.t, []float32{1, 2}, b.values(y))
		require.Error(b.t, tensor.Try(func() { y.Replace(x) }))
	})
}

// MoveTo takes a tensor to another device.
func TestMoveTo(t *testing.T) {
	x := tensor.Of([]float32{1, 2}).On("INTERP")
	require.NoError(t, x.Realize(ctx))
	require.Same(t, x, x.MoveTo("REF"))
	require.Equal(t, "REF", x.Device())
	x.AddAssign(1)
	v, err := tensor.Data[float32](ctx, x)
	require.NoError(t, err)
	require.Equal(t, []float32{2, 3}, v)
}
