package interp

import (
	"slices"

	"github.com/weft-ml/weft/plan/bytecode"
)

// dropUnused removes instructions whose result nobody reads.
func (c *compiler) dropUnused() {
	type key struct {
		class bytecode.Class
		reg   bytecode.Reg
	}
	reads := map[key]int{}
	count := func(in *bytecode.Instr, by int) {
		for _, o := range in.Operands() {
			if !o.Result && *o.Reg != 0 {
				reads[key{o.Class, *o.Reg}] += by
			}
		}
	}
	code := c.out.Code
	for i := range code {
		count(&code[i], 1)
	}
	kept := make([]bytecode.Instr, 0, len(code))
	for i := len(code) - 1; i >= 0; i-- {
		in := &code[i]
		d := in.Operands()[0]
		if in.D != 0 && !in.Op.Opens() && reads[key{d.Class, in.D}] == 0 {
			count(in, -1)
			continue
		}
		kept = append(kept, *in)
	}
	slices.Reverse(kept)
	c.out.Code = kept
}

// life is the instructions from a register's first to its last appearance.
type life struct {
	class       bytecode.Class
	reg         bytecode.Reg
	first, last int
	constant    bool
}

// lives finds them. What is defined before a loop and appears in it lives until the loop ends.
func (c *compiler) lives() []*life {
	type key struct {
		class bytecode.Class
		reg   bytecode.Reg
	}
	byKey := map[key]*life{}
	var list []*life
	end := map[int]int{} // of each opening instruction
	var open []int
	code := c.out.Code
	for i := range code {
		switch {
		case code[i].Op.Opens():
			open = append(open, i)
		case code[i].Op == bytecode.End:
			end[open[len(open)-1]] = i
			open = open[:len(open)-1]
		}
	}
	for i := range code {
		if code[i].Op == bytecode.End {
			open = open[:len(open)-1]
			continue
		}
		for _, o := range code[i].Operands() {
			if *o.Reg == 0 {
				continue
			}
			k := key{o.Class, *o.Reg}
			l := byKey[k]
			if l == nil {
				l = &life{class: o.Class, reg: *o.Reg, first: i, last: i}
				byKey[k] = l
				list = append(list, l)
			}
			l.last = max(l.last, i)
			for _, at := range open {
				if at > l.first && code[at].Op != bytecode.If {
					l.last = max(l.last, end[at])
					break
				}
			}
		}
		if code[i].Op.Opens() {
			open = append(open, i)
		}
	}
	for _, k := range c.out.Consts {
		if l := byKey[key{k.Class, k.Reg}]; l != nil {
			l.first, l.last, l.constant = -1, len(code), true
		}
	}
	slices.SortStableFunc(list, func(a, b *life) int { return a.first - b.first })
	return list
}

// allocate gives registers whose lives do not overlap one place. An instruction may write the place of an operand
// that it reads last.
func (c *compiler) allocate() {
	type key struct {
		class bytecode.Class
		reg   bytecode.Reg
	}
	type file struct {
		class  bytecode.Class
		vector bool
	}
	place := map[key]bytecode.Reg{}
	free := map[file][]int{}
	used := map[file]int{}
	var alive []*life
	for _, l := range c.lives() {
		alive = slices.DeleteFunc(alive, func(a *life) bool {
			if a.last > l.first {
				return false
			}
			f := file{a.class, a.reg.IsVector()}
			free[f] = append(free[f], place[key{a.class, a.reg}].Index())
			return true
		})
		f := file{l.class, l.reg.IsVector()}
		var at int
		if n := len(free[f]); n > 0 {
			at, free[f] = free[f][n-1], free[f][:n-1]
		} else {
			at = used[f]
			used[f]++
		}
		if f.vector {
			place[key{l.class, l.reg}] = bytecode.V(at)
		} else {
			place[key{l.class, l.reg}] = bytecode.S(at)
		}
		alive = append(alive, l)
	}
	for i := range c.out.Code {
		for _, o := range c.out.Code[i].Operands() {
			if *o.Reg != 0 {
				*o.Reg = place[key{o.Class, *o.Reg}]
			}
		}
	}
	c.out.Consts = slices.DeleteFunc(c.out.Consts, func(k bytecode.Const) bool { return place[key{k.Class, k.Reg}] == 0 })
	for i := range c.out.Consts {
		k := &c.out.Consts[i]
		k.Reg = place[key{k.Class, k.Reg}]
	}
	for f, n := range used {
		if f.vector {
			c.out.Vectors[f.class] = n
		} else {
			c.out.Scalars[f.class] = n
		}
	}
}
