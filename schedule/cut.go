package schedule

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/codegen/nest"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/rewrite"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

var cutLaw = rewrite.Named("what is selected by where it stands along an axis is computed part by part")

// Bounds of nests that are cut.
const (
	leastCut  = 16      // elements along an axis
	mostCuts  = 64      // of a nest: more than NestLimits.Most, as parts take nothing from each other
	mostNodes = 1 << 12 // nodes of all parts
)

// cut makes of a nest whose elements are selected by where they stand along an axis, as those of joined arrays are, a nest for each part of the
// axis, in which there is nothing to select. Threads have to be able to share the nests, if there is work for several.
func (s *scheduler) cut() {
	for _, k := range s.kernels {
		if !k.opaque() && !k.scans() {
			k.spec = s.cutSpec(k.spec)
		}
	}
}

// cutSpec cuts along all axes, or else along all but the outermost, which threads may share.
func (s *scheduler) cutSpec(spec *codegen.Spec) *codegen.Spec {
	for first := range 2 {
		c := &cutNests{t: s.t, next: codegen.NextRange(spec)}
		for i, o := range spec.Outs {
			with := func(j int) bool { return j >= 0 && j < len(spec.Outs) && slices.Equal(spec.Outs[j].Axes, o.Axes) }
			if with(i-1) && !o.Apart || with(i+1) && !spec.Outs[i+1].Apart || !cuttable(o) {
				c.outs = append(c.outs, o)
			} else {
				c.out(o, first)
			}
		}
		if len(c.outs) == len(spec.Outs) {
			return spec
		}
		parts := *spec
		parts.Outs = c.outs
		if s.config.Nests.Alone(lower.WorkOf(spec)) || nest.SharesRows(&parts) {
			return &parts
		}
	}
	return spec
}

// cuttable says that an output is computed element by element, with nothing that parts would have in common.
func cuttable(o codegen.Out) bool {
	return o.Merge == nil && !o.Once && o.Gate == nil && len(o.Axes) > 0 && !slices.ContainsFunc(uop.Topo(o.Value), func(u *uop.UOp) bool {
		return u.Op() == uop.Reduce || u.Op() == uop.Scan
	})
}

// cutNests is the outputs of a kernel that is cut.
type cutNests struct {
	t    *uop.Table
	next int // number of a new range
	outs []codegen.Out
}

// out appends an output, or its parts along one axis after the other.
func (c *cutNests) out(o codegen.Out, first int) {
	for i := first; i < len(o.Axes); i++ {
		if parts := c.parts(o, i); parts != nil {
			for _, p := range parts {
				c.out(p, i+1)
			}
			return
		}
	}
	c.outs = append(c.outs, o)
}

// parts are those of an output along an axis; nil where it is one.
func (c *cutNests) parts(o codegen.Out, axis int) (out []codegen.Out) {
	r := o.Axes[axis]
	at := cuts(o.Value, r)
	if len(at) < 3 || len(c.outs)+len(at) > mostCuts || len(at)*len(uop.Topo(o.Value)) > mostNodes {
		return nil
	}
	for i, from := range at[:len(at)-1] {
		part := c.t.Range(c.next, at[i+1]-from, r.Arg().(uop.RangeArg).Name)
		c.next++
		with := map[*uop.UOp]*uop.UOp{r: part.Add(c.t.Index(from))}
		p := o
		p.Apart = o.Apart && i == 0
		p.Axes = slices.Clone(o.Axes)
		p.Axes[axis] = part
		p.Index = uop.Substitute(c.t, with, o.Index...)
		for j, x := range p.Index {
			p.Index[j] = symbolic.Simplify(c.t, x)
		}
		p.Value = symbolic.Simplify(c.t, uop.Substitute(c.t, with, o.Value)[0])
		out = append(out, p)
	}
	return out
}

// cuts are the places of an axis at which the choices that a value is made of change, with its beginning and its end. Parts that were too short
// are not cut off.
func cuts(value, r *uop.UOp) []int {
	n := r.Arg().(uop.RangeArg).N
	found := map[int]bool{}
	for _, u := range uop.Topo(value) {
		if u.Op() == uop.Less && u.At(0).DType() == dtype.Index {
			if at, ok := firstOther(u, r); ok && at > 0 && at < n {
				found[at] = true
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	out := []int{0}
	for at := leastCut; at <= n-leastCut; at++ {
		if found[at] && at-out[len(out)-1] >= leastCut {
			out = append(out, at)
		}
	}
	return append(out, n)
}

// firstOther is the place on an axis from which on a comparison has another result, if that is all it depends on.
func firstOther(less, r *uop.UOp) (at int, ok bool) {
	terms, k, ok := symbolic.Affine(less.At(0).Sub(less.At(1)))
	switch {
	case !ok || len(terms) != 1 || terms[0].Node != r:
	case terms[0].Coef == 1: // r + k < 0
		return -k, true
	case terms[0].Coef == -1: // k < r
		return k + 1, true
	}
	return 0, false
}
