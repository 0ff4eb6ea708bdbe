package lower

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/nest"
	"github.com/weft-ml/weft/uop"
)

// Nests takes a Spec apart into Specs of one nest each, to be run one after the other; they share the arena and
// the list of Params. For targets without a Grid it is the Spec itself.
func Nests(s *codegen.Spec, t *codegen.Target) []*codegen.Spec {
	if !t.Grid || len(s.Outs) == 0 {
		return []*codegen.Spec{s}
	}
	k := &nest.Kernel{Outs: s.Outs}
	k.GroupOuts()
	if len(k.Groups) == 1 {
		return chunks(mergeParts(s, t), t)
	}
	var out []*codegen.Spec
	for _, g := range k.Groups {
		one := &codegen.Spec{Home: s.Home, Params: slices.Clone(s.Params), Vars: s.Vars}
		for i := range one.Params {
			one.Params[i].Write, one.Params[i].Own = false, false
		}
		for _, i := range g.Outs {
			one.Outs = append(one.Outs, s.Outs[i])
			one.Params[s.Outs[i].Param].Write = true
		}
		out = append(out, chunks(mergeParts(one, t), t)...)
	}
	return out
}

// chunks cuts a nest whose merged elements come one after the other in one invocation into several, to run in order.
func chunks(s *codegen.Spec, t *codegen.Target) []*codegen.Spec {
	most := t.Limits.Iterations / 2
	if most == 0 || s.Outs[0].Merge == nil {
		return []*codegen.Spec{s}
	}
	o := s.Outs[0]
	var cut *uop.UOp
	inner := 1
	for _, r := range o.Axes {
		switch {
		case slices.Contains(o.Index, r):
		case cut == nil:
			cut = r
		default:
			inner *= codegen.Extent(r)
		}
	}
	if cut == nil || codegen.Extent(cut)*inner <= most || inner > most {
		return []*codegen.Spec{s}
	}
	var out []*codegen.Spec
	a := cut.Arg().(uop.RangeArg)
	for from := 0; from < a.N; from += most / inner {
		part := *s
		r := s.Home.Range(a.ID, min(most/inner, a.N-from), a.Name)
		p := substituted(s.Home, o, cut, r.Add(s.Home.Index(from)))
		p.Axes[slices.Index(p.Axes, cut)] = r
		part.Outs = []codegen.Out{p}
		out = append(out, &part)
	}
	return out
}

// Bounds of parts of a merge: how many at least are worth that each goes over everything that is merged, over so much at least.
const (
	leastMergeParts = 8
	leastMerged     = 64
	mergeShare      = 8 // the part of Target.Parallel that is enough
)

// mergeParts gives the elements of a merged output to several invocations. Which element a value is merged with comes from data, so one
// invocation goes over all values in their order; where that leaves few, the axis that data index is cut into interleaved parts, each of
// which is an invocation that goes over all values and merges those that are its own. The order in which an element gets its values stays.
func mergeParts(s *codegen.Spec, t *codegen.Target) *codegen.Spec {
	if t.Parallel == 0 || len(s.Outs) != 1 || s.Outs[0].Merge == nil {
		return s
	}
	o := s.Outs[0]
	if s.Params[o.Param].DType.Size() < 4 {
		return s // one invocation owns all words
	}
	at := slices.IndexFunc(o.Index, codegen.FromData)
	if at < 0 {
		return s
	}
	apart, together := mergedBy(&o)
	for _, u := range uop.Topo(append(codegen.RootsOf(s.Outs), o.Axes...)...) {
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
	if parts == 0 || together < leastMerged {
		return s
	}
	out := *s
	part, n := s.Home.Range(codegen.NextRange(s), parts, ""), s.Home.Index(parts)
	x := o.Index[at]
	o.Axes = slices.Insert(slices.Clone(o.Axes), 0, part)
	o.Index = slices.Insert(slices.Clone(o.Index), at+1, part)
	o.Index[at] = x.IDiv(n)
	o.Gate = codegen.OrTrue(s.Home, o.Gate).And(x.Mod(n).Equal(part))
	out.Outs = []codegen.Out{o}
	out.Params = slices.Clone(s.Params)
	p := &out.Params[o.Param]
	p.Dims = slices.Insert(slices.Clone(p.Dims), at+1, parts)
	p.Dims[at] /= parts
	return &out
}

// mergedBy counts the iterations of a merge that go to elements of their own, and for each of these those that may meet.
func mergedBy(o *codegen.Out) (apart, together int) {
	apart, together = 1, 1
	for _, r := range o.Axes {
		if slices.Contains(o.Index, r) {
			apart *= codegen.Extent(r)
		} else {
			together *= codegen.Extent(r)
		}
	}
	return apart, together
}

// substituted is an output with one range replaced.
func substituted(t *uop.Table, o codegen.Out, r, by *uop.UOp) codegen.Out {
	with := map[*uop.UOp]*uop.UOp{r: by}
	o.Axes, o.Index = slices.Clone(o.Axes), uop.Substitute(t, with, o.Index...)
	o.Value = uop.Substitute(t, with, o.Value)[0]
	if o.Gate != nil {
		o.Gate = uop.Substitute(t, with, o.Gate)[0]
	}
	return o
}
