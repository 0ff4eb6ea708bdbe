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
