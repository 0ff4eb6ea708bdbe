package engine_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/uop"
)

// assign is t = v in t's own memory.
func assign(t, v *uop.UOp) *uop.UOp {
	b := t
	for b.Op() == uop.Reshape || b.Op() == uop.After {
		b = b.At(0)
	}
	return b.After(b.Store(v.Reshape(b.Shape()...))).Reshape(t.Shape()...)
}

func each(t *testing.T, f func(t *testing.T, e *engine.Engine)) {
	for _, name := range engine.Names() {
		if name == "NULL" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			e, err := engine.Use(name)
			require.NoError(t, err)
			f(t, e)
		})
	}
}

func TestAssign(t *testing.T) {
	ctx := context.Background()
	each(t, func(t *testing.T, e *engine.Engine) {
		x := floats(t, e, []float32{1, 2, 3, 4}, 2, 2)
		old := x.Mul(x) // before the assignment
		next := assign(x, x.Permute(1, 0).Add(x))
		require.NoError(t, e.Realize(ctx, next, old))
		assert.Equal(t, []float32{2, 5, 5, 8}, read(t, e, next))
		assert.Equal(t, []float32{1, 4, 9, 16}, read(t, e, old))

		var stale *engine.StaleError
		require.ErrorAs(t, e.Realize(ctx, x.Neg()), &stale, "x is what it was before")

		next = next.Realized()
		twice := assign(next, assign(next, next.Add(next)).Add(next))
		require.NoError(t, e.Realize(ctx, twice))
		assert.Equal(t, []float32{6, 15, 15, 24}, read(t, e, twice))
	})
}

// What is there says which elements change: the condition reads the array that is written, or another one, and what does not change is not written.
func TestAssignWhere(t *testing.T) {
	ctx := context.Background()
	each(t, func(t *testing.T, e *engine.Engine) {
		half := func(x *uop.UOp) *uop.UOp { return x.Float(0.5) }
		for name, c := range map[string]struct {
			f    func(x, y *uop.UOp) *uop.UOp
			want []float32
		}{
			"of itself":        {func(x, _ *uop.UOp) *uop.UOp { return half(x).Less(x).Where(x.Add(x), x) }, []float32{2, 0.25, 4, -1, 0.5, 6}},
			"a number":         {func(x, _ *uop.UOp) *uop.UOp { return half(x).Less(x).Where(x.Int(7), x) }, []float32{7, 0.25, 7, -1, 0.5, 7}},
			"where it is not":  {func(x, _ *uop.UOp) *uop.UOp { return half(x).Less(x).Where(x, x.Neg()) }, []float32{1, -0.25, 2, 1, -0.5, 3}},
			"of another array": {func(x, y *uop.UOp) *uop.UOp { return y.Less(x).Where(y, x) }, []float32{0, 0, 0, -1, 0, 0}},
			"twice": {func(x, y *uop.UOp) *uop.UOp {
				return y.Less(x).Where(x.Mul(x), half(x).Neg().Less(x).Where(x.Int(9), x))
			}, []float32{1, 0.0625, 4, -1, 0.25, 9}},
			"of others of itself": {func(x, _ *uop.UOp) *uop.UOp { return half(x).Less(x.Flip(1)).Where(x.Int(7), x) }, []float32{7, 0.25, 7, 7, 0.5, 3}},
			"of all of itself": {func(x, _ *uop.UOp) *uop.UOp {
				return half(x).Less(x.Reduce(uop.Sum, 0, 1).Reshape(1, 1).Expand(2, 3)).Where(x.Neg(), x)
			}, []float32{-1, -0.25, -2, 1, -0.5, -3}},
		} {
			x, y := floats(t, e, []float32{1, 0.25, 2, -1, 0.5, 3}, 2, 3), floats(t, e, make([]float32, 6), 2, 3)
			next := assign(x, c.f(x, y))
			require.NoError(t, e.Realize(ctx, next), name)
			assert.Equal(t, c.want, read(t, e, next), name)
		}
	})
}

func TestAssignToView(t *testing.T) {
	ctx := context.Background()
	each(t, func(t *testing.T, e *engine.Engine) {
		x := floats(t, e, []float32{1, 2, 3, 4, 5, 6}, 2, 3)
		b := x.At(0)
		row := b.Reshape(2, 3).Shrink([]int{1, 0}, []int{2, 2})
		y := b.After(row.Store(row.Neg()))
		require.NoError(t, e.Realize(ctx, y))
		assert.Equal(t, []float32{1, 2, 3, -4, -5, 6}, read(t, e, y))
	})
}

func TestCapture(t *testing.T) {
	ctx := context.Background()
	each(t, func(t *testing.T, e *engine.Engine) {
		state := floats(t, e, []float32{0, 0}, 2)
		in := floats(t, e, []float32{1, 2}, 2)
		step, err := e.Capture(ctx, []*uop.UOp{in}, func() ([]*uop.UOp, error) {
			next := assign(state, state.Add(in))
			require.NoError(t, e.Realize(ctx, next))
			require.Error(t, e.Read(ctx, next, make([]byte, 8)), "reading inside Capture")
			return []*uop.UOp{next.Mul(next)}, nil
		})
		if e.Name() == "REF" {
			require.ErrorContains(t, err, "cannot capture")
			return
		}
		require.NoError(t, err)
		assert.Equal(t, []float32{0, 0}, read(t, e, engine.Current(state)), "recording computes nothing")
		compiled := e.Stats().Compiled
		for range 3 {
			out, err := step.Run(ctx, floats(t, e, []float32{10, 20}, 2))
			require.NoError(t, err)
			now := read(t, e, engine.Current(state))
			assert.Equal(t, []float32{now[0] * now[0], now[1] * now[1]}, read(t, e, out[0]))
		}
		assert.Equal(t, []float32{30, 60}, read(t, e, engine.Current(state)))
		assert.Equal(t, compiled, e.Stats().Compiled)
		_, err = step.Run(ctx, floats(t, e, []float32{1}, 1))
		assert.ErrorContains(t, err, "captured with float32 [2]")
		_, err = step.Run(ctx)
		assert.ErrorContains(t, err, "takes 1 inputs")
	})
}

// An assignment that is asked for in several shapes is one assignment.
func TestAssignmentInSeveralShapes(t *testing.T) {
	ctx := context.Background()
	each(t, func(t *testing.T, e *engine.Engine) {
		x := floats(t, e, []float32{1, 2, 3, 4}, 2, 2)
		next := assign(x, x.Add(x))
		flat, row := next.Reshape(4), next.Reshape(1, 4)
		require.NoError(t, e.Realize(ctx, flat, next, row))
		for _, u := range []*uop.UOp{flat, next, row} {
			assert.Equal(t, []float32{2, 4, 6, 8}, read(t, e, u))
			assert.Equal(t, u.Shape(), u.Realized().Shape())
		}

		y := floats(t, e, []float32{1, 2}, 2)
		late := assign(y, y.Add(y))
		require.NoError(t, e.Realize(ctx, late.Reshape(2, 1)))
		require.NoError(t, e.Realize(ctx, late), "after a view of it")
		wide := late.Reshape(1, 2)
		require.NoError(t, e.Realize(ctx, wide), "and another")
		assert.Equal(t, []float32{2, 4}, read(t, e, wide))
		assert.Equal(t, []float32{2, 4}, read(t, e, late))

		again := assign(next.Realized(), next.Realized().Add(flat.Realized().Reshape(2, 2)))
		require.NoError(t, e.Realize(ctx, again))
		assert.Equal(t, []float32{4, 8, 12, 16}, read(t, e, again))
	})
}

// Of two assignments to one buffer that are asked for at once the later one stays, in whatever order they are named, and
// what the first left there is told as gone.
func TestTwoAssignmentsAtOnce(t *testing.T) {
	ctx := context.Background()
	each(t, func(t *testing.T, e *engine.Engine) {
		for _, turned := range []bool{false, true} {
			x := floats(t, e, []float32{1, 2}, 2)
			first := assign(x, x.Add(x))
			second := first.After(first.Store(first.Add(x.Int(1))))
			nodes := []*uop.UOp{first, second}
			if turned {
				nodes = []*uop.UOp{second, first}
			}
			require.NoError(t, e.Realize(ctx, nodes...))
			assert.Equal(t, []float32{3, 5}, read(t, e, second))
			var stale *engine.StaleError
			require.ErrorAs(t, e.Read(ctx, first, make([]byte, 8)), &stale)
		}
	})
}
