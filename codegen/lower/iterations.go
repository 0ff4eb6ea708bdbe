package lower

import (
	"fmt"

	"github.com/weft-ml/weft/codegen"
)

// TooManyIterations says that an invocation of a kernel would run longer than the device lets it.
type TooManyIterations struct {
	Kernel      string
	Needs, Most int
}

func (e *TooManyIterations) Error() string {
	return fmt.Sprintf("codegen: kernel %s needs %d iterations of loops in one invocation and this device stops after %d; "+
		"reduce over shorter axes, in two steps, or use another device", e.Kernel, e.Needs, e.Most)
}

// checkIterations refuses what a device would stop without a word.
func checkIterations(p *codegen.Program, t *codegen.Target) error {
	if most := t.Limits.Iterations; most > 0 {
		if n := countIterations(p.Body); n > most {
			return &TooManyIterations{p.Name, n, most}
		}
	}
	return nil
}

func countIterations(stmts []codegen.Stmt) (n int) {
	for _, s := range stmts {
		inner := countIterations(codegen.Body(s))
		if l, ok := s.(*codegen.Loop); ok && l.Kind == codegen.Serial {
			inner = codegen.Extent(l.Range) * (1 + inner)
		}
		n = min(1<<40, n+inner)
	}
	return n
}

// Iterations is how many an invocation would run under these directives, or an error where they cannot be applied.
func Iterations(spec *codegen.Spec, directives []codegen.Directive, target *codegen.Target) (int, error) {
	b, err := lowerTo(spec, directives, target, treePasses)
	if err != nil {
		return 0, err
	}
	return countIterations(b.body), nil
}
