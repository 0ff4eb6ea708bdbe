package codegen_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/codegen/model"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// What is reduced for each column and used in each of its rows is reduced once: its loop does not lie inside that over the rows.
func TestReductionsOfLanesAreComputedOnce(t *testing.T) {
	rnd := rand.New(rand.NewPCG(20, 26))
	var jobs []*job
	var want [][]array
	for _, columns := range []int{4, 8, 48, 200, 512} {
		k := newKit()
		const rows = 96
		o, x := k.param(dtype.F32, true, rows, columns), k.param(dtype.F32, false, rows, columns)
		a := k.rngs(columns, rows, rows)
		value := k.load(x, a[1], a[0]).Sub(k.sum(k.load(x, a[2], a[0]), a[2]))
		k.s.Outs = append(k.s.Outs, codegen.Out{Param: o, Axes: a[:2], Index: []*uop.UOp{a[1], a[0]}, Value: value})
		directives := model.Choose(k.s, target())
		p, err := lower.Lower(k.s, directives, target())
		require.NoError(t, err)
		require.LessOrEqual(t, deepest(p.Body, rows), 1, "%d columns: %v", columns, directives)
		bufs := k.random(rnd)
		expected := clone(bufs)
		define(t, k.s, expected)
		jobs, want = append(jobs, &job{k.s, directives, bufs}), append(want, expected)
	}
	check(t, "sums of columns", jobs, want, 1e-4)
}

// deepest is how many loops of so many iterations lie inside each other.
func deepest(stmts []codegen.Stmt, n int) (most int) {
	for _, s := range stmts {
		if l, ok := s.(*codegen.Loop); ok {
			d := deepest(l.Body, n)
			if l.Range.Arg().(uop.RangeArg).N == n {
				d++
			}
			most = max(most, d)
		}
	}
	return most
}

// Lanes do not go along an axis whose elements all lie in one set of the cache, where they can go along places from data.
func TestLanesOfOneSet(t *testing.T) {
	for stride, places := range map[int]bool{1024: true, 1000: false} {
		k := newKit()
		o, x, w := k.param(dtype.F32, true, 16, stride), k.param(dtype.F32, false, 16, stride), k.param(dtype.F32, false, 4, stride)
		at := k.param(dtype.I32, false, 4, stride)
		a := k.rngs(16, stride)
		value := k.ConstOf(dtype.F32, 0)
		for i := range 4 {
			place := k.load(at, k.Index(i), a[1]).Cast(dtype.Index)
			gate := place.Less(place.Int(stride)).And(place.Int(-1).Less(place))
			value = value.Add(k.loadIf(x, gate, a[0], place).Sqrt().Mul(k.load(w, k.Index(i), a[1])))
		}
		k.out(o, a, value)
		_, kernel := lowered(t, k.s, model.Choose(k.s, target()))
		require.Equal(t, places, strings.Contains(kernel.Source, "gwm_f32x16("), "%d apart", stride) // gathered by int32, behind a gate
	}
}

// Lanes at the borders of an array take part as their gates say, and where all do they are loaded without a mask.
func TestGatesThatAllLanesPass(t *testing.T) {
	rnd := rand.New(rand.NewPCG(27, 11))
	var jobs []*job
	var want [][]array
	for _, n := range []int{16, 40, 56, 112, 129} {
		for _, stride := range []int{1, 2, 3} {
			for _, lo := range []int{0, 1, 5} {
				k := newKit()
				out := (n+2*lo-3)/stride + 1
				o, x := k.param(dtype.F32, true, out), k.param(dtype.F32, false, n)
				a := k.rngs(out, 3)
				at := a[0].Mul(a[0].Int(stride)).Add(a[1]).Add(a[0].Int(-lo))
				inside := at.Int(-1).Less(at).And(at.Less(at.Int(n)))
				value := at.Less(at.Int(0)).Or(at.Int(n-1).Less(at)).Where(k.ConstOf(dtype.F32, uop.ValueOf(dtype.F32, -9)), k.loadIf(x, inside, at))
				k.out(o, a[:1], k.ReduceRanges(uop.MaxOf, []*uop.UOp{value}, a[1:]))
				directives := model.Choose(k.s, target())
				_, kernel := lowered(t, k.s, directives)
				if n >= 40 && stride == 2 && lo > 0 {
					require.True(t, strings.Contains(kernel.Source, "? by2_f32x16("))
				}
				bufs := k.random(rnd)
				expected := clone(bufs)
				define(t, k.s, expected)
				jobs, want = append(jobs, &job{k.s, directives, bufs}), append(want, expected)
			}
		}
	}
	check(t, "windows at borders", jobs, want, 0)
}

// What lies between the results of neighbouring lanes is stored with them, in whole vectors.
func TestResultsBetweenLanes(t *testing.T) {
	rnd := rand.New(rand.NewPCG(28, 11))
	var jobs []*job
	var want [][]array
	for _, d := range []dtype.DType{dtype.F32, dtype.F64} {
		for _, parts := range []int{2, 3, 4} {
			for _, n := range []int{4, 7, 16, 33, 100} {
				k := newKit()
				o, x, y := k.param(d, true, n, parts), k.param(d, false, parts, n), k.param(d, false, n)
				a := k.rngs(n, parts)
				k.out(o, a, k.load(x, a[1], a[0]).Mul(k.load(y, a[0])))
				directives := model.Choose(k.s, target())
				_, kernel := lowered(t, k.s, directives)
				if n >= 16 {
					require.Contains(t, kernel.Source, "zip", "%d of %d", parts, n)
				}
				bufs := k.random(rnd)
				expected := clone(bufs)
				define(t, k.s, expected)
				jobs, want = append(jobs, &job{k.s, directives, bufs}), append(want, expected)
			}
		}
	}
	check(t, "results between lanes", jobs, want, 0)
}

// Where an element is found is a number of 32 bits, also where what is compared with it is loaded: its lanes are computed in as many.
func TestPlacesOfLoadedElementsAreWords(t *testing.T) {
	k := newKit()
	o, x, y := k.param(dtype.I32, true, 40), k.param(dtype.I32, false, 40, 96), k.param(dtype.I32, false, 40)
	a := k.rngs(40, 96)
	place := k.load(x, a[0], a[1]).Equal(k.load(y, a[0])).Where(a[1], k.Index(96)).Cast(dtype.I32)
	k.out(o, a[:1], k.ReduceRanges(uop.MaxOf, []*uop.UOp{place}, a[1:]))
	_, kernel := lowered(t, k.s, model.Choose(k.s, target()))
	require.Contains(t, kernel.Source, "iota_i32x")
	require.NotContains(t, kernel.Source, "iota_i64x")
}

// Rows of a tile that lie at the border of a picture have the conditions of lanes in common, which are one mask for all of them: what lanes share is a
// condition of its own.
func TestRowsOfATileShareTheirMask(t *testing.T) {
	k := newKit()
	const n, size = 28, 7
	o, x, w := k.param(dtype.F32, true, 2, 96, n, n), k.param(dtype.F32, false, 2, 96, n, n), k.param(dtype.F32, false, 96, size, size)
	a := k.rngs(2, 96, n, n, size, size)
	row, column := a[2].Add(a[4]), a[3].Add(a[5])
	inside := func(at *uop.UOp) *uop.UOp { return k.Index(2).Less(at).And(at.Less(k.Index(n + 3))) }
	k.out(o, a[:4], k.sum(k.loadIf(x, inside(row).And(inside(column)), a[0], a[1], row.Add(k.Index(-3)), column.Add(k.Index(-3))).Mul(k.load(w, a[1], a[4], a[5])), a[4], a[5]))
	directives := model.Choose(k.s, target())
	require.Contains(t, codegen.DirectivesString(directives), "tile a2.1; split a3 16 shift; vector a3.1")
	_, kernel := lowered(t, k.s, directives)
	masks := map[string]bool{}
	for _, part := range strings.Split(kernel.Source, "by1m_f32x16(p1, ")[1:] {
		_, mask, _ := strings.Cut(strings.SplitN(part, ";", 2)[0], ", ")
		_, mask, _ = strings.Cut(mask, ", ")
		mask, _, _ = strings.Cut(mask, ", sp_f32x16(v")
		mask, _, _ = strings.Cut(mask, " :")
		masks[strings.TrimRight(mask, ")")] = true
	}
	require.Len(t, masks, 1, "%v", masks)
}

// A sum over what lies a page apart, of places from data among it, has lanes along the results beside each other: a line that each result takes one element
// of would be gone from the cache when the next one wants its neighbour.
func TestLanesAcrossSumsOfOneSet(t *testing.T) {
	for apart, lanes := range map[int]bool{4096: true, 4000: false} {
		k := newKit()
		o, x, at, g := k.param(dtype.F32, true, 4, apart, 2), k.param(dtype.F32, false, 4, 16, apart), k.param(dtype.I32, false, 4, apart), k.param(dtype.F32, false, 4, 16, apart)
		a := k.rngs(4, apart, 2, 16)
		place := k.load(at, a[0], a[1]).Cast(dtype.Index)
		gate := place.Less(place.Int(apart)).And(place.Int(-1).Less(place))
		s := k.sum(k.loadIf(x, gate, a[0], a[3], place).Mul(k.load(g, a[0], a[3], a[1])), a[3])
		k.out(o, a[:3], a[2].Less(k.Index(1)).Where(s, s.Neg()))
		require.Equal(t, lanes, strings.Contains(codegen.DirectivesString(model.Choose(k.s, target())), "vector a1"), "%d apart", apart)
	}
}
