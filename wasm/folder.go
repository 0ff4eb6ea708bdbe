//go:build models || (!js && !lean)

package main

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/weft-ml/weft/export"
	"github.com/weft-ml/weft/saved"
	"github.com/weft-ml/weft/wasm/wire"
)

// Folders of captured functions: the engine that knows models of others writes them too, of the bytes of a file that the page's own engine saved.

func init() { calls["export"] = procedure{run: exportFolder} }

// forms are the names of what weights are written as.
var forms = map[string]saved.Form{"f32": saved.Exact, "f16": saved.Half, "i8": saved.Bytes}

// exportFolder takes the bytes of a file of functions and {devices, weights, title, names}, names being a list of functions with the names of their inputs
// and results, or null. It gives the files of a folder by their names.
func exportFolder(ctx context.Context, c *call) (any, error) {
	file, ok := c.next().(wire.Array)
	if !ok {
		return nil, errors.New("the bytes of the functions are missing")
	}
	set := c.options().only("devices", "weights", "title", "names")
	o := export.Options{Names: map[string]export.Names{}}
	if set.r.Get("devices") != nil {
		o.Devices = set.at("devices").texts()
	}
	if w := set.r.Get("weights"); w != nil {
		name, _ := w.(string)
		if o.Weights, ok = forms[name]; !ok {
			c.fail("weights are %s; they are f32, f16 or i8", describe(w))
		}
	}
	if set.r.Get("title") != nil {
		o.Title = set.at("title").text()
	}
	for _, v := range set.at("names").list() {
		list, _ := v.([]any)
		one := &call{server: c.server, name: c.name, args: list}
		var names export.Names
		name := one.text()
		if one.given() {
			names.Inputs = one.texts()
		} else {
			one.next()
		}
		if one.given() {
			names.Results = one.texts()
		}
		o.Names[name] = names
	}
	files, err := export.Convert(ctx, bytes.NewReader(file.Data), o)
	if err != nil {
		return nil, err
	}
	out := wire.Record{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		out = append(out, wire.Field{Name: name, Value: wire.Array{Type: "u8", Data: files[name]}})
	}
	return wire.Record{{Name: "files", Value: out}}, nil
}
