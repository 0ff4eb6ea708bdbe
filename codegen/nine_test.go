package codegen_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/c"
	"github.com/weft-ml/weft/codegen/model"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/runtime/native"
	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/uop"
)

type oneOfNine struct {
	name       string
	spec       func() *kit
	directives string
	c          string
	gate       float64 // least fraction of the multiply-add peak of one thread
}

// nine are the kernels that decide whether the design carries: what each computes, directives written by hand, and
// the same as plain loops in C.
var nine = []oneOfNine{
	{"product 1024", func() *kit { return productSpec(1024, 1024, 1024) }, productDirectives, productC(1024, 1024, 1024), 0.5},
	{"product 1000x333x777", func() *kit { return productSpec(1000, 333, 777) }, productDirectives, productC(1000, 333, 777), 0.5},
	{"conv forward", convSpec, convDirectives, convC, 0.3},
	{"conv input gradient", convInputSpec, convDirectives, convInputC, 0.3},
	{"conv weight gradient", convWeightSpec, weightDirectives, convWeightC, 0.3},
	{"softmax", func() *kit { return softmaxSpec(1024, 1024) }, softmaxDirectives, softmaxC, 0},
	{"attention", attentionSpec, attentionDirectives, attentionC, 0},
	{"argmax", argmaxSpec, "thread a0; split r0.a 64; vector r0.a.1", argmaxC, 0},
	{"embedding gradient", embeddingSpec, "split a0 64; vector a0.1; vector b1", embeddingC, 0},
}

const (
	productDirectives = "split a0 6 shift; split a1 64 shift; order a1.0 a0.0 a0.1 a1.1; tile a0.1; vector a1.1; thread a1.0;" +
		"stage p2 at a1.0 by ranges layout r0.a,a1.1 vector a1.1"
	convDirectives = "split a3 12; tile a3.1; vector a1; order a0 a2 a3.0 a3.1 a1; thread a0; stage p1 at a0 by box;" +
		"stage p2 at root by ranges layout r0.a,r0.b,r0.c,a1 vector a1"
	weightDirectives = "split a1 2; tile a1.1; tile a3; vector a0; order r0.a a1.0 a2 a1.1 a3 a0 r0.b r0.c; thread a1.0;" +
		"stage p1 at r0.a by box; stage p2 at r0.a by ranges layout r0.b,r0.c,a0 vector a0;" +
		"carry r0 in scratch layout a1.0,a2,a1.1,a3,a0"
	attentionDirectives = "split r1.a 64; nest r1 r1.a.1; split a1 4; tile a1.1; vector a2; order a0 a1.0 r1.a.0 a1.1 a2; thread a1.0;" +
		"vector r1.a.1; stage p2 at a0 by ranges layout r1.a.0,r0.a,r1.a.1 vector r1.a.1;" +
		"stage r1s at r1.a.0 by ranges layout a1.1,r1.a.1 tile a1.1 vector r1.a.1;" +
		"stage r1w at a1.1 by ranges layout r1.a.1 vector r1.a.1; carry r1 in scratch layout a1.1,a2"
	softmaxDirectives = "split a1 64; vector a1.1; split r0.a 64; vector r0.a.1; split r1.a 64; vector r1.a.1; thread a0"
)

func productC(m, n, k int) string {
	return fmt.Sprintf(`float *o = (float *)buf[0]; const float *a = (const float *)buf[1], *b = (const float *)buf[2];
	for (int i = 0; i < %[1]d; i++) {
		for (int j = 0; j < %[2]d; j++) o[i * %[2]d + j] = 0;
		for (int k = 0; k < %[3]d; k++) for (int j = 0; j < %[2]d; j++) o[i * %[2]d + j] += a[i * %[3]d + k] * b[k * %[2]d + j]; }`, m, n, k)
}

// The convolution: 32→32 channels, 5×5, on 24×24 with padding 2, batch 8: with more of it plain loops and software that plays a graphics processor take
// minutes, and no kernel is another one.
const cb, cc, ch, ck, cp = 8, 32, 24, 5, 2

// inside is lo ≤ i + add < n.
func (k *kit) inside(i *uop.UOp, n int) *uop.UOp {
	return k.Index(-1).Less(i).And(i.Less(k.Index(n)))
}

func convSpec() *kit {
	k := newKit()
	o, x, w := k.param(dtype.F32, true, cb, cc, ch, ch), k.param(dtype.F32, false, cb, cc, ch, ch), k.param(dtype.F32, false, cc, cc, ck, ck)
	a := k.rngs(cb, cc, ch, ch, cc, ck, ck)
	ih, iw := a[2].Add(a[5]).Add(k.Index(-cp)), a[3].Add(a[6]).Add(k.Index(-cp))
	in := k.loadIf(x, k.inside(ih, ch).And(k.inside(iw, ch)), a[0], a[4], ih, iw)
	k.out(o, a[:4], k.sum(in.Mul(k.load(w, a[1], a[4], a[5], a[6])), a[4:]...))
	return k
}

const convHead = `float *o = (float *)buf[0]; const float *x = (const float *)buf[1], *w = (const float *)buf[2];
	const int B = 8, C = 32, H = 24, K = 5, P = 2;
`
const convC = convHead + `
	for (int n = 0; n < B; n++) for (int co = 0; co < C; co++) for (int h = 0; h < H; h++) for (int v = 0; v < H; v++) { float s = 0;
		for (int ci = 0; ci < C; ci++) for (int i = 0; i < K; i++) for (int j = 0; j < K; j++) {
			int a = h + i - P, b = v + j - P;
			if (a >= 0 && a < H && b >= 0 && b < H) s += x[((n * C + ci) * H + a) * H + b] * w[((co * C + ci) * K + i) * K + j]; }
		o[((n * C + co) * H + h) * H + v] = s; }`

// convInputSpec: g[n,co,h−i+p,v−j+p]·w[co,ci,i,j], as Slide leaves it.
func convInputSpec() *kit {
	k := newKit()
	o, g, w := k.param(dtype.F32, true, cb, cc, ch, ch), k.param(dtype.F32, false, cb, cc, ch, ch), k.param(dtype.F32, false, cc, cc, ck, ck)
	a := k.rngs(cb, cc, ch, ch, cc, ck, ck)
	oh, ow := a[2].Add(a[5].Neg()).Add(k.Index(cp)), a[3].Add(a[6].Neg()).Add(k.Index(cp))
	in := k.loadIf(g, k.inside(oh, ch).And(k.inside(ow, ch)), a[0], a[4], oh, ow)
	k.out(o, a[:4], k.sum(in.Mul(k.load(w, a[4], a[1], a[5], a[6])), a[4:]...))
	return k
}

const convInputC = convHead + `
	for (int n = 0; n < B; n++) for (int ci = 0; ci < C; ci++) for (int h = 0; h < H; h++) for (int v = 0; v < H; v++) { float s = 0;
		for (int co = 0; co < C; co++) for (int i = 0; i < K; i++) for (int j = 0; j < K; j++) {
			int a = h - i + P, b = v - j + P;
			if (a >= 0 && a < H && b >= 0 && b < H) s += x[((n * C + co) * H + a) * H + b] * w[((co * C + ci) * K + i) * K + j]; }
		o[((n * C + ci) * H + h) * H + v] = s; }`

// convWeightSpec: Σ g[n,co,h,v]·x[n,ci,h+i−p,v+j−p].
func convWeightSpec() *kit {
	k := newKit()
	o, x, g := k.param(dtype.F32, true, cc, cc, ck, ck), k.param(dtype.F32, false, cb, cc, ch, ch), k.param(dtype.F32, false, cb, cc, ch, ch)
	a := k.rngs(cc, cc, ck, ck, cb, ch, ch)
	ih, iw := a[5].Add(a[2]).Add(k.Index(-cp)), a[6].Add(a[3]).Add(k.Index(-cp))
	in := k.loadIf(x, k.inside(ih, ch).And(k.inside(iw, ch)), a[4], a[1], ih, iw)
	k.out(o, a[:4], k.sum(k.load(g, a[4], a[0], a[5], a[6]).Mul(in), a[4:]...))
	return k
}

const convWeightC = convHead + `
	for (int co = 0; co < C; co++) for (int ci = 0; ci < C; ci++) for (int i = 0; i < K; i++) for (int j = 0; j < K; j++) { float s = 0;
		for (int n = 0; n < B; n++) for (int h = 0; h < H; h++) for (int v = 0; v < H; v++) {
			int a = h + i - P, b = v + j - P;
			if (a >= 0 && a < H && b >= 0 && b < H) s += x[((n * C + ci) * H + a) * H + b] * w[((n * C + co) * H + h) * H + v]; }
		o[((co * C + ci) * K + i) * K + j] = s; }`

const softmaxC = `float *o = (float *)buf[0]; const float *x = (const float *)buf[1];
	for (int i = 0; i < 1024; i++) { float m = x[i * 1024], s = 0;
		for (int j = 1; j < 1024; j++) m = x[i * 1024 + j] > m ? x[i * 1024 + j] : m;
		for (int j = 0; j < 1024; j++) s += weft_exp(x[i * 1024 + j] - m);
		for (int j = 0; j < 1024; j++) o[i * 1024 + j] = weft_exp(x[i * 1024 + j] - m) / s; }`

// Attention: batch of 4, 512 queries and keys of 64 numbers.
const ab, as, ad = 4, 512, 64

func attentionSpec() *kit { return attention(ab, as, ad, ad, false) }

// attention of n queries and keys of d numbers and values of e; masked: queries see no later keys.
func attention(b, n, d, e int, masked bool) *kit {
	k := newKit()
	o := k.param(dtype.F32, true, b, n, e)
	q, kk, v := k.param(dtype.F32, false, b, n, d), k.param(dtype.F32, false, b, n, d), k.param(dtype.F32, false, b, n, e)
	a := k.rngs(b, n, e, n, d) // batch, query, feature; key, inner
	s := k.sum(k.load(q, a[0], a[1], a[4]).Mul(k.load(kk, a[0], a[3], a[4])), a[4])
	s = s.Mul(s.Float(math.Log2E / 8))
	if masked {
		s = a[1].Less(a[3]).Where(s.Float(math.Inf(-1)), s)
	}
	r := k.ReduceRanges(uop.SumExp, []*uop.UOp{s, k.load(v, a[0], a[3], a[2]), s.Int(1)}, a[3:4])
	k.out(o, a[:3], r.Part(1).Div(r.Part(2)))
	return k
}

const attentionC = `float *o = (float *)buf[0]; const float *q = (const float *)buf[1], *k = (const float *)buf[2], *v = (const float *)buf[3];
	const int S = 512, D = 64; float w[512];
	for (int b = 0; b < 4; b++) for (int i = 0; i < S; i++) { float m = -1e30f, t = 0;
		for (int j = 0; j < S; j++) { float s = 0; for (int d = 0; d < D; d++) s += q[(b * S + i) * D + d] * k[(b * S + j) * D + d];
			w[j] = s / 8; m = w[j] > m ? w[j] : m; }
		for (int j = 0; j < S; j++) { w[j] = weft_exp(w[j] - m); t += w[j]; }
		for (int d = 0; d < D; d++) { float s = 0; for (int j = 0; j < S; j++) s += w[j] * v[(b * S + j) * D + d]; o[(b * S + i) * D + d] = s / t; } }`

func argmaxSpec() *kit {
	k := newKit()
	o, x := k.param(dtype.I32, true, 1024), k.param(dtype.F32, false, 1024, 4096)
	a := k.rngs(1024, 4096)
	r := k.ReduceRanges(uop.ArgMax, []*uop.UOp{k.load(x, a[0], a[1]), a[1].Cast(dtype.I32)}, a[1:])
	k.out(o, a[:1], r.Part(1))
	return k
}

const argmaxC = `int32_t *o = (int32_t *)buf[0]; const float *x = (const float *)buf[1];
	for (int i = 0; i < 1024; i++) { int at = 0; for (int j = 1; j < 4096; j++) if (x[i * 4096 + j] > x[i * 4096 + at]) at = j; o[i] = at; }`

func embeddingSpec() *kit {
	const tokens, rows, d = 4096, 1000, 128
	k := newKit()
	o, g, at := k.param(dtype.F32, true, rows, d), k.param(dtype.F32, false, tokens, d), k.param(dtype.I32, false, tokens)
	a := k.rngs(rows, d, tokens, d)
	k.out(o, a[:2], k.ConstOf(dtype.F32, 0))
	i := k.load(at, a[2]).Cast(dtype.Index)
	sum := uop.Sum
	k.s.Outs = append(k.s.Outs, codegen.Out{Param: o, Axes: a[2:4], Index: []*uop.UOp{i, a[3]}, Value: k.load(g, a[2], a[3]),
		Gate: k.inside(i, rows), Merge: &sum})
	return k
}

const embeddingC = `float *o = (float *)buf[0]; const float *g = (const float *)buf[1]; const int32_t *at = (const int32_t *)buf[2];
	for (int i = 0; i < 1000 * 128; i++) o[i] = 0;
	for (int t = 0; t < 4096; t++) if (at[t] >= 0 && at[t] < 1000) for (int j = 0; j < 128; j++) o[at[t] * 128 + j] += g[t * 128 + j];`

// The plain loops get an exponential of their own: kernels are not linked with a library of functions.
const naivePrelude = c.Prelude + `
static float weft_exp(float x) {
	float y = x * 1.44269504f, n = (float)(int)(y < 0 ? y - 0.5f : y + 0.5f), f = (y - n) * 0.693147181f, t = 1, s = 1;
	if (y < -126) return 0;
	for (int i = 1; i < 10; i++) { t *= f / i; s += t; }
	union { int32_t i; float f; } u = {((int32_t)n + 127) << 23};
	return s * u.f;
}
`

// bench is a kernel on a device, with its arguments.
type bench struct {
	dev  runtime.Device
	args []runtime.Mem
	l    runtime.Loaded
	k    plan.Kernel
}

func prepare(t testing.TB, dev runtime.Device, k plan.Kernel, s *codegen.Spec, bufs [][]byte) *bench {
	b := &bench{dev: dev, k: k}
	p := &plan.Plan{Version: plan.Version, Target: "CPU", Kernels: []plan.Kernel{k}, Steps: []plan.Step{{Kind: plan.Launch}}}
	for i, data := range bufs {
		m, err := dev.Alloc(int64(len(data)))
		require.NoError(t, err)
		require.NoError(t, dev.Write(m, 0, data))
		kind := plan.Input
		if s.Params[i].Write {
			kind = plan.State
		}
		p.Memory = append(p.Memory, plan.Memory{Kind: kind, Arg: i, Bytes: int64(len(data))})
		p.Slots = append(p.Slots, plan.Slot{Memory: i, Bytes: int64(len(data)), DType: s.Params[i].DType, Dims: s.Params[i].Dims})
		p.Steps[0].Slots = append(p.Steps[0].Slots, i)
		b.args = append(b.args, m)
	}
	var err error
	b.l, err = dev.Load(context.Background(), p)
	require.NoError(t, err, k.Source)
	return b
}

func (b *bench) play(t testing.TB) time.Duration {
	start := time.Now()
	require.NoError(t, b.dev.Play(b.l, b.args, nil))
	require.NoError(t, b.dev.Sync(context.Background()))
	return time.Since(start)
}

// needs is what the plan takes for granted.
func (b *bench) needs() plan.Features { return b.l.Plan().Needs() }

func (b *bench) read(t testing.TB, i int) []byte {
	out := make([]byte, b.args[i].Bytes())
	require.NoError(t, b.dev.Read(context.Background(), out, b.args[i], 0))
	return out
}

// nineData makes inputs; integers are row numbers.
func nineData(s *codegen.Spec) [][]byte {
	rnd := rand.New(rand.NewPCG(5, 6))
	var out [][]byte
	for _, p := range s.Params {
		b := make([]byte, size(p)*p.DType.Size())
		if p.DType == dtype.F32 {
			f := unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), size(p))
			for i := range f {
				f[i] = rnd.Float32()*2 - 1
			}
		} else {
			n := unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(b))), size(p))
			for i := range n {
				n[i] = rnd.Int32N(1010) - 5
			}
		}
		out = append(out, b)
	}
	return out
}

func nineDevice(t testing.TB, threads int) runtime.Device {
	dev, err := native.Open(native.Options{Prelude: naivePrelude, Threads: threads})
	need.Device(t, "CPU", err)
	t.Cleanup(func() { dev.Close() })
	return dev
}

func (n oneOfNine) naive(k plan.Kernel) plan.Kernel {
	k = plan.Kernel{Name: "naive", Entry: "naive", Threads: 1, Binds: k.Binds, Flops: k.Flops}
	k.Source = "void naive(char *const *buf, const int32_t *var, char *scratch, int32_t lo, int32_t hi) {\n" + n.c + "\n}\n"
	return k
}

// nineWanted are the answers of plain loops, computed once.
var nineWanted = map[string]array{}

func (n oneOfNine) want(t testing.TB) array {
	if nineWanted[n.name] == nil {
		s := n.spec().s
		_, kernel := lowered(t, s, nil)
		ref := prepare(t, nineDevice(t, 2), n.naive(kernel), s, nineData(s))
		ref.play(t)
		nineWanted[n.name] = unpack(s.Params[0].DType, ref.read(t, 0))
	}
	return nineWanted[n.name]
}

func nineDirectives(t testing.TB, i int, s *codegen.Spec) []codegen.Directive {
	text := nine[i].directives
	if v := os.Getenv("NINE_DIRECTIVES"); v != "" {
		text = v
	}
	m, err := codegen.ParseDirectives(text)
	require.NoError(t, err)
	if os.Getenv("NINE_CHOOSE") != "" {
		m = model.Choose(s, target())
	}
	return m
}

// TestNine compares each kernel, with the directives written here and with those that Choose gives, with plain loops.
func TestNine(t *testing.T) {
	dev := nineDevice(t, 2)
	for i, n := range nine {
		t.Run(n.name, func(t *testing.T) {
			s := n.spec().s
			_, kernel := lowered(t, s, nineDirectives(t, i, s))
			data := nineData(s)
			want := n.want(t)
			chosen := n.spec().s
			_, second := lowered(t, chosen, model.Choose(chosen, target()))
			for _, k := range []plan.Kernel{kernel, second} {
				b := prepare(t, dev, k, s, data)
				b.play(t)
				require.Empty(t, differ(s.Params[0].DType, unpack(s.Params[0].DType, b.read(t, 0)), want, 2e-4), "directives %s", k.Directives)
			}
		})
	}
}

func BenchmarkNine(b *testing.B) {
	dev := nineDevice(b, 1)
	peak, _, _, err := native.Limits(dev)
	require.NoError(b, err)
	for i, n := range nine {
		b.Run(n.name, func(b *testing.B) {
			k := n.spec()
			start := time.Now()
			directives := nineDirectives(b, i, k.s)
			_, kernel := lowered(b, k.s, directives)
			lowering := time.Since(start)
			data := nineData(k.s)
			start = time.Now()
			run := prepare(b, dev, kernel, k.s, data)
			compile := time.Since(start)
			best := time.Hour
			for b.Loop() {
				best = min(best, run.play(b))
			}
			gflops := func(d time.Duration) float64 { return float64(kernel.Flops) / d.Seconds() / 1e9 }
			ref := prepare(b, dev, n.naive(kernel), k.s, data).play(b)
			b.ReportMetric(gflops(best), "GFLOP/s")
			b.ReportMetric(gflops(ref), "naive-GFLOP/s")
			b.ReportMetric(peak, "peak-GFLOP/s")
			b.ReportMetric(gflops(best)/peak, "of_peak")
			b.ReportMetric(float64(lowering.Microseconds())/1e3, "lower-ms")
			b.ReportMetric(float64(compile.Microseconds())/1e3, "cc-ms")
		})
	}
}
