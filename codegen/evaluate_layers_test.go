package codegen_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/c"
	"github.com/weft-ml/weft/codegen/evaluate"
	"github.com/weft-ml/weft/codegen/legal"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/codegen/model"
	"github.com/weft-ml/weft/codegen/wasm"
	"github.com/weft-ml/weft/codegen/wgsl"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/uop"
)

// layers are the kernels that directives are chosen for, at sizes small enough to evaluate.
var layers = []struct {
	name string
	spec func(between func(lo, hi int) int) *kit
}{
	{"product", func(n func(lo, hi int) int) *kit {
		return gemm(n(1, 20), n(1, 40), n(1, 40), n(0, 1) == 1, n(0, 1) == 1)
	}},
	{"convolution", func(n func(lo, hi int) int) *kit { return smallWindow(n).forward(n(0, 1) == 1) }},
	{"input gradient", func(n func(lo, hi int) int) *kit { w := smallWindow(n); w.stride = 1; return w.input() }},
	{"weight gradient", func(n func(lo, hi int) int) *kit { w := smallWindow(n); w.n = 4; return w.weight(n(1, 2)) }},
	{"slid product", func(n func(lo, hi int) int) *kit { w := smallWindow(n); w.stride, w.pad = 1, 0; return slidProduct(w) }},
	{"windows", func(n func(lo, hi int) int) *kit {
		return windows(n(1, 2), n(1, 9), n(1, 6), n(3, 9), n(3, 9), n(1, 3), n(1, 2))
	}},
	{"softmax", func(n func(lo, hi int) int) *kit { return softmaxSpec(n(1, 9), n(1, 90)) }},
	{"attention", func(n func(lo, hi int) int) *kit { return attention(n(1, 2), n(2, 12), n(1, 8), n(1, 8), n(0, 1) == 1) }},
	{"centred", func(n func(lo, hi int) int) *kit { return centred(n(1, 4), n(1, 5), n(1, 60)) }},
	{"column sums", func(n func(lo, hi int) int) *kit { return columnSum(n(1, 9), n(1, 5), n(1, 60)) }},
	{"several parts", func(n func(lo, hi int) int) *kit {
		m := []uop.Monoid{uop.Sum, uop.Prod, uop.MaxOf, uop.ArgMax, uop.SumExp, uop.Moments}[n(0, 5)]
		return reduced(m, dtype.F32, n(1, 6), n(1, 200))
	}},
	{"batched", func(func(lo, hi int) int) *kit { return batched() }},
	{"grouped", func(func(lo, hi int) int) *kit { return grouped() }},
	{"narrow product", func(n func(lo, hi int) int) *kit {
		d := narrowTypes[n(0, 8)]
		return narrowGemm(n(1, 20), n(1, 40), n(1, 40), n(0, 1) == 1, n(0, 1) == 1, d[0], d[1], d[2], d[3])
	}},
	{"quantised product", func(n func(lo, hi int) int) *kit {
		q := quantised[n(0, len(quantised)-1)]
		q.m, q.n, q.k = n(1, 20), n(1, 40), n(1, 40)
		return q.product(n(0, 1) == 1, n(0, 1) == 1)
	}},
	{"narrow convolution", func(n func(lo, hi int) int) *kit {
		q := quantised[n(0, 3)]
		return q.convolution(smallWindow(n))
	}},
	{"head by head", func(n func(lo, hi int) int) *kit { return headByHead(n(1, 9), n(1, 20), n(1, 20)) }},
	{"normed product", func(n func(lo, hi int) int) *kit { return normedProduct(n(1, 40), n(1, 40)) }},
	{"accumulated", func(func(lo, hi int) int) *kit { return accumulated() }},
}

func smallWindow(n func(lo, hi int) int) window {
	k := n(1, 3)
	return window{n: n(1, 2), ci: n(1, 24), co: n(1, 20), h: n(k, 7), k: k, stride: n(1, 2), pad: n(0, k-1)}
}

// tight machines have caches so small that small kernels are cut into blocks.
var tight = []struct {
	name string
	t    func() *codegen.Target
}{
	{"C 64", func() *codegen.Target {
		return c.Target(c.Machine{VectorBytes: 64, L1: 1 << 10, L2: 4 << 10, Dot4: true, DotBF16: true})
	}},
	{"C matrix", func() *codegen.Target {
		return c.Target(c.Machine{VectorBytes: 64, L1: 1 << 10, L2: 4 << 10, Matrix: codegen.NewMatrixUnit(true, true)})
	}},
	{"C 32", func() *codegen.Target { return c.Target(c.Machine{VectorBytes: 32, L1: 512, L2: 2 << 10}) }},
	{"C 16", func() *codegen.Target { return c.Target(c.Machine{VectorBytes: 16, L1: 32 << 10, L2: 256 << 10}) }},
	{"WASM", func() *codegen.Target { return wasm.Target(wasm.Machine{Wazero: true}) }},
	{"WGSL", func() *codegen.Target { return wgsl.Target(wgsl.Machine{}) }},
	{"WGSL software", func() *codegen.Target { return wgsl.Target(wgsl.Machine{CPUBacked: true}) }},
	{"WGSL subgroups", func() *codegen.Target { return wgsl.Target(wgsl.Machine{Features: plan.Subgroups}) }},
}

func TestPassesKeepValuesOfLayers(t *testing.T) {
	t.Parallel()
	for _, m := range tight {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			check := evaluate.New()
			check.Most = 120_000
			for seed := range uint64(2) {
				for i, l := range layers {
					rnd := rand.New(rand.NewPCG(seed, uint64(i)))
					k := l.spec(func(lo, hi int) int { return lo + rnd.IntN(hi-lo+1) })
					to := m.t()
					for _, s := range lower.Nests(k.s, to) {
						directives := model.Choose(s, to)
						to.Check = check.Kernel
						_, err := lower.Lower(s, directives, to)
						if lacks := new(legal.Unsupported); !errors.As(err, &lacks) {
							assert.NoError(t, err, fmt.Sprintf("seed %d, %s %v", seed, l.name, k.s.Params))
						}
						to.Check = nil
					}
				}
			}
			t.Logf("%d kernels, %d forms, %d too large", check.Kernels.Load(), check.Forms.Load(), check.TooLarge.Load())
		})
	}
}
