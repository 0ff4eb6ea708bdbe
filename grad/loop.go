package grad

import (
	"github.com/weft-ml/weft/uop"
	"github.com/weft-ml/weft/vmap"
)

// The gradient of a loop is a loop that goes back, over what is carried alone: backpropagation through time (Werbos 1990). What a step leaves to what it
// read besides is computed for all steps at once from that, so that weights get one product of large matrices instead of a sum of small ones.

// looped gives the gradients of the operands of a loop.
func looped(u, g *uop.UOp) []*uop.UOp {
	l := &loopGradient{LoopArg: u.Arg().(uop.LoopArg), u: u, values: u.Arg().(uop.LoopArg).Results(u.Src()...)}
	l.derive(g)
	after := l.carriedBack()
	l.stand(l.seeds, after)
	at := make([]*uop.UOp, 0, len(l.each)) // stand-ins, and what they are in all steps
	with := map[*uop.UOp]*uop.UOp{}
	for _, p := range l.each {
		at = append(at, p.all)
		with[p.one] = p.all
	}
	out := make([]*uop.UOp, len(u.Src()))
	for k, d := range l.starts {
		out[k] = d
	}
	same := map[int]*uop.UOp{}
	var wrt []int
	var ds []*uop.UOp
	for i, p := range l.Params {
		if i >= l.Carried+l.Along {
			same[p.Slot()] = u.At(i)
		}
		if i >= l.Carried && l.ds[i] != nil {
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
	for j, d := range uop.FillBeside(same, append(at, u.Src()...), many...) {
		out[wrt[j]] = d
	}
	return out
}

// loopGradient is the gradient of one result of a loop in the making.
type loopGradient struct {
	uop.LoopArg
	u      *uop.UOp
	values []*uop.UOp
	each   []inSteps        // what a step backwards reads of the step
	seeds  map[int]*uop.UOp // by number of what is carried: the gradient of what a step made of it; only of floats that a step's results depend on
	ds     []*uop.UOp       // of a step's Params, nil: 0
	starts map[int]*uop.UOp // gradients of what is carried, as it is before the first step
}

// inSteps is a stand-in in one step, and the array of what it is in all of them.
type inSteps struct{ one, all *uop.UOp }

func (l *loopGradient) add(one, all *uop.UOp) { l.each = append(l.each, inSteps{one, all}) }

// derive finds the gradients in one step.
func (l *loopGradient) derive(g *uop.UOp) {
	for k, p := range l.Params[:l.Carried+l.Along] {
		if k < l.Carried {
			l.add(p, shifted(l.values[k], l.u.At(k), l.Back))
		} else {
			l.add(p, l.u.At(k))
		}
	}
	kept := map[*uop.UOp]*uop.UOp{}
	for i := l.Given; i < len(l.Outs); i++ {
		one := uop.NewStandIn(l.Outs[i].DType(), l.Outs[i].Shape()...)
		kept[l.Outs[i]] = one
		l.add(one, l.values[i])
	}
	own := l.Outs[l.Out]
	seed := uop.NewStandIn(own.DType(), own.Shape()...)
	if len(g.Shape()) == 0 && len(l.u.Shape()) > 0 {
		g = expand(g, l.u.Shape())
	}
	l.add(seed, g)
	l.seeds = map[int]*uop.UOp{}
	ys, seeds := []*uop.UOp{own}, []*uop.UOp{seed}
	for k, p := range l.Params[:l.Carried] {
		if p.DType().IsFloat() {
			l.seeds[k] = uop.NewStandIn(p.DType(), p.Shape()...)
			ys, seeds = append(ys, l.Outs[k]), append(seeds, l.seeds[k])
		}
	}
	ds, reached := FindAll(ys, seeds, l.Params...)
	none := map[int]*uop.UOp{}
	for k, s := range l.seeds {
		if !reached[k] {
			none[s.Slot()] = zeros(s, s.Shape())
			delete(l.seeds, k)
		}
	}
	l.ds = uop.Fill(none, uop.Substitute(l.u.Home(), kept, ds...)...)
	for i, ok := range reached {
		if !ok {
			l.ds[i] = nil
		}
	}
}

// carriedBack gives the gradients of what the steps made of what is carried, by its number.
func (l *loopGradient) carriedBack() map[int]*uop.UOp {
	l.starts = map[int]*uop.UOp{}
	after := map[int]*uop.UOp{}
	if len(l.seeds) == 0 {
		return after
	}
	var b uop.LoopBody
	var args []*uop.UOp
	put := func(p, x *uop.UOp) { b.Params, args = append(b.Params, p), append(args, x) }
	var carried []int
	for k := range l.Carried {
		if s := l.seeds[k]; s != nil {
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
	outs := uop.NewLoop(b, l.Steps, !l.Back, args...)
	for i, k := range carried {
		first := entry(outs[i], l.Step(0))
		l.starts[k] = first
		after[k] = shifted(outs[i], zeros(first, first.Shape()), !l.Back)
	}
	return after
}

// stand says what the seeds are in all steps.
func (l *loopGradient) stand(seeds, all map[int]*uop.UOp) {
	for k := range l.Carried {
		if s := seeds[k]; s != nil {
			l.add(s, all[k])
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
