package codegen

import (
	"fmt"
	"math"
)

// mostIterations is how far devices count with 32 bits: iterations that threads share, everywhere, and those of any loop where
// Target.ShortLoops is set.
const mostIterations = math.MaxInt32

// TooLong says that a kernel has a loop that the device cannot count.
type TooLong struct {
	Kernel string
	Writes string // the shape of what it writes
	Needs  int
}

func (e *TooLong) Error() string {
	return fmt.Sprintf("codegen: kernel %s, which writes %s, has a loop of %d iterations and this device counts to %d; "+
		"give the array more axes that are shorter, compute it in parts, or use another device", e.Kernel, e.Writes, e.Needs, mostIterations)
}

// checkLoops refuses loops whose counters would wrap.
func checkLoops(p *Program, t *Target) error {
	n := max(p.Threads, sharedIterations(p.Body))
	if t.ShortLoops {
		visit(p.Body, func(s Stmt) {
			if l, ok := s.(*Loop); ok {
				n = max(n, extent(l.Range))
			}
		})
	}
	if n <= mostIterations {
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
func sharedIterations(stmts []Stmt) int {
	n := 1
	for _, s := range stmts {
		if l, ok := s.(*Loop); ok && (l.Kind == Thread || l.Kind == Grid) {
			n = max(n, extent(l.Range)*sharedIterations(l.Body))
		}
	}
	return n
}
