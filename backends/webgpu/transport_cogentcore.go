//go:build cogentcore

package webgpu

import (
	"github.com/weft-ml/weft/runtime/webgpu"
	"github.com/weft-ml/weft/runtime/webgpu/cogentcore"
)

// connect opens the adapter whose name contains name.
func connect(name string, headless bool) (webgpu.Transport, error) {
	return cogentcore.Open(cogentcore.Options{Adapter: name, Headless: headless})
}
