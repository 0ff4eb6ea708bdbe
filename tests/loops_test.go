package tests

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

// Programs that are loops of small steps, of n of them.
var loops = map[string]func(b *bench, n int) []*tensor.Tensor{
	// A step of RK4 of a small network, and what the result depends on.
	"ordinary differential equation": func(b *bench, n int) []*tensor.Tensor {
		y, w, v := b.floats(1, 4), b.floats(4, 4), b.floats(4, 4)
		start := y
		f := func(y *tensor.Tensor) *tensor.Tensor { return y.MatMul(w).Tanh().MatMul(v) }
		for range n {
			k1 := f(y)
			k2 := f(y.Add(k1.Mul(0.05)))
			k3 := f(y.Add(k2.Mul(0.05)))
			k4 := f(y.Add(k3.Mul(0.1)))
			y = y.Add(k1.Add(k2.Mul(2)).Add(k3.Mul(2)).Add(k4).Mul(0.1 / 6))
		}
		return append(y.Square().Sum().Grad(start, w, v), y)
	},
	"Kalman filter": func(b *bench, n int) []*tensor.Tensor {
		f, h, z, m := b.floats(4, 4), b.floats(2, 4), b.floats(n, 2, 1), b.floats(4, 1)
		p := tensor.Eye(4)
		for i := range n {
			m, p = f.MatMul(m), f.MatMul(p).MatMul(f.T()).Add(tensor.Eye(4).Mul(0.01))
			gain := p.MatMul(h.T()).MatMul(h.MatMul(p).MatMul(h.T()).Add(tensor.Eye(2)).Inv())
			m = m.Add(gain.MatMul(z.Select(0, i).Sub(h.MatMul(m))))
			p = tensor.Eye(4).Sub(gain.MatMul(h)).MatMul(p)
		}
		return []*tensor.Tensor{m, p}
	},
	"gated recurrent unit, batch first": func(b *bench, n int) []*tensor.Tensor {
		x, w, u, h := b.floats(4, n, 8), b.floats(8, 48), b.floats(16, 48), b.floats(4, 16)
		for i := range n {
			g := tensor.Cat(0, x.Select(1, i).MatMul(w).Reshape(1, 4, 48), h.MatMul(u).Reshape(1, 4, 48))
			part := func(k, i int) *tensor.Tensor { return g.Select(0, k).Narrow(1, 16*i, 16) }
			r, z := part(0, 0).Add(part(1, 0)).Sigmoid(), part(0, 1).Add(part(1, 1)).Sigmoid()
			h = z.Mul(h).Add(z.RSub(1).Mul(part(0, 2).Add(r.Mul(part(1, 2))).Tanh()))
		}
		return []*tensor.Tensor{h}
	},
	"descent": func(b *bench, n int) []*tensor.Tensor {
		x, y := b.floats(16, 2), b.floats(16, 1)
		w := []*tensor.Tensor{b.floats(2, 8), b.floats(8), b.floats(8, 1), b.floats(1)}
		for range n {
			g := x.MatMul(w[0]).Add(w[1]).Tanh().MatMul(w[2]).Add(w[3]).Sub(y).Square().Mean().Grad(w...)
			for i := range w {
				w[i] = w[i].Sub(g[i].Mul(0.1)).Detach()
			}
		}
		return w
	},
	"recursive filter": func(b *bench, n int) []*tensor.Tensor {
		x, a := b.floats(n), b.floats(5)
		c := func(i int) *tensor.Tensor { return a.Select(0, i) }
		x1, x2, y1, y2 := x.Select(0, 0), x.Select(0, 0), x.Select(0, 0), x.Select(0, 0)
		var out []*tensor.Tensor
		for i := range n {
			s := x.Select(0, i)
			y := c(0).Mul(s).Add(c(1).Mul(x1)).Add(c(2).Mul(x2)).Sub(c(3).Mul(y1)).Sub(c(4).Mul(y2))
			x1, x2, y1, y2 = s, x1, y, y1
			out = append(out, y)
		}
		return []*tensor.Tensor{tensor.Stack(0, out...)}
	},
}

// What there is to compile of a loop of small steps hardly depends on how many there are.
func TestLoopsCompileAsFewSteps(t *testing.T) {
	text := func(name string, n int) (bytes, kernels int) {
		b := newBench(t, "NULL", engine.Options{})
		v, err := tensor.Schedule(loops[name](b, n)...)
		require.NoError(t, err)
		for _, k := range v.Plan.Kernels {
			bytes += len(k.Source)
		}
		return bytes, len(v.Plan.Kernels)
	}
	for name := range loops {
		few, _ := text(name, 30)
		many, kernels := text(name, 90)
		t.Logf("%s: %d bytes of 30 steps, %d of 90, in %d kernels", name, few, many, kernels)
		require.LessOrEqual(t, many, 2*few+8000, name) // what puts results together grows
		require.LessOrEqual(t, kernels, 24, name)
	}
}

// Its values are those that the reference computes step by step.
func TestLoopsOfSmallSteps(t *testing.T) {
	for name, f := range loops {
		var want [][]float64
		for _, device := range []string{"REF", "INTERP", "CPU", "WASM"} {
			b := newBench(t, device, engine.Options{})
			var got [][]float64
			for _, y := range f(b, 13) {
				v, err := tensor.Data[float64](t.Context(), y.To(dtype.F64))
				require.NoError(t, err)
				got = append(got, v)
			}
			if want == nil {
				want = got
			}
			for i := range got {
				require.InDeltaSlice(t, want[i], got[i], 1e-3, "%s on %s", name, device)
			}
		}
	}
}
