package uop_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

func TestShapes(t *testing.T) {
	t.Parallel()
	a := uop.NewArena()
	x := a.Param(0, 24, dtype.F32).Reshape(2, 3, 4)
	i := a.Param(1, 10, dtype.I32).Reshape(2, 5, 1).Expand(2, 5, 4)
	one := a.Int(dtype.F32, 1)
	cases := []struct {
		name string
		u    *uop.UOp
		want uop.Shape
	}{
		{"reshape", x.Reshape(6, 4), uop.Shape{6, 4}},
		{"reshape to scalar", a.Param(0, 1, dtype.F32).Reshape(), uop.Shape{}},
		{"permute", x.Permute(2, 0, 1), uop.Shape{4, 2, 3}},
		{"expand", x.Reshape(2, 1, 12).Expand(2, 5, 12), uop.Shape{2, 5, 12}},
		{"expand to nothing", x.Reshape(1, 24).Expand(0, 24), uop.Shape{0, 24}},
		{"pad", x.Pad([]int{0, 1, 2}, []int{0, 0, 3}), uop.Shape{2, 4, 9}},
		{"shrink", x.Shrink([]int{0, 1, 2}, []int{2, 3, 2}), uop.Shape{2, 2, 0}},
		{"flip", x.Flip(0, 2), uop.Shape{2, 3, 4}},
		{"slide", x.Slide(2, 1, 1, -1, 6), uop.Shape{2, 3, 6}},
		{"scalar operand", x.Mul(one), uop.Shape{2, 3, 4}},
		{"scalar first", one.Mul(x), uop.Shape{2, 3, 4}},
		{"compare", x.Less(one), uop.Shape{2, 3, 4}},
		{"where", x.Less(one).Where(one, one), uop.Shape{2, 3, 4}},
		{"cast", x.Cast(dtype.I8), uop.Shape{2, 3, 4}},
		{"reduce", x.Reduce(uop.Sum, 0, 2), uop.Shape{3}},
		{"reduce of nothing", x.Reshape(24, 1).Shrink([]int{0, 0}, []int{0, 1}).Reduce(uop.MaxOf, 0), uop.Shape{1}},
		{"part", a.ReduceParts(uop.ArgMax, []int{1}, x, x.Cast(dtype.I32)).Part(1), uop.Shape{2, 4}},
		{"gather", x.Gather(i, 1), uop.Shape{2, 5, 4}},
		{"scatter", x.Scatter(i, x.Gather(i, 1), 1, uop.Sum), uop.Shape{2, 3, 4}},
		{"iota", a.Iota(7), uop.Shape{7}},
		{"scan", x.Scan(uop.Sum, 1), uop.Shape{2, 3, 4}},
		{"scan of two parts", a.ScanParts(uop.Linear, 2, x, x.Int(1)).Part(1), uop.Shape{2, 3, 4}},
	}
	for _, c := range cases {
		require.True(t, c.want.Equal(c.u.Shape()), "%s: %v", c.name, c.u.Shape())
	}
	require.Equal(t, dtype.I32, cases[16].u.DType())
	require.Equal(t, dtype.Bool, cases[11].u.DType())
	require.Equal(t, 0, uop.Shape{2, 0, 3}.Numel())
}

func TestShapesThatDoNotFit(t *testing.T) {
	t.Parallel()
	a := uop.NewArena()
	x := a.Param(0, 24, dtype.F32).Reshape(2, 3, 4)
	n := a.Param(1, 24, dtype.I32).Reshape(2, 3, 4)
	cases := map[string]func(){
		"reshape":         func() { x.Reshape(5, 5) },
		"negative size":   func() { x.Reshape(-2, -12) },
		"permute twice":   func() { x.Permute(0, 0, 1) },
		"permute outside": func() { x.Permute(0, 1, 5) },
		"permute rank":    func() { x.Permute(1, 0) },
		"expand":          func() { x.Expand(2, 6, 4) },
		"expand rank":     func() { x.Expand(2, 3) },
		"pad":             func() { x.Pad([]int{-1, 0, 0}, []int{0, 0, 0}) },
		"pad rank":        func() { x.Pad([]int{1}, []int{1}) },
		"shrink":          func() { x.Shrink([]int{0, 0, 0}, []int{2, 3, 5}) },
		"shrink reversed": func() { x.Shrink([]int{1, 0, 0}, []int{0, 3, 4}) },
		"flip":            func() { x.Flip(3) },
		"slide":           func() { x.Slide(1, 1, 1, 0, 3) },
		"add":             func() { x.Add(x.Reshape(4, 6)) },
		"add types":       func() { x.Add(n) },
		"where condition": func() { n.Where(x, x) },
		"where types":     func() { x.Less(x).Where(x, n) },
		"reduce":          func() { x.Reduce(uop.Sum, 3) },
		"scan":            func() { x.Scan(uop.Sum, 3) },
		"scan of others":  func() { a.ScanParts(uop.Linear, 0, x, x.Permute(1, 0, 2)) },
		"reduce twice":    func() { x.Reduce(uop.Sum, 1, 1) },
		"gather index":    func() { x.Gather(x, 0) },
		"gather sizes":    func() { x.Gather(n.Reshape(3, 2, 4), 1) },
	}
	for name, f := range cases {
		var got *uop.ShapeError
		func() {
			defer func() {
				if err, ok := recover().(error); ok {
					errors.As(err, &got)
				}
			}()
			f()
		}()
		require.NotNil(t, got, name)
		require.Contains(t, got.Error(), "tensor: "+got.Op+" [")
		require.NotEmpty(t, got.Reason, name)
	}
}

func TestBrokenNodes(t *testing.T) {
	t.Parallel()
	a := uop.NewArena()
	x := a.Param(0, 2, dtype.F32)
	require.PanicsWithValue(t, "BUG: add has 1 operands", func() { a.Make(uop.Add, dtype.F32, nil, x) })
	require.PanicsWithValue(t, "BUG: add of float32 made as int32", func() { a.Make(uop.Add, dtype.I32, nil, x, x) })
	require.PanicsWithValue(t, "BUG: less of bool made as float32", func() { a.Make(uop.Less, dtype.F32, nil, x, x) })
}

func TestMovementsThatChangeNothing(t *testing.T) {
	t.Parallel()
	a := uop.NewArena()
	x := a.Param(0, 24, dtype.F32).Reshape(2, 3, 4)
	zero := []int{0, 0, 0}
	for _, y := range []*uop.UOp{
		x.Reshape(2, 3, 4), x.Permute(0, 1, 2), x.Expand(2, 3, 4), x.Pad(zero, zero), x.Shrink(zero, []int{2, 3, 4}),
		x.Flip(), x.Cast(dtype.F32), x.Bitcast(dtype.F32), x.Reduce(uop.Sum), x.Reshape(24).Reshape(2, 3, 4),
	} {
		require.Same(t, x, y)
	}
}
