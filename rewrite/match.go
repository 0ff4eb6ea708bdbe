package rewrite

import (
	"fmt"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

const maxHoles = 8

// Match is what a left side matched: the node, and what its holes are bound to. It is valid during the call only.
type Match struct {
	Root  *uop.UOp
	Table *uop.Table
	rule  *matcher
	nodes [maxHoles]*uop.UOp
	types [maxHoles]dtype.DType
	local func(key any, init func() any) any
	key   any // of the last local value asked for
	value any
}

// Get is the node bound to a hole.
func (m *Match) Get(hole *Pattern) *uop.UOp {
	for i, h := range m.rule.holes {
		if h == hole {
			return m.nodes[i]
		}
	}
	panic("BUG: hole " + hole.name + " is not in rule " + m.rule.rule.Name)
}

// Type is what a type hole is bound to.
func (m *Match) Type(hole *Type) dtype.DType {
	for i, h := range m.rule.typeHoles {
		if h == hole {
			return m.types[i]
		}
	}
	panic("BUG: type " + hole.name + " is not in rule " + m.rule.rule.Name)
}

// Local is a value that lives as long as the rewriting: see uop.Table.Local.
func (m *Match) Local(key any, init func() any) any {
	if m.key != key || key == nil {
		m.key, m.value = key, m.local(key, init)
	}
	return m.value
}

// matcher is one commuted form of a rule, compiled.
type matcher struct {
	rule      *Rule
	root      node
	holes     []*Pattern
	typeHoles []*Type
}

// node is a compiled pattern. need has a bit for each op that can match.
type node struct {
	kind     kind
	op       uop.Op
	need     uint64
	slot     int  // of holes
	again    bool // the hole was bound before
	typeSlot int  // −1: none
	lit      func(dtype.DType) (uop.Value, bool)
	src      []node
	ops      []uop.Op
}

func bit(o uop.Op) uint64 { return 1 << o }

// compile gives the matchers of a rule, one for each way to order the operands of commutative ops.
func compile(r *Rule) []*matcher {
	holes, types := r.Left.Holes()
	if len(holes) > maxHoles || len(types) > maxHoles {
		panic(fmt.Sprintf("BUG: %s: rule %q has more than %d holes", r.At(), r.Name, maxHoles))
	}
	var out []*matcher
	for _, form := range commuted(r.Left) {
		m := &matcher{rule: r, holes: holes, typeHoles: types}
		bound := map[*Pattern]bool{}
		m.root = m.compile(form, bound)
		out = append(out, m)
	}
	return out
}

func (m *matcher) compile(p *Pattern, bound map[*Pattern]bool) node {
	n := node{kind: p.kind, op: p.op, typeSlot: -1, lit: p.lit, ops: p.ops, need: ^uint64(0)}
	switch p.kind {
	case anyHole, constHole:
		for i, h := range m.holes {
			if h == p {
				n.slot = i
			}
		}
		n.again = bound[p]
		bound[p] = true
		if p.kind == constHole {
			n.need = bit(uop.Const)
		}
	case literal:
		n.need = bit(uop.Const)
	case apply:
		n.need = bit(p.op)
		for _, s := range p.src {
			n.src = append(n.src, m.compile(s, bound))
		}
		for i, t := range m.typeHoles {
			if t == p.typ {
				n.typeSlot = i
			}
		}
	}
	return n
}

func (m *matcher) roots() []uop.Op {
	if m.root.kind == oneOf {
		return m.root.ops
	}
	return []uop.Op{m.root.op}
}

// commuted lists the forms of p under exchange of the operands of commutative ops.
func commuted(p *Pattern) []*Pattern {
	if p.kind != apply {
		return []*Pattern{p}
	}
	forms := [][]*Pattern{nil} // operand lists
	for _, s := range p.src {
		var next [][]*Pattern
		for _, f := range forms {
			for _, c := range commuted(s) {
				next = append(next, append(f[:len(f):len(f)], c))
			}
		}
		forms = next
	}
	var out []*Pattern
	for _, f := range forms {
		out = append(out, &Pattern{kind: apply, op: p.op, typ: p.typ, src: f})
		if uop.Info(p.op).Algebra&uop.Commutative != 0 && f[0] != f[1] {
			out = append(out, &Pattern{kind: apply, op: p.op, typ: p.typ, src: []*Pattern{f[1], f[0]}})
		}
	}
	return out
}

// match fills m when u has the form; m.Root's op is known to be right.
func (r *matcher) match(m *Match, u *uop.UOp) bool {
	src := u.Src()
	if len(src) < len(r.root.src) {
		return false
	}
	for i := range r.root.src {
		if r.root.src[i].need&bit(src[i].Op()) == 0 {
			return false
		}
	}
	m.rule, m.Root = r, u
	return r.root.match(m, u)
}

func (n *node) match(m *Match, u *uop.UOp) bool {
	if n.need&bit(u.Op()) == 0 {
		return false
	}
	switch n.kind {
	case anyHole, constHole:
		if n.again {
			return m.nodes[n.slot] == u
		}
		m.nodes[n.slot] = u
		return true
	case literal:
		v, _ := u.ConstValue()
		want, ok := n.lit(u.DType())
		return ok && v == want
	case oneOf:
		return true
	}
	if n.typeSlot >= 0 {
		m.types[n.typeSlot] = u.DType()
	}
	src := u.Src()
	if len(src) < len(n.src) {
		return false
	}
	for i := range n.src {
		if !n.src[i].match(m, src[i]) {
			return false
		}
	}
	return true
}
