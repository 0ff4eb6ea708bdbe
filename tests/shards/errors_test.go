package shards

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/shard"
	"github.com/weft-ml/weft/tensor"
)

// What cannot be computed on an array as it is cut says which operation and which cut, and nothing else happens.
func TestCannotBeCut(t *testing.T) {
	devices := on(t, "INTERP", 2)
	x := tensor.Arange(24).To(dtype.F32).Reshape(4, 6)
	index := tensor.Of([]int32{1, 0, 3, 2}, 4)
	require.NoError(t, tensor.Realize(ctx, x, index))
	rows, columns := x.Shard(devices, 0), x.Shard(devices, 1)
	for name, c := range map[string]struct {
		result *T
		op     string
		axis   int
		says   string
	}{
		"slice":          {rows.Narrow(0, 1, 2), "shrink", 0, "elements 1 to 2 of it are no equal part of each device's"},
		"row":            {rows.At(3), "shrink", 0, "elements 3 to 3"},
		"pad":            {columns.Pad([]int{0, 0}, []int{0, 1}), "pad", 1, "cannot grow there by 0 before and 1 after"},
		"flip":           {rows.Flip(0), "flip", 0, "cannot be reversed there"},
		"two cuts":       {rows.Add(columns), "add", 1, "and that of another operand is cut along axis 0"},
		"inner axis":     {columns.Reshape(24), "reshape to 24", 1, "is not the outermost of the axes that become one"},
		"no equal parts": {rows.Reshape(3, 8), "reshape to 3 8", 0, "what it becomes has no equal parts"},
		"running sum":    {rows.CumSum(0), "scan", 0, "each element of it needs all before"},
		"windows":        {columns.Unfold(1, 3, 1), "slide", 1, "windows over it reach from one device to the next"},
		"lookup":         {rows.At(index.Shard(devices, 0)), "gather", 0, "the indices are cut too"},
		"cat":            {tensor.Cat(0, rows, rows), "pad", 0, "cat of [4 6]: axis 0 is cut over INTERP:0, INTERP:1, and cannot grow there"},
		"sort":           {first(rows.Sort(0, false)), "argsort", 1, "sort of [6 4]: axis 1 is cut"},
		"largest":        {first(columns.TopK(2, 1, true)), "argsort", 1, "topK of [4 6]: axis 1 is cut"},
		"median":         {first(rows.Median(0)), "scan", 1, "median of [6 4]: axis 1 is cut"},
	} {
		t.Run(name, func(t *testing.T) {
			_, early := c.result.CutAxis()
			err := c.result.Realize(ctx)
			require.Equal(t, early, err)
			var cut *shard.CutError
			require.ErrorAs(t, err, &cut)
			require.Equal(t, c.op, cut.Op)
			require.Equal(t, c.axis, cut.Axis)
			require.ErrorContains(t, err, c.says)
			require.ErrorContains(t, err, "is cut over INTERP:0, INTERP:1")
		})
	}
	near(t, list(t, x.Flip(0)), list(t, rows.Shard(devices, tensor.Replicated).Flip(0)), 0) // the remedy
}

func first(t, _ *T) *T { return t }

// Arguments that make no sense say so where they are given.
func TestWrongArguments(t *testing.T) {
	devices := on(t, "INTERP", 2)
	x := tensor.Ones(4, 5)
	require.NoError(t, x.Realize(ctx))
	for says, f := range map[string]func(){
		"axis 1 has 5 elements, which 2 devices cannot have equal parts of": func() { x.Shard(devices, 1) },
		"axis 2 is outside rank 2":             func() { x.Shard(devices, 2) },
		"no devices are named":                 func() { x.Shard(nil, 0) },
		"device INTERP is named twice":         func() { x.Shard([]string{"INTERP", "interp:0"}, 0) },
		"of different kinds":                   func() { x.Shard([]string{"INTERP:0", "REF:0"}, 0) },
		"unknown device \"NONE:1\"":            func() { x.Shard([]string{"INTERP:0", "NONE:1"}, 0) },
		"\"INTERP:64\": a number from 0 to 63": func() { x.On("INTERP:64") },
		"a number from 0 to 63 belongs":        func() { x.On("INTERP:x") },
		"\"INTERP:-1\": a number":              func() { x.On("INTERP:-1") },
		"INTERP:0+INTERP:1 and INTERP meet":    func() { x.Shard(devices, 0).Add(x.On("INTERP")) },
		"a constant, which lies on no device":  func() { x.ShardLike(tensor.Ones(3)) },
		"are several devices; name each":       func() { x.Shard([]string{x.Shard(devices, 0).Device(), "INTERP:2"}, 0) },
	} {
		require.ErrorContains(t, tensor.Try(f), says)
	}
	require.Error(t, x.Shard(devices, 0).Borrow(ctx, nil))
}

// Where an array lies is known before it is computed: an assigned one as it was, and none where a condition on its values cannot be computed.
func TestCutAxisBefore(t *testing.T) {
	devices := on(t, "INTERP", 2)
	x := tensor.Zeros(4, 6).Own().ShardTo(devices, 1).Own()
	y, whole := tensor.Randn(4, 6).Shard(devices, 0), tensor.Randn(4, 6).Shard(devices, tensor.Replicated)
	systems, sides := tensor.Randn(2, 2, 2).Add(3), tensor.Randn(2, 2, 1)
	require.NoError(t, tensor.Realize(ctx, x, y, whole, systems, sides))
	for _, v := range []*T{y, whole, whole.Mul(2)} {
		x.Assign(v)
		before, err := x.CutAxis()
		require.NoError(t, err)
		require.NoError(t, x.Realize(ctx))
		after, err := x.CutAxis()
		require.NoError(t, err)
		require.Equal(t, 1, after)
		require.Equal(t, after, before)
	}
	solved := systems.Shard(devices, 2).SolveTriangular(sides.Shard(devices, tensor.Replicated), false, false)
	_, before := solved.CutAxis()
	err := solved.Realize(ctx)
	require.Error(t, err)
	require.Equal(t, err, before)
}

// Devices that are told apart by number, or belong to several, keep their names and stay what they are.
func TestDevicesStay(t *testing.T) {
	devices := on(t, "INTERP", 2)
	x := tensor.Ones(4).Own()
	require.NoError(t, x.Realize(ctx))
	both := x.Shard(devices, 0).Engine()
	require.Equal(t, "INTERP:0+INTERP:1", both.Name())
	second, err := engine.Use(devices[1])
	require.NoError(t, err)
	require.Equal(t, devices[1], second.Name())
	first, err := engine.Use(devices[0])
	require.NoError(t, err)
	for _, e := range []*engine.Engine{both, first, second} {
		name := e.Name()
		require.ErrorContains(t, e.Move(ctx, "NULL"), "move arrays with On")
		require.Equal(t, name, e.Name())
	}
	near(t, []float64{4}, list(t, x.Shard(devices, 0).Sum()), 0)
}
