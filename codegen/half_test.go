package codegen_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/codegen/model"
	"github.com/weft-ml/weft/codegen/wgsl"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/uop"
)

// halves are all numbers of 16 bits.
func halves() array {
	out := make(array, 1<<16)
	for i := range out {
		out[i] = uop.FromBits(dtype.F16, uint64(i))
	}
	return out
}

// hardToRound are floats at, half-way between and just beside numbers of 16 bits, and beyond them all.
func hardToRound() (out array) {
	add := func(bits ...uint32) {
		for _, b := range bits {
			out = append(out, uop.FromBits(dtype.F32, uint64(b)), uop.FromBits(dtype.F32, uint64(b|1<<31)))
		}
	}
	all := halves()
	for i := range 0x7c00 {
		x, y := all[i].Float(), all[i+1].Float()
		if i == 0x7bff {
			y = 0x1p16
		}
		middle := math.Float32bits(float32((x + y) / 2))
		add(math.Float32bits(float32(x)), middle-1, middle, middle+1)
	}
	for _, f := range []float32{0x1p16, 1e5, math.MaxFloat32, float32(math.Inf(1)), float32(math.NaN()), 0x1p-26, 0x1p-126} {
		add(math.Float32bits(f))
	}
	return append(out, uop.FromBits(dtype.F32, 0x7fffffff), uop.FromBits(dtype.F32, 0x7f800001))
}

// Numbers of 16 bits are read and rounded to the bit, in the memory of every kind of adapter: denormal ones, ties, overflow
// and infinities included. Single elements of a word keep their neighbours.
func TestHalves(t *testing.T) {
	dev := openAdapter(t)
	convert := func(from, to dtype.DType, n int) *kit {
		k := newKit()
		o, x := k.param(to, true, n), k.param(from, false, n)
		a := k.rngs(n)
		k.out(o, a, k.load(x, a...).Cast(to))
		return k
	}
	bits := func(from, to dtype.DType, n int) *kit {
		k := newKit()
		o, x := k.param(to, true, n), k.param(from, false, n)
		a := k.rngs(n)
		k.out(o, a, k.load(x, a...).Bitcast(to))
		return k
	}
	words := make(array, 1<<16)
	for i := range words {
		words[i] = uop.Value(i)
	}
	hard := hardToRound()
	odd := slices.Concat(hard, hard[:1]) // the last word has one element
	for _, c := range []struct {
		name string
		k    *kit
		in   array
	}{
		{"read", convert(dtype.F16, dtype.F32, 1<<16), halves()},
		{"rounded", convert(dtype.F32, dtype.F16, len(hard)), hard},
		{"odd number of them", convert(dtype.F32, dtype.F16, len(odd)), odd},
		{"from bits", bits(dtype.U16, dtype.F16, 1<<16), words},
		{"to bits", bits(dtype.F16, dtype.U16, 1<<16), halves()},
	} {
		out := c.k.s.Params[0].DType
		data := []array{make(array, len(c.in)), c.in}
		want := clone(data)
		define(t, c.k.s, want)
		for _, f := range []plan.Features{0, plan.Half} {
			t.Run(fmt.Sprintf("%s, features %v", c.name, f), func(t *testing.T) {
				got, b := dev.play(t, data, c.k.s, true, f)
				assert.Equal(t, f != 0, b.needs().Has(plan.Half))
				for i := range got {
					if out == dtype.F32 && want[0][i].Float() != want[0][i].Float() {
						assert.True(t, got[i].Float() != got[i].Float())
						continue
					}
					g, w := uop.ToBits(out, got[i]), uop.ToBits(out, want[0][i])
					if w&0x7fff > 0x7c00 && out != dtype.F32 { // of NaN the sign and all bits below the first
						g, w = g|0x200, w|0x200
					}
					require.Equal(t, w, g, "element %d, of %#x\n%s", i, uop.ToBits(c.k.s.Params[1].DType, c.in[i]), b.k.Source)
				}
			})
		}
	}
}

// With 16-bit floats in memory by themselves, an array of them is written by as many invocations as one of 32 bits.
func TestHalvesHaveNoWords(t *testing.T) {
	for f, want := range map[plan.Features]int32{0: 512, plan.Half: 1024} {
		k := newKit()
		o, x := k.param(dtype.F16, true, 1024), k.param(dtype.F16, false, 1024)
		a := k.rngs(1024)
		k.out(o, a, k.load(x, a...).Add(k.load(x, a...)))
		target := wgsl.Target(wgsl.Machine{Features: f})
		p, err := lower.Lower(k.s, model.Choose(k.s, target), target)
		require.NoError(t, err)
		r, err := wgsl.Render(p)
		require.NoError(t, err)
		assert.Equal(t, want, r.Threads, r.Spelled().Source)
		assert.Equal(t, f, r.Needs)
	}
}

// BenchmarkHalves multiplies matrices of 512 by 512 where 16-bit floats lie in words, and where they lie by themselves.
func BenchmarkHalves(b *testing.B) {
	dev, target := gridDevice(b)
	k := newKit()
	o, x, y := k.param(dtype.F16, true, 512, 512), k.param(dtype.F16, false, 512, 512), k.param(dtype.F16, false, 512, 512)
	a := k.rngs(512, 512, 512)
	p := k.load(x, a[0], a[2]).Cast(dtype.F32).Mul(k.load(y, a[2], a[1]).Cast(dtype.F32))
	k.out(o, a[:2], k.sum(p, a[2]).Cast(dtype.F16))
	data := [][]byte{make([]byte, 2<<18), make([]byte, 2<<18), make([]byte, 2<<18)}
	for _, f := range []plan.Features{0, plan.Half} {
		b.Run("features "+f.String(), func(b *testing.B) {
			as := *target
			as.Features = f
			run := prepareGrid(b, dev, &as, k.s, data)
			for b.Loop() {
				run.play(b)
			}
		})
	}
}
