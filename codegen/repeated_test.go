package codegen_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Where lanes lie is computed once, and a function of its own reads them, where a kernel has very many such loads. Compared with the same
// kernel without directives, which has no lanes.
func TestManyGathersShareTheirPlaces(t *testing.T) {
	dev := openCPU(t, 2)
	const n, loads = 1003, 40
	k := newKit()
	o, x := k.param(dtype.F32, true, n), k.param(dtype.F32, false, loads+1400)
	a := k.rngs(n)
	row, column := a[0].IDiv(k.Index(6)), a[0].Mod(k.Index(6))
	var sum = k.load(x, a[0])
	for i := range loads {
		sum = sum.Add(k.loadIf(x, a[0].Less(k.Index(n-7*i)), column.Mul(k.Index(200)).Add(row).Add(k.Index(i))))
	}
	k.out(o, a, sum)
	directives := []codegen.Directive{{Verb: codegen.Split, Name: "a0", N: 16, Tail: codegen.Shift}, {Verb: codegen.Vectors, Name: "a0.1"}}
	_, kernel := lowered(t, k.s, directives)
	require.Equal(t, 1, strings.Count(kernel.Source, " % sp_i64x"))
	require.Contains(t, kernel.Source, "_many(p1")
	bufs := k.random(rand.New(rand.NewPCG(3, 4)))
	got, want := &job{k.s, directives, bufs}, &job{k.s, nil, clone(bufs)}
	run(t, dev, []*job{got, want})
	require.Empty(t, differ(dtype.F32, got.bufs[o], want.bufs[o], 0))
}

// Vectors of joined arrays that choose alike read what they choose alone, unless a kernel joins so many that its text would be mostly that.
func TestManyJoinsAreWrittenForAnyVectors(t *testing.T) {
	dev := openCPU(t, 2)
	const n, parts, length = 1003, 8, 125
	joined := func(joins int) (*job, *job, string, int) {
		k := newKit()
		o, x := k.param(dtype.F32, true, n), k.param(dtype.F32, false, joins*parts*n)
		a := k.rngs(n)
		var sum *uop.UOp
		for j := range joins {
			part := func(p int, gate *uop.UOp) *uop.UOp {
				return k.loadIf(x, gate, a[0].Add(k.Index((j*parts+p)*n)))
			}
			one := part(parts-1, k.Index(length*(parts-1)-1).Less(a[0]))
			for p := parts - 2; p >= 0; p-- {
				before := a[0].Less(k.Index(length * (p + 1)))
				gate := before
				if p > 0 {
					gate = gate.And(k.Index(length*p - 1).Less(a[0]))
				}
				one = before.Where(part(p, gate), one)
			}
			if sum == nil {
				sum = one
			} else {
				sum = sum.Add(one)
			}
		}
		k.out(o, a, sum)
		directives := []codegen.Directive{{Verb: codegen.Split, Name: "a0", N: 16, Tail: codegen.Shift}, {Verb: codegen.Vectors, Name: "a0.1"}}
		_, kernel := lowered(t, k.s, directives)
		bufs := k.random(rand.New(rand.NewPCG(3, 4)))
		return &job{k.s, directives, bufs}, &job{k.s, nil, clone(bufs)}, kernel.Source, o
	}
	few, fewWant, fewText, o := joined(1)
	many, manyWant, manyText, _ := joined(12)
	require.Contains(t, fewText, ") > 15) ? ((f32x16)*", "all lanes lie in one part")
	require.NotContains(t, manyText, ") > 15) ? ((f32x16)*")
	run(t, dev, []*job{few, fewWant, many, manyWant})
	require.Empty(t, differ(dtype.F32, few.bufs[o], fewWant.bufs[o], 0))
	require.Empty(t, differ(dtype.F32, many.bufs[o], manyWant.bufs[o], 0))
}
