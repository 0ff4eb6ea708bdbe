//go:build !js

package page

import (
	"context"
	"errors"

	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/runtime/webgpu"
)

// Open returns an error: there is no page.
func Open(context.Context, Options) (runtime.Device, webgpu.Adapter, error) {
	return nil, webgpu.Adapter{}, errors.New("WEBGPU: there is no browser here; native programs import backends/webgpu")
}
