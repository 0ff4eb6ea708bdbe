//go:build !lean

package main

import (
	"context"
	"errors"

	"github.com/weft-ml/weft/backends/look"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/uop"
	"github.com/weft-ml/weft/wasm/wire"
)

func init() { calls["inspect"] = procedure{run: inspect} }

// inspect takes an expression and {target: ["wgsl", "c"]} and gives its graph, its schedule, and for each launch the
// kernel in each language. Nothing is computed. An expression that cannot be read is no error of the call: the
// answer's error says what is wrong, and where it is at.
func inspect(_ context.Context, c *call) (any, error) {
	text := c.text()
	targets := []string{"wgsl", "c"}
	if o := c.options().only("target"); o.r.Get("target") != nil {
		targets = nil
		list, ok := o.r.Get("target").([]any)
		if !ok {
			list = []any{o.r.Get("target")}
		}
		for _, v := range list {
			name, _ := v.(string)
			targets = append(targets, name)
		}
	}
	out := wire.Record{}
	var views []*engine.View
	for i, name := range targets {
		e, err := c.lookedAt(name)
		if err != nil {
			return nil, err
		}
		roots, err := speak(e, text)
		if err == nil {
			nodes := make([]*uop.UOp, len(roots))
			for k, r := range roots {
				nodes[k] = r.Node()
			}
			if i == 0 {
				out = append(out, wire.Field{Name: "graph", Value: uop.Print(nodes...)})
			}
			var v *engine.View
			if v, err = e.Plan(nodes...); err == nil {
				views = append(views, v)
			}
		}
		if err != nil {
			return unreadable(err), nil
		}
	}
	out = append(out, wire.Field{Name: "schedule", Value: views[0].Schedule.String()}, wire.Field{Name: "arenaBytes", Value: float64(views[0].Plan.Peak)})
	return append(out, wire.Field{Name: "kernels", Value: launches(targets, views)}), nil
}

// lookedAt is an engine that writes a language and runs nothing; "here" is the page's own, with what its machine can do.
func (c *call) lookedAt(name string) (*engine.Engine, error) {
	if name != "here" {
		return look.Open(name)
	}
	if c.server.engine == nil {
		return nil, errNotOpen
	}
	return c.server.engine, nil
}

func unreadable(err error) wire.Record {
	out := wire.Record{{Name: "graph", Value: ""}, {Name: "schedule", Value: ""}, {Name: "kernels", Value: []any{}}, {Name: "error", Value: tell("", err).Error()}}
	var m *mistake
	if errors.As(err, &m) {
		out = append(out, wire.Field{Name: "at", Value: m.at})
	}
	return out
}

// launches lists the launches, each with its kernel in every language. A plan may launch more kernels in one language
// than in another; the rest of the shorter is missing.
func launches(targets []string, views []*engine.View) []any {
	var lists [][]*plan.Kernel
	n := 0
	for _, v := range views {
		lists = append(lists, v.Launches())
		n = max(n, len(lists[len(lists)-1]))
	}
	out := make([]any, n)
	for i := range out {
		var first *plan.Kernel
		var sources, sides wire.Record
		for t, list := range lists {
			if i >= len(list) {
				continue
			}
			spelled := list[i].Spelled()
			k := &spelled
			if first == nil {
				first = k
			}
			sources = append(sources, wire.Field{Name: targets[t], Value: k.Source})
			sides = append(sides, wire.Field{Name: targets[t], Value: wire.Record{
				{Name: "name", Value: k.Name}, {Name: "kinds", Value: k.Kinds}, {Name: "directives", Value: k.Directives}, {Name: "source", Value: k.Source},
			}})
		}
		out[i] = wire.Record{
			{Name: "name", Value: first.Name}, {Name: "kinds", Value: first.Kinds}, {Name: "directives", Value: first.Directives},
			{Name: "flops", Value: float64(first.Flops)}, {Name: "bytes", Value: float64(first.Bytes)},
			{Name: "source", Value: sources}, {Name: "targets", Value: sides},
		}
	}
	return out
}
