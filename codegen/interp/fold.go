package interp

import (
	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/legal"
	"github.com/weft-ml/weft/plan/bytecode"
	"github.com/weft-ml/weft/uop"
)

var anyMachine = Target(false)

// named gives a register node that stands for r.
func (c *compiler) named(like *uop.UOp, r bytecode.Reg) *uop.UOp {
	c.ids++
	u := like.Home().Make(uop.Reg, like.DType(), uop.RegArg{ID: 1<<30 + c.ids})
	c.regs[u] = value{reg: r}
	return u
}

// fold merges neighbouring lanes until one is left, then that one into the registers outside. Lanes that do not
// take part count as the neutral element.
func (c *compiler) fold(s *codegen.HorizontalReduce) {
	n := len(s.Values)
	t, info := s.Values[0].Home(), s.Monoid.Info()
	x, even, odd := make([]bytecode.Reg, n), make([]*uop.UOp, n), make([]*uop.UOp, n)
	neutral := make([]bytecode.Reg, n)
	for i, v := range s.Values {
		d := v.DType()
		class := bytecode.ClassOf(d)
		from := c.reg(v)
		neutral[i] = c.constant(t.ConstOf(d, info.Identity(d, i)))
		x[i] = c.newReg(class, true)
		if c.mask != 0 {
			c.emit(bytecode.Instr{Op: bytecode.Where, Type: d, D: x[i], A: c.mask, B: from, C: neutral[i]})
		} else {
			c.emit(bytecode.Instr{Op: bytecode.Mov, Type: d, D: x[i], A: from})
		}
		even[i], odd[i] = c.named(v, c.newReg(class, true)), c.named(v, c.newReg(class, true))
	}
	c.emit(bytecode.Instr{Op: bytecode.Tree})
	for i, v := range s.Values {
		c.emit(bytecode.Instr{Op: bytecode.Even, Type: v.DType(), D: c.regs[even[i]].reg, A: x[i]})
		c.emit(bytecode.Instr{Op: bytecode.Odd, Type: v.DType(), D: c.regs[odd[i]].reg, A: x[i], B: neutral[i]})
	}
	c.emit(bytecode.Instr{Op: bytecode.Halve})
	for i, r := range c.merged(s, even, odd) {
		c.emit(bytecode.Instr{Op: bytecode.Mov, Type: s.Values[i].DType(), D: x[i], A: r})
	}
	c.emit(bytecode.Instr{Op: bytecode.End})
	c.memo = map[*uop.UOp]value{} // the tree does nothing when there is one lane

	one := make([]*uop.UOp, n)
	for i, v := range s.Values {
		one[i] = c.named(v, c.newReg(bytecode.ClassOf(v.DType()), false))
		c.emit(bytecode.Instr{Op: bytecode.First, Type: v.DType(), D: c.regs[one[i]].reg, A: x[i]})
	}
	c.set(&codegen.Set{Regs: s.Regs, Values: legal.Legalize(t, anyMachine, info.Merge(s.Regs, one)...)})
}

// merged computes the monoid's merge.
func (c *compiler) merged(s *codegen.HorizontalReduce, a, b []*uop.UOp) []bytecode.Reg {
	out := make([]bytecode.Reg, len(a))
	for i, u := range legal.Legalize(a[0].Home(), anyMachine, s.Monoid.Info().Merge(a, b)...) {
		out[i] = c.reg(u)
	}
	return out
}
