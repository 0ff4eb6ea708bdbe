package codegen_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
)

// written are kernels on random arrays of which the text is looked at before they run.
type written struct {
	rnd  *rand.Rand
	jobs []*job
	want [][]array
}

// add gives the text of a kernel.
func (w *written) add(t *testing.T, k *kit, text string) (source string) {
	t.Helper()
	directives, err := codegen.ParseDirectives(text)
	require.NoError(t, err)
	_, kernel := lowered(t, k.s, directives)
	bufs := k.random(w.rnd)
	expected := clone(bufs)
	define(t, k.s, expected)
	w.jobs, w.want = append(w.jobs, &job{k.s, directives, bufs}), append(w.want, expected)
	return kernel.Source
}

// What much is done with the sums of a tile is written once, not for each of its registers, and gives the same: of lanes that lie side by side
// and of others, of several results, of results in the place of an operand, and for tiles that do not divide what there is.
func TestMuchBehindTilesIsWrittenOnce(t *testing.T) {
	cases := written{rnd: rand.New(rand.NewPCG(14, 17))}
	for _, text := range []string{
		"split a0 8 exact; split a1 32 exact; tile a0.1; vector a1.1; order a0.0 a1.0 a0.1 a1.1",
		"split a1 64 exact; tile a0; vector a1.1; order a1.0 a0 a1.1",
		"split a0 32 exact; split a1 8 exact; tile a1.1; vector a0.1; order a0.0 a1.0 a1.1 a0.1",
	} {
		for _, inPlace := range []bool{false, true} {
			for _, two := range []bool{false, true} {
				for _, rows := range []int{32, 64} {
					k := newKit()
					o, w, x := k.param(dtype.F32, true, rows, 64), k.param(dtype.F32, false, 33, rows), k.param(dtype.F32, false, 33, 64)
					bias := k.param(dtype.F32, false, 64)
					a := k.rngs(rows, 64, 33)
					v := k.sum(k.load(w, a[2], a[0]).Mul(k.load(x, a[2], a[1])), a[2]).Add(k.load(bias, a[1]))
					square := v.Mul(v)
					value := square.Mul(v.Int(3)).Add(square.Mul(square).Mul(v.Int(-2))).Max(v).Mul(v.Add(v.Int(3)))
					if inPlace {
						value = value.Add(k.load(o, a[0], a[1]))
					}
					k.out(o, a[:2], value)
					if two {
						k.out(k.param(dtype.F32, true, rows, 64), a[:2], square.Max(value))
					}
					source := cases.add(t, k, text)
					require.LessOrEqual(t, strings.Count(source, " max_f32"), 4, source)
				}
			}
		}
	}
	check(t, "behind tiles", cases.jobs, cases.want, 1e-5)
}

// So it is with sums of integers that are made bytes, as products of quantised numbers are.
func TestMuchBehindSumsOfBytesIsWrittenOnce(t *testing.T) {
	cases := written{rnd: rand.New(rand.NewPCG(3, 9))}
	for _, text := range []string{
		"split a0 8 exact; split a1 32 exact; tile a0.1; vector a1.1; order a0.0 a1.0 a0.1 a1.1",
		"split a0 32 exact; split a1 8 exact; tile a1.1; vector a0.1; order a0.0 a1.0 a1.1 a0.1",
	} {
		for _, d := range []dtype.DType{dtype.U8, dtype.I8, dtype.F16, dtype.F32} {
			k := newKit()
			o, w, x := k.param(d, true, 32, 64), k.param(dtype.I8, false, 33, 32), k.param(dtype.I8, false, 33, 64)
			scale := k.param(dtype.F32, false, 64)
			a := k.rngs(32, 64, 33)
			v := k.sum(k.load(w, a[2], a[0]).Cast(dtype.I32).Mul(k.load(x, a[2], a[1]).Cast(dtype.I32)), a[2]).Cast(dtype.F32).Mul(k.load(scale, a[1]))
			square := v.Mul(v)
			value := square.Mul(v.Int(3)).Add(square.Mul(square).Mul(v.Int(-2))).Max(v).Mul(v.Add(v.Int(3))).Add(square).Mul(v.Add(v.Int(1)))
			k.out(o, a[:2], value.RoundEven().Max(v.Int(0)).Neg().Max(v.Int(-100)).Neg().Cast(d))
			source := cases.add(t, k, text)
			require.LessOrEqual(t, strings.Count(source, "(rint_f32"), 2, source)
		}
	}
	check(t, "behind tiles of bytes", cases.jobs, cases.want, 1e-5)
}

// Behind short sums it is written once where it is most of what is computed, and for each register where it is not.
func TestMostBehindShortSumsIsWrittenOnce(t *testing.T) {
	cases := written{rnd: rand.New(rand.NewPCG(5, 4))}
	for _, rounds := range []int{1, 8} {
		k := newKit()
		o, w, x := k.param(dtype.F32, true, 32, 64), k.param(dtype.F32, false, 5, 32), k.param(dtype.F32, false, 5, 64)
		a := k.rngs(32, 64, 5)
		v := k.sum(k.load(w, a[2], a[0]).Mul(k.load(x, a[2], a[1])), a[2])
		value := v.RoundEven()
		for i := range rounds {
			value = value.Mul(v).Add(v.Float(0.5 - float64(i))).Mul(v.Float(0.25))
		}
		k.out(o, a[:2], value)
		source := cases.add(t, k, "split a0 8 exact; split a1 32 exact; tile a0.1; vector a1.1; order a0.0 a1.0 a0.1 a1.1")
		if n := strings.Count(source, "(rint_f32"); rounds == 1 {
			require.Equal(t, 16, n, source)
		} else {
			require.LessOrEqual(t, n, 2, source)
		}
	}
	check(t, "behind short sums", cases.jobs, cases.want, 1e-5)
}
