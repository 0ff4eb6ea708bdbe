package codegen_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/c"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/codegen/model"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Results whose lanes are rows, some neighbours of each at once, are turned before they are stored, and nothing else is touched; not where
// the kernel reads what it writes.
func TestResultsAreTurned(t *testing.T) {
	rnd := rand.New(rand.NewPCG(14, 16))
	var jobs []*job
	var want [][]array
	for _, n := range []int{5, 6, 7, 14, 16, 19, 37} {
		for _, inPlace := range []bool{false, true} {
			k := newKit()
			o, w, x := k.param(dtype.F32, true, 32, n), k.param(dtype.F32, false, 9, 32), k.param(dtype.F32, false, 9, n)
			a := k.rngs(32, n, 9)
			value := k.sum(k.load(w, a[2], a[0]).Mul(k.load(x, a[2], a[1])), a[2])
			if inPlace {
				value = value.Add(k.load(o, a[0], a[1]))
			}
			k.out(o, a[:2], value)
			directives, err := codegen.ParseDirectives("split a0 16 exact; vector a0.1; tile a1; order a0.0 a1 a0.1")
			require.NoError(t, err)
			p, err := lower.Lower(k.s, directives, target())
			require.NoError(t, err)
			text, err := c.Render(p)
			require.NoError(t, err)
			require.Equal(t, n >= 6 && !inPlace, strings.Contains(text.Source, "turned"), "%d", n)
			bufs := k.random(rnd)
			expected := clone(bufs)
			define(t, k.s, expected)
			jobs, want = append(jobs, &job{k.s, directives, bufs}), append(want, expected)
		}
	}
	check(t, "turned results", jobs, want, 1e-5)
}

// So are those of a block along two axes, of which the rows come by turns, in whichever order the axes stand.
func TestResultsOfTwoAxesAreTurned(t *testing.T) {
	rnd := rand.New(rand.NewPCG(14, 17))
	var jobs []*job
	var want [][]array
	for _, n := range []int{5, 6, 11, 18} {
		for _, order := range []string{"a0 a2", "a2 a0"} {
			k := newKit()
			o, w, x := k.param(dtype.F32, true, 2, 32, n), k.param(dtype.F32, false, 9, 32, 2), k.param(dtype.F32, false, 9, n)
			a := k.rngs(2, 32, n, 9)
			k.out(o, a[:3], k.sum(k.load(w, a[3], a[1], a[0]).Mul(k.load(x, a[3], a[2])), a[3]))
			directives, err := codegen.ParseDirectives("split a1 16 exact; vector a1.1; tile a0; tile a2; order a1.0 " + order + " a1.1")
			require.NoError(t, err)
			p, err := lower.Lower(k.s, directives, target())
			require.NoError(t, err)
			text, err := c.Render(p)
			require.NoError(t, err)
			require.Equal(t, n >= 6, strings.Contains(text.Source, "turned"), "%d %s", n, order)
			bufs := k.random(rnd)
			expected := clone(bufs)
			define(t, k.s, expected)
			jobs, want = append(jobs, &job{k.s, directives, bufs}), append(want, expected)
		}
	}
	check(t, "turned results of two axes", jobs, want, 1e-5)
}

// Vectors that are stored turned lie anywhere in memory: one for all neighbours, each behind the one before, in reverse, or apart.
func TestVectorsThatLieApartAreTurned(t *testing.T) {
	rnd := rand.New(rand.NewPCG(14, 18))
	var jobs []*job
	var want [][]array
	for name, at := range map[string]func(k *kit, i, j *uop.UOp) *uop.UOp{
		"one for all":    func(_ *kit, i, _ *uop.UOp) *uop.UOp { return i },
		"behind":         func(k *kit, i, j *uop.UOp) *uop.UOp { return i.Add(j.Mul(k.Index(16))) },
		"in reverse":     func(k *kit, i, j *uop.UOp) *uop.UOp { return i.Add(j.Mul(k.Index(-32))).Add(k.Index(7 * 32)) },
		"one step apart": func(_ *kit, i, j *uop.UOp) *uop.UOp { return i.Add(j) },
	} {
		k := newKit()
		o, x := k.param(dtype.F32, true, 32, 8), k.param(dtype.F32, false, 256)
		a := k.rngs(32, 8)
		k.out(o, a[:2], k.load(x, at(k, a[0], a[1])))
		directives, err := codegen.ParseDirectives("split a0 16 exact; vector a0.1; tile a1; order a0.0 a1 a0.1")
		require.NoError(t, err)
		p, err := lower.Lower(k.s, directives, target())
		require.NoError(t, err)
		text, err := c.Render(p)
		require.NoError(t, err)
		require.Contains(t, text.Source, "turned", name)
		bufs := k.random(rnd)
		expected := clone(bufs)
		define(t, k.s, expected)
		jobs, want = append(jobs, &job{k.s, directives, bufs}), append(want, expected)
	}
	check(t, "turned vectors that lie apart", jobs, want, 0)
}

// What a transpose reads is turned in registers whether its rows, its columns, both or none are read backwards, and where they are no more
// than lanes.
func TestTransposesAreTurned(t *testing.T) {
	rnd := rand.New(rand.NewPCG(18, 3))
	var jobs []*job
	var want [][]array
	for _, n := range []int{16, 31, 40} {
		for way := range 4 {
			const rows = 48
			k := newKit()
			o, x := k.param(dtype.F32, true, n, rows), k.param(dtype.F32, false, rows, n*16)
			a := k.rngs(n, rows)
			i, j := a[1], a[0]
			if way&1 > 0 {
				i = i.Int(rows - 1).Sub(i)
			}
			if way&2 > 0 {
				j = j.Int(n - 1).Sub(j)
			}
			k.out(o, a, k.load(x, i, j))
			directives := model.Choose(k.s, target())
			p, err := lower.Lower(k.s, directives, target())
			require.NoError(t, err)
			text, err := c.Render(p)
			require.NoError(t, err)
			require.Contains(t, text.Source, "turn_f32x16(p1", "%d %d: %s", n, way, codegen.DirectivesString(directives))
			bufs := k.random(rnd)
			expected := clone(bufs)
			define(t, k.s, expected)
			jobs, want = append(jobs, &job{k.s, directives, bufs}), append(want, expected)
		}
	}
	check(t, "transposes", jobs, want, 0)
}

// Under conditions too: of what several arrays make one by one another along lanes, each has rows that are turned and others that are not read.
func TestGatedTransposesAreTurned(t *testing.T) {
	rnd := rand.New(rand.NewPCG(19, 3))
	var jobs []*job
	var want [][]array
	for _, n := range []int{32, 37} {
		for _, first := range []int{3, 16, 21} { // of so many rows
			for _, outside := range []bool{false, true} { // a condition that is the same in all lanes
				const rows = 48
				k := newKit()
				o, x, y := k.param(dtype.F32, true, n, rows), k.param(dtype.F32, false, first, n*16), k.param(dtype.F32, false, rows-first, n*16)
				a := k.rngs(n, rows)
				one, other := a[1].Less(a[1].Int(first)), a[1].Int(first-1).Less(a[1])
				if outside {
					one = one.And(a[0].Less(a[0].Int(n - 2)))
				}
				load := func(p int, gate, row *uop.UOp) *uop.UOp {
					l := k.load(p, row, a[0])
					return l.Home().Load(l.At(0), gate, l.Src()[2:]...)
				}
				k.out(o, a, load(x, one, a[1]).Add(load(y, other, a[1].Sub(a[1].Int(first)))))
				directives, err := codegen.ParseDirectives("split a0 16 shift; tile a0.1; split a1 16 exact; vector a1.1; order a0.0 a1.0 a0.1 a1.1")
				require.NoError(t, err)
				p, err := lower.Lower(k.s, directives, target())
				require.NoError(t, err)
				text, err := c.Render(p)
				require.NoError(t, err)
				require.Contains(t, text.Source, "turnm_f32x16(p2", "%d %d", n, first)
				bufs := k.random(rnd)
				expected := clone(bufs)
				define(t, k.s, expected)
				jobs, want = append(jobs, &job{k.s, directives, bufs}), append(want, expected)
			}
		}
	}
	check(t, "gated transposes", jobs, want, 0)
}
