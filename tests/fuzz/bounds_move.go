package fuzz

import (
	"slices"

	"github.com/weft-ml/weft/uop"
)

func rowMajor(shape uop.Shape) []int {
	s := make([]int, len(shape))
	n := 1
	for i := len(shape) - 1; i >= 0; i-- {
		s[i] = n
		n *= shape[i]
	}
	return s
}

func newArea(shape uop.Shape) area {
	return area{make([]bound, shape.Numel()), rowMajor(shape), 0}
}

// dense is row-major; it copies unless a is that already.
func (a area) dense(shape uop.Shape) area {
	n := shape.Numel()
	if a.offset == 0 && len(a.data) == n && (n <= 1 || slices.Equal(a.strides, rowMajor(shape))) {
		return area{a.data, rowMajor(shape), 0}
	}
	out := newArea(shape)
	i := 0
	walk(shape, []area{a}, func(at []int) {
		out.data[i] = a.data[at[0]]
		i++
	})
	return out
}

// walk calls f for each index of shape, row-major, with the position in each area.
func walk(shape uop.Shape, in []area, f func(at []int)) {
	if shape.Numel() == 0 {
		return
	}
	at := make([]int, len(in))
	for k, a := range in {
		at[k] = a.offset
	}
	index := make([]int, len(shape))
	for {
		f(at)
		d := len(shape) - 1
		for ; d >= 0; d-- {
			index[d]++
			for k := range in {
				at[k] += in[k].strides[d]
			}
			if index[d] < shape[d] {
				break
			}
			for k := range in {
				at[k] -= in[k].strides[d] * shape[d]
			}
			index[d] = 0
		}
		if d < 0 {
			return
		}
	}
}

func (e *evaluator) movement(u *uop.UOp, a area) area {
	in, shape := u.At(0).Shape(), u.Shape()
	a.strides = slices.Clone(a.strides)
	switch u.Op() {
	case uop.Reshape:
		a = a.dense(in)
		a.strides = rowMajor(shape)
	case uop.Permute:
		s := slices.Clone(a.strides)
		for i, p := range u.Arg().(uop.Ints).Slice() {
			a.strides[i] = s[p]
		}
	case uop.Expand:
		for i, n := range in {
			if n == 1 {
				a.strides[i] = 0
			}
		}
	case uop.Flip:
		for _, ax := range u.Arg().(uop.Ints).Slice() {
			a.offset += (in[ax] - 1) * a.strides[ax]
			a.strides[ax] = -a.strides[ax]
		}
	case uop.Shrink:
		arg := u.Arg().(uop.PadArg)
		for i := range in {
			a.offset += arg.Lo.At(i) * a.strides[i]
		}
	case uop.Pad:
		arg := u.Arg().(uop.PadArg)
		out := newArea(shape)
		inner := out
		for i := range in {
			inner.offset += arg.Lo.At(i) * out.strides[i]
		}
		walk(in, []area{a, inner}, func(at []int) { out.data[at[1]] = a.data[at[0]] })
		return out
	case uop.Slide:
		return slide(a, in, shape, u.Arg().(uop.SlideArg))
	}
	return a
}

func slide(a area, in, shape uop.Shape, arg uop.SlideArg) area {
	out := newArea(shape)
	index := make([]int, len(shape))
	for o := range out.data {
		src := index[arg.Axis] + arg.Step*index[arg.By] + arg.Lo
		if src >= 0 && src < in[arg.Axis] {
			p := a.offset
			for i, x := range index {
				if i == arg.Axis {
					x = src
				}
				p += x * a.strides[i]
			}
			out.data[o] = a.data[p]
		}
		for d := len(shape) - 1; d >= 0; d-- {
			if index[d]++; index[d] < shape[d] {
				break
			}
			index[d] = 0
		}
	}
	return out
}

func unravel(index []int, n int, shape uop.Shape) {
	for i := len(shape) - 1; i >= 0; i-- {
		index[i] = n % shape[i]
		n /= shape[i]
	}
}
