package engine

import (
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/rewrite"
	"github.com/weft-ml/weft/uop"
)

// Levels of Options.Debug.
const (
	debugPlans     = 1
	debugLaunches  = 2
	debugSchedules = 3
	debugCode      = 4
	debugPasses    = 5 // graphs: as asked for, each kernel's Spec, its lowered statements
	debugRewrites  = 6 // every rule that fires
)

// origins is set when an engine was opened that wants to know where nodes were made. It is of the process, as nodes are.
var origins atomic.Bool

// Origins reports whether nodes are to remember where they were made, see Options.
func Origins() bool { return origins.Load() }

func (e *Engine) says(level int) bool { return e.opts.Debug >= level && e.opts.Log != nil }

// trace tells of a launch, and prints a line; k is nil for a copy.
func (e *Engine) trace(k *plan.Kernel, seconds float64) {
	if e.opts.Launched != nil {
		e.opts.Launched(k, seconds)
	}
	if !e.says(debugLaunches) {
		return
	}
	if k == nil {
		fmt.Fprintf(e.opts.Log, "%-6s %-40s %9.2f us\n", e.name, "copy", seconds*1e6)
		return
	}
	fmt.Fprintf(e.opts.Log, "%-6s %s %9.2f us %8.2f GFLOP/s %8.2f GB/s  mem %.2f MB  %s\n", e.name, pad(e.shown(k), len(k.Name), 40),
		seconds*1e6, float64(k.Flops)/seconds*1e-9, float64(k.Bytes)/seconds*1e-9, float64(e.memory.live)/1e6, k.Made)
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

// shown is the kernel's name as Debug shows it.
func (e *Engine) shown(k *plan.Kernel) string {
	if e.opts.Plain {
		return k.Name
	}
	return Colored(k)
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
		fmt.Fprint(e.opts.Log, p.result())
	}
}

// debugAlike says when graphs of the same ops on the same inputs are compiled again and again.
func (e *Engine) debugAlike(f *family) {
	if !e.says(debugPlans) {
		return
	}
	if e.alike == nil || len(e.alike) >= maxPlans {
		e.alike = map[string]int{}
	}
	e.alike[f.ops]++
	if n := e.alike[f.ops]; n >= 3 {
		fmt.Fprintf(e.opts.Log, "%s plan: the same graph with another constant, compiled %d times: it decides shapes or structure, so it is no argument of one plan\n",
			e.name, n)
	}
}

// debugGraph prints what is to be scheduled, and from here on every rewrite in its arena.
func (e *Engine) debugGraph(c *canonical) {
	if e.says(debugPasses) {
		roots := make([]*uop.UOp, len(c.graph.Roots))
		for i, r := range c.graph.Roots {
			roots[i] = r.Value
		}
		fmt.Fprintf(e.opts.Log, "graph\n%s", uop.Print(roots...))
	}
	if e.says(debugRewrites) {
		rewrite.Trace(c.graph.Table, func(v rewrite.Event) {
			fmt.Fprintf(e.opts.Log, "%s (%s): %v\n%s      becomes\n%s", v.Rule.Name, v.Rule.At(), v.Before, uop.Print(v.Before), uop.Print(v.After))
		})
	}
}

// debugSpec prints what a kernel computes.
func (e *Engine) debugSpec(s *codegen.Spec) {
	if !e.says(debugPasses) {
		return
	}
	fmt.Fprintf(e.opts.Log, "spec\n%s", codegen.PrintSpec(s))
}

// debugKernel shows a new kernel to whoever watches (see Watch), and prints it.
func (e *Engine) debugKernel(prog *codegen.Program, k *plan.Kernel) {
	watched(e.name, prog, k)
	if e.says(debugCode) {
		fmt.Fprintf(e.opts.Log, "// %s\n// directives: %s\n%s\n", e.shown(k), k.Directives, k.Spelled().Source)
	}
	if e.says(debugPasses) {
		fmt.Fprintf(e.opts.Log, "statements\n%s", codegen.Dump(prog))
	}
}
