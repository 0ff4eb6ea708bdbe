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

// repeated is a product of repeated rows, of which more are computed than there are.
func repeated(up, there, all int) *kit {
	k := newKit()
	o := k.param(dtype.F32, true, all, all)
	rows := (there + up - 1) / up
	x, y := k.param(dtype.F32, false, rows, 31), k.param(dtype.F32, false, rows, 31)
	a := k.rngs(all, all, 31)
	gate := a[0].Less(k.Index(there)).And(a[1].Less(k.Index(there)))
	n := k.Index(up)
	p := k.loadIf(x, gate, a[0].IDiv(n), a[2]).Mul(k.loadIf(y, gate, a[1].IDiv(n), a[2]))
	k.out(o, a[:2], k.sum(p, a[2]))
	return k
}

// After a split, an index may depend on fewer loops than the conditions that keep it inside its array.
func TestFiniteThenSplit(t *testing.T) {
	for _, text := range []string{
		"finite p1; finite p2; split a0 8 exact; split a1 8 exact; order a0.0 a1.0 a0.1 a1.1",
		"finite p1; finite p2; split a1 8 exact; vector a1.1; order a0 a1.0 a1.1",
		"finite p1; finite p2; split a1 8 exact; split a0 8 exact; tile a0.1; vector a1.1; order a0.0 a1.0 a0.1 a1.1",
	} {
		k := repeated(8, 29, 40)
		directives, err := codegen.ParseDirectives(text)
		require.NoError(t, err)
		require.NoError(t, lower.Legal(k.s, directives, target()), text)
		bufs := k.random(rand.New(rand.NewPCG(8, 9)))
		w := clone(bufs)
		define(t, k.s, w)
		check(t, "finite then split", []*job{{k.s, directives, bufs}}, [][]array{w}, 1e-4)
	}
}

// So do the directives that are chosen for machines of all vectors.
func TestFiniteChosen(t *testing.T) {
	var jobs []*job
	var want [][]array
	for i, up := range []int{4, 16, 64} {
		for j, all := range []int{48, 80, 96, 128} {
			for h, less := range []int{3, 5, 17} {
				for l, m := range narrow {
					if (i+j+h+l)%3 > 0 { // any two of these numbers meet
						continue
					}
					k := repeated(up, all-less, all)
					directives := model.Choose(k.s, c.Target(m))
					if !strings.Contains(codegen.DirectivesString(directives), "finite p1") || !strings.Contains(codegen.DirectivesString(directives), "finite p2") {
						continue
					}
					bufs := k.random(rand.New(rand.NewPCG(8, 9)))
					w := clone(bufs)
					define(t, k.s, w)
					jobs, want = append(jobs, &job{k.s, directives, bufs}), append(want, w)
				}
			}
		}
	}
	require.NotEmpty(t, jobs)
	check(t, "chosen", jobs, want, 1e-4)
}

// A load keeps the same conditions after loops are fused: those on other parts of a fused loop are none on its index.
func TestFiniteThenFuse(t *testing.T) {
	k := newKit()
	o, x, y := k.param(dtype.F32, true, 3, 12, 18, 2), k.param(dtype.F32, false, 3, 9, 18), k.param(dtype.F32, false, 9, 12, 5)
	a := k.rngs(3, 12, 18, 2, 9, 3) // pictures, channels, places, phases; of the sum: channels, steps
	at, tap := a[2].Sub(a[5]), a[3].Add(a[5].Mul(k.Index(2)))
	gate := k.Index(-1).Less(at).And(tap.Less(k.Index(5)))
	k.out(o, a[:4], k.sum(k.loadIf(x, gate, a[0], a[4], at).Mul(k.loadIf(y, gate, a[4], a[1], tap)), a[4], a[5]))
	directives, err := codegen.ParseDirectives("finite p1; finite p2; fuse a0 a3; order a0+a3 a1 a2; stage p1 at a0+a3 by box; stage p2 at a0+a3 by box")
	require.NoError(t, err)
	require.NoError(t, lower.Legal(k.s, directives, target()))
	bufs := k.random(rand.New(rand.NewPCG(8, 9)))
	w := clone(bufs)
	define(t, k.s, w)
	check(t, "finite then fuse", []*job{{k.s, directives, bufs}}, [][]array{w}, 1e-4)
}

// Blocks of results are held in registers also where an operand is read under conditions that no box of it knows of, as in the gradient of a
// convolution of which all results are summed up.
func TestGatesOfOtherLoops(t *testing.T) {
	for _, d := range []dtype.DType{dtype.F32, dtype.I32} {
		k := newKit()
		o, x, y := k.param(d, true, 2, 64, 96), k.param(d, false, 2, 64), k.param(d, false, 64, 96, 5)
		a := k.rngs(2, 64, 96, 64, 5)
		at := a[1].Sub(a[4])
		gate := k.Index(-3).Less(at).And(at.Less(k.Index(62)))
		k.out(o, a[:3], k.sum(k.loadIf(x, gate, a[0], a[3]).Mul(k.loadIf(y, gate, a[3], a[2], a[4])), a[3], a[4]))
		directives := model.Choose(k.s, target())
		require.Contains(t, codegen.DirectivesString(directives), "tile", "%v", d)
		bufs := k.random(rand.New(rand.NewPCG(8, 9)))
		w := clone(bufs)
		define(t, k.s, w)
		check(t, "gates of other loops", []*job{{k.s, directives, bufs}}, [][]array{w}, 1e-3)
	}
}
