package schedule

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// Assignments to a part of an array. Their value is that of the whole array: new elements where a condition holds, the old ones elsewhere.
// Written over the old ones, an element that stays as it is need not be written, so the condition becomes the store's gate; and an
// axis that the condition bounds becomes one from bound to bound. A row that is written into an array costs what a row costs.

// update is what a kernel changes of the input that it replaces.
type update struct {
	where *uop.UOp // condition
	value *uop.UOp // new elements
}

// updateOf reads an output's value as an update; old says which loads are of the element that is there before.
func updateOf(value *uop.UOp, old func(load *uop.UOp) bool) (update, bool) {
	if value.Op() != uop.Where {
		return update{}, false
	}
	c, x, y := value.At(0), value.At(1), value.At(2)
	if old(x) {
		c, x, y = c.Not(), y, x
	}
	if old(y) {
		return update{c, x}, true
	}
	if u, ok := updateOf(y, old); ok { // one after another
		return update{c.Or(u.where), c.Where(x, u.value)}, true
	}
	return update{}, false
}

// isOld says whether a node is the element of buffer slot at the index of an output.
func (k *kernel) isOld(t *uop.Table, o codegen.Out, slot int, u *uop.UOp) bool {
	if u.Op() != uop.Load || !u.At(1).IsConst(1) {
		return false
	}
	p := u.At(0).Arg().(uop.ParamArg).Slot
	return k.bufs[p] == slot && sameElement(t, o.Index, k.spec.Params[o.Param].Dims, u.Src()[2:], k.spec.Params[p].Dims)
}

// updatesPart reports whether a kernel of one output, written over the input that it replaces, would go over a part of it only. Such
// kernels stay alone: their axes are others.
func (s *scheduler) updatesPart(k *kernel) bool {
	if len(k.spec.Outs) != 1 {
		return false
	}
	o := k.spec.Outs[0]
	slot, ok := s.fresh[k.bufs[o.Param]]
	if !ok {
		return false
	}
	u, ok := updateOf(o.Value, func(x *uop.UOp) bool { return k.isOld(s.t, o, slot, x) })
	return ok && !k.scans() && len(s.bounded(o.Axes, u.where)) > 0
}

func (k *kernel) scans() bool {
	return slices.ContainsFunc(uop.Topo(k.expressions()...), func(u *uop.UOp) bool { return u.Op() == uop.Scan })
}

// part is a kernel that writes what it changes of an input, if buf is written over that; nil where it changes all.
func (s *scheduler) part(k *kernel, buf, slot int) *kernel {
	if k.opaque() {
		return nil
	}
	i := k.writes(buf)
	o := k.spec.Outs[i]
	if o.Merge != nil || o.Once || o.Gate != nil || k.scans() {
		return nil
	}
	u, ok := updateOf(o.Value, func(x *uop.UOp) bool { return k.isOld(s.t, o, slot, x) })
	if !ok {
		return nil
	}
	u.where = symbolic.Simplify(s.t, u.where)
	with := map[*uop.UOp]*uop.UOp{}
	if len(k.spec.Outs) == 1 { // others go over the same axes
		with = s.bounded(o.Axes, u.where)
	}
	spec := *k.spec
	spec.Outs = slices.Clone(spec.Outs)
	out := &kernel{node: k.node, spec: &spec, bufs: slices.Clone(k.bufs)}
	s.narrow(&spec.Outs[i], u, with)
	s.compact(out)
	return out
}

// narrow writes an update, with axes replaced.
func (s *scheduler) narrow(o *codegen.Out, u update, with map[*uop.UOp]*uop.UOp) {
	inside := u.where
	for _, r := range o.Axes {
		if e := with[r]; e != nil {
			exists := within(s.t, e, r.Arg().(uop.RangeArg).N)
			inside = and(s.t, inside, exists)
			u.value = gated(s.t, u.value, exists, anyLoad)
		}
	}
	roots := uop.Substitute(s.t, with, append([]*uop.UOp{inside, u.value}, o.Index...)...)
	roots = symbolic.SimplifyAll(s.t, roots...)
	o.Gate, o.Value, o.Index = roots[0], symbolic.SimplifyUnder(s.t, roots[0], roots[1])[0], roots[2:]
	if o.Gate.IsConst(1) {
		o.Gate = nil
	}
	var axes []*uop.UOp
	for _, r := range o.Axes {
		if with[r] == nil {
			axes = append(axes, r)
			continue
		}
		for _, x := range symbolic.Depends(with[r]) {
			if !contains(o.Axes, x) {
				axes = append(axes, x)
			}
		}
	}
	o.Axes = axes
}

// bounded are the axes that a condition bounds to fewer indices than they have, with what stands in their place: a number, or an axis of
// fewer that begins elsewhere.
func (s *scheduler) bounded(axes []*uop.UOp, where *uop.UOp) map[*uop.UOp]*uop.UOp {
	next := 0
	for _, u := range append(uop.Topo(where), axes...) {
		if a, ok := u.Arg().(uop.RangeArg); ok {
			next = max(next, a.ID+1)
		}
	}
	next += 1 << 16 // beyond those of values; they are numbered anew in the end
	out := map[*uop.UOp]*uop.UOp{}
	for _, r := range axes {
		lo, hi := s.ends(r, axes, where)
		if lo == nil || hi == nil {
			continue
		}
		n := symbolic.Simplify(s.t, hi.Sub(lo))
		_, most, ok := symbolic.Bounds(n)
		if !ok || most < 0 || most+1 >= r.Arg().(uop.RangeArg).N {
			continue
		}
		out[r] = lo
		if most > 0 {
			out[r] = lo.Add(s.t.Range(next, most+1, ""))
			next++
		}
	}
	return out
}

// ends are the least and the greatest index of an axis for which a condition can hold, made of nothing that an axis is part of; nil:
// there is no such bound.
func (s *scheduler) ends(r *uop.UOp, axes []*uop.UOp, where *uop.UOp) (lo, hi *uop.UOp) {
	for _, c := range symbolic.Conjuncts(where) {
		a, b, strict, ok := comparison(c)
		if !ok {
			continue
		}
		for side := range 2 { // a ≤ b, and where they are equal b ≤ a
			if side == 1 {
				if c.Op() != uop.Equal {
					break
				}
				a, b = b, a
			}
			e, k := solved(s.t, b.Sub(a), r, axes) // 0 ≤ k·r + e
			switch {
			case e == nil:
			case k == 1 && lo == nil:
				lo = symbolic.Simplify(s.t, e.Neg().Add(s.t.Index(strict)))
			case k == -1 && hi == nil:
				hi = symbolic.Simplify(s.t, e.Sub(s.t.Index(strict)))
			}
		}
	}
	return lo, hi
}

// comparison reads a condition on indices as a + strict ≤ b, or a = b.
func comparison(c *uop.UOp) (a, b *uop.UOp, strict int, ok bool) {
	not := c.Op() == uop.Xor && c.At(1).IsConst(1)
	if not {
		c = c.At(0)
	}
	if c.Op() != uop.Less && (c.Op() != uop.Equal || not) || !c.At(0).DType().IsInt() {
		return nil, nil, 0, false
	}
	a, b = c.At(0), c.At(1)
	if c.Op() == uop.Less {
		strict = 1
	}
	if not {
		a, b, strict = b, a, 0
	}
	return a, b, strict, a.DType() == dtype.Index && b.DType() == dtype.Index
}

// solved writes an expression as k·r + e, where e contains none of the axes; nil if it is no such sum.
func solved(t *uop.Table, u, r *uop.UOp, axes []*uop.UOp) (e *uop.UOp, k int) {
	terms, c, ok := symbolic.Affine(symbolic.Simplify(t, u))
	if !ok {
		return nil, 0
	}
	e = t.Index(c)
	for _, x := range terms {
		if x.Node == r {
			k = x.Coef
			continue
		}
		for _, d := range symbolic.Depends(x.Node) {
			if contains(axes, d) {
				return nil, 0
			}
		}
		e = e.Add(x.Node.Mul(t.Index(x.Coef)))
	}
	return e, k
}
