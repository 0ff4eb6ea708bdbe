package sizes

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Of says of which values of the variables a case is the case, if it is one, and what the numbers are, by type.
func (g *Graph) Of(c Case) (n Values, numbers [][]uop.Value, ok bool) {
	if len(c.Ins) != len(g.ins) || len(c.Roots) != len(g.roots) || c.Codes != g.codes {
		return n, nil, false
	}
	m := newMatch(c.Ins)
	if !g.meets(m, c.Roots) {
		return n, nil, false
	}
	if m.n, ok = g.valuesOf(m); !ok || !g.fits(m) {
		return n, nil, false
	}
	for _, list := range g.numbers.pairs {
		values := make([]uop.Value, len(list))
		for i, p := range list {
			values[i] = m.values[p]
		}
		numbers = append(numbers, values)
	}
	return m.n, numbers, true
}

// meets finds which nodes are those of the graph, by their ops and operands alone.
func (g *Graph) meets(m *match, roots []*uop.UOp) bool {
	for i, p := range g.roots {
		if !m.meet(p, roots[i]) {
			return false
		}
	}
	for _, p := range slices.Backward(g.nodes) { // users first
		if v := m.with[p]; v != nil && !m.alike(p, v) {
			return false
		}
	}
	return true
}

// fits says whether the sizes and arguments of nodes that were met are those of the graph.
func (g *Graph) fits(m *match) bool {
	for _, p := range g.nodes {
		if v := m.with[p]; v != nil && !m.is(p, v) {
			return false
		}
	}
	return true
}

// alone says which variable a form is a multiple of, and a number perhaps.
func (f form) alone() (k int, ok bool) {
	k = slices.IndexFunc(f.K[:], func(k int) bool { return k > 0 })
	if k < 0 {
		return 0, false
	}
	rest := f
	rest.K[k] = 0
	return k, !rest.varies()
}

// valuesOf finds the values of the variables in the sizes of inputs, or of what is cut out of them.
func (g *Graph) valuesOf(m *match) (n Values, ok bool) {
	var known [uop.MaxVars]bool
	look := func(f form, size int) {
		if k, ok := f.alone(); ok && size >= f.C && (size-f.C)%f.K[k] == 0 {
			n[k], known[k] = (size-f.C)/f.K[k], true
		}
	}
	for _, c := range g.places {
		if c.pair != nil && m.with[c.pair] != nil && len(m.with[c.pair].Shape()) == len(c.pair.size) {
			look(c.pair.size[c.axis][0], m.with[c.pair].Shape()[c.axis])
		}
	}
	for i, u := range m.ins {
		if len(u.Shape()) != len(g.ins[i]) {
			return n, false
		}
		for axis, f := range g.ins[i] {
			look(f, u.Shape()[axis])
		}
	}
	for k, v := range g.Vars {
		if !known[k] || n[k] < v.Lo || n[k] > v.Hi {
			return n, false
		}
	}
	for i, u := range m.ins {
		for axis, f := range g.ins[i] {
			if f.at(n) != u.Shape()[axis] {
				return n, false
			}
		}
	}
	return n, true
}

// match is a case that is compared with a graph.
type match struct {
	n      Values
	ins    []*uop.UOp
	with   map[*pair]*uop.UOp
	values map[*pair]uop.Value // of numbers
	steps  map[*step]*uop.LoopBody
}

func newMatch(ins []*uop.UOp) *match {
	return &match{Values{}, ins, map[*pair]*uop.UOp{}, map[*pair]uop.Value{}, map[*step]*uop.LoopBody{}}
}

func (m *match) meet(p *pair, v *uop.UOp) bool {
	if w := m.with[p]; w != nil {
		return w == v
	}
	m.with[p] = v
	return true
}

// alike says whether v may be a pair's node. What its operands are is only noted.
func (m *match) alike(p *pair, v *uop.UOp) bool {
	u := p.first()
	if v.Op() != u.Op() || v.DType() != u.DType() || len(v.Src()) != len(u.Src()) {
		return false
	}
	switch {
	case p.input > 0:
		return base(m.ins[p.input-1]) == v
	case p.row:
		return m.meet(p.src[0], v)
	}
	for i, s := range p.src {
		if !m.meet(s, v.At(i)) {
			return false
		}
	}
	return true
}

// is says whether v, which is alike, is a pair's node.
func (m *match) is(p *pair, v *uop.UOp) bool {
	u := p.first()
	if p.input > 0 || p.row { // whose shape is known
		return true
	}
	if len(v.Shape()) != len(p.size) {
		return false
	}
	for axis, factors := range p.size {
		if v.Shape()[axis] != number(factors, m.n) {
			return false
		}
	}
	switch v.Op() {
	case uop.Const:
		x, _ := v.ConstValue()
		was, _ := u.ConstValue()
		if p.how == equal && x != was || p.how == linear && int(x.Int()) != p.number.at(m.n) || p.how == free && v.DType() == dtype.Index && far(int(x.Int())) {
			return false
		}
		m.values[p] = x
	case uop.Param:
		if v != u {
			return false
		}
	case uop.Range, uop.Reshape, uop.Expand, uop.Detach:
	case uop.Pad, uop.Shrink:
		a := v.Arg().(uop.PadArg)
		for axis, c := range p.cuts {
			lo, hi, all := a.Lo.At(axis), a.Hi.At(axis), v.At(0).Shape()[axis]
			switch {
			case c.from != nil:
				m.values[c.from] = uop.ValueOf(numberType(dtype.Index), lo)
			case c.done && (lo != c.lo.at(m.n) || hi != c.hi.at(m.n)):
				return false
			case !c.done && (lo != 0 || all != v.Shape()[axis]):
				return false
			}
		}
	case uop.Loop:
		if !m.loop(p, v.Arg().(uop.LoopArg)) {
			return false
		}
	default:
		if argOf(v) != argOf(u) {
			return false
		}
	}
	return true
}
