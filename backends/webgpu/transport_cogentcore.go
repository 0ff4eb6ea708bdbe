//go:build cogentcore

package webgpu

import (
	"github.com/weft-ml/weft/runtime/webgpu"
	"github.com/weft-ml/weft/runtime/webgpu/cogentcore"
)

// connect opens an adapter whose name contains name, of several the one of this number.
func connect(name string, number int, headless bool) (webgpu.Transport, error) {
	return cogentcore.Open(cogentcore.Options{Adapter: name, Number: number, Headless: headless})
}
