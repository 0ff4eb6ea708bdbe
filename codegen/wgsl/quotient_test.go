package wgsl

import (
	"context"
	bytes "encoding/binary"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/runtime/webgpu"
	"github.com/weft-ml/weft/runtime/webgpu/wgpu"
	need "github.com/weft-ml/weft/tests/require"
)

// Quotients that are up to three units in the last place off, as those of processors of graphics are, come out as they should.
func TestQuotient(t *testing.T) {
	g, err := wgpu.Open(wgpu.Options{Headless: true})
	need.Device(t, "WEBGPU", err)
	t.Cleanup(g.Close)
	const n = 1 << 16
	divide := "(a * s) / (b * s)"
	require.Contains(t, helpers()["quotient"], divide)
	source := `@group(0) @binding(0) var<uniform> u: vec4<u32>;
@group(0) @binding(1) var<storage, read_write> p: array<f32>;
fn off(q: f32, at: u32) -> f32 { return bitcast<f32>(bitcast<u32>(q) + at % 7u - 3u); }
` + strings.NewReplacer(divide, "off("+divide+", at)", "b: f32)", "b: f32, at: u32)").Replace(helpers()["quotient"]) + `
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) i: vec3<u32>) {
	p[i.x] = quotient(p[i.x], p[i.x + 65536u], i.x);
}`
	pipeline, err := g.Pipeline(source, "main", []webgpu.Bind{webgpu.BindUniform, webgpu.BindReadWrite})
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(1, 2))
	in := make([]float32, 2*n)
	for i := range in {
		in[i] = float32(math.Ldexp(1+r.Float64(), r.IntN(60)-30))
		if i%3 == 0 {
			in[i] = float32(1 + r.IntN(1000)) // of which many quotients are whole numbers
		}
		if r.IntN(2) == 0 {
			in[i] = -in[i]
		}
	}
	for i := range 64 { // beyond where inverses are normal numbers
		in[i], in[n+i] = 0x1p127*(1+float32(i)/64), 0x1p127*(1+float32(63-i)/64)
	}
	raw := make([]byte, 0, 8*n)
	for _, x := range in {
		raw = bytes.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	b, err := g.Buffer(8*n, webgpu.Storage)
	require.NoError(t, err)
	u, err := g.Buffer(16, webgpu.Uniform)
	require.NoError(t, err)
	require.NoError(t, g.Write(b, 0, raw))
	group, err := g.Group(pipeline, []webgpu.Entry{{Buffer: u, Size: 16}, {Buffer: b, Size: 8 * n}})
	require.NoError(t, err)
	require.NoError(t, g.Submit([]webgpu.Command{{Pipeline: pipeline, Group: group, Grid: [3]uint32{n / 64, 1, 1}}}))
	require.NoError(t, g.Read(context.Background(), raw[:4*n], b, 0))
	wrong := 0
	for i := range n {
		want, got := in[i]/in[n+i], math.Float32frombits(bytes.LittleEndian.Uint32(raw[4*i:]))
		whole := want == float32(int64(want))
		if got != want {
			wrong++
			require.False(t, whole, "%g/%g = %g, not %g", in[i], in[n+i], got, want)
			require.InEpsilon(t, want, got, 4e-7)
		}
	}
	require.LessOrEqual(t, wrong, n/10000, "of %d: beside powers of two a unit in the last place is two on one side", n)
}
