//go:build !lean

package main

import (
	"fmt"
	"hash/fnv"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/engine/search"
	"github.com/weft-ml/weft/wasm/wire"
)

// functions are those of package search. What they keep is judged anew where it is used, so a plain hash will do.
var functions = search.All(func(text []byte) string {
	a, b := fnv.New128(), fnv.New128a()
	a.Write(text)
	b.Write(text)
	return fmt.Sprintf("%x%x", a.Sum(nil), b.Sum(nil))
})

func init() {
	engine.SearchWith(functions)
	keepDirectives = func(s *server, text string) {
		engine.KeepDirectives(func(engine.Options) (engine.DirectiveStore, error) { return openFound(s, text), nil })
	}
}

// mostFound is how many choices a page keeps, the newest.
const mostFound = 2000

// found is what searches found in this browser: it comes from the page, and each time there is more it goes back there.
type found struct {
	server *server
	list   []search.Choice
}

// openFound takes what the page kept. Of another version, or from elsewhere, it is nothing.
func openFound(s *server, text string) *found {
	f := &found{server: s}
	if list, err := functions.Parse([]byte(text)); err == nil {
		f.list = list
	}
	return f
}

func (f *found) Get(name string) ([]byte, bool) {
	for _, c := range f.list {
		if functions.Name(c.Key, c.Machine) == name {
			return functions.Format([]search.Choice{c}), true
		}
	}
	return nil, false
}

// Put keeps a choice in the place of an older one, and tells the page.
func (f *found) Put(name string, text []byte) error {
	list, err := functions.Parse(text)
	if err != nil {
		return fmt.Errorf("BUG: what a search found cannot be read: %w", err)
	}
	for _, c := range f.list {
		if functions.Name(c.Key, c.Machine) != name && len(list) < mostFound {
			list = append(list, c)
		}
	}
	f.list = list
	c := list[0]
	f.server.progress(0, wire.Record{
		{Name: "kernel", Value: c.Name}, {Name: "modelMs", Value: c.ModelSeconds * 1e3}, {Name: "bestMs", Value: c.BestSeconds * 1e3},
		{Name: "complete", Value: c.Complete}, {Name: "directives", Value: string(functions.Format(list))},
	})
	return nil
}

func (f *found) Close() {}
