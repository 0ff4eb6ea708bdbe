//go:build !wasm

package native

import (
	"strings"

	"github.com/weft-ml/weft/runtime"
)

// ProcessorName names the processor, for people and for what was measured on it.
func ProcessorName() string { return processor() }

// CompilerName names the compiler of a device of this package: "gcc 12.2.0".
func CompilerName(of runtime.Device) string {
	if d, ok := of.(*Device); ok {
		return d.cc.name
	}
	return ""
}

// CompilerHas says whether the compiler of a device of this package predefines a macro when it compiles for this processor: those
// of instruction sets that it knows.
func CompilerHas(of runtime.Device, macro string) bool {
	d, ok := of.(*Device)
	return ok && strings.Contains(d.cc.identity, "#define "+macro+" ")
}
