package codegen_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/c"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/codegen/model"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/runtime/native"
	"github.com/weft-ml/weft/uop"
)

// conv is a convolution with its gradients as the scheduler writes them.
type window struct{ n, ci, co, h, k, stride, pad int }

func (v window) out() int { return (v.h+2*v.pad-v.k)/v.stride + 1 }

func (v window) String() string {
	return fmt.Sprintf("%dx%dx%d k%d co%d s%d p%d", v.n, v.ci, v.h, v.k, v.co, v.stride, v.pad)
}

func (v window) gate(k *kit, i *uop.UOp, n int) *uop.UOp {
	if v.pad == 0 {
		return k.True()
	}
	return k.inside(i, n)
}

func (v window) forward(relu bool) *kit {
	k := newKit()
	o := k.param(dtype.F32, true, v.n, v.co, v.out(), v.out())
	x, w := k.param(dtype.F32, false, v.n, v.ci, v.h, v.h), k.param(dtype.F32, false, v.co, v.ci, v.k, v.k)
	b := k.param(dtype.F32, false, v.co)
	a := k.rngs(v.n, v.co, v.out(), v.out(), v.ci, v.k, v.k)
	ih := a[2].Mul(k.Index(v.stride)).Add(a[5]).Add(k.Index(-v.pad))
	iw := a[3].Mul(k.Index(v.stride)).Add(a[6]).Add(k.Index(-v.pad))
	in := k.loadIf(x, v.gate(k, ih, v.h).And(v.gate(k, iw, v.h)), a[0], a[4], ih, iw)
	y := k.sum(in.Mul(k.load(w, a[1], a[4], a[5], a[6])), a[4:]...)
	if relu {
		y = y.Add(k.load(b, a[1]))
		y = y.Max(y.Int(0))
	}
	k.out(o, a[:4], y)
	return k
}

// input is the gradient to the input, for stride 1: a window slides the other way.
func (v window) input() *kit {
	k := newKit()
	o := k.param(dtype.F32, true, v.n, v.ci, v.h, v.h)
	g, w := k.param(dtype.F32, false, v.n, v.co, v.out(), v.out()), k.param(dtype.F32, false, v.co, v.ci, v.k, v.k)
	a := k.rngs(v.n, v.ci, v.h, v.h, v.co, v.k, v.k)
	oh, ow := a[2].Add(a[5].Neg()).Add(k.Index(v.pad)), a[3].Add(a[6].Neg()).Add(k.Index(v.pad))
	in := k.loadIf(g, k.inside(oh, v.out()).And(k.inside(ow, v.out())), a[0], a[4], oh, ow)
	k.out(o, a[:4], k.sum(in.Mul(k.load(w, a[4], a[1], a[5], a[6])), a[4:]...))
	return k
}

// weight is the gradient to the weights, in parts partial sums over the batch.
func (v window) weight(parts int) *kit {
	k := newKit()
	o := k.param(dtype.F32, true, parts, v.co, v.ci, v.k, v.k)
	x, g := k.param(dtype.F32, false, parts, v.n/parts, v.ci, v.h, v.h), k.param(dtype.F32, false, parts, v.n/parts, v.co, v.out(), v.out())
	a := k.rngs(parts, v.co, v.ci, v.k, v.k, v.n/parts, v.out(), v.out())
	ih := a[6].Mul(k.Index(v.stride)).Add(a[3]).Add(k.Index(-v.pad))
	iw := a[7].Mul(k.Index(v.stride)).Add(a[4]).Add(k.Index(-v.pad))
	in := k.loadIf(x, v.gate(k, ih, v.h).And(v.gate(k, iw, v.h)), a[0], a[5], a[2], ih, iw)
	k.out(o, a[:5], k.sum(k.load(g, a[0], a[5], a[1], a[6], a[7]).Mul(in), a[5:]...))
	return k
}

// gemm is op(A)·op(B) with or without transposed operands.
func gemm(m, n, kk int, ta, tb bool) *kit {
	k := newKit()
	flip := func(t bool, a, b int) (int, int) {
		if t {
			return b, a
		}
		return a, b
	}
	o := k.param(dtype.F32, true, m, n)
	a0, a1 := flip(ta, m, kk)
	b0, b1 := flip(tb, kk, n)
	x, y := k.param(dtype.F32, false, a0, a1), k.param(dtype.F32, false, b0, b1)
	r := k.rngs(m, n, kk)
	load := func(p int, t bool, i, j *uop.UOp) *uop.UOp {
		if t {
			i, j = j, i
		}
		return k.load(p, i, j)
	}
	k.out(o, r[:2], k.sum(load(x, ta, r[0], r[2]).Mul(load(y, tb, r[2], r[1])), r[2]))
	return k
}

var shapes = []struct {
	name string
	spec func() *kit
}{
	{"gemm 1024 nt", func() *kit { return gemm(1024, 1024, 1024, false, true) }},
	{"gemm 1024 tn", func() *kit { return gemm(1024, 1024, 1024, true, false) }},
	{"gemm 1024 tt", func() *kit { return gemm(1024, 1024, 1024, true, true) }},
	{"gemm 256", func() *kit { return gemm(256, 256, 256, false, false) }},
	{"gemm 512x10x576", func() *kit { return gemm(512, 10, 576, false, false) }},
	{"gemm 512x576x10", func() *kit { return gemm(512, 576, 10, false, true) }},
	{"gemm 576x10x512 tn", func() *kit { return gemm(576, 10, 512, true, false) }},
	{"gemm 64x256x784", func() *kit { return gemm(64, 256, 784, false, false) }},
	{"gemm 64x256x784 nt", func() *kit { return gemm(64, 256, 784, false, true) }},
	{"gemm 64x784x256", func() *kit { return gemm(64, 784, 256, false, false) }},
	{"gemm 784x256x64 tn", func() *kit { return gemm(784, 256, 64, true, false) }},
	{"matvec 1024", func() *kit { return gemm(1024, 1, 1024, false, false) }},
	{"vecmat 1024", func() *kit { return gemm(1, 1024, 1024, false, false) }},
	{"conv56", func() *kit { return window{1, 64, 64, 56, 3, 1, 1}.forward(true) }},
	{"mnist 1 forward", func() *kit { return window{512, 1, 32, 28, 5, 1, 0}.forward(true) }},
	{"mnist 1 weight", func() *kit { return window{512, 1, 32, 28, 5, 1, 0}.weight(16) }},
	{"mnist 2 forward", func() *kit { return window{512, 32, 32, 24, 5, 1, 0}.forward(true) }},
	{"mnist 2 input", func() *kit { return window{512, 32, 32, 24, 5, 1, 0}.input() }},
	{"mnist 2 slid", func() *kit { return slidProduct(window{512, 32, 32, 24, 5, 1, 0}) }},
	{"mnist 2 weight", func() *kit { return window{512, 32, 32, 24, 5, 1, 0}.weight(16) }},
	{"mnist 2 weight whole", func() *kit { return window{512, 32, 32, 24, 5, 1, 0}.weight(1) }},
	{"mnist 3 forward", func() *kit { return window{512, 32, 64, 10, 3, 1, 0}.forward(true) }},
	{"mnist 3 input", func() *kit { return window{512, 32, 64, 10, 3, 1, 0}.input() }},
	{"mnist 3 weight", func() *kit { return window{512, 32, 64, 10, 3, 1, 0}.weight(16) }},
	{"mnist 4 forward", func() *kit { return window{512, 64, 64, 8, 3, 1, 0}.forward(true) }},
	{"mnist 4 input", func() *kit { return window{512, 64, 64, 8, 3, 1, 0}.input() }},
	{"mnist 4 weight", func() *kit { return window{512, 64, 64, 8, 3, 1, 0}.weight(16) }},
	{"resnet stem", func() *kit { return window{1, 3, 64, 224, 7, 2, 3}.forward(true) }},
	{"resnet 28 s2", func() *kit { return window{1, 64, 128, 56, 3, 2, 1}.forward(true) }},
	{"resnet 7", func() *kit { return window{1, 512, 512, 7, 3, 1, 1}.forward(true) }},
}

func BenchmarkShapes(b *testing.B) {
	threads := 1
	if os.Getenv("THREADS") == "2" {
		threads = 2
	}
	dev := nineDevice(b, threads)
	peak, _, _, err := native.Limits(dev)
	require.NoError(b, err)
	for _, n := range shapes {
		b.Run(n.name, func(b *testing.B) {
			k := n.spec()
			start := time.Now()
			directives := model.Choose(k.s, target())
			_, kernel := lowered(b, k.s, directives)
			lowering := time.Since(start)
			start = time.Now()
			run := prepare(b, dev, kernel, k.s, nineData(k.s))
			compile := time.Since(start)
			best := time.Hour
			for b.Loop() {
				best = min(best, run.play(b))
			}
			b.ReportMetric(float64(kernel.Flops)/best.Seconds()/1e9/peak, "of_peak")
			b.ReportMetric(best.Seconds()*1e3, "ms")
			b.ReportMetric(float64(lowering.Microseconds())/1e3, "lower-ms")
			b.ReportMetric(float64(compile.Microseconds())/1e3, "cc-ms")
			if os.Getenv("SHOW") != "" {
				fmt.Println("  ", codegen.DirectivesString(directives))
			}
		})
	}
}

// BenchmarkLower is the time from a Spec to C text.
func BenchmarkLower(b *testing.B) {
	for b.Loop() {
		for _, n := range shapes {
			k := n.spec()
			directives := model.Choose(k.s, target())
			p, err := lower.Lower(k.s, directives, target())
			require.NoError(b, err)
			_, err = c.Render(p)
			require.NoError(b, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/1e3/float64(b.N*len(shapes)), "ms/kernel")
}

// The passes know by themselves that what they write stays within the arrays: none of these kernels is given a guard. In the
// first three the channels do not divide into blocks, and the copy of the pictures once went on behind their end.
func TestConvolutionsNeedNoGuards(t *testing.T) {
	for _, v := range []window{
		{1, 256, 256, 14, 3, 1, 1}, {8, 256, 256, 14, 3, 1, 1}, {1, 512, 512, 7, 3, 1, 1}, {1, 3, 64, 224, 7, 2, 3},
		{4, 100, 65, 17, 3, 1, 1}, {2, 33, 100, 9, 5, 1, 2}, {1, 128, 128, 28, 3, 2, 1}, {2, 7, 13, 31, 3, 3, 0},
	} {
		for _, k := range []*kit{v.forward(true), v.input()} {
			directives := model.Choose(k.s, target())
			p, err := lower.Lower(k.s, directives, target())
			require.NoError(t, err)
			require.Zero(t, p.Guarded, "%s: %s\n%s", v, codegen.DirectivesString(directives), codegen.Dump(p))
		}
	}
}
