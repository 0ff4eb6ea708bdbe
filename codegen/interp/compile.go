package interp

import (
	"fmt"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/plan/bytecode"
	"github.com/weft-ml/weft/uop"
)

// compiler turns statements into instructions on as many registers as it likes; allocate then shares them.
type compiler struct {
	out     *bytecode.Program
	code    []bytecode.Instr
	fresh   [bytecode.NumClasses]struct{ scalars, vectors int }
	consts  map[constant]bytecode.Reg
	regs    map[*uop.UOp]value // of ranges, registers and variables
	mutable map[*uop.UOp]bool  // registers that are assigned
	buffers map[*uop.UOp]int
	memo    map[*uop.UOp]value // of the current statement
	scratch int64
	ids     int

	// Inside a Vector loop:
	lane *uop.UOp
	vary func(*uop.UOp) bool
	mask bytecode.Reg // the lanes that take part, 0 for all
}

type constant struct {
	class bytecode.Class
	bits  uint64
}

// value is where an expression lies: in a register, or (Index, inside a Vector loop) as base + stride·lane without one.
type value struct {
	reg    bytecode.Reg
	base   bytecode.Reg
	stride int64
}

func (v value) affine() bool { return v.base != 0 }

// unsupported is what the byte code cannot say.
type unsupported struct{ what string }

// Compile makes byte code of a kernel whose accesses have one linear index.
func Compile(p *codegen.Program) (code *bytecode.Program, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case unsupported:
			err = fmt.Errorf("byte code has no %s", r.what)
		default:
			panic(r)
		}
	}()
	c := &compiler{out: &bytecode.Program{}, consts: map[constant]bytecode.Reg{}, regs: map[*uop.UOp]value{},
		mutable: map[*uop.UOp]bool{}, buffers: map[*uop.UOp]int{}}
	for _, q := range p.Params {
		n := int64(1)
		for _, d := range q.Dims {
			n *= int64(d)
		}
		c.out.Params = append(c.out.Params, bytecode.Buffer{DType: q.DType, N: n, Write: q.Write})
	}
	c.variables(p.Vars)
	c.findMutable(p.Body)
	c.block(p.Body)
	c.out.Code = c.code
	c.dropUnused()
	c.allocate()
	return c.out, nil
}

func (c *compiler) variables(vars []*uop.UOp) {
	c.out.Vars = len(vars)
	for i, v := range vars {
		d := v.DType()
		if d != dtype.Index && d != dtype.F32 && d != dtype.I32 && d != dtype.U32 {
			panic(unsupported{fmt.Sprintf("variables of %s", d)})
		}
		r := c.newReg(bytecode.ClassOf(d), false)
		c.emit(bytecode.Instr{Op: bytecode.Var, Type: d, D: r, Imm: int64(i)})
		c.regs[v] = value{reg: r}
	}
}

func (c *compiler) findMutable(stmts []codegen.Stmt) {
	for _, s := range stmts {
		switch s := s.(type) {
		case *codegen.Set:
			for _, r := range s.Regs {
				c.mutable[r] = true
			}
		case *codegen.HorizontalReduce:
			for _, r := range s.Regs {
				c.mutable[r] = true
			}
		case *codegen.Loop:
			c.findMutable(s.Body)
		case *codegen.If:
			c.findMutable(s.Body)
		}
	}
}

// newReg gives a register of its own.
func (c *compiler) newReg(class bytecode.Class, vector bool) bytecode.Reg {
	f := &c.fresh[class]
	if vector {
		f.vectors++
		return bytecode.V(f.vectors - 1)
	}
	f.scalars++
	return bytecode.S(f.scalars - 1)
}

func (c *compiler) emit(in bytecode.Instr) { c.code = append(c.code, in) }

func (c *compiler) block(stmts []codegen.Stmt) {
	for _, s := range stmts {
		c.memo = map[*uop.UOp]value{}
		switch s := s.(type) {
		case *codegen.Loop:
			c.loop(s)
		case *codegen.If:
			c.cond(s)
		case *codegen.Let:
			c.let(s)
		case *codegen.Set:
			c.set(s)
		case *codegen.HorizontalReduce:
			c.fold(s)
		case *codegen.Store:
			c.store(s)
		case *codegen.Alloc:
			c.alloc(s)
		default:
			panic(unsupported{fmt.Sprintf("%T", s)})
		}
	}
}

// loop: the instances of a Tile loop are independent, so they may as well run one after the other.
func (c *compiler) loop(l *codegen.Loop) {
	index := c.newReg(bytecode.Int, false)
	op := bytecode.Loop
	switch l.Kind {
	case codegen.Serial, codegen.Tile:
	case codegen.Thread:
		op = bytecode.Thread
	case codegen.Vector:
		if c.lane != nil {
			panic(unsupported{"vector loop in a vector loop"})
		}
		op = bytecode.Strip
	default:
		panic(unsupported{fmt.Sprintf("loops of kind %c", l.Kind.Letter())})
	}
	n := int64(l.Range.Arg().(uop.RangeArg).N)
	c.emit(bytecode.Instr{Op: op, D: index, Imm: n})
	if op == bytecode.Strip {
		c.lane, c.vary = l.Range, codegen.Varying(l)
		c.regs[l.Range] = value{base: index, stride: 1}
		c.block(l.Body)
		c.lane, c.vary = nil, nil
	} else {
		c.regs[l.Range] = value{reg: index}
		c.block(l.Body)
	}
	c.emit(bytecode.Instr{Op: bytecode.End})
}

// cond: where the condition varies, the body runs if it holds in some lane, under a mask.
func (c *compiler) cond(s *codegen.If) {
	cond := c.reg(s.Cond)
	old := c.mask
	if cond.IsVector() {
		c.mask = c.both(cond, old)
		cond = c.newReg(bytecode.Bool, false)
		c.emit(bytecode.Instr{Op: bytecode.Any, Type: dtype.Bool, D: cond, A: c.mask})
	}
	c.emit(bytecode.Instr{Op: bytecode.If, A: cond})
	c.block(s.Body)
	c.emit(bytecode.Instr{Op: bytecode.End})
	c.mask = old
}

// both is a ∧ b, either of which may be absent.
func (c *compiler) both(a, b bytecode.Reg) bytecode.Reg {
	if a == 0 || b == 0 {
		return a + b
	}
	d := c.newReg(bytecode.Bool, a.IsVector() || b.IsVector())
	c.emit(bytecode.Instr{Op: bytecode.And, Type: dtype.Bool, D: d, A: a, B: b})
	return d
}

// let names a value. A register that is assigned later gets a place of its own.
func (c *compiler) let(s *codegen.Let) {
	v := c.expr(s.Value)
	if !c.mutable[s.Reg] && !c.isMutable(v) {
		c.regs[s.Reg] = v
		return
	}
	from := c.inReg(s.Value)
	d := s.Reg.DType()
	vector := from.IsVector() || c.vary != nil && c.vary(s.Reg)
	r := c.newReg(bytecode.ClassOf(d), vector)
	c.emit(bytecode.Instr{Op: bytecode.Mov, Type: d, D: r, A: from})
	c.regs[s.Reg] = value{reg: r}
}

// isMutable reports whether v is the very register of a mutable one, which may change.
func (c *compiler) isMutable(v value) bool {
	for r := range c.mutable {
		if w, ok := c.regs[r]; ok && w == v {
			return true
		}
	}
	return false
}

func (c *compiler) set(s *codegen.Set) {
	start := len(c.code)
	from := make([]bytecode.Reg, len(s.Values))
	for i, v := range s.Values {
		from[i] = c.reg(v)
	}
	if len(s.Regs) > 1 { // all are read before any is written
		for i, r := range from {
			if c.isMutable(value{reg: r}) {
				from[i] = c.newReg(bytecode.ClassOf(s.Regs[i].DType()), r.IsVector())
				c.emit(bytecode.Instr{Op: bytecode.Mov, Type: s.Regs[i].DType(), D: from[i], A: r})
			}
		}
	}
	for i, r := range s.Regs {
		c.assign(r, from[i], len(s.Regs) == 1 && len(c.code) > start)
	}
}

// assign moves a value into a register, in the lanes that take part. If the last
// instruction computed the value for nothing else, it writes the register itself.
func (c *compiler) assign(reg *uop.UOp, from bytecode.Reg, direct bool) {
	d, to := reg.DType(), c.regs[reg].reg
	if from.IsVector() && !to.IsVector() {
		panic(fmt.Sprintf("BUG: lanes are assigned to the scalar %v", reg))
	}
	if c.mask != 0 && to.IsVector() {
		c.emit(bytecode.Instr{Op: bytecode.Where, Type: d, D: to, A: c.mask, B: from, C: to})
		return
	}
	if last := len(c.code) - 1; direct {
		in := &c.code[last]
		if class := in.Operands()[0].Class; in.D == from && class == bytecode.ClassOf(d) && in.Op.Elementwise() > 0 && from.IsVector() == to.IsVector() {
			in.D = to
			return
		}
	}
	c.emit(bytecode.Instr{Op: bytecode.Mov, Type: d, D: to, A: from})
}

func (c *compiler) alloc(s *codegen.Alloc) {
	d := s.Buf.DType()
	if d.Size() == 0 {
		panic(unsupported{fmt.Sprintf("scratch of %s", d)})
	}
	c.buffers[s.Buf] = len(c.out.Params) + len(c.out.Scratch)
	c.out.Scratch = append(c.out.Scratch, bytecode.Buffer{DType: d, N: int64(s.N), Write: true, At: c.scratch})
	c.scratch += codegen.ScratchBytes(s)
}

func (c *compiler) buffer(u *uop.UOp) int64 {
	if a := u.Arg().(uop.ParamArg); !a.Scratch {
		return int64(a.Slot)
	}
	b, ok := c.buffers[u]
	if !ok {
		panic(fmt.Sprintf("BUG: scratch %v is used before it is there", u))
	}
	return int64(b)
}

func (c *compiler) store(s *codegen.Store) {
	if len(s.Index) != 1 {
		panic(fmt.Sprintf("BUG: a store with %d indices", len(s.Index)))
	}
	x, at := c.reg(s.Value), c.expr(s.Index[0])
	in := bytecode.Instr{Op: bytecode.Store, Type: s.Buf.DType(), A: at.reg, C: x, Imm: c.buffer(s.Buf)}
	switch {
	case at.affine():
		in.Op, in.A, in.Stride, in.B = bytecode.StoreV, at.base, at.stride, c.mask
	case at.reg.IsVector():
		in.Op, in.B = bytecode.Scatter, c.mask
	case x.IsVector(): // all lanes write one element; the last one stays
		in.Op, in.B = bytecode.StoreV, c.mask
	}
	c.emit(in)
}
