package rewrite

import (
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// apply gives the right side of a matched rule, or nil when it does not apply.
func (m *Match) apply() *uop.UOp {
	r := m.rule.rule
	if r.cond != nil && !r.cond(m) {
		return nil
	}
	if r.step != nil {
		return r.step(m)
	}
	return m.build(r.Right, m.Root.DType())
}

// build makes the node of a pattern; want is the type that a literal gets.
func (m *Match) build(p *Pattern, want dtype.DType) *uop.UOp {
	switch p.kind {
	case anyHole, constHole:
		return m.Get(p)
	case literal:
		v, ok := p.lit(want)
		if !ok {
			panic("BUG: " + m.rule.rule.Name + ": no " + p.name + " of type " + want.String())
		}
		return m.Table.ConstOf(want, v)
	}
	operand := want
	switch {
	case p.typ != nil:
		want, operand = m.Type(p.typ), m.typeOf(p.src[0])
	case uop.Info(p.op).Type == uop.Boolean:
		operand = m.typeOf(p.src[0], p.src[1])
	}
	src := make([]*uop.UOp, len(p.src))
	for i, s := range p.src {
		d := operand
		if i == 0 && uop.Info(p.op).Type == uop.Second {
			d = dtype.Bool
		}
		src[i] = m.build(s, d)
	}
	if p.typ != nil && src[0].DType() == want {
		return src[0]
	}
	return m.Table.Make(p.op, want, nil, src...)
}

// typeOf finds the type of the first pattern that has one of its own.
func (m *Match) typeOf(ps ...*Pattern) dtype.DType {
	for _, p := range ps {
		switch {
		case p.kind == anyHole || p.kind == constHole:
			return m.Get(p).DType()
		case p.kind == literal:
			continue
		case p.typ != nil:
			return m.Type(p.typ)
		case uop.Info(p.op).Type == uop.Boolean:
			return dtype.Bool
		case uop.Info(p.op).Type == uop.Second:
			if d := m.typeOf(p.src[1:]...); d != dtype.Void {
				return d
			}
		default:
			if d := m.typeOf(p.src...); d != dtype.Void {
				return d
			}
		}
	}
	return dtype.Void
}

// Instance binds the holes of a law by hand: what lawtest evaluates.
func (r *Rule) Instance(t *uop.Table, nodes map[*Pattern]*uop.UOp, typing Typing) *Match {
	holes, typeHoles := r.Left.Holes()
	m := &Match{Table: t, rule: &matcher{rule: r, holes: holes, typeHoles: typeHoles}, local: t.Local}
	for i, h := range holes {
		m.nodes[i] = nodes[h]
	}
	for i, h := range typeHoles {
		m.types[i] = typing.Types[h]
	}
	m.Root = m.build(r.Left, typing.Root)
	return m
}

// Applies reports whether the rule's condition holds for the instance.
func (m *Match) Applies() bool { return m.rule.rule.cond == nil || m.rule.rule.cond(m) }

// Right builds the right side of an instance of a law.
func (m *Match) Right() *uop.UOp { return m.build(m.rule.rule.Right, m.Root.DType()) }
