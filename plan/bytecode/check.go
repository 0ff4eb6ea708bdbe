package bytecode

import (
	"fmt"

	"github.com/weft-ml/weft/dtype"
)

const (
	maxRegs    = 1 << 16
	maxScratch = 1 << 32
)

// Check verifies what the machine relies on: registers exist and are of the right kind, blocks match, buffers
// exist, written ones may be written. Indices into buffers are checked when the program runs.
func (p *Program) Check() error {
	for c := range NumClasses {
		if s, v := p.Scalars[c], p.Vectors[c]; s < 0 || v < 0 || s > maxRegs || v > maxRegs {
			return fmt.Errorf("bytecode: %d scalar and %d vector registers of class %d", s, v, c)
		}
	}
	if p.Vars < 0 || p.Vars > maxRegs {
		return fmt.Errorf("bytecode: %d variables", p.Vars)
	}
	for _, list := range [][]Buffer{p.Params, p.Scratch} {
		for _, b := range list {
			if size := int64(b.DType.Size()); size == 0 || b.N < 0 || b.N > 1<<50 || b.At < 0 || b.At%size != 0 {
				return fmt.Errorf("bytecode: a buffer of %d %s at %d", b.N, b.DType, b.At)
			}
		}
	}
	if n := p.ScratchBytes(); n < 0 || n > maxScratch {
		return fmt.Errorf("bytecode: %d bytes of scratch", n)
	}
	for _, c := range p.Consts {
		if c.Class >= NumClasses || !c.Reg.IsScalar() || c.Reg.Index() >= p.Scalars[c.Class] {
			return fmt.Errorf("bytecode: a constant in register %v of class %d", c.Reg, c.Class)
		}
	}
	return p.checkCode()
}

func (p *Program) checkCode() error {
	var open []Op
	strip, thread := 0, 0
	for i := range p.Code {
		in := &p.Code[i]
		fail := func(format string, a ...any) error {
			return fmt.Errorf("bytecode: instruction %d (%v): %s", i, in, fmt.Sprintf(format, a...))
		}
		if in.Op == Invalid || in.Op >= numOps {
			return fmt.Errorf("bytecode: instruction %d is none", i)
		}
		if reason := p.checkRegs(in); reason != "" {
			return fail("%s", reason)
		}
		if in.Op == End {
			if len(open) == 0 {
				return fail("nothing to end")
			}
			switch open[len(open)-1] {
			case Strip:
				strip--
			case Thread:
				thread--
			}
			open = open[:len(open)-1]
			continue
		}
		switch {
		case in.Op == Strip && strip > 0:
			return fail("a strip in a strip")
		case in.Op == Thread && (thread > 0 || strip > 0):
			return fail("a thread loop in another loop")
		case in.Op == Tree && strip == 0, in.Op == Halve && strip == 0:
			return fail("outside of a strip")
		}
		if in.Op.Opens() {
			open = append(open, in.Op)
			if in.Op == Strip {
				strip++
			} else if in.Op == Thread {
				thread++
			}
		}
		for _, o := range in.Operands() {
			if o.Reg.IsVector() && strip == 0 {
				return fail("a vector register outside of a strip")
			}
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("bytecode: %d blocks are not ended", len(open))
	}
	return nil
}

// shape says what each operand must be: - none, s scalar, v vector, x either, ? either or none.
var shape = [numOps]string{
	Loop: "s---", Thread: "s---", Strip: "s---", If: "-s--", Tree: "----", End: "----",
	Load: "ss?-", LoadV: "vs?-", Gather: "vv?-", Store: "-s?s", StoreV: "-s?x", Scatter: "-v?x",
	Var: "s---", Mov: "xx--", Iota: "vs--", Any: "sv--", First: "sv--", Even: "vv--", Odd: "vvs-", Halve: "----",
}

func (p *Program) checkRegs(in *Instr) string {
	want := shape[in.Op]
	if n := in.Op.Elementwise(); n > 0 {
		want = "xxxx"[:n+1] + "---"[:3-n]
	}
	vector := false
	for i, o := range in.Operands() {
		r := *o.Reg
		ok := true
		switch want[i] {
		case '-':
			ok = r == 0
		case 's':
			ok = r.IsScalar()
		case 'v':
			ok = r.IsVector()
		case 'x':
			ok = r != 0
		}
		n := p.Scalars[o.Class]
		if r.IsVector() {
			n = p.Vectors[o.Class]
			vector = vector || i > 0
		}
		if !ok || r != 0 && r.Index() >= n {
			return fmt.Sprintf("register %v cannot be operand %d", r, i)
		}
	}
	if (in.Op.Elementwise() > 0 || in.Op == Mov) && vector && !in.D.IsVector() {
		return "a scalar result of vectors"
	}
	if in.Op == Load && in.B.IsVector() || in.Op == Store && in.B.IsVector() {
		return "a vector condition of a scalar access"
	}
	return p.checkTypes(in)
}

func (p *Program) checkTypes(in *Instr) string {
	row := table[in.Op]
	known := in.Type == dtype.Index || in.Type.Size() > 0
	switch {
	case row.group == block || in.Op == Halve:
		if in.Imm < 0 {
			return "a negative count"
		}
		return ""
	case !known,
		in.Type == dtype.Bool && !row.bools,
		in.Type.IsFloat() && !row.floats,
		in.Type.IsInt() && !row.ints:
		return "not defined for this type"
	case (in.Op == Cast || in.Op == Bitcast) && in.To != dtype.Index && in.To.Size() == 0:
		return "no result type"
	case in.Op == Bitcast && in.To.Size() != in.Type.Size():
		return "types of different size"
	case in.Op == Var && (in.Imm < 0 || in.Imm >= int64(p.Vars)):
		return "no such variable"
	case row.group == memory:
		if in.Imm < 0 || in.Imm >= int64(len(p.Params)+len(p.Scratch)) {
			return "no such buffer"
		}
		b := p.Buffer(int(in.Imm))
		if b.DType != in.Type {
			return fmt.Sprintf("the buffer holds %s", b.DType)
		}
		if !b.Write && (in.Op == Store || in.Op == StoreV || in.Op == Scatter) {
			return "the buffer is read only"
		}
	}
	return ""
}
