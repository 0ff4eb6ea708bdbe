package sizes

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// A step of a loop is a graph of its own, in which the same variables vary: cases of a loop are compared step by step, in their nodes.

// step is what a loop of the cases does.
type step struct {
	*Graph // its inputs are the stand-ins
	of     []*uop.LoopBody
	made   map[bool]*uop.LoopBody // for loops whose number of steps varies, and for others
}

// loop compares loops.
func (c *comparison) loop(p *pair) bool {
	bodies := make([]*uop.LoopBody, len(p.of))
	first := p.first().Arg().(uop.LoopArg)
	for i, u := range p.of {
		a := u.Arg().(uop.LoopArg)
		if !alike(a, first) {
			return false
		}
		bodies[i] = a.LoopBody
	}
	for _, s := range c.steps {
		if s.of[0] == bodies[0] {
			p.step = s
			return slices.Equal(s.of, bodies)
		}
	}
	p.step = &step{&Graph{by: c.by, numbers: c.numbers}, bodies, map[bool]*uop.LoopBody{}}
	c.steps = append(c.steps, p.step)
	cases := make([]Case, len(bodies))
	for i, b := range bodies {
		cases[i] = Case{Ins: b.Params, Roots: b.Pure}
		if !likeShapes(cases[i].Ins, cases[0].Ins) || len(b.Pure) != len(bodies[0].Pure) {
			return false
		}
	}
	return p.step.compare(cases, c.s, c.needs)
}

// alike says whether two loops have steps of as many parts, and are the same result.
func alike(a, b uop.LoopArg) bool {
	return a.Carried == b.Carried && a.Along == b.Along && a.Back == b.Back && a.Out == b.Out
}

// likeShapes says whether arrays have the same types, and as many axes.
func likeShapes(a, b []*uop.UOp) bool {
	return slices.EqualFunc(a, b, func(u, v *uop.UOp) bool { return u.DType() == v.DType() && len(u.Shape()) == len(v.Shape()) })
}

// loop says whether a case's loop is one of this step. What it is made of is compared once.
func (m *match) loop(p *pair, a uop.LoopArg) bool {
	if !alike(a, p.first().Arg().(uop.LoopArg)) {
		return false
	}
	if b := m.steps[p.step]; b != nil {
		return b == a.LoopBody
	}
	m.steps[p.step] = a.LoopBody
	s := p.step
	if !likeShapes(a.Params, s.of[0].Params) || len(a.Pure) != len(s.roots) {
		return false
	}
	for i, u := range a.Params {
		for axis, f := range s.ins[i] {
			if f.at(m.n) != u.Shape()[axis] {
				return false
			}
		}
	}
	in := newMatch(a.Params)
	in.n, in.values = m.n, m.values
	return s.meets(in, a.Pure) && s.fits(in)
}

// loop has room for the most steps. Those that do not count leave what is carried as it is.
func loop(g *Graph, p *pair) value {
	if len(p.size[0]) != 1 {
		panic(errRefused)
	}
	steps := p.size[0][0]
	a := p.first().Arg().(uop.LoopArg)
	var args []*uop.UOp
	for i, s := range p.src {
		want := p.step.ins[i]
		if i >= a.Carried && i < a.Carried+a.Along {
			want = append([]form{steps}, want...)
		}
		v := g.full(s)
		if !slices.EqualFunc(v.axes, want, func(factors []form, f form) bool { return len(factors) == 1 && factors[0] == f }) {
			panic(errRefused)
		}
		args = append(args, unlimited(v.node))
	}
	some := steps.varies()
	if p.step.made[some] == nil {
		p.step.made[some] = p.step.make(g, a, some)
	}
	if some {
		room := uop.Shape{g.room(steps)}
		args = slices.Insert(args, a.Carried+a.Along, uop.Within(0, room, g.size(steps)))
	}
	for _, v := range g.Vars {
		args = append(args, uop.SizeOf(v).Node().Cast(dtype.I32))
	}
	args = append(args, g.Ins[len(g.ins):]...)
	a.LoopBody, a.Steps = p.step.made[some], g.room(steps)
	return value{a.Results(args...)[a.Out], slices.Concat([][]form{{steps}}, p.step.roots[a.Out].axes)}
}

// make makes the graph of a step. What variables and numbers are it is given, and with some also whether it counts.
func (s *step) make(g *Graph, a uop.LoopArg, some bool) *uop.LoopBody {
	s.Vars = g.Vars
	if len(s.made) == 0 && !s.build() {
		panic(errRefused)
	}
	roots := slices.Clone(s.Roots)
	b := &uop.LoopBody{Params: slices.Clip(s.Ins[:len(s.ins)]), Carried: a.Carried, Along: a.Along, Given: len(s.Roots)}
	if some {
		counts := uop.NewStandIn(dtype.Bool)
		for i := range a.Carried {
			before, ones := s.Ins[i], slices.Repeat([]int{1}, len(s.ins[i]))
			roots[i] = counts.Reshape(ones...).Expand(before.Shape()...).Where(roots[i], before)
		}
		b.Params = slices.Insert(b.Params, a.Carried+a.Along, counts)
		b.Along++
	}
	for i := range a.Carried {
		if !roots[i].Shape().Equal(s.Ins[i].Shape()) {
			panic(errRefused)
		}
	}
	with := map[*uop.UOp]*uop.UOp{}
	for _, v := range g.Vars {
		is := uop.NewStandIn(dtype.I32)
		b.Params = append(b.Params, is)
		with[uop.SizeOf(v).Node()] = is.Cast(dtype.Index)
	}
	b.Params = append(b.Params, s.Ins[len(s.ins):]...)
	for _, u := range uop.Topo(roots...) {
		switch {
		case u.Op() == uop.Extent: // all elements of results count
			with[u] = with[u.At(0)]
		case with[u] == nil:
			with[u] = u.WithSrc(u.Home(), func(x *uop.UOp) *uop.UOp { return with[x] })
		}
	}
	for _, u := range roots {
		b.Outs = append(b.Outs, with[u])
	}
	b.Pure = b.Outs
	return b
}
