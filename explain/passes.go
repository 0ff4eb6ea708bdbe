package explain

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/rewrite"
)

// mostFired is how many laws are told of one phase or pass.
const mostFired = 200

// Passes is what each pass makes of the i-th kernel, from its Spec to statements. lower lowers that kernel, shows what there is after each
// pass, and gives the directives.
func (s *Story) Passes(i int, lower func(see func(l codegen.Lowering)) (directives string, err error)) (*Chain, error) {
	c := &Chain{Title: fmt.Sprintf("Kernel %d, lowered", i+1)}
	spec := s.h.Kernels[i].Spec()
	now := s.specState(spec)
	c.First = now.text
	var fired []Fired
	stop := rewrite.Also(s.table, func(e rewrite.Event) {
		f := Fired{e.Rule.Name, e.Rule.At(), s.formula(e.Before), s.formula(e.After)}
		if len(fired) < mostFired && !slices.Contains(fired, f) {
			fired = append(fired, f)
		}
	})
	defer stop()
	full := false
	directives, err := lower(func(l codegen.Lowering) {
		f := l.Form()
		var then state
		if f.Body == nil {
			then = s.specState(f.Spec)
		} else {
			then = state{text: codegen.DumpBody(f.Body)}
		}
		if !full {
			full = !c.add(Step{Law: "pass " + f.Pass, At: "codegen/lower/lower.go", Laws: fired}, now, then)
		}
		now, fired = then, nil
	})
	if err != nil {
		return nil, err
	}
	for k := range c.Steps {
		if c.Steps[k].Law == "pass directives" && directives != "" {
			c.Steps[k].Law += ": " + directives
		}
	}
	return c, nil
}

// Chain gives steps by their name: "graph", or "kernel 0" and "passes 0" and so on. passes lowers the i-th kernel, see Passes.
func (s *Story) Chain(id string, passes func(i int, see func(codegen.Lowering)) (string, error)) (*Chain, error) {
	if id == "graph" {
		return s.Graph(), nil
	}
	var kind string
	var i int
	if _, err := fmt.Sscanf(id, "%s %d", &kind, &i); err != nil || i < 0 || i >= s.Kernels() || kind != "kernel" && kind != "passes" {
		return nil, fmt.Errorf("there are no steps %q; there are graph, and kernel and passes from 0 to %d", id, s.Kernels()-1)
	}
	if kind == "kernel" {
		return s.Kernel(i), nil
	}
	return s.Passes(i, func(see func(codegen.Lowering)) (string, error) { return passes(i, see) })
}
