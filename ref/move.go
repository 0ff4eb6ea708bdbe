package ref

import (
	"slices"

	"github.com/weft-ml/weft/uop"
)

// movement gives a view where strides can say it, a copy otherwise.
func (e *evaluator) movement(u *uop.UOp) array {
	a, in := e.src(u, 0), u.At(0).Shape()
	a.strides = slices.Clone(a.strides)
	switch arg := u.Arg().(type) {
	case uop.Ints:
		v := arg.Slice()
		switch u.Op() {
		case uop.Reshape:
			a = a.dense(in)
			a.strides = rowMajor(u.Shape())
		case uop.Permute:
			s := slices.Clone(a.strides)
			for i, p := range v {
				a.strides[i] = s[p]
			}
		case uop.Expand:
			for i, n := range in {
				if n == 1 {
					a.strides[i] = 0
				}
			}
		case uop.Flip:
			for _, ax := range v {
				a.offset += (in[ax] - 1) * a.strides[ax]
				a.strides[ax] = -a.strides[ax]
			}
		}
		return a
	case uop.PadArg:
		if u.Op() == uop.Pad {
			return pad(a, in, u.Shape(), arg)
		}
		for i := range in {
			a.offset += arg.Lo.At(i) * a.strides[i]
		}
		return a
	case uop.SlideArg:
		return slide(a, in, u.Shape(), arg)
	}
	panic("BUG: ref: movement without argument")
}

func pad(a array, in, shape uop.Shape, arg uop.PadArg) array {
	out := newArray(shape)
	inner := out
	for i := range in {
		inner.offset += arg.Lo.At(i) * out.strides[i]
	}
	walk(in, []array{a, inner}, func(at []int) { out.data[at[1]] = a.data[at[0]] })
	return out
}

func slide(a array, in, shape uop.Shape, arg uop.SlideArg) array {
	out := newArray(shape)
	row := array{strides: slices.Clone(a.strides), offset: a.offset} // where the axis that is read begins
	row.strides[arg.Axis] = 0
	src := array{strides: make([]int, len(shape)), offset: arg.Lo} // the index along it
	src.strides[arg.Axis] += 1
	src.strides[arg.By] += arg.Step
	o := 0
	walk(shape, []array{row, src}, func(at []int) {
		if at[1] >= 0 && at[1] < in[arg.Axis] {
			out.data[o] = a.data[at[0]+at[1]*a.strides[arg.Axis]]
		}
		o++
	})
	return out
}

// at is the position of the element at index.
func (a array) at(index []int) int {
	p := a.offset
	for i, x := range index {
		p += x * a.strides[i]
	}
	return p
}

func unravel(index []int, n int, shape uop.Shape) {
	for i := len(shape) - 1; i >= 0; i-- {
		index[i] = n % shape[i]
		n /= shape[i]
	}
}

// gather is out[…i…] = x[…index[…i…]…], 0 outside.
func (e *evaluator) gather(u *uop.UOp) array {
	x, idx := e.src(u, 0), e.src(u, 1).dense(u.Shape())
	axis := u.Arg().(uop.AxisArg).Axis
	n := u.At(0).Shape()[axis]
	out := newArray(u.Shape())
	index := make([]int, len(u.Shape()))
	for o, v := range idx.data {
		if i, ok := inside(u.At(1), v, n); ok {
			unravel(index, o, u.Shape())
			index[axis] = i
			out.data[o] = x.data[x.at(index)]
		}
	}
	return out
}

func inside(index *uop.UOp, v uop.Value, n int) (int, bool) {
	if index.DType().IsUnsigned() {
		return int(v), uint64(v) < uint64(n)
	}
	return int(v.Int()), v.Int() >= 0 && v.Int() < int64(n)
}

// scatter merges values into the base in row-major order of the index.
func (e *evaluator) scatter(u *uop.UOp) array {
	arg := u.Arg().(uop.ScatterArg)
	shape, from := u.Shape(), u.At(1).Shape()
	base := e.src(u, 0).dense(shape)
	idx, val := e.src(u, 1).dense(from), e.src(u, 2).dense(from)
	out := newArray(shape)
	if arg.Once {
		for o, v := range idx.data {
			if i, ok := inside(u.At(1), v, len(out.data)); ok {
				out.data[i] = val.data[o]
			}
		}
		return out
	}
	copy(out.data, base.data)
	merge := newMerger(arg.Monoid, u.DType())
	index := make([]int, len(shape))
	acc := make([]uop.Value, 1)
	item := make([]uop.Value, 1)
	for o, v := range idx.data {
		if i, ok := inside(u.At(1), v, shape[arg.Axis]); ok {
			unravel(index, o, from)
			index[arg.Axis] = i
			p := out.at(index)
			acc[0], item[0] = out.data[p], val.data[o]
			merge.into(acc, item)
			out.data[p] = acc[0]
		}
	}
	merge.finish(out.data)
	return out
}
