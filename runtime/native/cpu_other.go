//go:build !linux && !darwin && !wasm

package native

import "runtime"

// processor names the processor for people; it is not part of any cache key.
func processor() string { return runtime.GOARCH }
