//go:build js

package wasm

import (
	"errors"

	"github.com/weft-ml/weft/runtime"
)

// Open returns an error: in a browser the page's own engine runs the modules, not this package.
func Open(Options) (runtime.Device, error) {
	return nil, errors.New("WASM: no embedded engine in a browser: the page's player runs WebAssembly itself")
}
