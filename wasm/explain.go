//go:build !lean

package main

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/weft-ml/weft/backends/look"
	"github.com/weft-ml/weft/explain"
	"github.com/weft-ml/weft/uop"
)

func init() { calls["explain"] = procedure{run: explained} }

// lawLines says where laws are written, "name\tfile:line;…". wasm/pack sets it: a module for pages does not know the lines of its source.
var lawLines string

// explained takes an expression and {target: "wgsl", chain: "graph", "kernel 0" or "passes 0"} and gives that chain of steps, as JSON, and how
// many kernels there are.
func explained(_ context.Context, c *call) (any, error) {
	text := c.text()
	o := c.options().only("target", "chain")
	target, which := "wgsl", "graph"
	if v, ok := o.r.Get("target").(string); ok {
		target = v
	}
	if v, ok := o.r.Get("chain").(string); ok {
		which = v
	}
	e, err := look.Open(target)
	if err != nil {
		return nil, err
	}
	roots, err := speak(e, text)
	if err != nil {
		return unreadable(err), nil
	}
	nodes := make([]*uop.UOp, len(roots))
	for i, r := range roots {
		nodes[i] = r.Node()
	}
	x, err := e.Explain(explain.MostLaws, nodes...)
	if err != nil {
		return unreadable(err), nil
	}
	chain, err := explain.New(x.History).Chain(which, x.Passes)
	if err != nil {
		return nil, err
	}
	located(chain)
	out, err := json.Marshal(chain)
	return string(out), err
}

// located says where laws are written.
func located(c *explain.Chain) {
	at := map[string]string{}
	for line := range strings.SplitSeq(lawLines, ";") {
		name, where, _ := strings.Cut(line, "\t")
		at[name] = where
	}
	for i := range c.Steps {
		s := &c.Steps[i]
		if w := at[s.Law]; w != "" {
			s.At = w
		}
		for k := range s.Laws {
			if w := at[s.Laws[k].Law]; w != "" {
				s.Laws[k].At = w
			}
		}
	}
}
