package codegen_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/c"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// kit builds Specs.
type kit struct {
	*uop.Table
	s    *codegen.Spec
	next int
}

func newKit() *kit {
	t := uop.NewArena()
	return &kit{Table: t, s: &codegen.Spec{Home: t}}
}

func (k *kit) param(d dtype.DType, write bool, dims ...int) int {
	k.s.Params = append(k.s.Params, codegen.Param{DType: d, Dims: dims, Write: write})
	return len(k.s.Params) - 1
}

func (k *kit) rng(n int) *uop.UOp {
	k.next++
	return k.Range(k.next-1, n, "")
}

func (k *kit) rngs(n ...int) []*uop.UOp {
	out := make([]*uop.UOp, len(n))
	for i := range n {
		out[i] = k.rng(n[i])
	}
	return out
}

func (k *kit) load(p int, index ...*uop.UOp) *uop.UOp { return k.loadIf(p, k.True(), index...) }

func (k *kit) loadIf(p int, gate *uop.UOp, index ...*uop.UOp) *uop.UOp {
	return k.Table.Load(k.Param(p, size(k.s.Params[p]), k.s.Params[p].DType), gate, index...)
}

func (k *kit) out(p int, axes []*uop.UOp, value *uop.UOp) {
	k.s.Outs = append(k.s.Outs, codegen.Out{Param: p, Axes: axes, Index: axes, Value: value})
}

func (k *kit) sum(x *uop.UOp, ranges ...*uop.UOp) *uop.UOp {
	return k.ReduceRanges(uop.Sum, []*uop.UOp{x}, ranges)
}

// random fills the buffers of a Spec with small numbers.
func (k *kit) random(rnd *rand.Rand) []array {
	out := make([]array, len(k.s.Params))
	for i, p := range k.s.Params {
		out[i] = make(array, size(p))
		for j := range out[i] {
			if p.DType.IsFloat() {
				out[i][j] = uop.ValueOf(p.DType, math.Round((rnd.Float64()*4-2)*64)/64)
			} else {
				out[i][j] = uop.ValueOf(p.DType, rnd.IntN(7)-2)
			}
		}
	}
	return out
}

func clone(b []array) []array {
	out := make([]array, len(b))
	for i := range b {
		out[i] = append(array{}, b[i]...)
	}
	return out
}

// softmax of rows.
func softmaxSpec(n, m int) *kit {
	k := newKit()
	o, x := k.param(dtype.F32, true, n, m), k.param(dtype.F32, false, n, m)
	a := k.rngs(n, m, m, m)
	top := k.ReduceRanges(uop.MaxOf, []*uop.UOp{k.load(x, a[0], a[2])}, a[2:3])
	log2e := k.ConstOf(dtype.F32, uop.FloatValue(dtype.F32, math.Log2E))
	total := k.sum(k.load(x, a[0], a[3]).Sub(top).Mul(log2e).Exp2(), a[3])
	k.out(o, a[:2], k.load(x, a[0], a[1]).Sub(top).Mul(log2e).Exp2().Div(total))
	return k
}

// product of matrices [m,k]·[k,n].
func productSpec(m, n, kk int) *kit {
	k := newKit()
	o, x, y := k.param(dtype.F32, true, m, n), k.param(dtype.F32, false, m, kk), k.param(dtype.F32, false, kk, n)
	a := k.rngs(m, n, kk)
	k.out(o, a[:2], k.sum(k.load(x, a[0], a[2]).Mul(k.load(y, a[2], a[1])), a[2]))
	return k
}

func check(t *testing.T, name string, jobs []*job, want [][]array, tol float64) {
	t.Helper()
	run(t, openCPU(t, 2), jobs)
	for i, j := range jobs {
		for b := range j.bufs {
			if d := differ(j.spec.Params[b].DType, j.bufs[b], want[i][b], tol); d != "" {
				p, k := lowered(t, j.spec, j.directives)
				require.Fail(t, name, "case %d buffer %d: %s\n%s\n%s", i, b, d, codegen.Dump(p), k.Source)
			}
		}
	}
}

func TestNoDirectives(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var jobs []*job
	var want [][]array
	add := func(k *kit, directives string) {
		m, err := codegen.ParseDirectives(directives)
		require.NoError(t, err)
		bufs := k.random(rnd)
		w := clone(bufs)
		define(t, k.s, w)
		jobs, want = append(jobs, &job{k.s, m, bufs}), append(want, w)
	}
	add(softmaxSpec(5, 37), "")
	add(productSpec(7, 9, 11), "")
	add(softmaxSpec(5, 37), "vector a1")
	add(softmaxSpec(5, 37), "stage r1e at a0 by ranges layout r1.a")
	add(softmaxSpec(5, 36), "split a1 9 exact; vector a1.1; split r1.a 4 exact; vector r1.a.1; thread a0; stage r1e at a0 by ranges layout r1.a.0,r1.a.1 vector r1.a.1")
	add(softmaxSpec(5, 37), "split a1 16 shift; vector a1.1; split r0.a 16 peel; vector r0.a.1; split r1.a 16 peel; vector r1.a.1; thread a0")
	add(productSpec(7, 40, 11), "split a1 16 shift; vector a1.1; split a0 4 shift; tile a0.1; order a1.0 a0.0 a0.1 a1.1")
	check(t, "no directives", jobs, want, 1e-5)
}

func TestSameBytes(t *testing.T) {
	source := func() string {
		_, k := lowered(t, softmaxSpec(5, 37).s, nil)
		return k.Source
	}
	require.Equal(t, source(), source())
	require.NotEmpty(t, c.Prelude)
}
