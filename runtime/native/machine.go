//go:build !wasm

package native

import "github.com/weft-ml/weft/runtime"

// ProcessorName names the processor, for people and for what was measured on it.
func ProcessorName() string { return processor() }

// CompilerName names the compiler of a device of this package: "gcc 12.2.0".
func CompilerName(of runtime.Device) string {
	if d, ok := of.(*Device); ok {
		return d.cc.name
	}
	return ""
}
