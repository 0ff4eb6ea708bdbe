package shard

import (
	"slices"

	"github.com/weft-ml/weft/uop"
)

// movement hands a cut on through what only moves indices, as long as each device has what its part needs.
func (s *Spreader) movement(u *uop.UOp) (Value, error) {
	v, in := s.of(u.At(0)), u.At(0).Shape()
	if v.Cut == Whole {
		return s.mapped(v, Whole, func(_ int, p *uop.UOp) *uop.UOp { return u.Home().Make(u.Op(), u.DType(), u.Arg(), p) }), nil
	}
	cut, n := v.Cut, in[v.Cut]/len(s.names)
	switch a := u.Arg().(type) {
	case uop.Ints:
		list := a.Slice()
		switch u.Op() {
		case uop.Reshape:
			return s.reshape(u, v, list)
		case uop.Permute:
			return s.mapped(v, slices.Index(list, cut), func(_ int, p *uop.UOp) *uop.UOp { return p.Permute(list...) }), nil
		case uop.Expand:
			return s.mapped(v, cut, func(_ int, p *uop.UOp) *uop.UOp { return p.Expand(with(list, cut, n)...) }), nil
		case uop.Flip:
			if slices.Contains(list, cut) {
				return Value{}, s.fail(u, in, cut, "and cannot be reversed there")
			}
			return s.mapped(v, cut, func(_ int, p *uop.UOp) *uop.UOp { return p.Flip(list...) }), nil
		}
	case uop.PadArg:
		lo, hi := a.Lo.Slice(), a.Hi.Slice()
		if u.Op() == uop.Pad {
			if lo[cut] != 0 || hi[cut] != 0 {
				return Value{}, s.fail(u, in, cut, "and cannot grow there by %d before and %d after", lo[cut], hi[cut])
			}
			return s.mapped(v, cut, func(_ int, p *uop.UOp) *uop.UOp { return p.Pad(lo, hi) }), nil
		}
		if lo[cut] != 0 || hi[cut] != in[cut] {
			return Value{}, s.fail(u, in, cut, "and elements %d to %d of it are no equal part of each device's", lo[cut], hi[cut]-1)
		}
		return s.mapped(v, cut, func(_ int, p *uop.UOp) *uop.UOp { return p.Shrink(lo, with(hi, cut, n)) }), nil
	case uop.SlideArg:
		if a.Axis == cut {
			return Value{}, s.fail(u, in, cut, "and windows over it reach from one device to the next")
		}
		return s.mapped(v, cut, func(i int, p *uop.UOp) *uop.UOp {
			lo := a.Lo
			if a.By == cut { // where the windows of a device begin
				lo += a.Step * i * n
			}
			return p.Slide(a.Axis, a.By, a.Step, lo, a.N)
		}), nil
	}
	panic("BUG: a movement that is not known: " + u.String())
}

// reshape follows the cut into the axis that is the outermost of those that its own becomes. u is for errors.
func (s *Spreader) reshape(u *uop.UOp, v Value, shape uop.Shape) (Value, error) {
	in := v.Shape
	if v.Cut == Whole {
		return s.mapped(v, Whole, func(_ int, p *uop.UOp) *uop.UOp { return p.Reshape(shape...) }), nil
	}
	to, why := Whole, ""
	uop.Regrouped(in, shape, func(i0, i, o0, o int) {
		if v.Cut < i0 || v.Cut >= i {
			return
		}
		for k := i0; k < v.Cut; k++ {
			if in[k] != 1 {
				why = "and is not the outermost of the axes that become one"
				return
			}
		}
		for k := o0; k < o; k++ {
			if shape[k] == 1 {
				continue
			}
			if shape[k]%len(s.names) != 0 {
				why = "and what it becomes has no equal parts"
				return
			}
			to = k
			return
		}
	})
	if to == Whole {
		e := s.fail(u, in, v.Cut, "%s", why)
		if e.Op = "reshape to " + uop.MakeInts(shape...).String(); e.Method == "Reshape" {
			e.Method = "" // which says less
		}
		return Value{}, e
	}
	local := with(shape, to, shape[to]/len(s.names))
	return s.mapped(v, to, func(_ int, p *uop.UOp) *uop.UOp { return p.Reshape(local...) }), nil
}

// Recut brings an array to another cut. From whole to parts nothing moves; parts become whole where each device gets those of the others,
// and are cut along another axis where each gets a piece of every other's.
func (s *Spreader) Recut(v Value, cut int) (Value, error) {
	shape := v.Shape
	switch {
	case v.Cut == cut:
		return v, nil
	case cut != Whole && (cut >= len(shape) || shape[cut]%len(s.names) != 0):
		return Value{}, &CutError{Op: "shard", Shape: shape, Axis: cut, Devices: s.names, Reason: "which makes no equal parts"}
	case shape.Numel() == 0:
		return v, nil
	case v.Cut == Whole:
		return withShape(s.mapped(v, cut, func(i int, p *uop.UOp) *uop.UOp { return s.slice(p, cut, i) }), shape), nil
	}
	out := Value{Cut: cut, Free: v.Free, Parts: make([]*uop.UOp, len(s.names)), Shape: shape}
	for i := range s.names {
		pieces := make([]*uop.UOp, len(s.names))
		for j, p := range v.Parts {
			if cut != Whole {
				p = s.slice(p, cut, i)
			}
			pieces[j] = s.copy(p, j, i)
		}
		out.Parts[i] = join(pieces, v.Cut)
	}
	return out, nil
}

func withShape(v Value, shape uop.Shape) Value {
	v.Shape = shape
	return v
}

// copy brings a node from one device to another. What is computed from no array is made there instead.
func (s *Spreader) copy(u *uop.UOp, from, to int) *uop.UOp {
	if from == to || s.free(u) {
		return u
	}
	k := move{u, from, to}
	if c := s.moved[k]; c != nil {
		return c
	}
	c := u.Copy(s.names[to])
	s.moved[k] = c
	s.Moves = append(s.Moves, Move{c, from, to})
	return c
}

// free says that a graph reads no array.
func (s *Spreader) free(u *uop.UOp) bool {
	stack := []*uop.UOp{u}
	for len(stack) > 0 {
		x := stack[len(stack)-1]
		if _, ok := s.reads.Get(x); ok {
			stack = stack[:len(stack)-1]
			continue
		}
		reads, open := array(x), len(stack)
		for _, src := range x.Src() {
			if r, ok := s.reads.Get(src); ok {
				reads = reads || r
			} else {
				stack = append(stack, src)
			}
		}
		if len(stack) == open {
			s.reads.Set(x, reads)
			stack = stack[:open-1]
		}
	}
	r, _ := s.reads.Get(u)
	return !r
}
