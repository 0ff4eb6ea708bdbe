package fuzz

import (
	"slices"
)

// prune drops what nothing needs, and numbers the values anew.
func (p *Program) prune() {
	need := make([]bool, len(p.Ops))
	for _, v := range p.roots() {
		need[v] = true
	}
	for changed := true; changed; {
		changed = false
		for i := len(p.Ops) - 1; i >= 0; i-- {
			o := &p.Ops[i]
			switch {
			case o.mutates() && need[o.Args[0].N], o.Name == realizeOp && slices.ContainsFunc(o.operands(), func(v int) bool { return need[v] }):
				changed = changed || !need[i]
				need[i] = true
			}
			if !need[i] || o.Name == realizeOp {
				continue
			}
			for _, v := range o.operands() {
				changed = changed || !need[v]
				need[v] = true
			}
		}
	}
	to := make([]int, len(p.Ops))
	var ops []Op
	for i, o := range p.Ops {
		if !need[i] {
			continue
		}
		if o.Name == realizeOp {
			o.Args = slices.DeleteFunc(slices.Clone(o.Args), func(a Arg) bool { return !need[a.N] })
		}
		to[i] = len(ops)
		ops = append(ops, o.rename(func(v int) int { return to[v] }))
	}
	p.Ops = ops
	for _, part := range p.Parts {
		for i, v := range part {
			part[i] = to[v]
		}
	}
	p.Inputs = slices.DeleteFunc(p.Inputs, func(v int) bool { return !need[v] })
	for i, v := range p.Inputs {
		p.Inputs[i] = to[v]
	}
	if len(p.Inputs) == 0 {
		p.Runs = 0
	}
}
