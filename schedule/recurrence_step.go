package schedule

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// value is an element of a node of a step, in a thread; nil where that is not known.
func (r *recurrence) value(u *uop.UOp, idx []*uop.UOp) *uop.UOp {
	if len(u.Shape()) == 0 {
		idx = nil
	}
	if x, ok := u.ConstValue(); ok {
		return r.t.ConstOf(u.DType(), x)
	}
	if !r.depends[u] {
		return r.item(item{u: u, idx: idx})
	}
	key := r.table.tuple(append([]*uop.UOp{u}, idx...)...)
	v, ok := r.known[key]
	if !ok {
		v = r.compute(u, idx)
		r.known[key] = v
	}
	return v
}

func (r *recurrence) compute(u *uop.UOp, idx []*uop.UOp) *uop.UOp {
	if k, ok := r.carried[u]; ok {
		return r.before(k, reshape(r.t, r.Params[k].Shape(), u.Shape(), idx))
	}
	if r.computed++; r.computed > mostInStep {
		return nil
	}
	switch {
	case u.Op() == uop.Contiguous:
		return r.value(u.At(0), idx)
	case u.Op().IsMovement():
		idx, valid := through(r.t, u, idx)
		if valid == nil {
			return r.value(u.At(0), idx)
		}
		switch x, ok := symbolic.Simplify(r.t, valid).ConstValue(); {
		case !ok: // lanes differ in what they do
			for _, l := range r.lanes {
				if dependsOn(valid, l) {
					r.holdLane(l)
				}
			}
			return nil
		case x == 0:
			return r.t.ConstOf(u.DType(), uop.ValueOf(u.DType(), 0))
		}
		return r.value(u.At(0), idx)
	case u.Op() == uop.Reduce:
		return r.reduced(u, idx)
	case u.Op().Elementwise():
		if x := r.branch(u, idx); x != nil {
			return r.value(x, idx)
		}
		src := make([]*uop.UOp, len(u.Src()))
		for i, x := range u.Src() {
			if src[i] = r.value(x, idx); src[i] == nil {
				return nil
			}
		}
		return r.t.Make(u.Op(), u.DType(), u.Arg(), src...)
	}
	return nil
}

// reduced writes out a reduction of few elements.
func (r *recurrence) reduced(u *uop.UOp, idx []*uop.UOp) *uop.UOp {
	a, in := u.Arg().(uop.ReduceArg), u.At(0).Shape()
	n := in.Numel() / u.Shape().Numel()
	if a.Parts > 1 || n > mostInStep {
		return nil
	}
	var acc *uop.UOp
	for i := range n {
		full, k := make([]*uop.UOp, len(in)), i
		for axis := len(in) - 1; axis >= 0; axis-- {
			if slices.Contains(a.Axes.Slice(), axis) {
				full[axis], k = r.t.Index(k%in[axis]), k/in[axis]
			}
		}
		kept := 0
		for axis := range full {
			if full[axis] == nil {
				full[axis] = idx[kept]
				kept++
			}
		}
		x := r.value(u.At(0), full)
		switch {
		case x == nil:
			return nil
		case acc == nil:
			acc = x
		default:
			r.computed++
			acc = a.Monoid.Info().Merge([]*uop.UOp{acc}, []*uop.UOp{x})[0]
		}
	}
	return acc
}

// before is an element of what is carried, k, as it was before the step: of the same thread, or nil.
func (r *recurrence) before(k int, idx []*uop.UOp) *uop.UOp {
	fixed := func(a int) bool { return idx[a].Op() == uop.Const }
	if r.place[k] == nil {
		seen := map[*uop.UOp]bool{}
		for a, n := range r.Params[k].Shape() {
			if n > 1 && !fixed(a) && (r.whole[k][a] || !slices.Contains(r.lanes, idx[a]) || idx[a].Arg().(uop.RangeArg).N != n || seen[idx[a]]) {
				return nil
			}
			seen[idx[a]] = true
		}
		if !r.put(k, func(a int) *uop.UOp {
			if fixed(a) {
				return nil
			}
			return idx[a]
		}) {
			return nil
		}
	}
	part := 0
	for a, n := range r.Params[k].Shape() {
		switch at := r.place[k][a]; {
		case n == 1 || at == idx[a]:
		case at != nil:
			r.hold(k, a)
			return nil
		case !fixed(a):
			return nil
		default:
			i, _ := idx[a].ConstInt()
			part = part*n + i
		}
	}
	if bare(r.args[k]).IsConst(0) { // as scans begin
		return r.step.State[r.held[k][part]]
	}
	first := r.item(item{})
	return first.Where(r.item(item{u: r.stand[k], first: true, idx: r.at(k, part)}), r.step.State[r.held[k][part]])
}

// hold has threads carry all along an axis of k, unless that is too much, or is for what may be computed behind of what is stored anyway.
func (r *recurrence) hold(k, axis int) {
	if r.result >= r.Carried && r.needed[k] {
		return
	}
	n := r.Params[k].Shape()[axis]
	for a, size := range r.Params[k].Shape() {
		if r.whole[k][a] {
			n *= size
		}
	}
	if n <= mostHeld {
		r.whole[k][axis], r.again = true, true
	}
}

// holdLane has threads carry all that lies along a lane.
func (r *recurrence) holdLane(l *uop.UOp) {
	for k := range r.Carried {
		if a := slices.Index(r.place[k], l); a >= 0 {
			r.hold(k, a)
		}
	}
}

// item is a part of the elements, in a step; nil where it is none of a thread's place.
func (r *recurrence) item(p item) *uop.UOp {
	d := dtype.Bool
	var key string
	if p.u != nil {
		d = p.u.DType()
		for i, e := range p.idx {
			if e.Op() != uop.Const && (!slices.Contains(r.lanes, e) || slices.Contains(p.idx[:i], e)) {
				return nil
			}
		}
		key = r.table.tuple(append([]*uop.UOp{p.u}, p.idx...)...)
		if p.first {
			key = "first" + key
		}
	}
	if d == dtype.Index {
		return nil
	}
	if r.itemOf[key] == nil {
		x := r.t.Make(uop.Reg, d, uop.RegArg{ID: freeSlot + len(r.items)})
		r.itemOf[key], r.items = x, append(r.items, p)
		r.step.Items = append(r.step.Items, x)
	}
	return r.itemOf[key]
}
