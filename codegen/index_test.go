package codegen_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// The place of a load or of a scattered store may be the result of a reduction, whose own ranges occur in no index: they
// must not be merged. So it is in the gradient of a max pool that gives indices.
func TestPlaceIsAReduction(t *testing.T) {
	argmax := func(k *kit, x int) (best, inside *uop.UOp) {
		a, b := k.rng(2), k.rng(2)
		at := a.Mul(k.Table.Index(2)).Add(b)
		best = k.ReduceRanges(uop.ArgMax, []*uop.UOp{k.load(x, at), at.Cast(dtype.I32)}, []*uop.UOp{a, b}).Part(1).Cast(dtype.Index)
		return best, k.Table.Index(-1).Less(best).And(best.Less(k.Table.Index(4)))
	}
	k := newKit()
	out, x, g := k.param(dtype.F32, true, 1), k.param(dtype.F32, false, 4), k.param(dtype.F32, false, 4)
	best, inside := argmax(k, x)
	k.s.Outs = []codegen.Out{{Param: out, Index: []*uop.UOp{k.Table.Index(0)}, Value: k.loadIf(g, inside, best)}}
	_, err := lower.Lower(k.s, nil, target())
	require.NoError(t, err, "load")

	k = newKit()
	out, x = k.param(dtype.F32, true, 4), k.param(dtype.F32, false, 4)
	best, inside = argmax(k, x)
	sum := uop.Sum
	k.s.Outs = []codegen.Out{{Param: out, Index: []*uop.UOp{best}, Gate: inside, Value: k.ConstOf(dtype.F32, uop.ValueOf(dtype.F32, 1)), Merge: &sum}}
	_, err = lower.Lower(k.s, nil, target())
	require.NoError(t, err, "scatter")
}

// Axes on which a place depends by what is loaded there are one, as they are without it; on which it depends itself as well, they stay two.
func TestAxesOfComputedPlacesAreMerged(t *testing.T) {
	for _, own := range []bool{false, true} {
		k := newKit()
		a, b := k.rng(6), k.rng(10)
		out, x, of := k.param(dtype.F32, true, 6, 10), k.param(dtype.I32, false, 6, 10), k.param(dtype.F32, false, 300)
		at := k.load(x, a, b).And(k.ConstOf(dtype.I32, 127)).Cast(dtype.Index)
		if own {
			at = at.Add(a.Mul(k.Table.Index(10))).Add(b)
		}
		k.out(out, []*uop.UOp{a, b}, k.load(of, at))
		_, kernel := lowered(t, k.s, nil)
		require.Equal(t, map[bool]int{false: 1, true: 2}[own], strings.Count(kernel.Source, "for ("), kernel.Source)
	}
}

// A choice between two indices that is used twice is computed once, also where lanes differ in it: a chain of them, as a binary search
// makes, grows with its length and does not double with each step.
func TestChoicesOfIndicesAreNamed(t *testing.T) {
	text := func(steps int) int {
		k := newKit()
		a := k.rng(64)
		out, x := k.param(dtype.I32, true, 64), k.param(dtype.F32, false, 64+steps)
		at, half := a, k.ConstOf(dtype.F32, uop.ValueOf(dtype.F32, .5))
		for range steps {
			at = k.load(x, at).Less(half).Where(at.Add(k.Table.Index(1)), at)
		}
		k.out(out, []*uop.UOp{a}, at.Cast(dtype.I32))
		directives, err := codegen.ParseDirectives("split a0 16; vector a0.1")
		require.NoError(t, err)
		_, kernel := lowered(t, k.s, directives)
		return len(kernel.Source)
	}
	require.Less(t, text(12), 3*text(6))
}

// A place that only values tell needs no division where the array that it lies in has rows: x div n and x mod n are x again.
func TestPlacesOfRowsNeedNoDivision(t *testing.T) {
	k := newKit()
	a := k.rng(64)
	out, x, at := k.param(dtype.F32, true, 64), k.param(dtype.F32, false, 7, 13), k.param(dtype.I32, false, 64)
	place := k.load(at, a).Cast(dtype.Index)
	inside := k.Index(-1).Less(place).And(place.Less(k.Index(7 * 13)))
	k.out(out, []*uop.UOp{a}, k.loadIf(x, inside, place.IDiv(k.Index(13)), place.Mod(k.Index(13))))
	_, kernel := lowered(t, k.s, nil)
	require.NotContains(t, kernel.Source, "%")
	require.NotContains(t, kernel.Source, "/ 13")
}

// A loop of which one dimension has the quotient and another the remainder is a place as it is, also where the loop was made of two.
func TestPlacesOfFusedLoopsNeedNoDivision(t *testing.T) {
	k := newKit()
	a, b := k.rng(7), k.rng(13)
	out, x := k.param(dtype.F32, true, 91), k.param(dtype.F32, false, 7, 13)
	fused := a.Mul(k.Index(13)).Add(b)
	k.s.Outs = []codegen.Out{{Param: out, Axes: []*uop.UOp{a, b}, Index: []*uop.UOp{fused}, Value: k.load(x, a, b)}}
	directives, err := codegen.ParseDirectives("split a0 7 exact; fuse a0.0 a0.1")
	require.NoError(t, err)
	_, kernel := lowered(t, k.s, directives)
	require.NotContains(t, kernel.Source, "%")
	require.NotContains(t, kernel.Source, "/ 7")
}
