package codegen

import (
	"strconv"
	"strings"

	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/uop"
)

// foreignProgram is (*Spec).foreign where there are such kernels. A page has none and does not link it.
var foreignProgram func(s *Spec) *Program

// AllowForeign is called by whoever brings devices for such kernels.
func AllowForeign() { foreignProgram = (*Spec).foreign }

// foreign is the program of a kernel that is text already.
func (s *Spec) foreign() *Program {
	f := s.Foreign
	p := &Program{Name: "own_" + plain(f.Name), Params: s.Params, Threads: f.Threads, Foreign: f}
	for _, q := range s.Params {
		p.Bytes += int64(uop.Shape(q.Dims).Numel()) * int64(q.DType.Size())
	}
	return p
}

// plain is a name with nothing in it that means something in a comment or in a string.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, name)
}

// ForeignKernel is the kernel of a program that is text already, without its source.
func ForeignKernel(p *Program) plan.Kernel {
	k := plan.Kernel{Name: p.Name, Threads: int32(p.Threads), Bytes: p.Bytes, Foreign: true}
	for _, q := range p.Params {
		k.Binds = append(k.Binds, plan.Bind{Write: q.Write, Bytes: int64(uop.Shape(q.Dims).Numel()) * int64(q.DType.Size())})
	}
	return k
}

// ForeignName is what the text of a kernel calls a Param: in0, in1, …, out0, …
func (p *Program) ForeignName(i int) string {
	if i < p.Foreign.Args {
		return "in" + strconv.Itoa(i)
	}
	return "out" + strconv.Itoa(i-p.Foreign.Args)
}
