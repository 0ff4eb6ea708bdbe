package bytecode

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-ml/weft/dtype"
)

const header = "bytecode 1"

// String prints the program; Parse reads it back.
func (p *Program) String() string {
	var b strings.Builder
	b.WriteString(header + "\n")
	for _, x := range p.Params {
		access := "r"
		if x.Write {
			access = "w"
		}
		fmt.Fprintf(&b, "param %s %d %s\n", x.DType.Short(), x.N, access)
	}
	for _, x := range p.Scratch {
		fmt.Fprintf(&b, "scratch %s %d %d\n", x.DType.Short(), x.N, x.At)
	}
	if p.Vars > 0 {
		fmt.Fprintf(&b, "vars %d\n", p.Vars)
	}
	for i, list := range [][NumClasses]int{p.Scalars, p.Vectors} {
		b.WriteString([]string{"scalars", "lanes"}[i])
		for _, n := range list {
			fmt.Fprintf(&b, " %d", n)
		}
		b.WriteByte('\n')
	}
	for _, c := range p.Consts {
		fmt.Fprintf(&b, "const %d %v %#x\n", c.Class, c.Reg, c.Bits)
	}
	depth := 0
	for i := range p.Code {
		in := &p.Code[i]
		if in.Op == End {
			depth--
		}
		b.WriteString(strings.Repeat("  ", max(0, depth)))
		b.WriteString(in.String())
		b.WriteByte('\n')
		if in.Op.Opens() {
			depth++
		}
	}
	return b.String()
}

func (r Reg) String() string {
	switch {
	case r > 0:
		return "v" + strconv.Itoa(r.Index())
	case r < 0:
		return "s" + strconv.Itoa(r.Index())
	}
	return "_"
}

// String prints one instruction: its name and types, the registers D A B C, Imm behind # and Stride behind *.
func (in *Instr) String() string {
	s := in.Op.String()
	if in.Type != dtype.Void {
		s += "." + in.Type.Short()
	}
	if in.To != dtype.Void {
		s += "." + in.To.Short()
	}
	regs := []Reg{in.D, in.A, in.B, in.C}
	for len(regs) > 0 && regs[len(regs)-1] == 0 {
		regs = regs[:len(regs)-1]
	}
	for _, r := range regs {
		s += " " + r.String()
	}
	if in.Imm != 0 {
		s += " #" + strconv.FormatInt(in.Imm, 10)
	}
	if in.Stride != 0 {
		s += " *" + strconv.FormatInt(in.Stride, 10)
	}
	return s
}

var opByName = func() map[string]Op {
	m := map[string]Op{}
	for o := Invalid + 1; o < numOps; o++ {
		m[o.String()] = o
	}
	return m
}()

// Parse reads a program and checks it.
func Parse(text string) (*Program, error) {
	p := &Program{}
	lines := strings.Split(text, "\n")
	if strings.TrimSpace(lines[0]) != header {
		return nil, fmt.Errorf("bytecode: the first line is %.40q, not %q: compile it again with this version", lines[0], header)
	}
	for i, line := range lines[1:] {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		if err := p.line(f); err != nil {
			return nil, fmt.Errorf("bytecode: line %d %.60q: %w", i+2, strings.TrimSpace(line), err)
		}
	}
	if err := p.Check(); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *Program) line(f []string) (err error) {
	var n []int64
	switch f[0] {
	case "param", "scratch":
		if len(f) != 4 {
			return fmt.Errorf("wants 3 fields")
		}
		d, ok := parseType(f[1])
		if !ok || d.Size() == 0 {
			return fmt.Errorf("no storage type %q", f[1])
		}
		b := Buffer{DType: d, Write: f[0] == "scratch" || f[3] == "w"}
		if b.N, err = strconv.ParseInt(f[2], 10, 64); err != nil {
			return err
		}
		if f[0] == "param" {
			p.Params = append(p.Params, b)
			return nil
		}
		b.At, err = strconv.ParseInt(f[3], 10, 64)
		p.Scratch = append(p.Scratch, b)
		return err
	case "vars", "scalars", "lanes":
		if n, err = numbers(f[1:]); err != nil {
			return err
		}
		if f[0] == "vars" && len(n) == 1 {
			p.Vars = int(n[0])
			return nil
		}
		if len(n) != int(NumClasses) {
			return fmt.Errorf("wants %d numbers", NumClasses)
		}
		for c, x := range n {
			if f[0] == "lanes" {
				p.Vectors[c] = int(x)
			} else {
				p.Scalars[c] = int(x)
			}
		}
		return nil
	case "const":
		return p.constant(f)
	}
	in, err := parseInstr(f)
	p.Code = append(p.Code, in)
	return err
}

func (p *Program) constant(f []string) error {
	if len(f) != 4 {
		return fmt.Errorf("wants 3 fields")
	}
	class, err := strconv.ParseUint(f[1], 10, 8)
	if err != nil {
		return err
	}
	reg, err := parseReg(f[2])
	if err != nil {
		return err
	}
	bits, err := strconv.ParseUint(f[3], 0, 64)
	p.Consts = append(p.Consts, Const{Class(class), reg, bits})
	return err
}

func numbers(f []string) (out []int64, err error) {
	for _, s := range f {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, nil
}

func parseType(s string) (dtype.DType, bool) {
	if s == dtype.Index.Short() {
		return dtype.Index, true
	}
	return dtype.Parse(s)
}

func parseReg(s string) (Reg, error) {
	if s == "_" {
		return 0, nil
	}
	n, err := strconv.ParseUint(s[1:], 10, 24)
	switch {
	case err != nil:
	case s[0] == 'v':
		return V(int(n)), nil
	case s[0] == 's':
		return S(int(n)), nil
	}
	return 0, fmt.Errorf("no register %q", s)
}

func parseInstr(f []string) (in Instr, err error) {
	name := strings.Split(f[0], ".")
	in.Op = opByName[name[0]]
	if in.Op == Invalid || len(name) > 3 {
		return in, fmt.Errorf("no instruction %q", f[0])
	}
	for i, to := range []*dtype.DType{&in.Type, &in.To} {
		if len(name) > i+1 {
			d, ok := parseType(name[i+1])
			if !ok {
				return in, fmt.Errorf("no type %q", name[i+1])
			}
			*to = d
		}
	}
	regs := []*Reg{&in.D, &in.A, &in.B, &in.C}
	for _, s := range f[1:] {
		switch s[0] {
		case '#':
			in.Imm, err = strconv.ParseInt(s[1:], 10, 64)
		case '*':
			in.Stride, err = strconv.ParseInt(s[1:], 10, 64)
		default:
			if len(regs) == 0 {
				return in, fmt.Errorf("too many registers")
			}
			*regs[0], err = parseReg(s)
			regs = regs[1:]
		}
		if err != nil {
			return in, err
		}
	}
	return in, nil
}
