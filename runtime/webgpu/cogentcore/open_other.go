//go:build !(cogentcore && cgo && ((linux && (amd64 || arm64)) || darwin || (windows && (amd64 || arm64))))

package cogentcore

import (
	"errors"

	"github.com/weft-ml/weft/runtime/webgpu"
)

// Open says that this program was built without the GPU library.
func Open(Options) (webgpu.Transport, error) {
	return nil, errors.New("this program was built without this GPU library: build it with -tags cogentcore and cgo (CGO_ENABLED=1 and a C compiler) on Linux, macOS or Windows")
}
