package page

import (
	"fmt"
	"strings"
	"sync"

	"github.com/weft-ml/weft/codegen/c"
	"github.com/weft-ml/weft/codegen/wgsl"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime/null"
)

// look holds an engine for each language that can be looked at.
var look struct {
	sync.Mutex
	engines map[string]*engine.Engine
}

// Look gives an engine that writes kernels in a language, "wgsl" or "c", for a usual machine, and runs nothing.
func Look(language string) (*engine.Engine, error) {
	look.Lock()
	defer look.Unlock()
	if e := look.engines[language]; e != nil {
		return e, nil
	}
	var m engine.Machine
	switch language {
	case wgsl.Name:
		m = engine.Machine{Target: wgsl.Target(wgsl.Machine{}), Render: wgsl.Render, Finish: wgsl.Finish}
	case "c":
		m = engine.Machine{Target: c.Target(c.Machine{VectorBytes: 32}), Render: c.Render}
	default:
		return nil, fmt.Errorf("there is no language %q to look at; there are wgsl and c", language)
	}
	m.Device = null.Open(null.Options{})
	e, err := engine.New(engine.Backend{Name: strings.ToUpper(language), Open: func(engine.Options, func(*plan.Kernel, float64)) (*engine.Machine, error) { return &m, nil }}, engine.Options{})
	if err != nil {
		return nil, err
	}
	if look.engines == nil {
		look.engines = map[string]*engine.Engine{}
	}
	look.engines[language] = e
	return e, nil
}
