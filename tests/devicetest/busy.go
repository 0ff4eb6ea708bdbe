package devicetest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/tensor"
	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/uop"
)

// busy are the cases of RunBusy: reductions, sums of products and scans too long for few invocations, also where no number divides the axis.
var busy = []Case{
	{Name: "product", Build: func(in *Inputs) []*uop.UOp {
		y := in.Tensor(dtype.F32, Exact, 24, 4096).MatMul(in.Tensor(dtype.F32, Exact, 4096, 20))
		return []*uop.UOp{y.Add(in.Tensor(dtype.F32, Exact, 20)).ReLU().Node()}
	}},
	{Name: "product over a prime number", Build: func(in *Inputs) []*uop.UOp {
		return []*uop.UOp{in.Tensor(dtype.F32, Exact, 24, 4099).MatMul(in.Tensor(dtype.F32, Exact, 4099, 20)).Node()}
	}},
	{Name: "gradients of a convolution", Build: func(in *Inputs) []*uop.UOp {
		x, w := in.Tensor(dtype.F32, Exact, 4, 6, 20, 20), in.Tensor(dtype.F32, Exact, 8, 6, 3, 3)
		g := x.Conv2D(w, nil, tensor.Conv{Padding: 1}).Mul(in.Tensor(dtype.F32, Exact, 4, 8, 20, 20)).Sum().Grad(x, w)
		return []*uop.UOp{g[0].Node(), g[1].Node()}
	}},
	{Name: "sum", Build: func(in *Inputs) []*uop.UOp {
		x := in.Tensor(dtype.F32, Exact, 3, 9973)
		return []*uop.UOp{x.Sum(1).Node(), x.Max().Node(), x.Reshape(-1).ArgMax(0).Node()}
	}},
	{Name: "scan", Build: func(in *Inputs) []*uop.UOp {
		x := in.Tensor(dtype.F32, Exact, 5003, 3)
		most, at := x.Reshape(-1).CumMax(0)
		return []*uop.UOp{x.CumSum(0).Node(), most.Node(), at.Node()}
	}},
}

// RunBusy checks what is cut for processors that have many invocations to keep busy, on a device that has not.
func RunBusy(t *testing.T, device string) {
	b, ok := engine.Find(device)
	require.True(t, ok)
	plain := b.Open
	b.Open = func(o engine.Options, trace func(*plan.Kernel, float64)) (*engine.Machine, error) {
		m, err := plain(o, trace)
		if err == nil {
			target := *m.Target
			target.Parallel = 1 << 11
			m.Target = &target
		}
		return m, err
	}
	e, err := engine.New(b, engine.Options{Poison: true})
	need.Device(t, device, err)
	defer e.Close()
	few, err := engine.Open(device, engine.Options{})
	require.NoError(t, err)
	defer few.Close()
	ref, err := engine.Open("REF", engine.Options{})
	require.NoError(t, err)
	defer ref.Close()
	launches := func(e *engine.Engine, c Case) int {
		_, roots, err := build(e, []Case{c})
		require.NoError(t, err)
		view, err := e.Plan(roots...)
		require.NoError(t, err)
		return len(view.Launches())
	}
	for _, c := range busy {
		assert.Greater(t, launches(e, c), launches(few, c), "%s: it is cut", c.Name)
		want, err := truth(ref, c)
		require.NoError(t, err)
		got, err := compute(e, []Case{c})
		require.NoError(t, err)
		assert.Empty(t, mismatch(tolerance["reduce"], got[0], want), c.Name)
	}
}
