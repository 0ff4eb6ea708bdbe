package symbolic

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Conjuncts lists the conditions that g joins by And; none for true.
func Conjuncts(g *uop.UOp) []*uop.UOp { return flatten(nil, g, uop.And) }

func flatten(out []*uop.UOp, g *uop.UOp, o uop.Op) []*uop.UOp {
	stack := []*uop.UOp{g}
	for len(stack) > 0 {
		u := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		switch {
		case u.Op() == o && u.DType() == dtype.Bool:
			stack = append(stack, u.At(1), u.At(0))
		case o == uop.And && u.IsConst(1) || o == uop.Or && u.IsConst(0):
		case !slices.Contains(out, u):
			out = append(out, u)
		}
	}
	return out
}

// Interval reads a condition in normal form as lo ≤ e ≤ hi; an open end is ∓Unbounded.
func Interval(c *uop.UOp) (e *uop.UOp, lo, hi int, ok bool) {
	if c.Op() != uop.Less && c.Op() != uop.Equal || c.At(0).DType() != dtype.Index {
		return nil, 0, 0, false
	}
	a, isA := c.At(0).ConstInt()
	b, isB := c.At(1).ConstInt()
	switch {
	case c.Op() == uop.Less && isB:
		return c.At(0), -inf, b - 1, true
	case c.Op() == uop.Less && isA:
		return c.At(1), a + 1, inf, true
	case c.Op() == uop.Equal && isB:
		return c.At(0), b, b, true
	}
	return nil, 0, 0, false
}

// Unbounded is the end of an interval without one.
const Unbounded = inf

// normal is the normal form of And and Or: conditions in order, each once, intervals of one expression joined.
func (x *index) normal(o uop.Op, u *uop.UOp) *uop.UOp {
	list := flatten(nil, u, o)
	for range maxTurns {
		next := x.intervals(o, list)
		slices.SortStableFunc(next, compare)
		next = slices.Compact(next)
		if slices.Equal(next, list) {
			break
		}
		list = next
	}
	if o == uop.And {
		list = x.redundant(list)
	}
	return x.join(o, list)
}

// maxTurns bounds how often joined intervals are looked at again; each turn leaves fewer or tighter conditions, and
// stopping early only leaves a redundant one.
const maxTurns = 8

// intervals joins the intervals that conditions put one expression in: their intersection under And, their union
// under Or where it is an interval.
func (x *index) intervals(o uop.Op, list []*uop.UOp) []*uop.UOp {
	type box struct {
		e *uop.UOp
		s span
	}
	var boxes []box
	var out []*uop.UOp
	for _, c := range list {
		e, lo, hi, ok := Interval(c)
		if !ok {
			out = append(out, c)
			continue
		}
		i := slices.IndexFunc(boxes, func(b box) bool {
			return b.e == e && (o == uop.And || b.s.lo <= plus(hi, 1, inf) && lo <= plus(b.s.hi, 1, inf))
		})
		switch {
		case i < 0:
			boxes = append(boxes, box{e, span{lo, hi}})
		case o == uop.And:
			boxes[i].s = span{max(boxes[i].s.lo, lo), min(boxes[i].s.hi, hi)}
		default:
			boxes[i].s = boxes[i].s.union(span{lo, hi})
		}
	}
	for _, b := range boxes {
		s := x.span(b.e)
		in := span{max(b.s.lo, s.lo), min(b.s.hi, s.hi)}
		switch {
		case o == uop.And && in.lo > in.hi || o == uop.Or && in == s:
			return []*uop.UOp{x.t.True().Const(uop.ValueOf(dtype.Bool, o == uop.Or))}
		case o == uop.And:
			out = append(out, x.inside(b.e, b.s, s)...)
		case in.lo <= in.hi:
			out = append(out, x.join(uop.And, x.inside(b.e, b.s, s)))
		}
	}
	return out
}

// inside spells lo ≤ e ≤ hi, given that e is within s.
func (x *index) inside(e *uop.UOp, want, s span) []*uop.UOp {
	l := x.form(e)
	lo, hi := max(want.lo, s.lo), min(want.hi, s.hi)
	if lo == hi && lo > -inf && hi < inf {
		return Conjuncts(x.equal(l.shift(-lo)))
	}
	var out []*uop.UOp
	if want.hi < s.hi {
		out = append(out, x.less(l.shift(-want.hi-1)))
	}
	if want.lo > s.lo {
		out = append(out, x.less(l.neg().shift(want.lo-1)))
	}
	return out
}

// join spells a list of conditions, in order, each once; a condition beside its opposite decides.
func (x *index) join(o uop.Op, list []*uop.UOp) *uop.UOp {
	neutral, decides := x.t.True(), x.falsity()
	if o == uop.Or {
		neutral, decides = decides, neutral
	}
	slices.SortStableFunc(list, compare)
	list = slices.Compact(list)
	var all *uop.UOp
	for _, c := range list {
		if c == decides || c.Op() == uop.Xor && c.At(1).IsConst(1) && slices.Contains(list, c.At(0)) {
			return decides
		}
		if c == neutral {
			continue
		}
		if all == nil {
			all = c
			continue
		}
		all = x.t.Make(o, dtype.Bool, nil, all, c)
		x.built.Set(all, true)
	}
	if all == nil {
		return neutral
	}
	return all
}
