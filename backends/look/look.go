// Package look gives engines that write kernels in a language for whoever wants to read them, and run nothing.
//
//	import "github.com/weft-ml/weft/backends/look"
//
// It is apart from package page, so that a page which only computes does not link a language that no browser runs.
package look

import (
	"fmt"
	"sync"

	"github.com/weft-ml/weft/codegen/c"
	"github.com/weft-ml/weft/codegen/wasm"
	"github.com/weft-ml/weft/codegen/wgsl"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime/null"
)

// made holds an engine for each language that can be looked at.
var made struct {
	sync.Mutex
	engines map[string]*engine.Engine
}

// Languages are those that can be looked at.
var Languages = []string{wgsl.Name, "c", "wasm"}

// Open gives an engine that writes kernels in one of Languages, for a usual machine, and runs nothing.
func Open(language string) (*engine.Engine, error) {
	made.Lock()
	defer made.Unlock()
	if e := made.engines[language]; e != nil {
		return e, nil
	}
	var m engine.Machine
	switch language {
	case wgsl.Name:
		m = engine.Machine{Target: wgsl.Target(wgsl.Machine{}), Render: wgsl.Render, Finish: wgsl.Finish}
	case "c":
		m = engine.Machine{Target: c.Target(c.Machine{VectorBytes: 32}), Render: c.Render}
	case "wasm":
		m = engine.Machine{Target: wasm.Target(wasm.Machine{}), Render: wasm.Renderer(wasm.Machine{})}
	default:
		return nil, fmt.Errorf("there is no language %q to look at; there are wgsl, c and wasm", language)
	}
	m.Device = null.Open(null.Options{})
	e, err := engine.New(engine.Backend{Name: language, Open: func(engine.Options, func(*plan.Kernel, float64)) (*engine.Machine, error) { return &m, nil }}, engine.Options{})
	if err != nil {
		return nil, err
	}
	if made.engines == nil {
		made.engines = map[string]*engine.Engine{}
	}
	made.engines[language] = e
	return e, nil
}
