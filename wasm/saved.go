//go:build !lean || models

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
	"github.com/weft-ml/weft/wasm/wire"
)

// Files of captured functions: what a page captured becomes bytes, and bytes become functions. The small engine leaves this out: with it 8 kB more
// would have to come before a first result, most of it what stands for functions that are elsewhere.

func init() {
	calls["saveFunctions"] = procedure{run: saveFunctions}
	calls["loadFunctions"] = procedure{run: loadFunctions}
	calls["takeFunctions"] = procedure{run: takeFunctions}
}

// saveFunctions takes a list of functions, each a name, its number, and the names of its inputs and results, or null; it gives the bytes of a file.
func saveFunctions(ctx context.Context, c *call) (any, error) {
	all := map[string]*tensor.Captured{}
	for _, v := range c.list() {
		list, _ := v.([]any)
		one := &call{server: c.server, ctx: ctx, name: c.name, args: list}
		name := one.text()
		r := c.server.plays[one.ref()]
		if r == nil {
			return nil, fmt.Errorf("the captured function %q was disposed of", name)
		}
		all[name] = r.captured
		if one.given() {
			inputs, results := one.texts(), one.texts()
			all[name] = r.captured.Named(inputs, results)
		}
	}
	var b bytes.Buffer
	if err := tensor.SaveFunctions(ctx, &b, all); err != nil {
		return nil, err
	}
	return wire.Record{{Name: "data", Value: wire.Array{Type: "u8", Data: b.Bytes()}}}, nil
}

// texts takes a list of texts.
func (c *call) texts() []string {
	list := c.list()
	out := make([]string, len(list))
	for i, v := range list {
		s, ok := v.(string)
		if !ok {
			c.fail("%s holds %s at %d, not a string", c.what(), describe(v), i)
		}
		out[i] = s
	}
	return out
}

// loaded are the functions of a file until the page has numbers for them.
type loaded struct {
	functions []*tensor.Captured
	states    []*tensor.Tensor
}

func (*loaded) end() {}

// loadFunctions takes the bytes of a file and describes its functions; takeFunctions gives them, and then all that they assign, the numbers of the page.
func loadFunctions(ctx context.Context, c *call) (any, error) {
	a, ok := c.next().(wire.Array)
	if !ok {
		return nil, errors.New("the bytes of the file are missing")
	}
	all, err := tensor.LoadFunctions(ctx, bytes.NewReader(a.Data), "")
	if err != nil {
		text := strings.TrimPrefix(err.Error(), "tensor: LoadFunctions: ")
		return nil, &told{"", plain(strings.Replace(text, "Captured.Save or SaveFunctions", "save() or saveFunctions()", 1)), err}
	}
	p, _, err := tensor.Program(ctx, all)
	if err != nil {
		return nil, err
	}
	l, out := &loaded{}, []any{}
	known := map[*tensor.Tensor]int{}
	for i := range p.Functions {
		f := &p.Functions[i]
		one := all[f.Name]
		l.functions = append(l.functions, one)
		inputs, results, states := []any{}, []any{}, []any{}
		for k, in := range f.Inputs {
			inputs = append(inputs, wire.Record{{Name: "name", Value: one.InputName(k)}, {Name: "shape", Value: numbers(in.Shape)}, {Name: "dtype", Value: typeName(in.DType)}})
		}
		for k, r := range f.Results {
			w := wire.Record{{Name: "name", Value: one.ResultName(k)}, {Name: "dtype", Value: typeName(r.DType)}}
			if !varies(r.Sizes) {
				w = append(w, wire.Field{Name: "shape", Value: numbers(r.Shape)})
			}
			results = append(results, w)
		}
		for _, t := range one.States() {
			if _, ok := known[t]; !ok {
				known[t] = len(l.states)
				l.states = append(l.states, t)
			}
			states = append(states, known[t])
		}
		out = append(out, wire.Record{{Name: "name", Value: f.Name}, {Name: "inputs", Value: inputs}, {Name: "results", Value: results},
			{Name: "states", Value: states}, {Name: "launches", Value: one.Launches()}})
	}
	states := []any{}
	for _, t := range l.states {
		states = append(states, wire.Record{{Name: "shape", Value: numbers(t.Shape())}, {Name: "dtype", Value: typeName(t.DType())}})
	}
	c.server.nets[c.outs[0]] = l
	return wire.Record{{Name: "functions", Value: out}, {Name: "states", Value: states}}, nil
}

func varies(sizes []uop.Size) bool {
	for _, n := range sizes {
		if n.Varies() {
			return true
		}
	}
	return false
}

func takeFunctions(_ context.Context, c *call) (any, error) {
	ref := c.ref()
	l, ok := c.server.nets[ref].(*loaded)
	if !ok || len(c.outs) != len(l.functions)+len(l.states) {
		return nil, errors.New("the functions of the file are not there any more")
	}
	delete(c.server.nets, ref)
	for i, f := range l.functions {
		c.server.plays[c.outs[i]] = &recorded{captured: f}
	}
	for i, t := range l.states {
		c.server.tensors[c.outs[len(l.functions)+i]] = t
	}
	return nil, nil
}
