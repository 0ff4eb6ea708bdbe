package wasm

import (
	"fmt"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// register is where a uop.Reg lives.
type register struct {
	local uint32
	kind  kind // v128 for one value per lane
	bits  int  // of a mask's lanes
}

// renderer writes one kernel.
type renderer struct {
	encoder
	p       *codegen.Program
	machine Machine
	regs    map[*uop.UOp]register
	ranges  map[*uop.UOp]uint32 // locals
	bases   map[*uop.UOp]uint32 // locals that hold the addresses of scratch buffers
	slots   []uint32            // and of parameters
	scope   symbolic.Scope      // what is known of registers
	scratch int64

	// Inside a Vector loop:
	n      int                 // lanes; 0 outside
	lane   *uop.UOp            // its range
	around *codegen.Loop       // itself
	vary   func(*uop.UOp) bool // differs between lanes
	mask   *mask               // lanes that take part; nil for all
	sum    *uop.UOp            // the register whose new value is being computed

	frames  []*frame                              // open loops
	apart   map[laneKey]lanes                     // remembered: how lanes lie,
	varies  map[*codegen.Loop]func(*uop.UOp) bool // what differs between lanes
	later   map[*uop.UOp]bool                     // registers that are assigned after their declaration
	repeats map[*uop.UOp]bool                     // registers that are repeated somewhere
	splats  map[*uop.UOp]uint32                   // vectors that repeat a register
	broad   map[*uop.UOp]bool                     // scratch buffers that hold each element repeated, as a vector
}

// mask is a vector of lanes that are all ones or zeros, in a local.
type mask struct {
	local uint32
	bits  int
}

func newRenderer(p *codegen.Program, m Machine) *renderer {
	r := &renderer{p: p, machine: m, regs: map[*uop.UOp]register{}, ranges: map[*uop.UOp]uint32{},
		bases: map[*uop.UOp]uint32{},
		apart: map[laneKey]lanes{}, varies: map[*codegen.Loop]func(*uop.UOp) bool{},
		splats: map[*uop.UOp]uint32{},
		broad:  map[*uop.UOp]bool{}, later: map[*uop.UOp]bool{}, repeats: map[*uop.UOp]bool{}}
	r.assigned(p.Body)
	r.findSplats(p.Body)
	return r
}

// assigned finds the registers that change after their declaration.
func (r *renderer) assigned(stmts []codegen.Stmt) {
	for _, s := range stmts {
		switch s := s.(type) {
		case *codegen.Set:
			r.changed(s.Regs)
		case *codegen.HorizontalReduce:
			r.changed(s.Regs)
		case *codegen.If:
			r.assigned(s.Body)
		case *codegen.Loop:
			r.assigned(s.Body)
		}
	}
}

func (r *renderer) changed(regs []*uop.UOp) {
	for _, u := range regs {
		r.later[u] = true
	}
}

// head loads the addresses of the parameters.
func (r *renderer) head() {
	for i := range r.p.Params {
		l := r.local(i32)
		r.get(paramBuf)
		r.mem("i32.load", uint32(4*i))
		r.set(l)
		r.slots = append(r.slots, l)
	}
}

func (r *renderer) block(stmts []codegen.Stmt) {
	for _, s := range stmts {
		r.stmt(s)
	}
}

func (r *renderer) stmt(s codegen.Stmt) {
	switch s := s.(type) {
	case *codegen.Loop:
		r.loop(s)
	case *codegen.If:
		r.cond(s)
	case *codegen.Let:
		r.let(s)
	case *codegen.Set:
		r.assign(s.Regs, s.Values)
	case *codegen.HorizontalReduce:
		r.fold(s)
	case *codegen.Store:
		r.store(s)
	case *codegen.Splat: // noted before
	case *codegen.Alloc:
		l := r.local(i32)
		r.get(paramScratch)
		r.i32(int32(r.scratch))
		r.op("i32.add")
		r.set(l)
		r.bases[s.Buf] = l
		r.scratch += (int64(s.N)*int64(r.sizeOf(s.Buf)) + 63) &^ 63
	default:
		panic(fmt.Sprintf("BUG: cannot spell %T", s))
	}
}

func (r *renderer) cond(s *codegen.If) {
	if !r.vec(s.Cond) {
		r.scalar(s.Cond)
		r.open("if")
		r.under(s)
		r.end()
		return
	}
	old := r.mask
	r.maskOf(s.Cond, 32)
	if old != nil {
		r.get(old.local)
		r.op("v128.and")
	}
	r.mask = &mask{r.local(v128), 32}
	r.set(r.mask.local)
	r.under(s)
	r.mask = old
}

// under writes the body of a condition.
func (r *renderer) under(s *codegen.If) {
	if len(r.frames) == 0 {
		r.block(s.Body)
		return
	}
	f := r.frames[len(r.frames)-1]
	old := f.under
	f.under = s
	r.block(s.Body)
	f.under = old
}

func (r *renderer) let(s *codegen.Let) {
	d := s.Reg.DType()
	if r.n > 0 && (r.vary(s.Reg) || r.vary(s.Value)) {
		reg := register{local: r.local(v128), kind: v128}
		if d == dtype.Bool {
			reg.bits = r.maskBits(s.Value)
			r.maskOf(s.Value, reg.bits)
		} else {
			reg.bits = r.declaredBits(s)
			r.vectorAs(s.Value, reg.bits)
		}
		r.regs[s.Reg] = reg
		r.set(reg.local)
		return
	}
	k := kindOfType(d)
	if r.repeats[s.Reg] && r.n > 0 && s.Value.Op() == uop.Load { // it is repeated right away
		r.splat(s.Value)
		reg := register{local: r.local(v128), kind: v128, bits: r.bitsOfType(d)}
		r.set(reg.local)
		r.regs[s.Reg] = reg
		return
	}
	if d == dtype.Index {
		if !r.later[s.Reg] {
			r.scope.Define(s.Reg, s.Value)
		}
		if k = i32; r.wide(s.Reg) {
			k = i64
		}
	}
	r.scalarAs(s.Value, k)
	l := r.local(k)
	r.set(l)
	r.regs[s.Reg] = register{local: l, kind: k}
	if r.repeats[s.Reg] {
		r.get(l)
		r.spread(k)
		r.splats[s.Reg] = r.local(v128)
		r.set(r.splats[s.Reg])
	}
}

// declaredBits is the width of a lane of a register; that of an index fits its value, or everything if it is
// assigned later.
func (r *renderer) declaredBits(s *codegen.Let) int {
	if s.Reg.DType() != dtype.Index {
		return r.bitsOfType(s.Reg.DType())
	}
	if !r.later[s.Reg] {
		r.scope.Define(s.Reg, s.Value)
		return r.laneBits(s.Value)
	}
	if r.n == 2 {
		return 64
	}
	return 32
}

// assign sets registers, all values being computed before any is assigned.
func (r *renderer) assign(regs, values []*uop.UOp) {
	for i, u := range regs {
		reg := r.regs[u]
		switch {
		case reg.kind != v128:
			r.scalarAs(values[i], reg.kind)
		case u.DType() == dtype.Bool:
			r.maskOf(values[i], reg.bits)
		default:
			r.sum = u
			r.vectorAs(values[i], reg.bits)
			r.sum = nil
		}
		if reg.kind == v128 && r.mask != nil {
			r.get(reg.local)
			r.getMask(r.mask, reg.bits)
			r.op("v128.bitselect")
		}
	}
	for i := len(regs) - 1; i >= 0; i-- {
		r.set(r.regs[regs[i]].local)
	}
}
