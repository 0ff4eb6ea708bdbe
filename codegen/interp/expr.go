package interp

import (
	"fmt"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/plan/bytecode"
	"github.com/weft-ml/weft/uop"
)

// instrOf is the instruction of each elementwise op.
var instrOf = [uop.NumOps]bytecode.Op{
	uop.Neg: bytecode.Neg, uop.Sqrt: bytecode.Sqrt, uop.Trunc: bytecode.Trunc, uop.RoundEven: bytecode.RoundEven, uop.Cast: bytecode.Cast,
	uop.Bitcast: bytecode.Bitcast, uop.Add: bytecode.Add, uop.Mul: bytecode.Mul, uop.Div: bytecode.Div,
	uop.IDiv: bytecode.IDiv, uop.Mod: bytecode.Mod, uop.Max: bytecode.Max, uop.And: bytecode.And, uop.Or: bytecode.Or,
	uop.Xor: bytecode.Xor, uop.Shl: bytecode.Shl, uop.Shr: bytecode.Shr, uop.Less: bytecode.Less,
	uop.Equal: bytecode.Equal, uop.Where: bytecode.Where, uop.MulAdd: bytecode.MulAdd,
}

// expr computes u where it is not yet computed in this statement.
func (c *compiler) expr(u *uop.UOp) value {
	for _, v := range uop.Topo(u) {
		if _, ok := c.memo[v]; !ok && v.Op() != uop.Param {
			c.memo[v] = c.node(v)
		}
	}
	return c.memo[u]
}

// reg computes u into a register.
func (c *compiler) reg(u *uop.UOp) bytecode.Reg {
	c.expr(u)
	return c.inReg(u)
}

// inReg is the register of a computed value, for which an affine one is written out.
func (c *compiler) inReg(u *uop.UOp) bytecode.Reg {
	v := c.memo[u]
	if v.reg == 0 {
		v.reg = c.newReg(bytecode.Int, true)
		c.emit(bytecode.Instr{Op: bytecode.Iota, Type: dtype.Index, D: v.reg, A: v.base, Imm: v.stride})
		c.memo[u] = v
	}
	return v.reg
}

func (c *compiler) node(u *uop.UOp) value {
	switch u.Op() {
	case uop.Const:
		return value{reg: c.constant(u)}
	case uop.Range, uop.Reg, uop.Var:
		v, ok := c.regs[u]
		if !ok {
			panic(fmt.Sprintf("BUG: %v has no value here", u))
		}
		return v
	case uop.Load:
		return value{reg: c.load(u)}
	}
	if !u.Op().Elementwise() {
		panic(fmt.Sprintf("BUG: %v in a lowered kernel", u))
	}
	if u.DType() == dtype.Index {
		if v, ok := c.affine(u); ok {
			return v
		}
	}
	return value{reg: c.elementwise(u)}
}

func (c *compiler) constant(u *uop.UOp) bytecode.Reg {
	v, _ := u.ConstValue()
	k := constant{bytecode.ClassOf(u.DType()), uint64(v)}
	if k.class == bytecode.F32 {
		k.bits = uop.ToBits(dtype.F32, v)
	}
	r, ok := c.consts[k]
	if !ok {
		r = c.newReg(k.class, false)
		c.consts[k] = r
		c.out.Consts = append(c.out.Consts, bytecode.Const{Class: k.class, Reg: r, Bits: k.bits})
	}
	return r
}

// affine keeps base + stride·lane through sums and constant factors. Index arithmetic does not wrap.
func (c *compiler) affine(u *uop.UOp) (v value, ok bool) {
	src := make([]value, len(u.Src()))
	any := false
	for i, s := range u.Src() {
		src[i] = c.memo[s]
		if src[i].reg.IsVector() && !src[i].affine() {
			return v, false
		}
		any = any || src[i].affine()
	}
	if !any {
		return v, false
	}
	switch u.Op() {
	case uop.Neg:
		return value{base: c.index(bytecode.Neg, src[0].base, 0), stride: -src[0].stride}, true
	case uop.Add:
		return c.sum(src[0], src[1]), true
	case uop.Mul:
		return c.multiple(u.At(0), u.At(1))
	case uop.MulAdd:
		if v, ok = c.multiple(u.At(0), u.At(1)); ok {
			return c.sum(v, src[2]), true
		}
	}
	return v, false
}

// index emits scalar index arithmetic.
func (c *compiler) index(op bytecode.Op, a, b bytecode.Reg) bytecode.Reg {
	d := c.newReg(bytecode.Int, false)
	c.emit(bytecode.Instr{Op: op, Type: dtype.Index, D: d, A: a, B: b})
	return d
}

func (c *compiler) sum(a, b value) value {
	start := func(v value) bytecode.Reg {
		if v.affine() {
			return v.base
		}
		return v.reg
	}
	return value{base: c.index(bytecode.Add, start(a), start(b)), stride: a.stride + b.stride}
}

// multiple is a product of an affine value and a constant, or of two scalars.
func (c *compiler) multiple(x, y *uop.UOp) (value, bool) {
	if _, ok := x.ConstInt(); ok {
		x, y = y, x
	}
	a, b := c.memo[x], c.memo[y]
	k, ok := y.ConstInt()
	switch {
	case a.affine() && ok:
		return value{base: c.index(bytecode.Mul, a.base, b.reg), stride: a.stride * int64(k)}, true
	case !a.affine() && !b.affine():
		return value{reg: c.index(bytecode.Mul, a.reg, b.reg)}, true
	}
	return value{}, false
}

func (c *compiler) elementwise(u *uop.UOp) bytecode.Reg {
	d := u.At(0).DType()
	if u.Op() == uop.Where {
		d = u.DType()
	}
	in := bytecode.Instr{Op: instrOf[u.Op()], Type: d}
	if in.Op == bytecode.Invalid {
		panic(fmt.Sprintf("BUG: %s of %s is not legalised", u.Op(), d))
	}
	if in.Op == bytecode.Cast || in.Op == bytecode.Bitcast {
		in.To = u.DType()
	}
	src := u.Src()
	if u.Op() == uop.Add && d != dtype.Bool && u.At(1).Op() == uop.Neg { // x + (−y) is x − y
		in.Op = bytecode.Sub
		src = []*uop.UOp{u.At(0), u.At(1).At(0)}
	}
	vector := false
	for i, r := range []*bytecode.Reg{&in.A, &in.B, &in.C}[:len(src)] {
		*r = c.inReg(src[i])
		vector = vector || r.IsVector()
	}
	in.D = c.newReg(in.Operands()[0].Class, vector)
	c.emit(in)
	return in.D
}

// load reads one element, or one per lane where its index or its gate vary.
func (c *compiler) load(u *uop.UOp) bytecode.Reg {
	if len(u.Src()) != 3 {
		panic(fmt.Sprintf("BUG: a load with %d indices", len(u.Src())-2))
	}
	gate := bytecode.Reg(0)
	if v, ok := u.At(1).ConstValue(); !ok || v == 0 {
		gate = c.inReg(u.At(1))
	}
	at := c.memo[u.At(2)]
	in := bytecode.Instr{Op: bytecode.Load, Type: u.DType(), A: at.reg, B: gate, Imm: c.buffer(u.At(0))}
	switch {
	case at.affine():
		in.Op, in.A, in.Stride = bytecode.LoadV, at.base, at.stride
	case at.reg.IsVector():
		in.Op = bytecode.Gather
	case gate.IsVector():
		in.Op = bytecode.LoadV
	}
	if in.Op != bytecode.Load {
		in.B = c.both(gate, c.mask)
	}
	in.D = c.newReg(bytecode.ClassOf(u.DType()), in.Op != bytecode.Load)
	c.emit(in)
	return in.D
}
