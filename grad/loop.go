package grad

import (
	"slices"

	"github.com/weft-ml/weft/uop"
	"github.com/weft-ml/weft/vmap"
)

// The gradient of a loop is a loop that goes back, over what is carried alone: backpropagation through time (Werbos 1990). What a step leaves to what it
// read besides is computed for all steps at once from that, so that weights get one product of large matrices instead of a sum of small ones.

// loopGradients are the results of one loop whose gradients are known. They are passed on together, when those of all are.
type loopGradients struct {
	first       *uop.UOp // of all results, in the order of the graph
	results, gs []*uop.UOp
}

// loopsOf finds the results of loops in a graph.
func loopsOf(order []*uop.UOp) map[*uop.UOp]*loopGradients {
	var of map[*uop.UOp]*loopGradients
	var list []*loopGradients
	for _, u := range order {
		if u.Op() != uop.Loop {
			continue
		}
		i := slices.IndexFunc(list, func(l *loopGradients) bool { return u.SameLoop(l.first) })
		if i < 0 {
			i = len(list)
			list = append(list, &loopGradients{first: u})
		}
		if of == nil {
			of = map[*uop.UOp]*loopGradients{}
		}
		of[u] = list[i]
	}
	return of
}

// looped gives the gradients of the operands of a loop from those of some of its results.
func looped(us, gs []*uop.UOp) []*uop.UOp {
	u := us[0]
	l := loopOf(u)
	l.derive(us, gs)
	out := make([]*uop.UOp, len(u.Src()))
	l.carriedBack(out)
	with, same := map[*uop.UOp]*uop.UOp{}, map[int]*uop.UOp{}
	known := append([]*uop.UOp{}, u.Src()...)
	for _, p := range l.each {
		with[p.one] = p.all
		known = append(known, p.all)
	}
	var wrt []int
	var ds []*uop.UOp
	for i, p := range l.Params[l.Carried:] {
		i += l.Carried
		if i >= l.Carried+l.Along {
			same[p.Slot()] = u.At(i)
		}
		if l.ds[i] != nil && out[i] == nil {
			wrt, ds = append(wrt, i), append(ds, l.ds[i])
		}
	}
	many := vmap.Batch(l.Steps, with, ds...)
	for j, d := range many {
		if d == nil { // it is the same in all steps
			d = ds[j].Reshape(append([]int{1}, ds[j].Shape()...)...).Expand(append([]int{l.Steps}, ds[j].Shape()...)...)
		}
		if wrt[j] >= l.Carried+l.Along {
			d = sum(d, []int{0})
		}
		many[j] = d
	}
	for j, d := range uop.FillBeside(same, known, many...) {
		out[wrt[j]] = d
	}
	return out
}

// loopGradient is the gradient of a loop in the making.
type loopGradient struct {
	uop.LoopArg
	u      *uop.UOp
	values []*uop.UOp
	each   []inSteps        // what a step back reads of the step
	back   map[int]*uop.UOp // by number of what is carried: the gradient of what a step made of it; only of floats that a step's results depend on
	ds     []*uop.UOp       // of a step's Params, nil: 0
	cuts   []*uop.UOp       // gradients inside of a step that those of what is the same in all steps are made of
}

// inSteps is a stand-in in one step, and the array of what it is in all of them.
type inSteps struct{ one, all *uop.UOp }

func (l *loopGradient) add(one, all *uop.UOp) { l.each = append(l.each, inSteps{one, all}) }

func loopOf(u *uop.UOp) *loopGradient {
	a := u.Arg().(uop.LoopArg)
	return &loopGradient{LoopArg: a, u: u, values: a.Results(u.Src()...), back: map[int]*uop.UOp{}}
}

// entries has a step read what is carried to it, and what the loop goes along.
func (l *loopGradient) entries() {
	for k, p := range l.Params[:l.Carried+l.Along] {
		if k < l.Carried {
			l.add(p, shifted(l.values[k], l.u.At(k), l.Back))
		} else {
			l.add(p, l.u.At(k))
		}
	}
}

// kept has a step read what the loop kept for that, and gives stand-ins for it.
func (l *loopGradient) kept() map[*uop.UOp]*uop.UOp {
	kept := map[*uop.UOp]*uop.UOp{}
	for i, o := range l.Outs[l.Given:] {
		kept[o] = uop.NewStandIn(o.DType(), o.Shape()...)
		l.add(kept[o], l.values[l.Given+i])
	}
	return kept
}

// derive finds the gradients in one step.
func (l *loopGradient) derive(us, gs []*uop.UOp) {
	l.entries()
	kept, wrt := l.kept(), l.Params
	for _, o := range l.Outs[l.Given:] {
		if o.Op() == uop.Reduce {
			wrt = append(wrt[:len(wrt):len(wrt)], o)
		}
	}
	var ys, seeds []*uop.UOp
	for i, u := range us {
		own, g := l.Outs[u.Arg().(uop.LoopArg).Out], gs[i]
		seed := uop.NewStandIn(own.DType(), own.Shape()...)
		if len(g.Shape()) == 0 && len(u.Shape()) > 0 {
			g = expand(g, u.Shape())
		}
		l.add(seed, g)
		ys, seeds = append(ys, own), append(seeds, seed)
	}
	for k, p := range l.Params[:l.Carried] {
		if p.DType().IsFloat() {
			l.back[k] = uop.NewStandIn(p.DType(), p.Shape()...)
			ys, seeds = append(ys, l.Outs[k]), append(seeds, l.back[k])
		}
	}
	ds, reached := FindAll(ys, seeds, wrt...)
	none := map[int]*uop.UOp{}
	for k, s := range l.back {
		if !reached[k] {
			none[s.Slot()] = zeros(s, s.Shape())
			delete(l.back, k)
		}
	}
	l.ds = uop.Fill(none, uop.Substitute(l.u.Home(), kept, ds...)...)
	for i, ok := range reached {
		switch inside := i >= l.Carried && i < l.Carried+l.Along || i >= len(l.Params); {
		case !ok:
			l.ds[i] = nil
		case inside && l.ds[i].Slot() == 0:
			l.cuts = append(l.cuts, l.ds[i])
		}
	}
}

// carriedBack gives the gradients of what is carried, as it is before the first step, and of the arrays that the loop goes along.
func (l *loopGradient) carriedBack(out []*uop.UOp) {
	if len(l.back) == 0 {
		return
	}
	var b uop.LoopBody
	var args []*uop.UOp
	put := func(p, x *uop.UOp) { b.Params, args = append(b.Params, p), append(args, x) }
	var carried []int
	for k := range l.Carried {
		if s := l.back[k]; s != nil {
			put(s, zeros(s, s.Shape()))
			carried, b.Outs = append(carried, k), append(b.Outs, l.ds[k])
		}
	}
	b.Carried, b.Along = len(carried), len(l.each)
	for _, p := range l.each {
		put(p.one, p.all)
	}
	for i, p := range l.Params[l.Carried+l.Along:] {
		put(p, l.u.At(l.Carried+l.Along+i))
	}
	b.Outs = append(b.Outs, l.cuts...)
	outs := uop.NewLoop(b, l.Steps, !l.Back, args...)
	for i, k := range carried {
		out[k] = entry(outs[i], l.Step(0))
		l.add(l.back[k], shifted(outs[i], zeros(out[k], out[k].Shape()), !l.Back))
	}
	found := map[*uop.UOp]*uop.UOp{}
	for i, d := range l.cuts {
		all := outs[len(carried)+i]
		for j := l.Carried; j < l.Carried+l.Along; j++ {
			if l.ds[j] == d {
				out[j] = all
			}
		}
		if found[d] == nil {
			found[d] = uop.NewStandIn(d.DType(), d.Shape()...)
			l.add(found[d], all)
		}
	}
	for i, d := range l.ds[:len(l.Params)] {
		if d != nil && i >= l.Carried && out[i] == nil {
			l.ds[i] = uop.Substitute(l.u.Home(), found, d)[0]
		}
	}
}

// shifted are the entries that come a step before those of u, and edge before the first.
func shifted(u, edge *uop.UOp, back bool) *uop.UOp {
	n := u.Shape()[0]
	edge = edge.Reshape(append([]int{1}, edge.Shape()...)...)
	if n == 1 {
		return edge
	}
	lo, hi := make([]int, len(u.Shape())), append([]int{}, u.Shape()...)
	if back {
		lo[0] = 1
		return uop.Join(0, n, []int{0, n - 1}, []*uop.UOp{u.Shrink(lo, hi), edge})
	}
	hi[0] = n - 1
	return uop.Join(0, n, []int{0, 1}, []*uop.UOp{edge, u.Shrink(lo, hi)})
}

// entry is an entry of the first axis.
func entry(u *uop.UOp, i int) *uop.UOp {
	lo, hi := make([]int, len(u.Shape())), append([]int{}, u.Shape()...)
	lo[0], hi[0] = i, i+1
	return u.Shrink(lo, hi).Reshape(u.Shape()[1:]...)
}
