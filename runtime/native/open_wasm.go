//go:build wasm

package native

import (
	"context"
	"errors"

	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
)

var errWasm = errors.New("CPU: no native device in a browser: it can neither run a C compiler nor load its code")

// Open returns an error: this build cannot run native code.
func Open(Options) (runtime.Device, error) { return nil, errWasm }

// OpenContext returns an error: this build cannot run native code.
func OpenContext(context.Context, Options) (runtime.Device, error) { return nil, errWasm }

// Limits returns an error: this build cannot run native code.
func Limits(of runtime.Device) (gflops1, gflopsAll, gbps float64, err error) {
	return LimitsContext(context.Background(), of)
}

// LimitsContext returns an error: this build cannot run native code.
func LimitsContext(context.Context, runtime.Device) (gflops1, gflopsAll, gbps float64, err error) {
	return 0, 0, 0, errWasm
}

// ProcessorName is what is known of the processor in this build.
func ProcessorName() string { return "wasm" }

// CompilerName is "": this build has no compiler.
func CompilerName(runtime.Device) string { return "" }

// Expect is nil: there is nothing to expect kernels.
func Expect(runtime.Device) func(context.Context, *plan.Kernel) { return nil }

// CompilerHas is false: this build has no compiler.
func CompilerHas(runtime.Device, string) bool { return false }
