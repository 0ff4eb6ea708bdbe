package schedule_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/schedule"
	"github.com/weft-ml/weft/schedule/evaluate"
	"github.com/weft-ml/weft/uop"
)

// unmasked drops what is chosen where a condition does not hold.
func unmasked(u *uop.UOp) *uop.UOp {
	if u.Op() == uop.Where && u.At(2).IsConst(0) {
		return u.At(1)
	}
	return u
}

// ungated drops the gates of loads.
func ungated(u *uop.UOp) *uop.UOp {
	if u.Op() == uop.Load {
		return u.Home().Load(u.At(0), u.Home().True(), u.Src()[2:]...)
	}
	return u
}

// A phase that changes a value, loses a mask, a gate or a kernel, or mixes up an order, is caught right after it, by name.
func TestDamagedPhasesAreCaught(t *testing.T) {
	padded := func(w *world) []*uop.UOp {
		x := w.input(dtype.F32, 3, 4)
		return []*uop.UOp{x.Add(x.Int(1)).Pad([]int{1, 0}, []int{0, 2}).Mul(x.Int(3))}
	}
	for name, c := range map[string]struct {
		phase  schedule.Phase
		roots  func(w *world) []*uop.UOp
		damage func(d schedule.Damaged)
		why    string
	}{
		"a flip too many": {schedule.Merge, func(w *world) []*uop.UOp { return []*uop.UOp{w.input(dtype.F32, 5).Exp2()} },
			func(d schedule.Damaged) {
				d.Values(func(u *uop.UOp) *uop.UOp {
					if u.Op() == uop.Exp2 {
						return u.Flip(0)
					}
					return u
				})
			}, "root 0, now"},
		"a sum of too much": {schedule.Split, func(w *world) []*uop.UOp { return []*uop.UOp{w.input(dtype.I32, 2, 5).Reduce(uop.Sum, 1)} },
			func(d schedule.Damaged) {
				d.Values(func(u *uop.UOp) *uop.UOp {
					if u.Op() == uop.Reduce {
						return u.Add(u.Int(1))
					}
					return u
				})
			}, "root 0, now"},
		"a mask is dropped": {schedule.Lower, padded, func(d schedule.Damaged) { d.Kernels(unmasked) }, "p0[4 6], which is to hold"},
		"a gate is dropped": {schedule.Lower, func(w *world) []*uop.UOp {
			return []*uop.UOp{w.input(dtype.F32, 3).Pad([]int{1}, []int{1}).Neg()}
		}, func(d schedule.Damaged) { d.Kernels(ungated) }, "is outside of 3 elements"},
		"an array is read transposed": {schedule.Lower, func(w *world) []*uop.UOp {
			return []*uop.UOp{w.input(dtype.F32, 3, 4).Permute(1, 0).Neg()}
		}, func(d schedule.Damaged) { d.Transpose() }, "outside of"},
		"a mask is dropped when kernels are joined": {schedule.Group, func(w *world) []*uop.UOp {
			x := w.input(dtype.F32, 6)
			y := x.Exp2().Contiguous()
			return []*uop.UOp{y, y.Shrink([]int{0}, []int{3}).Pad([]int{0}, []int{3}).Add(y.Int(2))}
		}, func(d schedule.Damaged) { d.Kernels(unmasked) }, "which is to hold"},
		"a kernel runs before what it reads": {schedule.Order, func(w *world) []*uop.UOp {
			x := w.input(dtype.F32, 6)
			return []*uop.UOp{x.Add(x.Int(1)).Contiguous().Flip(0).Mul(x).Contiguous().Flip(0).Neg()}
		}, func(d schedule.Damaged) { d.Reverse() }, "all steps in their order: root 0"},
		"a kernel is lost": {schedule.Number, padded, func(d schedule.Damaged) { d.Forget() }, "all steps in their order: root 0"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(1)
			g := &schedule.Graph{Table: w.t}
			for _, r := range c.roots(w) {
				g.Roots = append(g.Roots, schedule.Root{Value: r, Dest: -1})
			}
			g.Inputs = w.inputs
			check := evaluate.New()
			_, err := schedule.Checked(g, schedule.Config{}, schedule.Damage(check.Graph, c.phase, c.damage))
			require.ErrorContains(t, err, `schedule: after "`+c.phase.String()+`"`)
			require.ErrorContains(t, err, c.why)
			_, err = check.Schedule(g, schedule.Config{})
			require.NoError(t, err)
		})
	}
}

// An assignment that reads elsewhere than it writes may not be done in place.
func TestDamagedAssignmentIsCaught(t *testing.T) {
	w := newWorld(1)
	x := w.input(dtype.F32, 6)
	g := &schedule.Graph{Table: w.t, Inputs: w.inputs, Roots: []schedule.Root{{Value: x.Flip(0).Add(x.Int(1)), Dest: 0}}}
	check := evaluate.New()
	_, err := schedule.Checked(g, schedule.Config{}, schedule.Damage(check.Graph, schedule.Order, func(d schedule.Damaged) { d.InPlace() }))
	require.ErrorContains(t, err, `schedule: after "order": memory of small numbers: all steps in their order: root 0`)
	_, err = check.Schedule(g, schedule.Config{})
	require.NoError(t, err)
}

// What rounding leaves open is little: of random graphs nearly all elements are compared, and graphs that are too large are
// passed over.
func TestCheckerCompares(t *testing.T) {
	check := evaluate.New()
	for seed := range uint64(40) {
		w := newWorld(seed)
		g := &schedule.Graph{Table: w.t}
		for _, r := range append(grow(w, 24), w.softmax(w.input(dtype.F32, 3, 7))) {
			g.Roots = append(g.Roots, schedule.Root{Value: r, Dest: -1})
		}
		g.Inputs = w.inputs
		_, err := check.Schedule(g, schedule.Config{StoreAll: seed%2 == 0})
		require.NoError(t, err)
	}
	t.Logf("%d graphs, %d stages, %d kernels, %d elements compared, %d unsure, %d too large", check.Graphs.Load(), check.Stages.Load(),
		check.Kernels.Load(), check.Compared.Load(), check.Unsure.Load(), check.TooLarge.Load())
	assert.Equal(t, int64(40*17), check.Stages.Load())
	assert.Greater(t, check.Compared.Load(), int64(10_000))
	assert.Less(t, check.Unsure.Load()*20, check.Compared.Load())
	w := newWorld(1)
	g := &schedule.Graph{Table: w.t, Roots: []schedule.Root{{Value: w.input(dtype.F32, 1000, 1000).Neg(), Dest: -1}}, Inputs: w.inputs}
	large := evaluate.New()
	_, err := large.Schedule(g, schedule.Config{})
	require.NoError(t, err)
	assert.Equal(t, []int64{1, 0}, []int64{large.TooLarge.Load(), large.Stages.Load()})
}

// A scan that is padded along an axis of one element is stored: nothing in it may look at what is beside the array.
func TestCheckerOfPaddedScans(t *testing.T) {
	for _, shape := range [][]int{{1, 1, 2}, {3, 1, 2}, {1, 3, 1}} {
		for axis := range shape {
			for pad := range shape {
				w := newWorld(1)
				lo, hi := make([]int, 3), make([]int, 3)
				lo[pad], hi[pad] = 1, 2
				x := w.input(dtype.F32, shape...).Scan(uop.MaxOf, axis).Pad(lo, hi)
				g := &schedule.Graph{Table: w.t, Inputs: w.inputs, Roots: []schedule.Root{{Value: x, Dest: -1}}}
				_, err := evaluate.New().Schedule(g, schedule.Config{})
				require.NoError(t, err, "%v along %d, padded along %d", shape, axis, pad)
			}
		}
	}
}
