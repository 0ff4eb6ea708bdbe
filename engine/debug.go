package engine

import (
	"fmt"
	"strings"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/plan"
)

// Levels of Options.Debug.
const (
	debugPlans     = 1
	debugLaunches  = 2
	debugSchedules = 3
	debugCode      = 4
	debugPasses    = 5
)

func (e *Engine) says(level int) bool { return e.opts.Debug >= level && e.opts.Log != nil }

// trace prints a line a launch.
func (e *Engine) trace(k *plan.Kernel, seconds float64) {
	if !e.says(debugLaunches) {
		return
	}
	fmt.Fprintf(e.opts.Log, "%-6s %s %9.2f us %8.2f GFLOP/s %8.2f GB/s  mem %.2f MB\n", e.name, pad(Colored(k), len(k.Name), 40),
		seconds*1e6, float64(k.Flops)/seconds*1e-9, float64(k.Bytes)/seconds*1e-9, float64(e.memory.live)/1e6)
}

func pad(s string, width, to int) string { return s + strings.Repeat(" ", max(to-width, 0)) }

// colors of the axis kinds in kernel names: the reference's, where both have the kind.
var colors = map[byte]string{
	'g': "34", // workgroup: blue
	't': "94", // thread pool: bright blue
	'l': "36", // invocation: cyan
	'r': "31", // reduction: red
	'v': "33", // lanes, and
	'u': "33", // registers: yellow
	'U': "35", // unrolled reduction: magenta
	'V': "35",
	's': "37", // loop: white
}

// Colored is the kernel's name with each dim in the colour of its axis kind.
func Colored(k *plan.Kernel) string {
	parts := strings.Split(k.Name, "_")
	for i := 1; i < len(parts); i++ {
		if i-1 < len(k.Kinds) {
			if c := colors[k.Kinds[i-1]]; c != "" {
				parts[i] = "\x1b[" + c + "m" + parts[i] + "\x1b[0m"
			}
		}
	}
	return strings.Join(parts, "_")
}

func (e *Engine) debugPlan(p *compiled) {
	if e.says(debugPlans) {
		var flops, bytes int64
		launches := 0
		for _, s := range p.plan.Steps {
			if s.Kind == plan.Launch {
				launches++
				flops += p.plan.Kernels[s.Kernel].Flops
				bytes += p.plan.Kernels[s.Kernel].Bytes
			}
		}
		fmt.Fprintf(e.opts.Log, "%s plan: %d kernels, %d steps, arena %.2f MB, %.3f GFLOP, %.2f MB moved\n",
			e.name, len(p.plan.Kernels), len(p.plan.Steps), float64(p.plan.Peak)/1e6, float64(flops)*1e-9, float64(bytes)*1e-6)
	}
	if e.says(debugSchedules) {
		fmt.Fprint(e.opts.Log, p.schedule)
	}
}

func (e *Engine) debugKernel(prog *codegen.Program, k *plan.Kernel) {
	watched(e.name, prog, k)
	if e.says(debugCode) {
		fmt.Fprintf(e.opts.Log, "// %s\n// moves: %s\n%s\n", Colored(k), k.Moves, k.Source)
	}
	if e.says(debugPasses) {
		fmt.Fprint(e.opts.Log, codegen.Dump(prog))
	}
}
