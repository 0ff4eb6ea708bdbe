package rewrite

import (
	"maps"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Typing gives a type to each hole and type hole of a rule's left side, and to the whole.
type Typing struct {
	Root  dtype.DType
	Nodes map[*Pattern]dtype.DType
	Types map[*Type]dtype.DType
}

// Typings lists the ways to type the left side of a rule with the given types: operands agree where the op
// table says so.
func (r *Rule) Typings(types []dtype.DType) []Typing {
	c := &classes{parent: map[any]any{}, bools: map[any]bool{}}
	c.visit(r.Left)
	nodes, typeHoles := r.Left.Holes()
	out := []map[any]dtype.DType{{}}
	extend := func(key any) {
		root := c.find(key)
		var next []map[any]dtype.DType
		for _, assigned := range out {
			if _, ok := assigned[root]; ok {
				next = append(next, assigned)
				continue
			}
			for _, d := range types {
				if d == dtype.Bool || !c.bools[root] {
					m := maps.Clone(assigned)
					m[root] = d
					next = append(next, m)
				}
			}
		}
		out = next
	}
	for _, n := range nodes {
		extend(n)
	}
	for _, t := range typeHoles {
		extend(t)
	}
	extend(r.Left)
	var list []Typing
	for _, assigned := range out {
		t := Typing{assigned[c.find(r.Left)], map[*Pattern]dtype.DType{}, map[*Type]dtype.DType{}}
		for _, n := range nodes {
			t.Nodes[n] = assigned[c.find(n)]
		}
		for _, h := range typeHoles {
			t.Types[h] = assigned[c.find(h)]
		}
		list = append(list, t)
	}
	return list
}

// classes joins patterns and type holes that must have one type.
type classes struct {
	parent map[any]any
	bools  map[any]bool // by root
}

func (c *classes) find(k any) any {
	for c.parent[k] != nil {
		k = c.parent[k]
	}
	return k
}

func (c *classes) join(a, b any) {
	if a, b = c.find(a), c.find(b); a != b {
		c.parent[a] = b
		c.bools[b] = c.bools[b] || c.bools[a]
	}
}

func (c *classes) visit(p *Pattern) {
	for _, s := range p.src {
		c.visit(s)
	}
	if p.kind != apply {
		return
	}
	switch uop.Info(p.op).Type {
	case uop.Given:
		if p.typ != nil {
			c.join(p, p.typ)
		}
	case uop.First:
		c.join(p, p.src[0])
	case uop.Same:
		for _, s := range p.src {
			c.join(p, s)
		}
	case uop.Boolean:
		c.join(p.src[0], p.src[1])
		c.bools[c.find(p)] = true
	case uop.Second:
		c.join(p, p.src[1])
		c.join(p, p.src[2])
		c.bools[c.find(p.src[0])] = true
	}
}
