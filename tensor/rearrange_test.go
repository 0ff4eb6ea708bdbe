package tensor_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
)

type axisSizes = map[string]int

// stepped is 0, 1, … in a shape.
func stepped(shape ...int) *tensor.Tensor {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return tensor.Arange(n).Reshape(shape...)
}

// Formulas give what the moves give that they stand for.
func TestRearrange(t *testing.T) {
	x := stepped(2, 3, 4, 5)
	for _, c := range []struct {
		formula string
		sizes   axisSizes
		want    *tensor.Tensor
	}{
		{"a b c d -> d c b a", nil, x.Permute(3, 2, 1, 0)},
		{"a b c d->(a b)(c d)", nil, x.Reshape(6, 20)},
		{"a b c d -> (b a) c d", nil, x.Permute(1, 0, 2, 3).Reshape(6, 4, 5)},
		{"a b (c e) d -> a (b e) c d", axisSizes{"e": 2}, x.Reshape(2, 3, 2, 2, 5).Permute(0, 1, 3, 2, 4).Reshape(2, 6, 2, 5)},
		{"a b (c e) d -> e a b c d", axisSizes{"c": 4}, x.Reshape(2, 3, 4, 1, 5).Permute(3, 0, 1, 2, 4)},
		{"... d -> d ...", nil, x.Permute(3, 0, 1, 2)},
		{"a ... d -> (... d) a", nil, x.Permute(1, 2, 3, 0).Reshape(60, 2)},
		{"a ... -> a (...)", nil, x.Reshape(2, 60)},
		{"a b c d -> a 1 b (c d) ()", nil, x.Reshape(2, 1, 3, 20, 1)},
		{"a b c d ... -> ... (a b c d)", nil, x.Flatten()},
		{"long_name B c D1 -> D1 long_name (c B)", nil, x.Permute(3, 0, 2, 1).Reshape(5, 2, 12)},
	} {
		y := x.Rearrange(c.formula, c.sizes)
		require.Equal(t, c.want.Shape(), y.Shape(), c.formula)
		same(t, values(t, c.want), y, c.formula)
	}
	same(t, []float64{7}, tensor.Scalar(7).Rearrange("->", nil))
	require.Equal(t, []int{3}, tensor.Zeros(1, 3, 1).Rearrange("1 a () -> a", nil).Shape())
	require.Equal(t, []int{0, 5}, tensor.Zeros(5, 0).Rearrange("a b -> b a", nil).Shape())
	near(t, []float64{0, 3, 6, 9, 12, 15}, f32(0, 1, 2, 3, 4, 5).Rearrange("(a b) -> b a", axisSizes{"a": 2}).
		Rearrange("b a -> (a b)", nil).Mul(3), 0)
}

func TestEinRepeat(t *testing.T) {
	x := stepped(2, 3)
	for _, c := range []struct {
		formula string
		sizes   axisSizes
		want    *tensor.Tensor
	}{
		{"h w -> h w c", axisSizes{"c": 2}, x.Unsqueeze(2).Expand(2, 3, 2)},
		{"h w -> (2 h) w", nil, x.Repeat(2, 1)},
		{"h w -> (h 2) (w 3)", nil, x.RepeatInterleave(2, 0).RepeatInterleave(3, 1)},
		{"h w -> h (c w)", axisSizes{"c": 3}, x.Repeat(1, 3)},
		{"... -> n ...", axisSizes{"n": 0}, x.Unsqueeze(0).Expand(0, 2, 3)},
		{"h w -> w h", nil, x.T()},
	} {
		y := x.EinRepeat(c.formula, c.sizes)
		require.Equal(t, c.want.Shape(), y.Shape(), c.formula)
		same(t, values(t, c.want), y, c.formula)
	}
}

func TestEinReduce(t *testing.T) {
	x := stepped(1, 2, 4, 6).To(dtype.F32)
	pool := x.EinReduce("b c (h 2) (w 2) -> b c h w", (*tensor.Tensor).Max, nil)
	same(t, values(t, x.MaxPool2D(2)), pool)
	require.Equal(t, []int{1, 2, 2, 3}, pool.Shape())
	same(t, values(t, x.Mean(2, 3)), x.EinReduce("b c h w -> b c", (*tensor.Tensor).Mean, nil))
	same(t, values(t, x.SumKeep(2, 3).Permute(1, 0, 2, 3)), x.EinReduce("b c h w -> c b 1 1", (*tensor.Tensor).Sum, nil))
	same(t, values(t, x.Sum()), x.EinReduce("... ->", (*tensor.Tensor).Sum, nil))
	same(t, values(t, x.Min(0)), x.EinReduce("b ... -> ...", (*tensor.Tensor).Min, nil))
	same(t, values(t, x), x.EinReduce("a b c d -> a b c d", (*tensor.Tensor).Sum, nil))
}

// What is wrong with a formula is said with the place of the character.
func TestFormulaErrors(t *testing.T) {
	x := stepped(2, 3)
	for _, c := range []struct {
		formula string
		sizes   axisSizes
		want    string
	}{
		{"h w", nil, `"h w" has no ->`},
		{"h -> w -> h", nil, "character 8: a second ->"},
		{"h w -> (h w", nil, "character 8: a parenthesis that is not closed"},
		{"h w -> h w)", nil, "character 11: a parenthesis that was not opened"},
		{"h w -> ((h) w)", nil, "character 9: a parenthesis in parentheses"},
		{"h h -> h", nil, "character 3: axis h is named twice"},
		{"h w -> h w c", nil, "character 12: axis c stands on the right alone"},
		{"h w -> h", nil, "character 3: axis w stands on the left alone"},
		{"h w -> h w .. ", nil, "character 12: a dot"},
		{"... ... -> ...", nil, "character 5: a second ..."},
		{"(... h) -> h", nil, "character 2: ... in parentheses on the left"},
		{"h w -> h w ...", nil, "character 12: ... stands on the right alone"},
		{"h, w -> h w", nil, "character 2: ',' is no part of a formula"},
		{"h 0 -> h", nil, `character 3: "0" is neither a name nor a size`},
		{"h 99999999999999999999 -> h", nil, "neither a name nor a size"},
		{"(a b) w -> a b w", nil, "character 4: the sizes of a and b are not given"},
		{"(a b) w -> a b w", axisSizes{"a": 4}, "axis 0 of size 2 does not divide by 4"},
		{"(a b) w -> a b w", axisSizes{"a": 0}, "axis 0 of size 2 does not divide by 0"},
		{"h w -> w h", axisSizes{"h": 5}, "axis 0 of size 2 is not 5"},
		{"h w -> w h", axisSizes{"z": 5}, `has no axis "z"`},
		{"h w -> w h", axisSizes{"h": -5}, "size -5 of axis h"},
		{"h w c -> w h c", nil, "names 3 axes on the left"},
		{"h w c ... -> w h c ...", nil, "names 3 axes on the left"},
		{"h 3 -> h", nil, "axis of size 3 stands on the left alone"},
		{strings.Repeat("a", 5000), nil, "a formula of 5000 characters"},
		{"h w -> \xff", nil, "character 8"},
	} {
		err := tensor.Try(func() { x.Rearrange(c.formula, c.sizes) })
		require.ErrorContains(t, err, c.want, c.formula)
		require.ErrorContains(t, err, "rearrange_test.go", c.formula)
	}
	require.ErrorContains(t, tensor.Try(func() { x.EinRepeat("h w -> h w c", nil) }), "the size of c is not given")
	require.ErrorContains(t, tensor.Try(func() { x.EinReduce("h w -> h", nil, nil) }), "no reduction")
	require.Error(t, tensor.Try(func() { x.EinRepeat("h w -> h w a b c", axisSizes{"a": 1 << 40, "b": 1 << 40, "c": 1 << 40}) }))
}

// A recurrence whose steps are stacked along an inner axis is computed once, not anew for each element.
func TestStackOfManySteps(t *testing.T) {
	e, err := engine.Open("NULL", engine.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close()) }()
	const rows, steps = 8, 100
	input, err := e.FromBytes(dtype.F32, []int{rows, steps}, make([]byte, 4*rows*steps))
	require.NoError(t, err)
	x := tensor.FromNode(input, e)
	sum := x.Select(1, 0)
	all := []*tensor.Tensor{sum}
	for i := 1; i < steps; i++ {
		sum = x.Select(1, i).Add(sum.Mul(0.9))
		all = append(all, sum)
	}
	v, err := tensor.Stack(1, all...).Schedule()
	require.NoError(t, err)
	require.Less(t, v.Flops(), int64(2*rows*steps*steps), "a selection for each step at most")
}

// A recurrence's gradient takes as much scheduling for each of many steps as for each of few.
func TestGradientsOfManySteps(t *testing.T) {
	e, err := engine.Open("NULL", engine.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close()) }()
	const rows, width = 4, 8
	leaf := func(shape ...int) *tensor.Tensor {
		u, err := e.FromBytes(dtype.F32, shape, make([]byte, 4*uop.Shape(shape).Numel()))
		require.NoError(t, err)
		return tensor.FromNode(u, e)
	}
	bytes := map[int]float64{}
	for _, steps := range []int{128, 512} {
		x, w := leaf(steps, rows, width), leaf(width, width)
		h := tensor.Zeros(rows, width)
		all := make([]*tensor.Tensor, steps)
		for i := range all {
			h = h.MatMul(w).Add(x.Select(0, i)).Tanh().Contiguous()
			all[i] = h
		}
		g := tensor.Stack(0, all...).Square().Sum().Grad(x, w)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := tensor.Schedule(g...)
		require.NoError(t, err)
		runtime.ReadMemStats(&after)
		bytes[steps] = float64(after.TotalAlloc - before.TotalAlloc)
	}
	require.Less(t, bytes[512], 6*bytes[128])
}
