package tensor_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/saved"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/tests/bounded"
	"github.com/weft-ml/weft/uop"
)

// programs are some to begin with.
func programs(f *testing.F) {
	ctx := context.Background()
	const device = "INTERP"
	add := func(g func(in ...*tensor.Tensor) []*tensor.Tensor, in ...*tensor.Tensor) {
		for i := range in {
			in[i] = in[i].On(device)
			require.NoError(f, in[i].Realize(ctx))
		}
		c, err := tensor.Capture(ctx, g, in...)
		require.NoError(f, err)
		p, _, err := tensor.Program(ctx, map[string]*tensor.Captured{"f": c})
		require.NoError(f, err)
		b, err := saved.Encode(p)
		require.NoError(f, err)
		f.Add(b)
	}
	x := func() *tensor.Tensor { return tensor.NewGenerator(1).Rand(3, 4) }
	add(func(in ...*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{in[0].MatMul(in[1]).Softmax(-1)} }, x(), x().Transpose(0, 1))
	add(func(in ...*tensor.Tensor) []*tensor.Tensor {
		_, i := in[0].Sort(1, false)
		return []*tensor.Tensor{i, in[0].At(in[1].To(dtype.I32)), in[0].CumSum(0), in[0].Std(1)}
	}, x(), tensor.Of([]float32{1, 2}))
	s := tensor.Zeros(4).On(device).Own()
	require.NoError(f, s.Realize(ctx))
	add(func(in ...*tensor.Tensor) []*tensor.Tensor {
		s.Assign(s.Add(in[0].Conv2D(in[0], nil, tensor.Conv{Padding: 1}).Sum()).Dropout(0.5))
		return []*tensor.Tensor{s.Mul(2)}
	}, tensor.NewGenerator(1).Rand(1, 1, 3, 3))
	n := tensor.NewVariable("n", 1, 3)
	add(func(in ...*tensor.Tensor) []*tensor.Tensor {
		return []*tensor.Tensor{in[0].Narrow(0, 0, n).Sum(0), in[0].Narrow(0, 0, n)}
	}, x())
}

// small says whether a function can be compiled and run in no time: what a file may ask for otherwise is any computation.
func small(p *saved.Program) bool {
	for _, f := range p.Functions {
		var roots []*uop.UOp
		for _, t := range f.Targets {
			roots = append(roots, t.Value)
		}
		nodes := uop.Topo(roots...)
		work := 0
		for _, u := range nodes {
			work += u.Shape().Numel() + len(u.Shape())
		}
		for _, in := range f.Inputs {
			work += uop.Shape(in.Shape).Numel()
		}
		if work > 1<<12 || len(nodes) > 300 {
			return false
		}
	}
	return true
}

// Whatever a program says that is taken: it runs, or is refused with an error.
func FuzzLoad(f *testing.F) {
	programs(f)
	e, err := engine.Use("INTERP")
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := saved.Decode(b)
		if err != nil || !small(p) {
			return
		}
		for _, a := range p.Arrays {
			if a.N > 1<<12 {
				return
			}
		}
		var file bytes.Buffer
		require.NoError(t, saved.Write(&file, p, func(i int) ([]byte, error) { return make([]byte, p.Arrays[i].N*p.Arrays[i].DType.Size()), nil }))
		ctx := context.Background()
		var fs map[string]*tensor.Captured
		bounded.Memory(t, len(b), 1<<16, func() { fs, err = tensor.LoadFunctions(ctx, &file, e.Name()) })
		if err != nil {
			var refused *saved.Error
			require.False(t, errors.As(err, &refused), "%v", err) // what is written is read
			return
		}
		for i, fn := range p.Functions {
			var in []*tensor.Tensor
			for _, x := range p.Functions[i].Inputs {
				u, err := e.Empty(x.DType, x.Shape)
				require.NoError(t, err)
				in = append(in, tensor.FromNode(u, e))
			}
			out, err := fs[fn.Name].Run(ctx, in...)
			if err != nil {
				continue // a variable has no value, two inputs of one
			}
			for _, x := range out {
				_, _ = x.Bytes(ctx)
			}
		}
	})
}
