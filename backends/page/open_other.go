//go:build !js

package page

import (
	"errors"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/plan"
)

func openWebGPU(engine.Options, func(*plan.Kernel, float64)) (*engine.Machine, error) {
	return nil, errors.New("WEBGPU: there is no browser here; native programs import backends/webgpu")
}
