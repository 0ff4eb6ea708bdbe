package codegen_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/c"
	"github.com/weft-ml/weft/codegen/model"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// small are kernels in which operands are used again, of odd sizes.
func small() map[string]*kit {
	out := map[string]*kit{}
	for i, m := range []int{1, 3, 17, 50} {
		for j, n := range []int{1, 5, 33, 64} {
			ta, tb := (i+j)%2 == 1, i%2 == 1
			kk := []int{7, 40, 300}[(i+2*j)%3]
			out[fmt.Sprintf("gemm %d %d %d %v %v", m, n, kk, ta, tb)] = gemm(m, n, kk, ta, tb)
		}
	}
	for _, v := range []window{{2, 3, 5, 9, 3, 1, 1}, {1, 4, 33, 8, 3, 2, 1}, {3, 2, 16, 7, 5, 1, 2}, {2, 1, 8, 12, 5, 1, 0}, {1, 16, 16, 6, 1, 1, 0}} {
		out["forward "+v.String()] = v.forward(true)
		out["weight "+v.String()] = v.weight(1)
		if v.stride == 1 {
			out["input "+v.String()] = v.input()
		}
	}
	out["weight parts"] = window{4, 3, 5, 8, 3, 1, 1}.weight(2)
	out["attention 48"] = attention(1, 48, 3, 9, true)
	out["attention 150"] = attention(1, 130, 3, 5, false)
	out["batched"] = batched()
	out["grouped"] = grouped()
	out["in place"] = accumulated()
	return out
}

func batched() *kit {
	k := newKit()
	o, x, y := k.param(dtype.F32, true, 3, 10, 20), k.param(dtype.F32, false, 3, 10, 31), k.param(dtype.F32, false, 3, 20, 31)
	a := k.rngs(3, 10, 20, 31)
	k.out(o, a[:3], k.sum(k.load(x, a[0], a[1], a[3]).Mul(k.load(y, a[0], a[2], a[3])), a[3]))
	return k
}

// grouped is a convolution in 2 groups of 3→4 channels, with padding.
func grouped() *kit {
	k := newKit()
	o := k.param(dtype.F32, true, 2, 2, 4, 7, 7)
	x, w := k.param(dtype.F32, false, 2, 2, 3, 7, 7), k.param(dtype.F32, false, 2, 4, 3, 3, 3)
	a := k.rngs(2, 2, 4, 7, 7, 3, 3, 3)
	ih, iw := a[3].Add(a[6]).Add(k.Index(-1)), a[4].Add(a[7]).Add(k.Index(-1))
	in := k.loadIf(x, k.inside(ih, 7).And(k.inside(iw, 7)), a[0], a[1], a[5], ih, iw)
	k.out(o, a[:5], k.sum(in.Mul(k.load(w, a[1], a[2], a[5], a[6], a[7])), a[5:]...))
	return k
}

// accumulated adds a product to what is there.
func accumulated() *kit {
	k := newKit()
	o, x, y := k.param(dtype.F32, true, 30, 41), k.param(dtype.F32, false, 30, 23), k.param(dtype.F32, false, 23, 41)
	a := k.rngs(30, 41, 23)
	k.out(o, a[:2], k.load(o, a[0], a[1]).Add(k.sum(k.load(x, a[0], a[2]).Mul(k.load(y, a[2], a[1])), a[2])))
	return k
}

// narrow are machines other than the one that the tests run on; their C must compile here all the same.
var narrow = []c.Machine{
	{VectorBytes: 64, L1: 48 << 10, L2: 1 << 20, Dot4: true, DotBF16: true}, {VectorBytes: 64, L2: 4 << 10}, {VectorBytes: 32, L2: 16 << 10, Dot4: true}, {VectorBytes: 16},
}

func TestTiles(t *testing.T) {
	var jobs []*job
	var want [][]array
	var names []string
	for name := range small() {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		k := small()[name]
		bufs := k.random(rand.New(rand.NewPCG(8, 9)))
		w := clone(bufs)
		define(t, k.s, w)
		for _, m := range []c.Machine{narrow[i%4]} {
			k := small()[name]
			directives := model.Choose(k.s, c.Target(m))
			if len(directives) == 0 && name != "gemm 1 1 7 false false" {
				t.Errorf("%s: no directives", name)
			}
			jobs, want = append(jobs, &job{k.s, directives, clone(bufs)}), append(want, w)
		}
	}
	check(t, "tiles", jobs, want, 1e-4)
}

// slidProduct is the gradient of a convolution to its input as the graph writes it: the product is slid, so that both
// factors have the gate.
func slidProduct(v window) *kit { return slidProductOf(v, dtype.F32) }

// slidProductOf is that of factors of a type.
func slidProductOf(v window, d dtype.DType) *kit {
	k := newKit()
	o := k.param(dtype.F32, true, v.n, v.ci, v.h, v.h)
	g, w := k.param(d, false, v.n, v.co, v.out(), v.out()), k.param(d, false, v.co, v.ci, v.k, v.k)
	a := k.rngs(v.n, v.ci, v.h, v.h, v.co, v.k, v.k)
	oh, ow := a[2].Add(a[5].Neg()).Add(k.Index(v.pad)), a[3].Add(a[6].Neg()).Add(k.Index(v.pad))
	gate := k.inside(oh, v.out()).And(k.inside(ow, v.out()))
	p := k.loadIf(g, gate, a[0], a[4], oh, ow).Cast(dtype.F32).Mul(k.loadIf(w, gate, a[4], a[1], a[5], a[6]).Cast(dtype.F32))
	k.out(o, a[:4], k.sum(gate.Where(p, p.Int(0)), a[4:]...))
	return k
}

// phasedProduct is a transposed convolution with filters of 3 and stride 2: the picture is read within its edges, the filter
// where its phase has elements, and each of them under both conditions.
func phasedProduct(n, ci, co, h int) *kit {
	k := newKit()
	o := k.param(dtype.F32, true, n, co, h+1, h+1, 2, 2)
	x, w := k.param(dtype.F32, false, n, ci, h, h), k.param(dtype.F32, false, ci, co, 3, 3)
	a := k.rngs(n, co, h+1, h+1, 2, 2, ci, 2, 2)
	row, column := a[2].Add(a[7].Neg()), a[3].Add(a[8].Neg())
	ky, kx := a[4].Add(a[7].Mul(k.Index(2))), a[5].Add(a[8].Mul(k.Index(2)))
	gate := k.inside(row, h).And(k.inside(column, h)).And(ky.Less(k.Index(3))).And(kx.Less(k.Index(3)))
	p := k.loadIf(x, gate, a[0], a[6], row, column).Mul(k.loadIf(w, gate, a[6], a[1], ky, kx))
	k.out(o, a[:6], k.sum(gate.Where(p, p.Int(0)), a[6:]...))
	return k
}

func TestFinite(t *testing.T) {
	var jobs []*job
	var want [][]array
	for _, c := range []struct {
		kit        func() *kit
		bad        float64
		param      int
		directives string
	}{
		{func() *kit { return slidProduct(window{2, 17, 5, 8, 3, 1, 1}) }, 0, 0, "finite p2"},
		{func() *kit { return slidProduct(window{2, 17, 5, 8, 3, 1, 1}) }, math.Inf(1), 2, "finite p2"},
		{func() *kit { return slidProduct(window{2, 17, 5, 8, 3, 1, 1}) }, math.NaN(), 2, "finite p2"},
		{func() *kit { return slidProductOf(window{2, 17, 5, 8, 3, 1, 1}, dtype.BF16) }, 0, 0, "finite p2"},
		{func() *kit { return slidProductOf(window{2, 17, 5, 8, 3, 1, 1}, dtype.BF16) }, math.NaN(), 2, "finite p2"},
		{func() *kit { return slidProductOf(window{2, 17, 5, 8, 3, 1, 1}, dtype.F16) }, math.Inf(1), 2, "finite p2"},
		{func() *kit { return phasedProduct(2, 16, 17, 8) }, 0, 0, "finite p2; finite p1"},
		{func() *kit { return phasedProduct(2, 16, 17, 8) }, math.Inf(-1), 1, "finite p2; finite p1"},
		{func() *kit { return phasedProduct(2, 16, 17, 8) }, math.NaN(), 2, "finite p2; finite p1"},
	} {
		k := c.kit()
		bufs := k.random(rand.New(rand.NewPCG(8, 9)))
		if c.bad != 0 {
			bufs[c.param][50] = uop.FloatValue(k.s.Params[c.param].DType, c.bad)
		}
		w := clone(bufs)
		define(t, k.s, w)
		directives := model.Choose(k.s, target())
		require.Contains(t, codegen.DirectivesString(directives), c.directives)
		require.Contains(t, codegen.DirectivesString(directives), "by box")
		jobs, want = append(jobs, &job{k.s, directives, bufs}), append(want, w)
	}
	check(t, "finite", jobs, want, 1e-4)
}

// What lies outside of the loop that threads share is done again by each of their calls. The weights of a convolution of a small
// picture are most of its memory: they are packed inside.
func TestThreadsPackTheirOwnWeights(t *testing.T) {
	const n, side = 256, 7
	k := newKit()
	o, x, w := k.param(dtype.F32, true, n, side, side), k.param(dtype.F32, false, n, side, side), k.param(dtype.F32, false, n, n, 3, 3)
	a := k.rngs(n, side, side, n, 3, 3)
	row, column := a[1].Add(a[4]).Add(k.Index(-1)), a[2].Add(a[5]).Add(k.Index(-1))
	in := k.loadIf(x, k.inside(row, side).And(k.inside(column, side)), a[3], row, column)
	k.out(o, a[:3], k.sum(in.Mul(k.load(w, a[0], a[3], a[4], a[5])), a[3:]...))
	var threads string
	var order []string
	directives := model.Choose(k.s, target())
	for _, m := range directives {
		switch m.Verb {
		case codegen.Threads:
			threads = m.Name
		case codegen.Order:
			order = m.Axes
		}
	}
	for _, m := range directives {
		if m.Verb == codegen.Stage && m.Name == "p2" {
			require.GreaterOrEqual(t, slices.Index(order, m.At), slices.Index(order, threads), codegen.DirectivesString(directives))
			return
		}
	}
	require.Fail(t, "the weights are not packed", codegen.DirectivesString(directives))
}

// Lanes that lie whole pages apart in the result share the few places that the first cache has for such lines: a convolution whose channels do
// puts neighbours of a row into lanes, and one of another size filters.
func TestLanesAvoidSharedPlaces(t *testing.T) {
	lanes := func(side int) (name string) {
		v := window{8, 3, 64, side, 4, 2, 1}
		for _, m := range model.Choose(v.forward(true).s, c.Target(c.Machine{VectorBytes: 32, L1: 32 << 10, L2: 512 << 10})) {
			if m.Verb == codegen.Vectors {
				name, _, _ = strings.Cut(m.Name, ".")
			}
		}
		return name
	}
	require.Equal(t, "a1", lanes(60), "rows of 30: channels lie 3600 bytes apart")
	require.Equal(t, "a3", lanes(64), "rows of 32: channels lie 4096 bytes apart")
}

// A block of results, a vector for each block of lanes and the numbers that all lanes share fit the sixteen registers of AVX2: what does not
// is kept in memory, by gcc and by clang, in the innermost loop.
func TestTilesFitRegisters(t *testing.T) {
	const registers, lanes = 16, 8
	for name, k := range map[string]*kit{"transposed 3×3/2": phasedProduct(1, 64, 32, 28), "4×4/2": (window{8, 3, 64, 64, 4, 2, 1}).forward(true),
		"product": gemm(200, 300, 100, false, false)} {
		directives := model.Choose(k.s, c.Target(c.Machine{VectorBytes: 4 * lanes, L1: 32 << 10, L2: 512 << 10}))
		sizes := map[string]int{}
		for _, o := range k.s.Outs {
			for _, a := range o.Axes {
				if n := a.Arg().(uop.RangeArg).N; n > 1 { // others are no axes
					sizes[fmt.Sprint("a", len(sizes))] = n
				}
			}
		}
		vectors, results, last := 0, 1, 1
		for _, m := range directives {
			switch m.Verb {
			case codegen.Split:
				sizes[m.Name+".1"] = m.N
			case codegen.Tiles:
				last = sizes[m.Name]
				results *= last
			case codegen.Vectors:
				vectors = sizes[m.Name] / lanes
			}
		}
		text := name + ": " + codegen.DirectivesString(directives)
		require.Positive(t, vectors, text)
		require.Greater(t, vectors*results, 6, text)
		if strings.Count(text, "tile ") < 2 { // the shared numbers pass one by one
			last = 1
		}
		require.LessOrEqual(t, vectors*results+vectors+last, registers, text)
	}
}

// Lanes of a strided convolution of single channels lie along the rows of the picture, which are loaded by whole vectors; not across
// channels, of which each lane would be loaded by itself.
func TestStridedRowsAreLanes(t *testing.T) {
	k := newKit()
	o, x, w := k.param(dtype.F32, true, 8, 72, 14, 14), k.param(dtype.F32, false, 8, 72, 31, 31), k.param(dtype.F32, false, 72, 5, 5)
	a := k.rngs(8, 72, 14, 14, 5, 5)
	two := k.Index(2)
	row, column := a[2].Mul(two).Add(a[4]), a[3].Mul(two).Add(a[5])
	k.out(o, a[:4], k.sum(k.load(x, a[0], a[1], row, column).Mul(k.load(w, a[1], a[4], a[5])), a[4], a[5]))
	require.Contains(t, codegen.DirectivesString(model.Choose(k.s, target())), "vector a3")
}

// What is made of a sum counts: few products of long rows go in lanes along them, unless much is computed of each, which lanes of results share.
func TestWhatIsMadeOfSumsCounts(t *testing.T) {
	for _, much := range []bool{false, true} {
		const m, n, steps = 3, 64, 96
		k := newKit()
		o, x, w := k.param(dtype.F32, true, m, n), k.param(dtype.F32, false, m, steps), k.param(dtype.F32, false, n, steps)
		r := k.rngs(m, n, steps)
		sum := k.sum(k.load(x, r[0], r[2]).Mul(k.load(w, r[1], r[2])), r[2])
		if much {
			for range 4 {
				sum = sum.Exp2().Sqrt()
			}
		}
		k.out(o, r[:2], sum)
		directives := codegen.DirectivesString(model.Choose(k.s, target()))
		require.Equal(t, much, !strings.Contains("; "+directives, "; vector r0"), "%s", directives)
	}
}
