package fuzz

import (
	"fmt"
	"strings"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

// explain gives what the scheduler decides for a program that is realized at once: its kernels with their reasons.
// Nothing is compiled or run.
func explain(p *Program, device string) (text string) {
	defer func() {
		if r := recover(); r != nil {
			text = fmt.Sprint("no schedule: ", r)
		}
	}()
	name, err := register(device, p.Options)
	if err != nil {
		return "no schedule: " + err.Error()
	}
	configure(p.Options, name)
	defer graphs()
	if _, err := engine.Use(""); err != nil {
		return "no schedule: " + err.Error()
	}
	s := newState(0)
	for i := range p.Ops {
		o := &p.Ops[i]
		if o.Name == leafOp {
			s.values = append(s.values, leafOf(o.Leaf, 0))
		} else if err := s.apply(o, 0); err != nil {
			return "no schedule: " + err.Error()
		}
	}
	view, err := tensor.Schedule(these(s.values, p.roots())...)
	if err != nil {
		return "no schedule: " + err.Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "/*\n%v", view.Schedule)
	for i := range view.Launches() {
		tree, err := view.Tree(i)
		if err != nil {
			tree = err.Error()
		}
		fmt.Fprintf(&b, "\n%s", tree)
	}
	b.WriteString("*/\n")
	return b.String()
}
