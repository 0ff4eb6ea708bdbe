package schedule

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/rewrite"
	"github.com/weft-ml/weft/uop"
)

var orderLaw = rewrite.Named("what is replaced and its replacement are one parameter")

// order sorts the kernels by data, lets assignments write in place where every read of the old contents comes
// before, and gives the others a buffer of their own and a copy at the end.
func (s *scheduler) order() {
	writer := map[int]int{}
	readers := map[int][]int{}
	for i, k := range s.kernels {
		for p, b := range k.bufs {
			if k.spec.Params[p].Write {
				writer[b] = i
			} else if !slices.Contains(readers[b], i) {
				readers[b] = append(readers[b], i)
			}
		}
	}
	after := make([][]int, len(s.kernels)) // edges: must run later
	for _, w := range sorted(writer) {
		for _, r := range readers[w.key] {
			if r != w.value {
				after[w.value] = append(after[w.value], r)
			}
		}
	}
	for _, f := range sorted(s.fresh) {
		buf, slot := f.key, f.value
		w, ok := writer[buf]
		if !ok {
			continue // no elements
		}
		k := s.kernels[w]
		if part := s.part(k, buf, slot); part != nil && part.inPlace(s.t, buf, slot) {
			k = part
		}
		inPlace := k.inPlace(s.t, buf, slot)
		var old []int
		for _, r := range readers[slot] {
			if r != w {
				old = append(old, r)
				inPlace = inPlace && !reaches(after, w, r)
			}
		}
		if !inPlace {
			s.copies = append(s.copies, Step{Bufs: []int{slot, buf}})
			continue
		}
		for _, r := range old {
			after[r] = append(after[r], w)
		}
		s.kernels[w] = k
		s.replace(buf, slot)
	}
	s.sort(after)
}

type pair struct{ key, value int }

// sorted lists a map by key, so that the same graph always gives the same schedule.
func sorted(m map[int]int) []pair {
	out := make([]pair, 0, len(m))
	for k, v := range m {
		out = append(out, pair{k, v})
	}
	slices.SortStableFunc(out, func(a, b pair) int { return a.key - b.key })
	return out
}

// reaches reports whether to must run after from.
func reaches(after [][]int, from, to int) bool {
	seen := map[int]bool{}
	todo := []int{from}
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if i == to {
			return true
		}
		if !seen[i] {
			seen[i] = true
			todo = append(todo, after[i]...)
		}
	}
	return false
}

// inPlace reports whether k, which writes buf, may write it over the input slot: it loads the input only at the
// element that it is about to write.
func (k *kernel) inPlace(t *uop.Table, buf, slot int) bool {
	if !slices.Contains(k.bufs, slot) {
		return true
	}
	if k.opaque() { // who knows in which order
		return false
	}
	var out int
	for i, o := range k.spec.Outs {
		if o.Merge != nil || o.Once || slices.ContainsFunc(k.spec.Outs[:i], func(p codegen.Out) bool { return p.Param == o.Param }) {
			return false
		}
		if k.bufs[o.Param] == buf {
			out = i
		}
	}
	o := k.spec.Outs[out]
	list, _ := reduces(k.expressions())
	if len(list) > 0 { // the loops of a reduction run before the store, but not those of other elements
		for _, u := range uop.Topo(list...) {
			if u.Op() == uop.Load && k.bufs[u.At(0).Arg().(uop.ParamArg).Slot] == slot {
				return false
			}
		}
	}
	for _, u := range uop.Topo(k.expressions()...) {
		if u.Op() != uop.Load {
			continue
		}
		p := u.At(0).Arg().(uop.ParamArg).Slot
		if k.bufs[p] == slot && !sameElement(t, o.Index, k.spec.Params[o.Param].Dims, u.Src()[2:], k.spec.Params[p].Dims) {
			return false
		}
	}
	return true
}

// replace lets the writer of buf write the input slot instead; all who read buf read the slot.
func (s *scheduler) replace(buf, slot int) {
	for _, k := range s.kernels {
		written := -1
		for p, b := range k.bufs {
			if b == buf {
				k.bufs[p] = slot
				if k.spec.Params[p].Write {
					written = p
				}
			}
		}
		if written >= 0 {
			s.mergeParams(k, written)
		}
	}
	for u, b := range s.bufOf {
		if b == buf {
			s.bufOf[u] = slot
		}
	}
	for i := range s.copies {
		for j, b := range s.copies[i].Bufs {
			if b == buf {
				s.copies[i].Bufs[j] = slot
			}
		}
	}
}

// mergeParams makes a buffer that is read and written one Param: loads of it use the written one at the
// index of its store, which inPlace has checked.
func (s *scheduler) mergeParams(k *kernel, written int) {
	var index []*uop.UOp
	for _, o := range k.spec.Outs {
		if o.Param == written {
			index = o.Index
		}
	}
	same := map[int]bool{}
	for p, b := range k.bufs {
		if p != written && b == k.bufs[written] {
			same[p] = true
		}
	}
	if len(same) == 0 {
		return
	}
	renamed, kept := make([]int, len(k.bufs)), 0
	var params = k.spec.Params[:0:0]
	var bufs []int
	for p := range k.bufs {
		if !same[p] {
			renamed[p] = kept
			kept++
			params, bufs = append(params, k.spec.Params[p]), append(bufs, k.bufs[p])
		}
	}
	for p := range same {
		renamed[p] = renamed[written]
	}
	done := map[*uop.UOp]*uop.UOp{}
	for _, u := range uop.Topo(k.expressions()...) {
		switch {
		case u.Op() == uop.Param:
			a := u.Arg().(uop.ParamArg)
			done[u] = s.t.Param(renamed[a.Slot], a.N, u.DType())
		case u.Op() == uop.Load && same[u.At(0).Arg().(uop.ParamArg).Slot]:
			done[u] = s.t.Load(done[u.At(0)], done[u.At(1)], index...)
		default:
			done[u] = u.WithSrc(s.t, func(x *uop.UOp) *uop.UOp { return done[x] })
		}
	}
	for i := range k.spec.Outs {
		o := &k.spec.Outs[i]
		o.Value, o.Param, o.Index = done[o.Value], renamed[o.Param], slices.Clone(o.Index)
		for j, x := range o.Index {
			o.Index[j] = done[x]
		}
		if o.Gate != nil { // as where a condition on what was there says which elements change
			o.Gate = done[o.Gate]
		}
	}
	k.spec.Params, k.bufs = params, bufs
}
