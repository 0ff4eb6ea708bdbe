package codegen_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/c"
	"github.com/weft-ml/weft/codegen/evaluate"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/runtime/native"
	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/uop"
)

// array is a buffer's elements.
type array = []uop.Value

func size(p codegen.Param) int {
	n := 1
	for _, d := range p.Dims {
		n *= d
	}
	return n
}

// define computes a Spec as its definition says.
func define(t testing.TB, s *codegen.Spec, bufs []array) {
	t.Helper()
	require.NoError(t, evaluate.Spec(s, nil, bufs, math.MaxInt))
}

// pack and unpack convert elements to and from memory.
func pack(d dtype.DType, a array) []byte {
	n := d.Size()
	out := make([]byte, 0, n*len(a)+8)
	for _, v := range a {
		out = binary.LittleEndian.AppendUint64(out, uop.ToBits(d, v))[:len(out)+n]
	}
	return out
}

func unpack(d dtype.DType, b []byte) array {
	n := d.Size()
	b = append(b, make([]byte, 8)...)
	out := make(array, (len(b)-8)/n)
	for i := range out {
		x := binary.LittleEndian.Uint64(b[i*n:])
		if n < 8 {
			x &= 1<<(8*n) - 1
		}
		out[i] = uop.FromBits(d, x)
	}
	return out
}

// openCPU opens a device that keeps what it compiles where everyone's does: kernels that no change has touched are not compiled again.
func openCPU(t testing.TB, threads int) runtime.Device {
	t.Helper()
	dev, err := native.Open(native.Options{Prelude: c.Prelude, Threads: threads, Poison: true})
	need.Device(t, "CPU", err)
	t.Cleanup(func() { dev.Close() })
	return dev
}

// target is C for vectors of the width that the tests are about.
func target() *codegen.Target {
	return checked(c.Target(c.Machine{VectorBytes: 64, L1: 48 << 10, L2: 1 << 20, Dot4: true, DotBF16: true}))
}

// matrixTarget is a machine that multiplies matrices as well.
func matrixTarget() *codegen.Target {
	to := target()
	to.Matrix = codegen.NewMatrixUnit(true, true)
	return to
}

// job is a kernel to run: Spec, directives, and its buffers before and after.
type job struct {
	spec       *codegen.Spec
	directives []codegen.Directive
	bufs       []array
}

// lowered lowers and renders.
func lowered(t testing.TB, s *codegen.Spec, directives []codegen.Directive) (*codegen.Program, plan.Kernel) {
	t.Helper()
	p, err := lower.Lower(s, directives, matrixTarget())
	require.NoError(t, err)
	k, err := c.Render(p)
	require.NoError(t, err)
	return p, k
}

// run compiles all jobs at once, plays them and replaces their buffers by the results.
func run(t testing.TB, dev runtime.Device, jobs []*job) {
	t.Helper()
	p := &plan.Plan{Version: plan.Version, Target: "CPU"}
	var args []runtime.Mem
	for _, j := range jobs {
		_, k := lowered(t, j.spec, j.directives)
		step := plan.Step{Kind: plan.Launch, Kernel: len(p.Kernels)}
		for i, b := range j.bufs {
			data := pack(j.spec.Params[i].DType, b)
			m, err := dev.Alloc(int64(len(data)))
			require.NoError(t, err)
			require.NoError(t, dev.Write(m, 0, data))
			kind := plan.Input
			if j.spec.Params[i].Write {
				kind = plan.State
			}
			p.Memory = append(p.Memory, plan.Memory{Kind: kind, Arg: len(args), Bytes: int64(len(data))})
			p.Slots = append(p.Slots, plan.Slot{Memory: len(args), Bytes: int64(len(data)), DType: j.spec.Params[i].DType, Dims: j.spec.Params[i].Dims})
			step.Slots = append(step.Slots, len(args))
			args = append(args, m)
		}
		p.Kernels = append(p.Kernels, k)
		p.Steps = append(p.Steps, step)
	}
	l, err := dev.Load(context.Background(), p)
	require.NoError(t, err)
	if err := dev.Play(l, args, nil); err != nil {
		if len(jobs) > 1 {
			for _, j := range jobs {
				run(t, dev, []*job{j})
			}
		}
		p, k := lowered(t, jobs[0].spec, jobs[0].directives)
		require.NoError(t, err, "%s\n%s", codegen.Dump(p), k.Source)
	}
	at := 0
	for _, j := range jobs {
		for i := range j.bufs {
			data := make([]byte, args[at].Bytes())
			require.NoError(t, dev.Read(context.Background(), data, args[at], 0))
			j.bufs[i] = unpack(j.spec.Params[i].DType, data)
			args[at].Free()
			at++
		}
	}
	l.Free()
}

// differ describes the first element in which two arrays differ by more than a relative tolerance; "" if none.
func differ(d dtype.DType, got, want array, tol float64) string {
	for i := range want {
		if got[i] == want[i] {
			continue
		}
		if !d.IsFloat() {
			return fmt.Sprintf("element %d: got %d, want %d", i, got[i].Int(), want[i].Int())
		}
		g, w := got[i].Float(), want[i].Float()
		if g != g && w != w {
			continue
		}
		if !(math.Abs(g-w) <= tol*math.Max(1, math.Abs(w))) {
			return fmt.Sprintf("element %d: got %v, want %v", i, g, w)
		}
	}
	return ""
}
