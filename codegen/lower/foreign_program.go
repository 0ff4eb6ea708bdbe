package lower

import (
	"strings"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/uop"
)

// foreignProgram is foreign where there are such kernels. A page has none and does not link it.
var foreignProgram func(s *codegen.Spec) *codegen.Program

// AllowForeign is called by whoever brings devices for such kernels.
func AllowForeign() { foreignProgram = foreign }

// foreign is the program of a kernel that is text already.
func foreign(s *codegen.Spec) *codegen.Program {
	f := s.Foreign
	p := &codegen.Program{Name: "own_" + plain(f.Name), Params: s.Params, Threads: f.Threads, Foreign: f}
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
