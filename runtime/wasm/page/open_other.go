//go:build !js

package page

import (
	"errors"

	"github.com/weft-ml/weft/runtime"
)

// Relaxed reports whether the browser has relaxed-simd multiply-add.
func Relaxed() bool { return false }

// Fused reports whether that rounds once.
func Fused() bool { return false }

// Open returns an error: there is no page.
func Open(Options) (runtime.Device, error) {
	return nil, errors.New(Name + ": there is no browser here; native programs import backends")
}
