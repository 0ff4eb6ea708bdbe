package tensor

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// WithAt is t with v in place of the elements that At(index...) names; v is broadcast to their shape. Where an
// element is named twice the last wins; an index outside is an error as in At. A bool tensor of t's leading axes
// names the elements where it is true; v is then a number or fits t.
func (t *Tensor) WithAt(v any, index ...any) *Tensor {
	o := toOperand("WithAt", v)
	if len(index) == 1 {
		if m, ok := index[0].(*Tensor); ok && m.DType() == dtype.Bool {
			return t.withMask(o, m)
		}
	}
	p := t.pick("WithAt", index)
	ts := []*Tensor{t, o.t}
	for _, w := range p.which {
		ts = append(ts, w)
	}
	e := commonEngine("WithAt", ts...)
	value := o.as(t.DType())
	base := t.node()
	if o.t != nil && o.t.given().Sizes() != nil {
		agree("WithAt", newTensor(p.basic(), nil), o.t)
		value = unlimited(value)
	}
	if len(p.which) > 0 {
		f := p.flatten("WithAt")
		value = f.scatter(fitTo("WithAt", value, f.shape()))
	} else {
		value = fitTo("WithAt", value, p.basic().Shape())
	}
	return newTensor(p.write(base, value), e)
}

func fitTo(op string, v *uop.UOp, shape uop.Shape) *uop.UOp {
	s := v.Shape()
	for len(s) > len(shape) && s[0] == 1 {
		s = s[1:]
	}
	v = v.Reshape(s...)
	if b := broadcastShape(op, shape, s); !b.Equal(shape) {
		fail(op, shapes(shape, s), "the value does not broadcast to the elements named")
	}
	return spread(v, shape)
}

// withMask selects by a mask over the leading axes.
func (t *Tensor) withMask(o operand, m *Tensor) *Tensor {
	s := t.shape()
	if m.Rank() > len(s) || !slices.Equal(m.shape(), s[:m.Rank()]) {
		fail("WithAt", shapes(s, m.shape()), "the mask does not have the leading axes of the tensor")
	}
	u := m.node().Reshape(append(m.Shape(), ones(len(s)-m.Rank())...)...)
	out := spread(u, s).Where(fitTo("WithAt", o.as(t.DType()), s), t.node())
	return newTensor(spread(out, s), commonEngine("WithAt", t, m, o.t))
}

// scatter writes rows of value into the basic view, and gives the view in its own axis order.
func (f *flat) scatter(value *uop.UOp) *uop.UOp {
	b, nb := len(f.linear.Shape()), f.linear.Shape().Numel()
	front := make([]int, 0, b+len(f.rest)) // the broadcast axes first
	for i := range b {
		front = append(front, f.at+i)
	}
	for i := range f.rest {
		if i < f.at {
			front = append(front, i)
		} else {
			front = append(front, b+i)
		}
	}
	rows := append(uop.Shape{nb}, f.rest...)
	value = value.Permute(front...).Reshape(rows...)
	index := spread(f.linear.Reshape(append([]int{nb}, ones(len(f.rest))...)...), rows)
	out := f.matrix(f.view).Scatter(index, value, 0, uop.Last)
	s := f.view.Shape()
	moved := make([]int, len(s))
	back := make([]int, len(s))
	for i, a := range f.order {
		moved[i], back[a] = s[a], i
	}
	return out.Reshape(moved...).Permute(back...)
}

// write puts a new value of the basic view back into base: each axis is spread out to its place, and a
// mask says where.
func (p *picks) write(base, value *uop.UOp) *uop.UOp {
	value = value.Reshape(p.size...)
	full := base.Shape()
	whole := true
	var mask *uop.UOp
	for axis, n := range full {
		lo, step, size := p.lo[axis], p.step[axis], p.size[axis]
		if x, ok := p.spans[axis]; ok {
			whole = false
			var in *uop.UOp
			value, in = x.place(value, axis, full)
			mask = both(mask, in)
			continue
		}
		if lo == 0 && step == 1 && size == n {
			continue
		}
		whole = false
		value = place1(value, axis, n, lo, step, size)
		one := ones(len(full)) // where its numbers are those of the value's place
		one[axis] = size
		in := place1(spread(uop.NewInt(dtype.Bool, 1), one), axis, n, lo, step, size)
		mask = both(mask, spread(in, full))
	}
	if whole {
		return value
	}
	return mask.Where(value, base)
}

// both is a and b, of which a may be nil, which is true.
func both(a, b *uop.UOp) *uop.UOp {
	if a == nil {
		return b
	}
	return a.And(b)
}

// place spreads an axis that a part varies on out to its size, and says where the part is.
func (x Span) place(v *uop.UOp, axis int, full uop.Shape) (spread, in *uop.UOp) {
	pos := alongAxis(uop.NewIota(full[axis]), axis, full)
	from := x.from.Node()
	shape := slices.Clone(v.Shape())
	one := shape[axis] == 1
	shape[axis] = full[axis]
	if one && !x.n.Varies() {
		return v.Expand(shape...), pos.Equal(from)
	}
	end, _ := x.from.Add(x.n, 1)
	at := alongAxis(uop.NewIota(full[axis]).Sub(from), axis, shape)
	return v.Gather(at, axis), pos.Less(from).Not().And(pos.Less(end.Node()))
}

// place1 spreads an axis of size elements out to n, the first at lo, step apart.
func place1(v *uop.UOp, axis, n, lo, step, size int) *uop.UOp {
	if size == 0 {
		return extend(v, axis, 0, n)
	}
	if step < 0 {
		v = v.Flip(axis)
		lo, step = lo+(size-1)*step, -step
	}
	if step > 1 {
		s := slices.Clone(v.Shape())
		v = extend(v.Reshape(slices.Insert(slices.Clone(s), axis+1, 1)...), axis+1, 0, step-1)
		s[axis] = size * step
		v = v.Reshape(s...)
		if over := lo + size*step - n; over > 0 {
			v = cut(v, axis, 0, size*step-over)
			return extend(v, axis, lo, 0)
		}
	}
	return extend(v, axis, lo, n-lo-v.Shape()[axis])
}
