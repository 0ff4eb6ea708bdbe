//go:build models || !js

package main

import (
	"bytes"
	"context"
	"fmt"

	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/wasm/wire"
)

// Files of captured functions: what a page captured becomes bytes.

func init() {
	calls["saveFunctions"] = procedure{run: saveFunctions}
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
			c.fail("%s holds %s, not a string", c.what(), describe(v))
		}
		out[i] = s
	}
	return out
}
