package schedule_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/ref"
	"github.com/weft-ml/weft/schedule"
	"github.com/weft-ml/weft/schedule/evaluate"
	"github.com/weft-ml/weft/uop"
)

// world builds graphs over random inputs.
type world struct {
	t      *uop.Table
	inputs []schedule.Input
	values [][]uop.Value
	rng    *rand.Rand
}

func newWorld(seed uint64) *world {
	return &world{t: uop.NewArena(), rng: rand.New(rand.NewPCG(seed, 1))}
}

func (w *world) input(d dtype.DType, shape ...int) *uop.UOp {
	n := uop.Shape(shape).Numel()
	v := make([]uop.Value, n)
	for i := range v {
		if d.IsFloat() {
			v[i] = uop.FloatValue(d, math.Round(w.rng.NormFloat64()*8)/4)
		} else {
			v[i] = uop.IntValue(d, int64(w.rng.IntN(7)))
		}
	}
	w.inputs = append(w.inputs, schedule.Input{DType: d, N: n})
	w.values = append(w.values, v)
	return w.t.Param(len(w.inputs)-1, n, d).Reshape(shape...)
}

// checker evaluates the graphs of the tests of this package after each phase.
var checker = evaluate.New()

// check schedules the roots, plays the schedule, and compares with the reference evaluator.
func (w *world) check(t *testing.T, roots ...*uop.UOp) *schedule.Result {
	t.Helper()
	g := &schedule.Graph{Table: w.t, Inputs: w.inputs}
	for _, r := range roots {
		g.Roots = append(g.Roots, schedule.Root{Value: r, Dest: -1})
	}
	return w.checkGraph(t, g, schedule.Config{})
}

func (w *world) checkGraph(t *testing.T, g *schedule.Graph, c schedule.Config) *schedule.Result {
	t.Helper()
	r, err := checker.Schedule(g, c)
	require.NoError(t, err)
	got := play(t, g, r, w.values)
	var roots []*uop.UOp
	for _, x := range g.Roots {
		roots = append(roots, x.Value)
	}
	want := ref.Eval(func(leaf *uop.UOp) []uop.Value { return w.values[leaf.Arg().(uop.ParamArg).Slot] }, roots...)
	for i := range want {
		require.Len(t, got[i], len(want[i]))
		for j := range want[i] {
			if roots[i].DType().IsFloat() {
				a, b := got[i][j].Float(), want[i][j].Float()
				require.True(t, a == b || math.Abs(a-b) <= 1e-4*(1+math.Abs(b)) || a != a && b != b, "root %d element %d: got %v, want %v\n%v", i, j, a, b, r)
			} else {
				require.Equal(t, want[i][j], got[i][j], "root %d element %d\n%v", i, j, r)
			}
		}
	}
	return r
}

func (w *world) softmax(x *uop.UOp) *uop.UOp {
	s := x.Shape()
	row := []int{s[0], 1}
	e := x.Sub(x.Reduce(uop.MaxOf, 1).Reshape(row...).Expand(s...)).Exp2()
	return e.Div(e.Reduce(uop.Sum, 1).Reshape(row...).Expand(s...))
}

func TestKernelCounts(t *testing.T) {
	t.Run("chain", func(t *testing.T) {
		w := newWorld(1)
		x := w.input(dtype.F32, 4, 8)
		y := x
		for range 9 {
			y = y.Mul(y).Add(x).Neg()
		}
		assert.Len(t, w.check(t, y).Steps, 1)
	})
	t.Run("softmax", func(t *testing.T) {
		w := newWorld(2)
		assert.Len(t, w.check(t, w.softmax(w.input(dtype.F32, 16, 8))).Steps, 1)
	})
	t.Run("matmul with epilogue", func(t *testing.T) {
		w := newWorld(3)
		a, b, c := w.input(dtype.F32, 12, 10), w.input(dtype.F32, 10, 14), w.input(dtype.F32, 14)
		y := w.matmul(a, b).Add(c.Reshape(1, 14).Expand(12, 14))
		assert.Len(t, w.check(t, y.Max(y.Int(0))).Steps, 1)
	})
	t.Run("two products", func(t *testing.T) {
		w := newWorld(4)
		a, b, c := w.input(dtype.F32, 40, 50), w.input(dtype.F32, 50, 60), w.input(dtype.F32, 60, 30)
		assert.Len(t, w.check(t, w.matmul(w.matmul(a, b), c)).Steps, 2)
	})
	t.Run("arange", func(t *testing.T) {
		w := newWorld(5)
		assert.Len(t, w.check(t, w.t.Iota(10).Cast(dtype.I32)).Steps, 1)
	})
	t.Run("gather", func(t *testing.T) {
		w := newWorld(6)
		x, i := w.input(dtype.F32, 5, 3), w.input(dtype.I32, 4, 1)
		assert.Len(t, w.check(t, x.Gather(i.Expand(4, 3), 0)).Steps, 1)
	})
	t.Run("embedding gradient", func(t *testing.T) {
		w := newWorld(7)
		g, i := w.input(dtype.F32, 9, 3), w.input(dtype.I32, 9, 1)
		zero := w.t.Int(dtype.F32, 0).Reshape(1, 1).Expand(5, 3)
		assert.LessOrEqual(t, len(w.check(t, zero.Scatter(i.Expand(9, 3), g, 0, uop.Sum)).Steps), 2)
	})
	t.Run("sibling sums", func(t *testing.T) {
		w := newWorld(9)
		x := w.input(dtype.F32, 6, 20)
		assert.Len(t, w.check(t, x.Reduce(uop.Sum, 1), x.Mul(x).Reduce(uop.Sum, 1)).Steps, 1)
	})
	t.Run("one-hot product", func(t *testing.T) {
		w := newWorld(8)
		x, i := w.input(dtype.F32, 5, 3), w.input(dtype.I32, 4)
		hot := i.Reshape(4, 1, 1).Expand(4, 5, 3).Equal(w.t.Iota(5).Cast(dtype.I32).Reshape(1, 5, 1).Expand(4, 5, 3))
		xs := x.Reshape(1, 5, 3).Expand(4, 5, 3)
		r := w.check(t, hot.Where(xs, xs.Int(0)).Reduce(uop.Sum, 1))
		require.Len(t, r.Steps, 1)
		for _, u := range uop.Topo(r.Steps[0].Spec.Outs[0].Value) {
			assert.NotEqual(t, uop.Reduce, u.Op(), "the sum is folded")
		}
	})
}

func (w *world) matmul(a, b *uop.UOp) *uop.UOp {
	m, k, n := a.Shape()[0], a.Shape()[1], b.Shape()[1]
	return a.Reshape(m, 1, k).Expand(m, n, k).Mul(b.Permute(1, 0).Reshape(1, n, k).Expand(m, n, k)).Reduce(uop.Sum, 2)
}

func TestAssignInPlace(t *testing.T) {
	dest := func(w *world, value *uop.UOp, slot int, more ...schedule.Root) *schedule.Result {
		g := &schedule.Graph{Table: w.t, Inputs: w.inputs, Roots: append([]schedule.Root{{Value: value, Dest: slot}}, more...)}
		return w.checkGraph(t, g, schedule.Config{})
	}
	t.Run("same element", func(t *testing.T) {
		w := newWorld(1)
		x := w.input(dtype.F32, 3, 4)
		r := dest(w, x.Add(x), 0)
		require.Len(t, r.Steps, 1)
		assert.Len(t, r.Steps[0].Bufs, 1, "read and written as one parameter")
	})
	t.Run("another element", func(t *testing.T) {
		w := newWorld(2)
		x := w.input(dtype.F32, 4, 4)
		assert.Len(t, dest(w, x.Permute(1, 0).Add(x), 0).Steps, 2, "through a buffer of its own")
	})
	t.Run("readers go first", func(t *testing.T) {
		w := newWorld(3)
		x := w.input(dtype.F32, 6, 4)
		old := x.Reduce(uop.Sum, 0)
		r := dest(w, x.Mul(x), 0, schedule.Root{Value: old, Dest: -1})
		assert.Len(t, r.Steps, 2)
	})
	t.Run("old and new are both needed", func(t *testing.T) {
		w := newWorld(4)
		x := w.input(dtype.F32, 4, 4)
		next := x.Mul(x)
		r := dest(w, next, 0, schedule.Root{Value: w.matmul(next, x), Dest: -1})
		assert.GreaterOrEqual(t, len(r.Steps), 2)
	})
	t.Run("swap", func(t *testing.T) {
		w := newWorld(5)
		x, y := w.input(dtype.F32, 4), w.input(dtype.F32, 4)
		dest(w, y.Neg(), 0, schedule.Root{Value: x.Neg(), Dest: 1})
	})
	t.Run("optimiser step is one kernel", func(t *testing.T) {
		w := newWorld(6)
		p, m, v, g := w.input(dtype.F32, 8), w.input(dtype.F32, 8), w.input(dtype.F32, 8), w.input(dtype.F32, 8)
		m2 := m.Mul(m.Float(0.5)).Add(g)
		v2 := v.Mul(v.Float(0.5)).Add(g.Mul(g))
		r := dest(w, p.Sub(m2.Div(v2.Add(v2.Int(1)))), 0, schedule.Root{Value: m2, Dest: 1}, schedule.Root{Value: v2, Dest: 2})
		assert.Len(t, r.Steps, 1)
	})
}

func TestWindows(t *testing.T) {
	w := newWorld(1)
	x := w.input(dtype.F32, 2, 9)
	// windows of 3 with padding 1, stride 1: out[b, i, k] = x[b, i + k − 1]
	win := x.Reshape(2, 9, 1).Expand(2, 9, 3).Slide(1, 2, 1, -1, 9)
	w.check(t, win.Reduce(uop.Sum, 2), win.Reduce(uop.MaxOf, 2), win.Slide(1, 2, -1, 1, 9).Reduce(uop.Sum, 2))
	w.check(t, x.Pad([]int{1, 0}, []int{0, 2}).Exp2().Flip(1).Shrink([]int{0, 1}, []int{3, 10}))
	w.check(t, x.Reshape(3, 6).Permute(1, 0).Reshape(2, 9).Add(x))
}

func TestSizesZeroAndOne(t *testing.T) {
	w := newWorld(1)
	x := w.input(dtype.F32, 3, 0)
	w.check(t, x.Reduce(uop.Sum, 1), x.Reduce(uop.MaxOf, 1), x.Neg(), x.Pad([]int{0, 1}, []int{0, 1}))
	y := w.input(dtype.F32, 1, 1)
	w.check(t, y.Reduce(uop.Sum, 0, 1), y.Expand(4, 5).Reduce(uop.Prod, 1), w.softmax(y))
	p := w.t.ReduceParts(uop.ArgMax, []int{1}, y, w.t.Iota(1).Cast(dtype.I32).Reshape(1, 1))
	w.check(t, p.Part(0), p.Part(1))
}

// What is looked up at seven places of a small array and read by the windows of a sum is stored: looking up takes more than the bytes that it loads.
func TestLookedUpOnce(t *testing.T) {
	w := newWorld(1)
	x, index := w.input(dtype.F32, 8, 8), w.input(dtype.I32, 64, 1)
	at := func(i int) *uop.UOp { return x.Gather(index.Add(index.Int(i)).Expand(64, 8), 0) }
	rows := at(0).Add(at(1)).Add(at(2)).Add(at(3)).Add(at(4)).Add(at(5)).Add(at(6)).Reshape(64, 1, 8).Expand(64, 9, 8).Slide(0, 1, 1, -4, 64)
	y := rows.Reshape(64, 9, 8, 1).Expand(64, 9, 8, 16).Mul(w.input(dtype.F32, 9, 8, 16).Reshape(1, 9, 8, 16).Expand(64, 9, 8, 16)).Reduce(uop.Sum, 1, 2)
	assert.Len(t, w.check(t, y).Steps, 2)
}

// Rows of elements that lie apart are stored where a sum reads each of them often; rows of heads, whose elements are neighbours, are not.
func TestNeighboursThatLieApart(t *testing.T) {
	w := newWorld(1)
	weights := w.input(dtype.F32, 9, 8, 16)
	product := func(x *uop.UOp) *uop.UOp { // of windows of 9 rows
		rows := x.Reshape(64, 1, 8).Expand(64, 9, 8).Slide(0, 1, 1, -4, 64)
		return rows.Reshape(64, 9, 8, 1).Expand(64, 9, 8, 16).Mul(weights.Reshape(1, 9, 8, 16).Expand(64, 9, 8, 16)).Reduce(uop.Sum, 1, 2)
	}
	pixels := w.input(dtype.F32, 2, 64, 4).Permute(1, 2, 0).Reshape(64, 8)
	assert.Len(t, w.check(t, product(pixels)).Steps, 2)
	repeated := w.input(dtype.F32, 64, 4).Reshape(64, 4, 1).Expand(64, 4, 2).Reshape(64, 8)
	assert.Len(t, w.check(t, product(repeated)).Steps, 2)
	assert.Len(t, w.check(t, product(repeated.Add(repeated.Int(1)))).Steps, 1+1)
	heads := w.input(dtype.F32, 2, 64, 16).Permute(1, 0, 2).Reshape(64, 32).Shrink([]int{0, 0}, []int{64, 8})
	assert.Len(t, w.check(t, product(heads)).Steps, 1)
}

// Of a product that is cropped what is left is computed, in the kernel that needs it.
func TestCroppedProduct(t *testing.T) {
	w := newWorld(1)
	x, y := w.input(dtype.F32, 16, 1, 24), w.input(dtype.F32, 1, 20, 24)
	product := x.Expand(16, 20, 24).Mul(y.Expand(16, 20, 24)).Reduce(uop.Sum, 2)
	r := w.check(t, product.Shrink([]int{2, 3}, []int{14, 19}).Neg().Exp2())
	assert.Len(t, r.Steps, 1)
}

func TestLargeReductionIsSplit(t *testing.T) {
	w := newWorld(1)
	for _, n := range []int{1 << 16, 65537} {
		r := w.check(t, w.input(dtype.F32, n).Reduce(uop.Sum, 0))
		assert.Len(t, r.Steps, 2)
	}
}

func TestDuplicateAndPlainRoots(t *testing.T) {
	w := newWorld(1)
	x := w.input(dtype.F32, 3, 4)
	y := x.Neg()
	w.check(t, y, y, x, x.Reshape(4, 3), x.Permute(1, 0), w.t.Int(dtype.F32, 7).Reshape(1).Expand(5))
}

// Of a narrow number in a wider type the narrow one is stored.
func TestNarrowNumbersAreStored(t *testing.T) {
	t.Parallel()
	w := newWorld(11)
	x, y := w.input(dtype.F32, 16, 16), w.input(dtype.BF16, 16, 16)
	weights := x.Exp2().Cast(dtype.BF16).Cast(dtype.F32).Reshape(16, 16, 1).Expand(16, 16, 16)
	r := w.check(t, weights.Mul(y.Cast(dtype.F32).Reshape(1, 16, 16).Expand(16, 16, 16)).Reduce(uop.Sum, 1))
	var stored []string
	for _, d := range r.Reasons {
		if d.Stored {
			stored = append(stored, d.Node)
		}
	}
	assert.Contains(t, stored, "cast.bf16[16 16]")
	assert.NotContains(t, stored, "cast.f32[16 16]")
}
