package codegen_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/c"
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
		for j, s := range [][3]int{{7, 33, 41}, {50, 64, 300}, {13, 130, 96}, {64, 1, 257}, {1, 65, 64}, {24, 48, 7}} {
			spec := func() *kit { return narrowGemm(s[0], s[1], s[2], (i+j)%2 == 1, j%3 == 1, d[0], d[1], d[2], d[3]) }
			k := spec()
			bufs := extremes(k, rnd)
			w := clone(bufs)
			define(t, k.s, w)
			moves := codegen.Choose(k.s, c.Target(narrow[(i+j)%len(narrow)]))
			jobs, want = append(jobs, &job{k.s, moves, bufs}), append(want, w)
		}
	}
	check(t, "narrow products", jobs, want, 0)
}

// What operands become is staged, and pairs of small integers are words.
func TestNarrowProductsAreStagedWide(t *testing.T) {
	for _, to := range []*codegen.Target{target(), wasm.Target(wasm.Machine{}), wasm.Target(wasm.Machine{Wazero: true})} {
		for _, d := range narrowTypes {
			for _, transposed := range []bool{false, true} {
				moves := codegen.MovesString(codegen.Choose(narrowGemm(192, 256, 128, false, transposed, d[0], d[1], d[2], d[3]).s, to))
				small := d[2] == dtype.I32 || d[0] == dtype.U8
				require.Equal(t, small, strings.Contains(moves, "dot r0.a 2"), "%s %v: %s", to.Name, d, moves)
				require.Contains(t, moves, "stage p2w", "%s %v", to.Name, d)
				require.Equal(t, d[0] != d[2], strings.Contains(moves, "stage p1w"), "%s %v: %s", to.Name, d, moves)
			}
		}
	}
}

func TestDotDirective(t *testing.T) {
	for _, test := range []struct {
		spec  *kit
		moves string
		fails string
	}{
		{narrowGemm(5, 6, 7, false, false, dtype.I8, dtype.I8, dtype.I32, dtype.I8), "dot r0.a 2", ""},
		{narrowGemm(5, 6, 7, false, false, dtype.I8, dtype.I8, dtype.I32, dtype.I8), "dot r0.a 2; split r0.a 2; stage p1w at root by ranges layout a0,r0.a.0,r0.a.1", ""},
		{narrowGemm(5, 6, 7, false, false, dtype.I8, dtype.I8, dtype.I32, dtype.I8), "dot r0.a 4", "words hold 2 steps"},
		{narrowGemm(5, 6, 7, false, false, dtype.I8, dtype.I8, dtype.I32, dtype.I8), "dot a0 2", "only a reduction goes along"},
		{narrowGemm(5, 6, 7, false, false, dtype.I8, dtype.I8, dtype.I32, dtype.I8), "split r0.a 3 guard; dot r0.a.1 2", "only a reduction goes along"},
		{narrowGemm(5, 6, 7, false, false, dtype.I8, dtype.I8, dtype.I32, dtype.I8), "dot r0.a 2; dot r0.a 2", "no sum of products"},
		{narrowGemm(5, 6, 7, false, false, dtype.U16, dtype.U8, dtype.U32, dtype.U32), "dot r0.a 2", "no sum of products"},
		{narrowGemm(5, 6, 7, false, false, dtype.F16, dtype.F16, dtype.F32, dtype.F32), "dot r0.a 2", "no sum of products"},
		{narrowGemm(5, 6, 7, false, false, dtype.I8, dtype.I8, dtype.I32, dtype.I8), "dot x 2", "there is no axis x"},
	} {
		moves, err := codegen.ParseMoves(test.moves)
		require.NoError(t, err)
		require.Equal(t, test.moves, strings.ReplaceAll(codegen.MovesString(moves), " exact", ""))
		err = codegen.Legal(test.spec.s, moves, target())
		if test.fails == "" {
			require.NoError(t, err, test.moves)
			continue
		}
		require.ErrorContains(t, err, test.fails, test.moves)
	}
	_, err := codegen.ParseMoves("dot r0.a")
	require.ErrorContains(t, err, "cannot read the move")
}

// Every form of the directive is right on every kind of machine, after each pass.
func TestDotKeepsValues(t *testing.T) {
	t.Parallel()
	for _, m := range tight {
		t.Run(m.name, func(t *testing.T) {
			for _, n := range []int{7, 8} {
				for _, text := range []string{"dot r0.a 2", "dot r0.a 2; stage p1w at a0 by ranges layout r0.a", "dot r0.a 2; stage p2w at root by ranges layout r0.a,a1 vector r0.a"} {
					k := narrowGemm(5, 9, n, false, true, dtype.I8, dtype.U8, dtype.I32, dtype.I32)
					moves, err := codegen.ParseMoves(text)
					require.NoError(t, err)
					_, err = codegen.Lower(k.s, moves, checked(m.t()))
					require.NoError(t, err, fmt.Sprintf("%s, %d steps", text, n))
				}
			}
		})
	}
}
