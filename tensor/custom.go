package tensor

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// CustomOptions are the options of Custom.
type CustomOptions = FunctionOptions

// Kernel is what the body of a kernel of one's own is written with: see Custom. Numbers in it are tensors, whose last axes are those of the
// result; so the operations of tensors are those of its elements.
type Kernel struct {
	name string
	at   []*Tensor // the index of the result, an axis each
	next int       // rank of the next range
	in   []*Tensor
}

// Custom is one kernel of one's own. Its body says what one element of the result is: At gives the place of the element, Load an element of an
// argument at any place, Range an index to sum or otherwise reduce over. It is written with the operations of tensors and becomes the same
// nodes as theirs, so that every device runs it, INTERP among them, and gradients, tangents and Vmap follow, unless the options state a
// gradient. Its arguments are in memory before it runs: nothing is fused into it. As after Contiguous, elementwise work on the result may
// follow in the kernel that stores it. CustomUnsafe takes the text of a kernel in a device's own language.
//
//	blur := tensor.Custom("blur", []int{n}, func(k *tensor.Kernel) *tensor.Tensor {
//		j := k.Range(3)
//		return k.Sum(k.Load(0, k.At(0).Add(j).Sub(1)), j).Div(3)
//	}, []*tensor.Tensor{x}, tensor.CustomOptions{})
func Custom(name string, shape []int, body func(k *Kernel) *Tensor, in []*Tensor, o CustomOptions) *Tensor {
	for i, n := range shape {
		if n < 0 {
			fail(name, shapes(shape), "axis %d has the size %d", i, n)
		}
	}
	return Function(name, func(in ...*Tensor) []*Tensor {
		k := &Kernel{name: name, next: len(shape) + 1}
		for i, n := range shape {
			k.at = append(k.at, k.index(n, len(shape)-i))
		}
		for _, x := range in {
			if !inMemory(x.node()) {
				x = x.Contiguous()
			}
			k.in = append(k.in, x)
		}
		y := body(k)
		if y == nil {
			failArg(name, "the body gives nil")
		}
		for y.Rank() > len(shape) {
			if y.Dim(0) != 1 {
				fail(name, shapes(y.shape()), "the result varies with range %d, which must be reduced", y.Rank()-len(shape)-1)
			}
			y = y.Reshape(y.Shape()[1:]...)
		}
		if s := broadcastShape(name, y.shape(), shape); !s.Equal(shape) {
			fail(name, shapes(y.shape(), shape), "the body's result does not broadcast to the shape of the kernel's")
		}
		e := commonEngine(name, append(slices.Clone(in), y)...)
		return []*Tensor{newTensor(spread(y.node(), shape).Contiguous(), e)}
	}, o)(in...)[0]
}

// index counts along an axis that has the number rank from the right.
func (k *Kernel) index(n, rank int) *Tensor {
	s := slices.Repeat([]int{1}, rank)
	s[0] = n
	return newTensor(iota(n, dtype.I32).Reshape(s...), nil)
}

// At is the index of the result's element on an axis, int32.
func (k *Kernel) At(axis int) *Tensor {
	if axis < 0 || axis >= len(k.at) {
		failArg(k.name, "At(%d) of a result with %d axes", axis, len(k.at))
	}
	return k.at[axis]
}

// Range is a new index 0 … n−1, int32. What is computed with it has to be reduced over it in the end.
func (k *Kernel) Range(n int) *Tensor {
	if n < 0 {
		failArg(k.name, "Range(%d)", n)
	}
	k.next++
	return k.index(n, k.next-1)
}

// Load is the element of an argument at an index, a number or a tensor of integers for each of its axes; 0 where that is outside.
func (k *Kernel) Load(argument int, index ...any) *Tensor {
	if argument < 0 || argument >= len(k.in) {
		failArg(k.name, "argument %d of %d is loaded", argument, len(k.in))
	}
	x := k.in[argument]
	if len(index) != x.Rank() {
		fail(k.name, shapes(x.shape()), "%d indices for argument %d", len(index), argument)
	}
	d := dtype.I32
	if x.Numel() >= 1<<31 {
		d = dtype.I64
	}
	at, outside := newTensor(uop.NewInt(d, 0), nil), (*Tensor)(nil)
	for i, v := range index {
		o := toOperand(k.name, v)
		if !o.natural().IsInt() {
			failType(k.name, []dtype.DType{o.natural()}, "index %d of argument %d is no integer", i, argument)
		}
		n := x.shape()[i]
		if _, hi := typeInterval(d); n > hi {
			failArg(k.name, "axis %d of argument %d is too long", i, argument)
		}
		one := newTensor(o.as(d), nil)
		if o.t != nil && o.t.DType().Bits() > d.Bits() { // it may not fit; what is outside stays outside
			one = o.t.Clamp(-1, n).To(d)
		}
		if lo, hi := interval(one.node()); lo < 0 || hi >= n {
			out := one.Lt(0).LogicalOr(one.Ge(n))
			if outside != nil {
				out = outside.LogicalOr(out)
			}
			outside = out
		}
		at = at.Mul(n).Add(one)
	}
	if outside != nil {
		at = outside.Where(-1, at)
	}
	u := x.node().Reshape(x.Numel()).Gather(at.node().Reshape(at.Numel()), 0)
	return newTensor(u.Reshape(at.shape()...), x.Engine())
}

// Sum adds over ranges.
func (k *Kernel) Sum(v *Tensor, ranges ...*Tensor) *Tensor {
	return k.reduce(v, ranges, func(x *Tensor, axis int) *Tensor { return x.SumKeep(axis) })
}

// Max is the largest over ranges.
func (k *Kernel) Max(v *Tensor, ranges ...*Tensor) *Tensor {
	return k.reduce(v, ranges, func(x *Tensor, axis int) *Tensor { return x.MaxKeep(axis) })
}

// Prod multiplies over ranges.
func (k *Kernel) Prod(v *Tensor, ranges ...*Tensor) *Tensor {
	return k.reduce(v, ranges, func(x *Tensor, axis int) *Tensor { return x.keep(x.Prod(axis), []int{axis}) })
}

func (k *Kernel) reduce(v *Tensor, ranges []*Tensor, f func(x *Tensor, axis int) *Tensor) *Tensor {
	for _, r := range ranges {
		rank := r.Rank()
		if rank <= len(k.at) || rank >= k.next {
			failArg(k.name, "a reduction over what is no range of this kernel")
		}
		shape := slices.Clone(v.shape())
		for len(shape) < rank {
			shape = slices.Insert(shape, 0, 1)
		}
		axis := len(shape) - rank
		shape[axis] = r.shape()[0]
		v = f(v.like(spread(v.node(), shape)), axis)
	}
	return v
}
