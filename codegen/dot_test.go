package codegen_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/c"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/codegen/model"
	"github.com/weft-ml/weft/codegen/wasm"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// narrowGemm is a product of matrices of narrow numbers, carried in a wider type and stored as a type of its own.
func narrowGemm(m, n, kk int, ta, tb bool, x, y, wide, result dtype.DType) *kit {
	k := newKit()
	flip := func(t bool, a, b int) (int, int) {
		if t {
			return b, a
		}
		return a, b
	}
	o := k.param(result, true, m, n)
	a0, a1 := flip(ta, m, kk)
	b0, b1 := flip(tb, kk, n)
	px, py := k.param(x, false, a0, a1), k.param(y, false, b0, b1)
	r := k.rngs(m, n, kk)
	load := func(p int, t bool, i, j *uop.UOp) *uop.UOp {
		if t {
			i, j = j, i
		}
		if u := k.load(p, i, j); u.DType() != wide {
			return u.Cast(wide)
		} else {
			return u
		}
	}
	v := k.sum(load(px, ta, r[0], r[2]).Mul(load(py, tb, r[2], r[1])), r[2])
	if result != wide {
		v = v.Cast(result)
	}
	k.out(o, r[:2], v)
	return k
}

// narrowTypes are operands, the type of the sums and that of the result.
var narrowTypes = [][4]dtype.DType{
	{dtype.I8, dtype.I8, dtype.I32, dtype.I8}, {dtype.U8, dtype.U8, dtype.U32, dtype.U8}, {dtype.I8, dtype.U8, dtype.I32, dtype.I32},
	{dtype.I16, dtype.I8, dtype.I32, dtype.I32}, {dtype.I16, dtype.I16, dtype.I32, dtype.I16}, {dtype.U16, dtype.U8, dtype.U32, dtype.U32},
	{dtype.F16, dtype.F16, dtype.F32, dtype.F16}, {dtype.BF16, dtype.BF16, dtype.F32, dtype.BF16}, {dtype.F32, dtype.I8, dtype.F32, dtype.F32},
	{dtype.F16, dtype.U8, dtype.F32, dtype.F32}, {dtype.F32, dtype.BF16, dtype.F32, dtype.F32},
}

// quantisedKind is a kind of product of (x − a)·(y − b): the types of x and y, and which zero points there are: none, a constant, one
// number of an array, one for each row or column.
type quantisedKind struct {
	x, y    dtype.DType
	a, b    string
	m, n, k int
}

var quantised = []quantisedKind{
	{x: dtype.U8, y: dtype.I8}, {x: dtype.I8, y: dtype.I8}, {x: dtype.U8, y: dtype.U8}, {x: dtype.I8, y: dtype.U8},
	{x: dtype.U8, y: dtype.I8, a: "one"}, {x: dtype.U8, y: dtype.U8, a: "one", b: "each"}, {x: dtype.I8, y: dtype.I8, a: "constant"},
	{x: dtype.I8, y: dtype.I8, b: "each"}, {x: dtype.U8, y: dtype.U8, a: "constant", b: "constant"}, {x: dtype.I8, y: dtype.U8, a: "each", b: "one"},
}

func (q quantisedKind) product(ta, tb bool) *kit {
	k := newKit()
	o := k.param(dtype.I32, true, q.m, q.n)
	shape := func(t bool, a, b int) []int {
		if t {
			return []int{b, a}
		}
		return []int{a, b}
	}
	x, y := k.param(q.x, false, shape(ta, q.m, q.k)...), k.param(q.y, false, shape(tb, q.k, q.n)...)
	za, zb := k.param(q.x, false, q.m), k.param(q.y, false, q.n)
	r := k.rngs(q.m, q.n, q.k)
	factor := func(p, zero int, how string, t bool, i, j, each *uop.UOp) *uop.UOp {
		if t {
			i, j = j, i
		}
		f := k.load(p, i, j).Cast(dtype.I32)
		switch how {
		case "one":
			return f.Sub(k.load(zero, k.Index(0)).Cast(dtype.I32))
		case "each":
			return f.Sub(k.load(zero, each).Cast(dtype.I32))
		case "constant":
			return f.Add(f.Int(-77))
		}
		return f
	}
	v := k.sum(factor(x, za, q.a, ta, r[0], r[2], r[0]).Mul(factor(y, zb, q.b, tb, r[2], r[1], r[1])), r[2])
	k.out(o, r[:2], v)
	return k
}

func (q quantisedKind) convolution(v window) *kit {
	k := newKit()
	o := k.param(dtype.I32, true, v.n, v.co, v.out(), v.out())
	x, w := k.param(q.x, false, v.n, v.ci, v.h, v.h), k.param(q.y, false, v.co, v.ci, v.k, v.k)
	a := k.rngs(v.n, v.co, v.out(), v.out(), v.ci, v.k, v.k)
	at := func(o, d *uop.UOp) *uop.UOp { return o.Mul(k.Index(v.stride)).Add(d).Add(k.Index(-v.pad)) }
	y, z := at(a[2], a[5]), at(a[3], a[6])
	gate := v.gate(k, y, v.h).And(v.gate(k, z, v.h))
	in := k.loadIf(x, gate, a[0], a[4], y, z).Cast(dtype.I32)
	if v.pad > 0 { // padded when it was widened already
		in = gate.Where(in, in.Int(0))
	}
	k.out(o, a[:4], k.sum(in.Mul(k.load(w, a[1], a[4], a[5], a[6]).Cast(dtype.I32)), a[4:]...))
	return k
}

// dotMachines do products of bytes in different ways.
var dotMachines = append(slices.Clone(narrow), c.Machine{VectorBytes: 64, L2: 4 << 10, Dot4: true, DotBF16: true}, c.Machine{VectorBytes: 16, Dot4: true, DotBF16: true})

// Products of all kinds of small integers have the bits of their definition, with all numbers of their types, for all orders of operands,
// and where the steps fill no word.
func TestQuantisedProducts(t *testing.T) {
	var jobs []*job
	var want [][]array
	rnd := rand.New(rand.NewPCG(5, 6))
	add := func(make func() *kit, m c.Machine) {
		k := make()
		bufs := extremes(k, rnd)
		w := clone(bufs)
		define(t, k.s, w)
		directives := model.Choose(k.s, c.Target(m))
		jobs, want = append(jobs, &job{k.s, directives, bufs}), append(want, w)
	}
	for i, q := range quantised {
		for j, s := range [][3]int{{7, 33, 41}, {50, 64, 100}, {13, 130, 96}, {64, 1, 257}, {1, 65, 64}, {1, 31, 260}, {24, 48, 7}, {3, 5, 1024}, {1, 1, 515}} {
			if (i+j)%2 > 0 { // each kind with half of the shapes
				continue
			}
			q.m, q.n, q.k = s[0], s[1], s[2]
			side := (i + j) / 2 % 4 // another order of operands with each kind and shape
			add(func() *kit { return q.product(side%2 == 1, side/2 == 1) }, dotMachines[(2*i+j)%len(dotMachines)])
		}
	}
	for i, q := range quantised[:4] {
		for j, v := range []window{{1, 8, 24, 9, 3, 1, 1}, {2, 13, 7, 8, 3, 2, 1}, {1, 64, 16, 7, 1, 1, 0}, {1, 3, 20, 20, 7, 2, 3}, {2, 5, 3, 33, 5, 1, 2}} {
			for m := range 2 {
				add(func() *kit { return q.convolution(v) }, dotMachines[(i+j+3*m)%len(dotMachines)])
			}
		}
	}
	check(t, "quantised products", jobs, want, 0)
}

// Where there are fours, products of bytes are made of them, whatever the operands' order and what is subtracted from them; sums of
// factors are made outside of the loop.
func TestProductsOfBytesGoInFours(t *testing.T) {
	for _, q := range quantised {
		for side := range 4 {
			q.m, q.n, q.k = 192, 256, 128
			k := q.product(side%2 == 1, side/2 == 1)
			directives := codegen.DirectivesString(model.Choose(k.s, target()))
			require.Contains(t, directives, "dot r0.a 4", "%v %d", q, side)
			one := q.x == dtype.U8 && q.y == dtype.I8 && q.a+q.b == "" || q.x == dtype.I8 && q.y == dtype.U8 && q.a+q.b == ""
			require.Equal(t, !one, strings.Contains(directives, "stage p1s") || strings.Contains(directives, "stage p2s"), "%v %d: %s", q, side, directives)
		}
	}
	for _, v := range []window{{1, 64, 64, 56, 3, 1, 1}, {1, 512, 512, 7, 3, 1, 1}, {1, 64, 128, 56, 3, 2, 1}, {1, 256, 64, 56, 1, 1, 0}} {
		for _, q := range quantised[:4] {
			directives := codegen.DirectivesString(model.Choose(q.convolution(v).s, target()))
			require.Contains(t, directives, "dot r0.a 4", "%v %v", q, v)
		}
	}
}

// extremes fills buffers with all numbers that integers of these types have, so that what is taken for the wrong sign shows.
func extremes(k *kit, rnd *rand.Rand) []array {
	out := k.random(rnd)
	for i, p := range k.s.Params {
		for j := range out[i] {
			if p.DType.IsInt() && p.DType.Size() < 4 {
				out[i][j] = uop.IntValue(p.DType, int64(rnd.Uint32()))
				if rnd.IntN(4) == 0 {
					out[i][j], _ = uop.IntLimits(p.DType)
				}
			}
		}
	}
	return out
}

// Products of narrow numbers have the bits that their definition says, however they are tiled: sums of integers exactly, sums of these floats
// too, because they are exact in any order.
func TestNarrowProducts(t *testing.T) {
	var jobs []*job
	var want [][]array
	rnd := rand.New(rand.NewPCG(3, 4))
	for i, d := range narrowTypes {
		for j, s := range [][3]int{{7, 33, 41}, {50, 64, 100}, {13, 130, 96}, {64, 1, 257}, {1, 65, 64}, {24, 48, 7}} {
			spec := func() *kit { return narrowGemm(s[0], s[1], s[2], (i+j)%2 == 1, j%3 == 1, d[0], d[1], d[2], d[3]) }
			k := spec()
			bufs := extremes(k, rnd)
			w := clone(bufs)
			define(t, k.s, w)
			directives := model.Choose(k.s, c.Target(dotMachines[(i+j)%len(dotMachines)]))
			jobs, want = append(jobs, &job{k.s, directives, bufs}), append(want, w)
		}
	}
	check(t, "narrow products", jobs, want, 0)
}

// What operands become is staged, and pairs of small integers are words, as are pairs of bfloat16 where the machine has an instruction for them.
func TestNarrowProductsAreStagedWide(t *testing.T) {
	for _, to := range []*codegen.Target{target(), wasm.Target(wasm.Machine{}), wasm.Target(wasm.Machine{Wazero: true})} {
		for _, d := range narrowTypes {
			for _, transposed := range []bool{false, true} {
				directives := codegen.DirectivesString(model.Choose(narrowGemm(192, 256, 128, false, transposed, d[0], d[1], d[2], d[3]).s, to))
				small := d[2] == dtype.I32 || d[0] == dtype.U8
				steps := "dot r0.a 2"
				switch {
				case to.Name == "c" && d[0] == dtype.BF16:
					small = true
				case to.Name == "c" && d[0] != dtype.I16:
					steps = "dot r0.a 4"
				}
				require.Equal(t, small, strings.Contains(directives, steps), "%s %v: %s", to.Name, d, directives)
				require.Contains(t, directives, "stage p2w", "%s %v", to.Name, d)
				lies := to.Name == "c" && small // words of what lanes share are read as they lie in its rows
				require.Equal(t, d[0] != d[2] && !lies, strings.Contains(directives, "stage p1w"), "%s %v: %s", to.Name, d, directives)
			}
		}
	}
}

func TestDotDirective(t *testing.T) {
	for _, test := range []struct {
		spec       *kit
		directives string
		fails      string
	}{
		{narrowGemm(5, 6, 7, false, false, dtype.I8, dtype.I8, dtype.I32, dtype.I8), "dot r0.a 2", ""},
		{narrowGemm(5, 6, 7, false, false, dtype.I8, dtype.I8, dtype.I32, dtype.I8), "dot r0.a 2; split r0.a 2; stage p1w at root by ranges layout a0,r0.a.0,r0.a.1", ""},
		{narrowGemm(5, 6, 7, false, false, dtype.BF16, dtype.BF16, dtype.F32, dtype.BF16), "dot r0.a 2", ""},
		{narrowGemm(5, 6, 7, false, false, dtype.BF16, dtype.F16, dtype.F32, dtype.F32), "dot r0.a 2", "no sum of products"},
		{narrowGemm(5, 6, 7, false, false, dtype.I8, dtype.I8, dtype.I32, dtype.I8), "dot r0.a 3", "words hold 2 or 4 steps"},
		{narrowGemm(5, 6, 7, false, false, dtype.I8, dtype.I8, dtype.I32, dtype.I8), "dot a0 2", "only a reduction goes along"},
		{narrowGemm(5, 6, 7, false, false, dtype.I8, dtype.I8, dtype.I32, dtype.I8), "split r0.a 3 guard; dot r0.a.1 2", "only a reduction goes along"},
		{narrowGemm(5, 6, 7, false, false, dtype.I8, dtype.I8, dtype.I32, dtype.I8), "dot r0.a 2; dot r0.a 2", "no sum of products"},
		{narrowGemm(5, 6, 7, false, false, dtype.U16, dtype.U8, dtype.U32, dtype.U32), "dot r0.a 2", "no sum of products"},
		{narrowGemm(5, 6, 7, false, false, dtype.F16, dtype.F16, dtype.F32, dtype.F32), "dot r0.a 2", "no sum of products"},
		{narrowGemm(5, 6, 7, false, false, dtype.I8, dtype.I8, dtype.I32, dtype.I8), "dot x 2", "there is no axis x"},
	} {
		directives, err := codegen.ParseDirectives(test.directives)
		require.NoError(t, err)
		require.Equal(t, test.directives, strings.ReplaceAll(codegen.DirectivesString(directives), " exact", ""))
		err = lower.Legal(test.spec.s, directives, target())
		if test.fails == "" {
			require.NoError(t, err, test.directives)
			continue
		}
		require.ErrorContains(t, err, test.fails, test.directives)
	}
	_, err := codegen.ParseDirectives("dot r0.a")
	require.ErrorContains(t, err, "cannot read the directive")
}

// Every form of the directive is right on every kind of machine, after each pass.
func TestDotKeepsValues(t *testing.T) {
	t.Parallel()
	for _, m := range tight {
		t.Run(m.name, func(t *testing.T) {
			for _, n := range []int{7, 8} {
				for _, text := range []string{"dot r0.a 2", "dot r0.a 2; stage p1w at a0 by ranges layout r0.a", "dot r0.a 2; stage p2w at root by ranges layout r0.a,a1 vector r0.a",
					"dot r0.a 4", "dot r0.a 4; stage p1w at a0 by ranges layout r0.a; split a1 4 shift; tile a1.1", "dot r0.a 4; stage p2w at root by ranges layout r0.a,a1 vector r0.a"} {
					directives, err := codegen.ParseDirectives(text)
					require.NoError(t, err)
					kits := []*kit{narrowGemm(5, 9, n, false, true, dtype.I8, dtype.U8, dtype.I32, dtype.I32)}
					if m.t().Has(uop.DotBF16, dtype.I32) && directives[0].N == 2 {
						kits = append(kits, narrowGemm(5, 9, n, false, true, dtype.BF16, dtype.BF16, dtype.F32, dtype.BF16))
					}
					for _, k := range kits {
						_, err = lower.Lower(k.s, directives, checked(m.t()))
						require.NoError(t, err, fmt.Sprintf("%s, %d steps", text, n))
					}
				}
			}
		})
	}
}

// Filters have words along their channels also where two axes of the results, as groups of a norm and their channels, are one axis of theirs.
func TestWordsOfFiltersWhoseAxisIsTwo(t *testing.T) {
	k := newKit()
	o, x, w := k.param(dtype.I32, true, 8, 4, 1024), k.param(dtype.U8, false, 64, 36, 36), k.param(dtype.I8, false, 32, 64, 3, 3)
	a, b, rows, cols := k.rng(8), k.rng(4), k.rng(32), k.rng(32)
	c, i, j := k.rng(64), k.rng(3), k.rng(3)
	out := k.load(x, c, rows.Add(i), cols.Add(j)).Cast(dtype.I32).Mul(k.load(w, a.Mul(k.Index(4)).Add(b), c, i, j).Cast(dtype.I32))
	k.s.Outs = []codegen.Out{{Param: o, Axes: []*uop.UOp{a, b, rows, cols}, Index: []*uop.UOp{a, b, rows.Mul(k.Index(32)).Add(cols)}, Value: k.sum(out, c, i, j)}}
	require.Contains(t, codegen.DirectivesString(model.Choose(k.s, target())), "dot r0.a 4")
}
