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

// Results of narrow types whose lanes are rows are put into words of neighbours, which are turned before they are stored; a last one that fills no
// word is stored lane by lane.
func TestNarrowResultsAreTurned(t *testing.T) {
	rnd := rand.New(rand.NewPCG(14, 16))
	var jobs []*job
	var want [][]array
	for _, types := range narrowTypes {
		if types[3].Size() > 2 {
			continue
		}
		for _, n := range []int{5, 6, 7, 8, 13, 16, 19, 37} {
			k := narrowGemm(32, n, 9, false, false, types[0], types[1], types[2], types[3])
			directives, err := codegen.ParseDirectives("split a0 16 exact; vector a0.1; tile a1; order a0.0 a1 a0.1")
			require.NoError(t, err)
			p, err := lower.Lower(k.s, directives, target())
			require.NoError(t, err)
			text, err := c.Render(p)
			require.NoError(t, err)
			require.Equal(t, n-n%(4/types[3].Size()) >= 6, strings.Contains(text.Source, "turned"), "%v %d", types, n)
			bufs := k.random(rnd)
			expected := clone(bufs)
			define(t, k.s, expected)
			jobs, want = append(jobs, &job{k.s, directives, bufs}), append(want, expected)
		}
	}
	check(t, "turned narrow results", jobs, want, 1e-2)
}

// Rows that lanes go across are brought into their order by vectors along the rows, which are turned.
func TestPackedRowsAreTurned(t *testing.T) {
	rnd := rand.New(rand.NewPCG(15, 16))
	var jobs []*job
	var want [][]array
	for _, types := range [][4]dtype.DType{{dtype.F32, dtype.F32, dtype.F32, dtype.F32}, {dtype.BF16, dtype.BF16, dtype.F32, dtype.BF16}, {dtype.I8, dtype.I8, dtype.I32, dtype.I32},
		{dtype.U8, dtype.I8, dtype.I32, dtype.I32}, {dtype.F16, dtype.F16, dtype.F32, dtype.F16}} {
		for _, size := range [][3]int{{64, 100, 128}, {33, 70, 65}, {20, 130, 77}} {
			k := narrowGemm(size[0], size[1], size[2], false, true, types[0], types[1], types[2], types[3])
			directives := model.Choose(k.s, target())
			p, err := lower.Lower(k.s, directives, target())
			require.NoError(t, err)
			text, err := c.Render(p)
			require.NoError(t, err)
			require.Contains(t, text.Source, "turned16_", "%v %v %s", types, size, codegen.DirectivesString(directives))
			require.NotRegexp(t, `o\[\d+\] = \{\(+\w+\)\*`, text.Source, "%v %v: vectors that lie equally far apart are spelled one by one", types, size)
			bufs := k.random(rnd)
			expected := clone(bufs)
			define(t, k.s, expected)
			jobs, want = append(jobs, &job{k.s, directives, bufs}), append(want, expected)
		}
	}
	check(t, "packed rows", jobs, want, 1e-2)
}

// A pair of bfloat16 that all lanes share is one load, as it is one word.
func TestPairsAreLoadedAsWords(t *testing.T) {
	k := narrowGemm(8, 32, 64, false, false, dtype.BF16, dtype.BF16, dtype.F32, dtype.BF16)
	directives, err := codegen.ParseDirectives("dot r0.a 2; tile a0; vector a1; order a0 a1")
	require.NoError(t, err)
	p, err := lower.Lower(k.s, directives, target())
	require.NoError(t, err)
	text, err := c.Render(p)
	require.NoError(t, err)
	require.Contains(t, text.Source, "weft_word(p1")
}

// Threads share the loop with most iterations where the outermost has few.
func TestThreadsShareTheLongerLoop(t *testing.T) {
	k := narrowGemm(64, 1024, 512, false, true, dtype.BF16, dtype.BF16, dtype.F32, dtype.BF16)
	directives := codegen.DirectivesString(model.Choose(k.s, target()))
	require.Contains(t, directives, "thread a1.0; order a1.0 a0.0", directives)
}
