package model

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/uop"
)

// stageSharedSubexprs adds to the directives of a stream the staging of shared subexpressions over the lanes' axis, where a row of them fits well into
// the cache.
func (c *streamer) stageSharedSubexprs(directives []codegen.Directive, order []string, lanes *uop.UOp) []codegen.Directive {
	if lanes == nil || c.anyLength() {
		return directives
	}
	name := c.name(lanes)
	if len(order) > 0 && order[len(order)-1] == name+".0" {
		order = order[:len(order)-1]
	} else if slices.ContainsFunc(directives, func(m codegen.Directive) bool { return m.Verb == codegen.Split && m.Name == name }) {
		return directives
	}
	for _, t := range c.SharedSubexprs {
		if t.Axis != lanes || codegen.Extent(t.Range)*c.Values[t.Name].DType().Size() > c.Target.L1/2 {
			continue
		}
		x := c.name(t.Range)
		m := codegen.Directive{Verb: codegen.Stage, Name: t.Name, At: innermost(order), Axes: []string{x}, Vector: x}
		if slices.ContainsFunc(directives, func(m codegen.Directive) bool { return m.Verb == codegen.Split && m.Name == x }) {
			m.Axes, m.Vector = []string{x + ".0", x + ".1"}, x+".1"
		}
		if with := append(slices.Clone(directives), m); c.legal(with) {
			directives = with
		}
	}
	return directives
}
