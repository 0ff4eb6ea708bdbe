package schedule

import (
	"slices"

	"github.com/weft-ml/weft/uop"
	"github.com/weft-ml/weft/vmap"
)

// finish makes the scan, and gives the results of the loop that are needed, or nil where a kernel could not have so many operands.
func (r *recurrence) finish() []*uop.UOp {
	along := map[*uop.UOp]*uop.UOp{}
	for k := r.Carried; k < r.Carried+r.Along; k++ {
		r.along(along, k, r.inOrder(r.args[k]))
	}
	parts := r.elements(along)
	if most := r.config.MaxBindings; most > 0 && arraysOf(parts) > most-2 {
		return nil
	}
	scan := r.t.Recur(&r.step, parts...)
	outs := make([]*uop.UOp, len(r.outs))
	list := r.behind()
	for i := range outs {
		if r.held[i] != nil {
			outs[i] = r.joined(scan, i)
		} else if k := r.same(i); k >= 0 {
			outs[i] = outs[k]
		}
	}
	if len(list) > 0 {
		var ys []*uop.UOp
		for _, i := range list {
			ys = append(ys, r.outs[i])
		}
		behind := along
		for k := range r.Carried {
			behind[r.outs[k]] = outs[k]
			r.along(behind, k, r.previous(k, outs[k]))
		}
		for j, y := range vmap.Batch(r.Steps, behind, ys...) {
			if y == nil {
				y = r.everyStep(ys[j])
			}
			outs[list[j]] = y
		}
	}
	for i, u := range outs {
		if u != nil {
			outs[i] = r.inOrder(u)
		}
	}
	return outs
}

// behind are the results that are computed of all steps at once. What they are made of is stored in all of them.
func (r *recurrence) behind() (list []int) {
	for i := range r.outs {
		k := r.same(i)
		if r.needed[i] && r.held[i] == nil && k < 0 {
			list = append(list, i)
		}
		if r.needed[i] && !r.final[i] && k >= 0 {
			r.final[k] = false
		}
	}
	if len(list) > 0 {
		clear(r.final)
	}
	return list
}

// inOrder is an array of entries in the order of steps, or of one in that order as the loop gives it.
func (r *recurrence) inOrder(u *uop.UOp) *uop.UOp {
	if r.Back {
		return u.Flip(0)
	}
	return u
}

// along has a stand-in be an array in all steps.
func (r *recurrence) along(with map[*uop.UOp]*uop.UOp, k int, all *uop.UOp) {
	with[array(r.stand[k])], with[r.stand[k]] = all.Reshape(r.Steps, all.Shape().Numel()/r.Steps), all
}

// everyStep is what is the same in all steps.
func (r *recurrence) everyStep(u *uop.UOp) *uop.UOp {
	return u.Reshape(append([]int{1}, u.Shape()...)...).Expand(append([]int{r.Steps}, u.Shape()...)...)
}

// previous is what is carried to each step.
func (r *recurrence) previous(k int, after *uop.UOp) *uop.UOp {
	return firstOf(r.t, after.Shape(), 0).Where(r.everyStep(r.args[k]), previous(after, 0))
}

// shape is that of the scan.
func (r *recurrence) shape() uop.Shape {
	shape := uop.Shape{r.Steps}
	for _, l := range r.lanes {
		shape = append(shape, l.Arg().(uop.RangeArg).N)
	}
	return shape
}

// elements are the parts of what the scan goes along.
func (r *recurrence) elements(along map[*uop.UOp]*uop.UOp) []*uop.UOp {
	nodes := make([]*uop.UOp, len(r.items))
	for i, p := range r.items {
		if nodes[i] = p.u; p.u == nil {
			nodes[i] = r.t.True()
		}
	}
	all := vmap.Batch(r.Steps, along, nodes...)
	for i, p := range r.items {
		switch {
		case p.u == nil:
			all[i] = firstOf(r.t, r.shape(), 0)
		case p.first:
			all[i] = r.spread(r.args[r.carried[p.u]], p.idx)
		case all[i] == nil:
			all[i] = r.spread(p.u, p.idx)
		default:
			all[i] = r.spreadAlong(all[i], p.idx)
		}
	}
	return all
}

func (r *recurrence) spread(u *uop.UOp, idx []*uop.UOp) *uop.UOp {
	return r.spreadAlong(u.Reshape(append([]int{1}, u.Shape()...)...), idx)
}

// spreadAlong is what u, of all steps or of one for all, has at a place, in all lanes.
func (r *recurrence) spreadAlong(u *uop.UOp, idx []*uop.UOp) *uop.UOp {
	lo, hi := make([]int, 1+len(idx)), slices.Clone(u.Shape())
	order, shape := []int{0}, []int{hi[0]}
	for a, e := range idx {
		if i, ok := e.ConstInt(); ok {
			lo[a+1], hi[a+1] = i, i+1
		}
	}
	for _, l := range r.lanes {
		if a := slices.Index(idx, l); a >= 0 {
			order, shape = append(order, a+1), append(shape, hi[a+1])
		} else {
			shape = append(shape, 1)
		}
	}
	for a, e := range idx {
		if !slices.Contains(r.lanes, e) {
			order = append(order, a+1)
		}
	}
	return u.Shrink(lo, hi).Permute(order...).Reshape(shape...).Expand(r.shape()...)
}

// joined is result i of all steps.
func (r *recurrence) joined(scan *uop.UOp, i int) *uop.UOp {
	place := r.place[i]
	parts := make([]*uop.UOp, len(r.held[i]))
	shape, hi := []int{r.Steps}, slices.Clone(r.shape())
	order := []int{0}
	for a, at := range place {
		if j := slices.Index(r.lanes, at); j >= 0 {
			order, shape = append(order, j+1), append(shape, r.outs[i].Shape()[a])
		} else {
			shape = append(shape, 1)
		}
	}
	for j := range r.lanes {
		if !slices.Contains(order, j+1) { // it is the same in all of them
			order, hi[j+1] = append(order, j+1), 1
		}
	}
	lo := make([]int, len(hi))
	if r.final[i] {
		lo[0], shape[0] = r.Steps-1, 1
	}
	for n, part := range r.held[i] {
		parts[n] = scan.Part(part).Shrink(lo, hi)
		if r.final[i] {
			parts[n] = parts[n].Contiguous()
		}
		parts[n] = parts[n].Permute(order...).Reshape(shape...)
	}
	for a := len(place) - 1; a >= 0; a-- {
		if place[a] != nil {
			continue
		}
		n := r.outs[i].Shape()[a]
		starts := make([]int, n)
		for j := range starts {
			starts[j] = j
		}
		var next []*uop.UOp
		for j := 0; j < len(parts); j += n {
			next = append(next, uop.Join(a+1, n, starts, parts[j:j+n]))
		}
		parts = next
	}
	if shape[0] == 1 {
		shape = append([]int{r.Steps}, r.outs[i].Shape()...)
		return parts[0].Expand(shape...)
	}
	return parts[0]
}

// arraysOf is how many arrays some nodes are read from.
func arraysOf(us []*uop.UOp) int {
	list := map[*uop.UOp]bool{}
	for _, u := range us {
		for u.Op().IsMovement() {
			u = u.At(0)
		}
		if u.Op() != uop.Const && u.Op() != uop.Range {
			list[u] = true
		}
	}
	return len(list)
}
