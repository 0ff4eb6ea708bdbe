package lower

import (
	"fmt"

	"github.com/weft-ml/weft/codegen"
)

// TooLong says that a kernel has a loop that the device cannot count.
type TooLong struct {
	Kernel string
	Writes string // the shape of what it writes
	Needs  int
}

func (e *TooLong) Error() string {
	return fmt.Sprintf("codegen: kernel %s, which writes %s, has a loop of %d iterations and this device counts to %d; "+
		"give the array more axes that are shorter, compute it in parts, or use another device", e.Kernel, e.Writes, e.Needs, codegen.MostIterations)
}

// checkLoops refuses loops whose counters would wrap.
func checkLoops(p *codegen.Program, t *codegen.Target) error {
	n := max(p.Threads, sharedIterations(p.Body))
	if t.ShortLoops {
		codegen.Visit(p.Body, func(s codegen.Stmt) {
			if l, ok := s.(*codegen.Loop); ok {
				n = max(n, codegen.Extent(l.Range))
			}
		})
	}
	if n <= codegen.MostIterations {
		return nil
	}
	e := &TooLong{Kernel: p.Name, Needs: n}
	for _, q := range p.Params {
		if q.Write {
			e.Writes = fmt.Sprintf("%v %v", q.Dims, q.DType)
			break
		}
	}
	return e
}

// sharedIterations is the product of nested loops whose iterations are shared out, of the nest where it is largest.
func sharedIterations(stmts []codegen.Stmt) int {
	n := 1
	for _, s := range stmts {
		if l, ok := s.(*codegen.Loop); ok && (l.Kind == codegen.Thread || l.Kind == codegen.Grid) {
			n = max(n, codegen.Extent(l.Range)*sharedIterations(l.Body))
		}
	}
	return n
}
