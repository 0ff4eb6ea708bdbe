package wasm_test

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/codegen/wasm"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
	machine "github.com/weft-ml/weft/runtime/wasm"
	"github.com/weft-ml/weft/uop"
)

// probe is a kernel that stores value(i, inputs…) for i < n.
type probe struct {
	t    *uop.Table
	spec *codegen.Spec
	i    *uop.UOp
}

func newProbe(n int, out dtype.DType, ins ...dtype.DType) *probe {
	p := &probe{t: uop.NewArena()}
	p.spec = &codegen.Spec{Home: p.t, Params: []codegen.Param{{DType: out, Dims: []int{n}, Write: true}}}
	for _, d := range ins {
		p.spec.Params = append(p.spec.Params, codegen.Param{DType: d, Dims: []int{n}})
	}
	p.i = p.t.Range(0, n, "")
	return p
}

func (p *probe) in(k int) *uop.UOp {
	q := p.spec.Params[k+1]
	return p.t.Load(p.t.Param(k+1, q.Dims[0], q.DType), p.t.True(), p.i)
}

func (p *probe) out(v *uop.UOp) {
	p.spec.Outs = []codegen.Out{{Param: 0, Axes: []*uop.UOp{p.i}, Index: []*uop.UOp{p.i}, Value: v}}
}

func open(t testing.TB, threads int) runtime.Device {
	t.Helper()
	dev, err := machine.Open(machine.Options{CacheDir: t.TempDir(), Threads: threads, Poison: true})
	require.NoError(t, err)
	t.Cleanup(func() { dev.Close() })
	return dev
}

// render lowers and writes a probe.
func render(t testing.TB, m wasm.Machine, directives string, b *probe) plan.Kernel {
	t.Helper()
	list, err := codegen.ParseDirectives(directives)
	require.NoError(t, err)
	prog, err := lower.Lower(b.spec, list, wasm.Target(m))
	require.NoError(t, err)
	k, err := wasm.Renderer(m)(prog)
	require.NoError(t, err)
	return k
}

// run plays all trials together and gives their outputs.
func run(t testing.TB, m wasm.Machine, directives string, list []trial) [][]byte {
	t.Helper()
	dev := open(t, 1)
	p := &plan.Plan{Version: plan.Version, Target: "wasm"}
	var args []runtime.Mem
	var outs []int
	for i, x := range list {
		step := plan.Step{Kind: plan.Launch, Kernel: i}
		for j, q := range x.probe.spec.Params {
			bytes := int64(q.Dims[0] * q.DType.Size())
			mem, err := dev.Alloc(bytes)
			require.NoError(t, err)
			kind := plan.Output
			if j > 0 {
				kind = plan.Input
				require.NoError(t, dev.Write(mem, 0, x.data[j-1]))
			} else {
				outs = append(outs, len(args))
			}
			p.Memory = append(p.Memory, plan.Memory{Kind: kind, Arg: len(args), Bytes: bytes})
			p.Slots = append(p.Slots, plan.Slot{Memory: len(args), Bytes: bytes, DType: q.DType, Dims: q.Dims})
			step.Slots = append(step.Slots, len(args))
			args = append(args, mem)
		}
		p.Kernels = append(p.Kernels, render(t, m, directives, x.probe))
		p.Steps = append(p.Steps, step)
	}
	l, err := dev.Load(context.Background(), p)
	require.NoError(t, err)
	require.NoError(t, dev.Play(l, args, nil))
	var out [][]byte
	for _, a := range outs {
		b := make([]byte, args[a].Bytes())
		require.NoError(t, dev.Read(context.Background(), b, args[a], 0))
		out = append(out, b)
	}
	return out
}

func pack(d dtype.DType, v []uop.Value) []byte {
	out := make([]byte, 0, len(v)*d.Size())
	for _, x := range v {
		bits := uop.ToBits(d, x)
		for range d.Size() {
			out = append(out, byte(bits))
			bits >>= 8
		}
	}
	return out
}

func unpack(d dtype.DType, b []byte) []uop.Value {
	var out []uop.Value
	for i := 0; i < len(b); i += d.Size() {
		bits := uint64(0)
		for j := range d.Size() {
			bits |= uint64(b[i+j]) << (8 * j)
		}
		out = append(out, uop.FromBits(d, bits))
	}
	return out
}

// samples are telling values of a type, and random ones.
func samples(d dtype.DType, n int, r *rand.Rand) []uop.Value {
	var out []uop.Value
	if d.IsFloat() {
		for _, f := range []float64{0, 1, -1, 0.5, -2.5, 3e5, -70000.7, 1e-40, 1e30, -1e30, 255.5, 4e9, 2e19} {
			out = append(out, uop.FloatValue(d, f))
		}
		for _, f := range []float64{math.Inf(1), math.Inf(-1), math.NaN(), math.Copysign(0, -1)} {
			out = append(out, uop.FloatValue(d, f))
		}
	} else {
		lo, hi := uop.IntLimits(d)
		out = append(out, lo, hi)
		for _, i := range []int64{0, 1, -1, 2, 3, -7, 100, 31, 64} {
			out = append(out, uop.IntValue(d, i))
		}
	}
	for len(out) < n {
		if d.IsFloat() {
			out = append(out, uop.FloatValue(d, r.NormFloat64()*10))
		} else {
			out = append(out, uop.IntValue(d, int64(r.Uint64())>>r.IntN(64)))
		}
	}
	r.Shuffle(n, func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out[:n]
}

func same(d dtype.DType, got, want uop.Value, loose bool) bool {
	if got == want || !d.IsFloat() {
		return got == want
	}
	g, w := got.Float(), want.Float()
	if g != g || w != w {
		return g != g && w != w
	}
	if g == w {
		return true // zeros of different sign
	}
	diff, scale := g-w, max(g, -g, w, -w)
	if diff < 0 {
		diff = -diff
	}
	tol := map[dtype.DType]float64{dtype.F64: 1e-13, dtype.F32: 1e-6, dtype.F16: 2e-3, dtype.BF16: 1e-2}[d]
	return loose && diff <= max(tol*scale, 1e-44)
}

var unaryOps = []uop.Op{uop.Neg, uop.Sqrt, uop.Exp2, uop.Log2, uop.Sin, uop.Trunc, uop.RoundEven}
var binaryOps = []uop.Op{uop.Add, uop.Mul, uop.Div, uop.IDiv, uop.Mod, uop.Max, uop.And, uop.Or, uop.Xor, uop.Shl, uop.Shr, uop.Less, uop.Equal}

func fits(o uop.Op, d dtype.DType) bool {
	switch o {
	case uop.Sqrt, uop.Exp2, uop.Log2, uop.Sin, uop.Trunc, uop.RoundEven, uop.Div:
		return d.IsFloat()
	case uop.IDiv, uop.Mod, uop.And, uop.Or, uop.Xor, uop.Shl, uop.Shr:
		return !d.IsFloat()
	}
	return true
}

// TestMaskedWindow loads every second element, where the first and the last lanes lie outside of the array: by whole vectors all the same.
func TestMaskedWindow(t *testing.T) {
	const n = 32
	b := newProbe(n, dtype.F32, dtype.F32)
	at := b.i.Mul(b.i.Int(2)).Add(b.i.Int(-3))
	inside := b.i.Int(-1).Less(at).And(at.Less(b.i.Int(n)))
	b.out(b.t.Load(b.t.Param(1, n, dtype.F32), inside, at))
	const directives = "split a0 4 exact; vector a0.1"
	k := render(t, wasm.Machine{}, directives, b)
	require.NotContains(t, k.Source, "f32.load")
	require.Equal(t, 2*strings.Count(k.Source, "v128.store"), strings.Count(k.Source, "v128.load"), k.Source)

	in := make([]uop.Value, n)
	for i := range in {
		in[i] = uop.FloatValue(dtype.F32, float64(i+1))
	}
	got := unpack(dtype.F32, run(t, wasm.Machine{}, directives, []trial{{probe: b, data: [][]byte{pack(dtype.F32, in)}}})[0])
	for i, v := range got {
		want := 0.0
		if j := 2*i - 3; j >= 0 && j < n {
			want = in[j].Float()
		}
		require.Equal(t, want, v.Float(), "%d", i)
	}
}
