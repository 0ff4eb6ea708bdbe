package golden

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen/wgsl"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/runtime/null"
	"github.com/weft-ml/weft/runtime/webgpu"
	"github.com/weft-ml/weft/tensor"
)

func kernel(name string, grid [3]uint32, binds ...plan.Bind) plan.Kernel {
	return plan.Kernel{Name: name, Entry: name, Source: "fn " + name + "() {}", Threads: 64, Grid: grid, Binds: binds}
}

var (
	in  = plan.Bind{Bytes: 4}
	out = plan.Bind{Bytes: 4, Write: true}
	mut = plan.Bind{Bytes: 4, Mutable: true}
	may = plan.Bind{} // of a slot that may be empty
)

// written are plans for what a plan can say.
func written() []golden {
	slots := []plan.Slot{
		{Memory: 0, Offset: 0, Bytes: 64, DType: dtype.F32, Dims: []int{16}},    // 0 arena
		{Memory: 0, Offset: 256, Bytes: 128, DType: dtype.F32, Dims: []int{32}}, // 1 arena
		{Memory: 1, Offset: 0, Bytes: 64, DType: dtype.F32, Dims: []int{16}},    // 2 input
		{Memory: 2, Offset: 0, Bytes: 128, DType: dtype.F32, Dims: []int{32}},   // 3 output
		{Memory: 3, Offset: 256, Bytes: 64, DType: dtype.F32, Dims: []int{16}},  // 4 state
		{Memory: 3, Offset: 0, Bytes: 64, DType: dtype.F32, Dims: []int{16}},    // 5 state
		{Memory: 2, Offset: 0, Bytes: 0, DType: dtype.F32, Dims: []int{0}},      // 6 nothing
		{Memory: 1, Offset: 0, Bytes: 7, DType: dtype.U8, Dims: []int{7}},       // 7 no whole words
	}
	memory := []plan.Memory{{Kind: plan.Arena, Bytes: 384}, {Kind: plan.Input, Arg: 0, Bytes: 64}, {Kind: plan.Output, Arg: 2, Bytes: 128}, {Kind: plan.State, Arg: 1, Bytes: 320}}
	base := plan.Plan{Version: plan.Version, Target: webgpu.Target, Memory: memory, Slots: slots, Peak: 384}

	steps := base
	steps.Kernels = []plan.Kernel{kernel("first", [3]uint32{1, 1, 1}, out, in), kernel("second", [3]uint32{70, 2, 1}, out, mut, in), kernel("empty", [3]uint32{}, out)}
	steps.Steps = []plan.Step{
		{Kind: plan.Launch, Kernel: 0, Slots: []int{0, 2}}, {Kind: plan.Launch, Kernel: 2, Slots: []int{1}},
		{Kind: plan.Launch, Kernel: 1, Slots: []int{3, 0, 2}}, {Kind: plan.Launch, Kernel: 0, Slots: []int{4, 2}},
	}

	copies := base
	copies.Kernels = []plan.Kernel{kernel("bytes", [3]uint32{1, 1, 1}, out, in, may)}
	copies.Steps = []plan.Step{
		{Kind: plan.Copy, Slots: []int{4, 2}}, {Kind: plan.Copy, Slots: []int{5, 4}}, // the second within a buffer
		{Kind: plan.Launch, Kernel: 0, Slots: []int{1, 7, 6}},
		{Kind: plan.Copy, Slots: []int{3, 1}}, {Kind: plan.Copy, Slots: []int{6, 6}},
	}

	vars := base
	vars.Vars = []plan.Var{{Name: "n", Lo: 1, Hi: 100}, {Name: "at", Lo: -5, Hi: 5}}
	vars.Kernels = []plan.Kernel{kernel("first", [3]uint32{1, 1, 1}, out, in)}
	vars.Steps = []plan.Step{{Kind: plan.Launch, Kernel: 0, Slots: []int{3, 2}}}

	cut := base // the second launch in three parts, the last of them shorter
	cut.Vars = []plan.Var{{Name: "n", Lo: 1, Hi: 100}}
	cut.Kernels = []plan.Kernel{kernel("whole", [3]uint32{5, 1, 1}, out, in), kernel("cut", [3]uint32{70, 3, 1}, out, in)}
	cut.Kernels[1].Parts = []plan.Part{{First: 0, Grid: [3]uint32{70, 1, 1}}, {First: 70, Grid: [3]uint32{70, 1, 1}}, {First: 140, Grid: [3]uint32{50, 1, 1}}}
	cut.Steps = []plan.Step{
		{Kind: plan.Launch, Kernel: 0, Slots: []int{0, 2}}, {Kind: plan.Launch, Kernel: 1, Slots: []int{3, 2}}, {Kind: plan.Launch, Kernel: 0, Slots: []int{4, 2}},
	}
	return []golden{
		{"cut", &cut, [][]int32{{7}, {9}}},
		{"steps", &steps, [][]int32{nil, nil}}, {"copies", &copies, [][]int32{nil}}, {"variables", &vars, [][]int32{{1, 2}, {1, 2}, {99, -5}}},
	}
}

// recorder is NULL and notes what is played.
type recorder struct {
	*null.Device
	played []golden
}

func (r *recorder) Play(l runtime.Loaded, args []runtime.Mem, vars []int32) error {
	g := golden{plan: l.Plan(), plays: [][]int32{slices.Clone(vars)}}
	if n := len(r.played); n > 0 && r.played[n-1].plan == g.plan {
		r.played[n-1].plays = append(r.played[n-1].plays, g.plays[0])
	} else {
		r.played = append(r.played, g)
	}
	return r.Device.Play(l, args, vars)
}

func (r *recorder) Load(ctx context.Context, p *plan.Plan) (runtime.Loaded, error) {
	return r.Device.Load(ctx, p)
}

// compiled are plans as the engine writes them for a graphics processor.
func compiled(t *testing.T) []golden {
	r := &recorder{Device: null.Open(null.Options{})}
	engine.Register(engine.Backend{Name: "GOLDEN", Open: func(engine.Options, func(*plan.Kernel, float64)) (*engine.Machine, error) {
		return &engine.Machine{Device: r, Target: wgsl.Target(wgsl.Machine{}), Render: wgsl.Render, Finish: wgsl.Finish}, nil
	}})
	realize := func(ts ...*tensor.Tensor) { require.NoError(t, tensor.Realize(ctx, ts...)) }
	ones := func(shape ...int) *tensor.Tensor {
		x := tensor.Ones(shape...).On("GOLDEN").Own()
		realize(x)
		return x
	}
	x, w, b := ones(32, 784), ones(784, 10), ones(10)
	realize(x.MatMul(w).Add(b).Softmax(-1))
	loss := x.MatMul(w).Add(b).ReLU().Mean()
	grads := loss.Grad(w, b)
	w.Assign(w.Sub(grads[0].Mul(0.1)))
	b.Assign(b.Sub(grads[1].Mul(0.1)))
	realize(loss, w, b)
	realize(ones(2, 3, 9, 9).Conv2D(ones(4, 3, 3, 3), nil, tensor.Conv{Padding: 1}).MaxPool2D(2))
	realize(ones(5, 7).To(dtype.U8).Reshape(7, 5).Permute(1, 0), ones(300).CumSum(0))
	for i := range r.played {
		r.played[i].name = "engine's"
	}
	return r.played
}
