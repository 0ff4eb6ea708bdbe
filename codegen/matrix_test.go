package codegen_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/codegen/model"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// matrixTypes are operands, the type of the sums and that of the result, of products that the machine has instructions for.
var matrixTypes = [][4]dtype.DType{
	{dtype.I8, dtype.I8, dtype.I32, dtype.I32}, {dtype.U8, dtype.U8, dtype.U32, dtype.U8}, {dtype.I8, dtype.U8, dtype.I32, dtype.I32},
	{dtype.U8, dtype.I8, dtype.I32, dtype.I8}, {dtype.BF16, dtype.BF16, dtype.F32, dtype.BF16}, {dtype.BF16, dtype.BF16, dtype.F32, dtype.F32},
}

// Products of matrices have the values that their definition says, for all types, with rows, lanes and steps that fill no tile, for both
// orders of each operand: integers to the bit; bfloat16 too, because these sums are exact in any order.
func TestMatrixProducts(t *testing.T) {
	var jobs []*job
	var want [][]array
	rnd := rand.New(rand.NewPCG(7, 8))
	add := func(k *kit, what any) {
		bufs := extremes(k, rnd)
		w := clone(bufs)
		define(t, k.s, w)
		directives := model.Choose(k.s, matrixTarget())
		require.Contains(t, codegen.DirectivesString(directives), "matrix r0.a", "%v", what)
		jobs, want = append(jobs, &job{k.s, directives, bufs}), append(want, w)
	}
	for i, d := range matrixTypes {
		for j, s := range [][3]int{{16, 16, 64}, {17, 33, 65}, {33, 17, 130}, {70, 100, 127}, {64, 48, 256}, {31, 300, 67}, {160, 32, 96}, {40, 48, 1000}} {
			side := (i + j) % 4
			add(narrowGemm(s[0], s[1], s[2], side%2 == 1, side/2 == 1, d[0], d[1], d[2], d[3]), s)
		}
	}
	for i, q := range quantised {
		q.m, q.n, q.k = 35+i, 50-i, 80+i
		add(q.product(i%2 == 1, i/2%2 == 1), q)
	}
	check(t, "products of matrices", jobs, want, 0)
}

// Infinity and NaN in bfloat16 come through to the results that they belong to, and to no others: what fills up words is no factor of them.
func TestMatrixNotFinite(t *testing.T) {
	rnd := rand.New(rand.NewPCG(9, 10))
	k := narrowGemm(40, 50, 67, false, false, dtype.BF16, dtype.BF16, dtype.F32, dtype.F32)
	bufs := k.random(rnd)
	for i, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		bufs[1][i*11*67+66] = uop.FloatValue(dtype.BF16, v) // in the last step of a row
		bufs[2][i*7*50+i*13] = uop.FloatValue(dtype.BF16, v)
	}
	want := clone(bufs)
	define(t, k.s, want)
	for how, to := range map[string]*codegen.Target{"matrix r0.a": matrixTarget(), "dot r0.a 2": target()} {
		directives := model.Choose(k.s, to)
		require.Contains(t, codegen.DirectivesString(directives), how)
		check(t, "not finite", []*job{{k.s, directives, clone(bufs)}}, [][]array{want}, 1e-5)
	}
	finite, not := 0, 0
	for _, v := range want[0] {
		if x := v.Float(); x-x == 0 {
			finite++
		} else {
			not++
		}
	}
	require.Greater(t, finite, 1000)
	require.Greater(t, not, 100)
}

// The instruction multiplies where blocks are large enough, and nothing where it does not know the types.
func TestMatrixIsChosen(t *testing.T) {
	chosen := func(k *kit) bool {
		return strings.Contains(codegen.DirectivesString(model.Choose(k.s, matrixTarget())), "matrix ")
	}
	for _, d := range matrixTypes {
		assert.True(t, chosen(narrowGemm(64, 64, 64, false, false, d[0], d[1], d[2], d[3])), d)
		for _, s := range [][3]int{{15, 64, 64}, {64, 15, 64}, {64, 64, 16}, {1, 1024, 1024}} {
			assert.False(t, chosen(narrowGemm(s[0], s[1], s[2], false, false, d[0], d[1], d[2], d[3])), "%v %v", d, s)
		}
	}
	for _, d := range [][4]dtype.DType{{dtype.I16, dtype.I8, dtype.I32, dtype.I32}, {dtype.F16, dtype.F16, dtype.F32, dtype.F16},
		{dtype.BF16, dtype.F32, dtype.F32, dtype.F32}, {dtype.F32, dtype.I8, dtype.F32, dtype.F32}} {
		assert.False(t, chosen(narrowGemm(64, 64, 64, false, false, d[0], d[1], d[2], d[3])), d)
	}
}

// The sum of a factor that the other one's zero point is multiplied with is made once for each row or column, not for each result.
func TestMatrixSumsAreStaged(t *testing.T) {
	for _, q := range quantised {
		for side := range 4 {
			q.m, q.n, q.k = 192, 256, 128
			directives := codegen.DirectivesString(model.Choose(q.product(side%2 == 1, side/2 == 1).s, matrixTarget()))
			require.Contains(t, directives, "matrix r0.a 4", "%v %d", q, side)
			assert.Equal(t, q.b != "", strings.Contains(directives, "stage p1s"), "%v %d: %s", q, side, directives)
			assert.Equal(t, q.a != "", strings.Contains(directives, "stage p2s"), "%v %d: %s", q, side, directives)
		}
	}
}

const matrixStages = "matrix r0.a 4; split a1 4 shift; order a1.0 a0 a1.1; " +
	"stage p1w at root by ranges layout a0,r0.a; stage p2w at a1.0 by ranges layout r0.a,a1.1; stage r0 at a1.0 by ranges layout a0,a1.1"

func TestMatrixDirective(t *testing.T) {
	product := func() *kit { return narrowGemm(5, 6, 7, false, false, dtype.I8, dtype.U8, dtype.I32, dtype.I32) }
	for _, test := range []struct{ directives, fails string }{
		{matrixStages, ""},
		{"matrix r0.a 4", ""}, // without stages it is computed as the words are
		{"matrix r0.a 4; stage p1w at root by ranges layout a0,r0.a; stage r0 at root by ranges layout a0,a1", "the words of its factors lie in rows"},
		{"matrix r0.a 4; stage p1w at root by ranges layout r0.a,a0; stage p2w at root by ranges layout r0.a,a1; stage r0 at root by ranges layout a0,a1",
			"the words of its factors lie in rows"},
		{strings.ReplaceAll(matrixStages, "stage r0 at a1.0 by ranges layout a0,a1.1", "stage r0 at a0 by ranges layout a1.1"), "of which its layout has two"},
		{"matrix r0.a 2", "in words of 2"},
		{"matrix a0 4", "only a reduction goes along"},
		{"matrix r0.a 4; matrix r0.a 4", "no sum of products"},
	} {
		directives, err := codegen.ParseDirectives(test.directives)
		require.NoError(t, err)
		require.Equal(t, test.directives, codegen.DirectivesString(directives))
		err = lower.Legal(product().s, directives, matrixTarget())
		if test.fails == "" {
			require.NoError(t, err, test.directives)
			continue
		}
		require.ErrorContains(t, err, test.fails, test.directives)
	}
	directives, err := codegen.ParseDirectives("matrix r0.a 4")
	require.NoError(t, err)
	require.ErrorContains(t, lower.Legal(product().s, directives, target()), "c has no instruction that multiplies matrices")
}

// Every form is right after each pass.
func TestMatrixKeepsValues(t *testing.T) {
	t.Parallel()
	for _, n := range []int{7, 8} {
		for _, text := range []string{matrixStages, "matrix r0.a 4", matrixStages + "; vector a1.1", matrixStages + "; tile a1.1; thread a1.0"} {
			k := narrowGemm(5, 9, n, false, true, dtype.I8, dtype.U8, dtype.I32, dtype.I32)
			directives, err := codegen.ParseDirectives(text)
			require.NoError(t, err)
			_, err = lower.Lower(k.s, directives, matrixTarget())
			require.NoError(t, err, fmt.Sprintf("%s, %d steps", text, n))
		}
	}
}

// A factor whose steps are neighbours is put into words by blocks that are turned in registers.
func TestMatrixTurnsBlocks(t *testing.T) {
	t.Parallel()
	text := codegen.DirectivesString(model.Choose(narrowGemm(64, 256, 128, false, true, dtype.BF16, dtype.BF16, dtype.F32, dtype.F32).s, matrixTarget()))
	assert.Contains(t, text, "tile a1.1 vector r0.a")
}

// headProducts are two products in one kernel, of which the second takes what the first one made, for each head.
func headProducts(heads, n, size int) *kit {
	k := newKit()
	o, x, y, z := k.param(dtype.BF16, true, heads, n, size), k.param(dtype.BF16, false, heads, n, size), k.param(dtype.BF16, false, heads, n, size), k.param(dtype.BF16, false, heads, n, size)
	scores := k.param(dtype.BF16, true, heads, n, n)
	r := k.rngs(heads, n, n, size, n, size, n)
	wide := func(p int, at ...*uop.UOp) *uop.UOp { return k.load(p, at...).Cast(dtype.F32) }
	k.out(scores, r[:3], k.sum(wide(x, r[0], r[1], r[3]).Mul(wide(y, r[0], r[2], r[3])), r[3]).Cast(dtype.BF16))
	k.out(o, []*uop.UOp{r[0], r[4], r[5]}, k.sum(wide(scores, r[0], r[4], r[6]).Mul(wide(z, r[0], r[6], r[5])), r[6]).Cast(dtype.BF16))
	return k
}

// Products of nests are the unit's as well, in which threads have rows.
func TestMatrixInNests(t *testing.T) {
	t.Parallel()
	k := headProducts(3, 70, 64)
	directives := model.Choose(k.s, matrixTarget())
	text := codegen.DirectivesString(directives)
	assert.Equal(t, 2, strings.Count(text, "matrix "), text)
	assert.Equal(t, 1, strings.Count(text, "thread "), text)
	start := k.random(rand.New(rand.NewPCG(3, 4)))
	want := clone(start)
	define(t, k.s, want)
	j := &job{k.s, directives, clone(start)}
	run(t, openCPU(t, 2), []*job{j})
	for e := range want[0] {
		assert.InDelta(t, want[0][e].Float(), j.bufs[0][e].Float(), 0.02*math.Abs(want[0][e].Float())+0.05, "element %d", e)
	}
}
