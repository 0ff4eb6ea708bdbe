package sizes

import (
	"slices"

	"github.com/weft-ml/weft/uop"
)

// Of says of which values of the variables a case is the case, if it is one, and what the numbers are, by type.
func (g *Graph) Of(c Case) (n Values, numbers [][]uop.Value, ok bool) {
	if len(c.Ins) != len(g.ins) || len(c.Roots) != len(g.roots) || c.Codes != g.codes {
		return n, nil, false
	}
	if n, ok = g.values(c.Ins); !ok {
		return n, nil, false
	}
	m := &match{n: n, values: map[*pair]uop.Value{}}
	if !g.matches(c.Ins, c.Roots, m) {
		return n, nil, false
	}
	for _, list := range g.numbers.pairs {
		values := make([]uop.Value, len(list))
		for i, p := range list {
			values[i] = m.values[p]
		}
		numbers = append(numbers, values)
	}
	return n, numbers, true
}

// matches says whether roots are those of the graph, for arrays that have the sizes of its inputs. Of it is what that is a part of.
func (g *Graph) matches(ins, roots []*uop.UOp, of *match) bool {
	m := &match{of.n, ins, map[*pair]*uop.UOp{}, of.values, map[*step]*uop.LoopBody{}}
	for i, p := range g.roots {
		if !m.meet(p, roots[i]) {
			return false
		}
	}
	for _, p := range slices.Backward(g.nodes) { // users first
		if v := m.with[p]; v != nil && !m.is(p, v) {
			return false
		}
	}
	return true
}

// values finds those of the variables in the sizes of inputs.
func (g *Graph) values(ins []*uop.UOp) (n Values, ok bool) {
	var known [uop.MaxVars]bool
	for i, u := range ins {
		if len(u.Shape()) != len(g.ins[i]) {
			return n, false
		}
		for axis, f := range g.ins[i] {
			for k := range g.Vars {
				alone := f
				alone.C, alone.K[k] = 0, 0
				if d := f.K[k]; d > 0 && !alone.varies() && u.Shape()[axis] >= f.C && (u.Shape()[axis]-f.C)%d == 0 {
					n[k], known[k] = (u.Shape()[axis]-f.C)/d, true
				}
			}
		}
	}
	for k, v := range g.Vars {
		if !known[k] || n[k] < v.Lo || n[k] > v.Hi {
			return n, false
		}
	}
	for i, u := range ins {
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

func (m *match) meet(p *pair, v *uop.UOp) bool {
	if w := m.with[p]; w != nil {
		return w == v
	}
	m.with[p] = v
	return true
}

// is says whether v is a pair's node. What its operands are is only noted.
func (m *match) is(p *pair, v *uop.UOp) bool {
	u := p.first()
	if v.Op() != u.Op() || v.DType() != u.DType() || len(v.Src()) != len(u.Src()) {
		return false
	}
	switch {
	case p.input > 0: // whose shape is known
		return base(m.ins[p.input-1]) == v
	case p.row:
		return m.meet(p.src[0], v)
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
		if p.how == equal && x != was || p.how == linear && int(x.Int()) != p.number.at(m.n) {
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
	for i, s := range p.src {
		if !m.meet(s, v.At(i)) {
			return false
		}
	}
	return true
}
