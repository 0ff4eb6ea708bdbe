package codegen

import (
	"slices"

	"github.com/weft-ml/weft/uop"
)

// Bounds of parts of a merge: how many at least are worth that each goes over everything that is merged, over so much at least.
const (
	leastMergeParts = 8
	leastMerged     = 64
	mergeShare      = 8 // the part of Target.Parallel that is enough
)

// mergeParts gives the elements of a merged output to several invocations. Which element a value is merged with comes from data, so one
// invocation goes over all values in their order; where that leaves few, the axis that data index is cut into interleaved parts, each of
// which is an invocation that goes over all values and merges those that are its own. The order in which an element gets its values stays.
func mergeParts(s *Spec, t *Target) *Spec {
	if t.Parallel == 0 || len(s.Outs) != 1 || s.Outs[0].Merge == nil {
		return s
	}
	o := s.Outs[0]
	if s.Params[o.Param].DType.Size() < 4 {
		return s // one invocation owns all words
	}
	at := slices.IndexFunc(o.Index, fromData)
	if at < 0 {
		return s
	}
	apart, merged := o.merged()
	for _, u := range uop.Topo(append(rootsOf(s.Outs), o.Axes...)...) {
		if u.Op() == uop.Load && u.At(0).Arg().(uop.ParamArg).Slot == o.Param {
			return s // and its index is of whole axes
		}
	}
	dims := s.Params[o.Param].Dims
	parts := 0
	for d := min(t.Parallel/mergeShare/max(apart, 1), dims[at]); d >= leastMergeParts && parts == 0; d-- {
		if dims[at]%d == 0 {
			parts = d
		}
	}
	if parts == 0 || merged < leastMerged {
		return s
	}
	out := *s
	part, n := s.Home.Range(s.nextRange(), parts, ""), s.Home.Index(parts)
	x := o.Index[at]
	o.Axes = slices.Insert(slices.Clone(o.Axes), 0, part)
	o.Index = slices.Insert(slices.Clone(o.Index), at+1, part)
	o.Index[at] = x.IDiv(n)
	o.Gate = orTrue(s.Home, o.Gate).And(x.Mod(n).Equal(part))
	out.Outs = []Out{o}
	out.Params = slices.Clone(s.Params)
	p := &out.Params[o.Param]
	p.Dims = slices.Insert(slices.Clone(p.Dims), at+1, parts)
	p.Dims[at] /= parts
	return &out
}

// fromData says that a value comes from data.
func fromData(u *uop.UOp) bool {
	return slices.ContainsFunc(uop.Topo(u), func(u *uop.UOp) bool { return u.Op() == uop.Load })
}

// merged counts the iterations of a merge that go to elements of their own, and for each of these those that may meet.
func (o *Out) merged() (apart, merged int) {
	apart, merged = 1, 1
	for _, r := range o.Axes {
		if slices.Contains(o.Index, r) {
			apart *= extent(r)
		} else {
			merged *= extent(r)
		}
	}
	return apart, merged
}

// nextRange is the number of a range that the Spec has not.
func (s *Spec) nextRange() (id int) {
	roots := rootsOf(s.Outs)
	for _, o := range s.Outs {
		roots = append(roots, o.Axes...)
	}
	for _, u := range uop.Topo(roots...) {
		if u.Op() == uop.Range {
			id = max(id, u.Arg().(uop.RangeArg).ID+1)
		}
	}
	return id
}
