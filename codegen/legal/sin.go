package legal

import (
	"math"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// The bits of 2/π after the binary point, 64 to a word: enough for every finite F64.
var twoOverPi = [...]uint64{
	0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
	0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4,
	0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
	0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab, 0xf0cfbc209af4361d,
}

// Minimax polynomials for |r| ≤ π/4: sin r = r + r·z·S(z), cos r = 1 − z/2 + z²·C(z), z = r²; no
// product is as small as r³ or r⁴, which may be no normal number.
var (
	sinF32 = []float64{-0.166666659001, 0.00833268789324, -0.000195724754122}
	cosF32 = []float64{0.0416666456189, -0.00138873130663, 2.4432785406e-5}
	sinF64 = []float64{-0.16666666666666666666, 0.0083333333333333291608, -0.00019841269841260845149,
		2.7557319216688379801e-6, -2.5052105471438799593e-8, 1.6058429408305636072e-10, -7.5814841992719796214e-13}
	cosF64 = []float64{0.041666666666666666609, -0.0013888888888888872897, 0.000024801587301570467351,
		-2.755731921496341414e-7, 2.087675427890056668e-9, -1.1470283915070737505e-11, 4.7377088759280323658e-14}
)

// SinTerms are what sin is composed of in a float type, for languages that spell it themselves.
type SinTerms struct {
	Limit        float64    // of |x|: below it the parts suffice
	Quarters     float64    // of a turn in 1: 2/π
	Shifter      float64    // a sum with it is rounded to integers, which are its low bits
	Parts        [3]float64 // of π/2, each as long as the type
	Sine, Cosine []float64
	Window       []uint64 // the words of the string of zeros and 2/π, of which three from a bit on are multiplied
}

// SinTermsOf gives those of F32 or F64. The number of quarters is exact in a product with 2/π and in the type, and what is left
// after the first part is exact too.
func SinTermsOf(d dtype.DType) SinTerms {
	const rest = 6.123233995736766e-17 // of π/2 behind a float64
	y := layoutOf(d)
	s := SinTerms{Quarters: 2 / math.Pi, Shifter: 1.5 * math.Ldexp(1, y.frac), Window: windowWords(y)}
	if d == dtype.F64 {
		s.Limit, s.Parts, s.Sine, s.Cosine = 1<<40, [3]float64{math.Pi / 2, rest, -1.4973849048591833e-33}, sinF64, cosF64
		return s
	}
	first := float64(float32(math.Pi / 2))
	second := float64(float32(math.Pi/2 - first))
	s.Limit, s.Parts, s.Sine, s.Cosine = 1<<16, [3]float64{first, second, math.Pi/2 - first - second + rest}, sinF32, cosF32
	return s
}

// sin reduces every finite argument to within π/4 of a multiple of π/2 and evaluates both polynomials. Multiples of π/2 are taken off in three
// parts (after Cody and Waite) where these suffice and the target has multiply-adds; else the reduction is exact, in integers of x's own
// width (after Payne and Hanek).
func (l *Legalizer) sin(x *uop.UOp) *uop.UOp {
	d := x.DType()
	y, terms := layoutOf(d), SinTermsOf(d)
	ax := magnitude(x)
	b := ax.Bitcast(y.u)
	q, r := reduceQuadrant(b, y, d)
	small, nearQ, nearR := ax.Less(x.Float(math.Pi/4)), b.Int(0), ax
	if l.target.Fuses(d) && !l.target.Grid {
		small = ax.Less(x.Float(terms.Limit))
		nearQ, nearR = lessQuadrants(ax, y, terms)
	}
	r, q = small.Where(nearR, r), small.Where(nearQ, q)

	z := r.Mul(r)
	sine := polynomial(z, terms.Sine).Mul(z).MulAdd(r, r)
	cosine := polynomial(z, append([]float64{1, -0.5}, terms.Cosine...))
	even := q.And(q.Int(1)).Equal(q.Int(0))
	sign := x.Bitcast(y.u).Xor(b).Xor(q.And(q.Int(2)).Shl(q.Int(y.word - 2)))
	v := even.Where(sine, cosine).Bitcast(y.u).Xor(sign).Bitcast(d)
	return ax.Less(x.Float(math.Inf(1))).Where(v, x.Float(math.NaN()))
}

// lessQuadrants is reduceQuadrant of an x below the limit.
func lessQuadrants(x *uop.UOp, y layout, t SinTerms) (q, r *uop.UOp) {
	q = x.MulAdd(x.Float(t.Quarters), x.Float(t.Shifter)).Bitcast(y.u)
	n := q.Bitcast(y.i)
	k := n.Add(n.Int(-bitsOf(x.DType(), t.Shifter))).Cast(x.DType())
	r = x
	for _, p := range t.Parts {
		r = k.MulAdd(x.Float(-p), r)
	}
	return q, r
}

// reduceQuadrant gives q mod 4 (in the low two bits) and r with x = q·π/2 + r, for the bits b of a finite x ≥ π/4.
//
// x is m·2^s with an integer m. Of 2/π only the bits that contribute to x·2/π between 2 and 2^-w matter,
// three words of them, beginning at bit s − 1: the product with m, modulo 4, is the answer.
func reduceQuadrant(b *uop.UOp, y layout, d dtype.DType) (q, r *uop.UOp) {
	n := func(i int) *uop.UOp { return b.Int(i) }
	exponent := b.Shr(n(y.frac))
	m := b.And(n(1<<y.frac - 1)).Or(n(1 << y.frac))
	offset := exponent.Add(n(1 - y.bias)) // of the first bit, in a string of frac + 3 zeros and 2/π
	w := window(offset, y)

	mid := m.Mul(w[1]).Add(mulHigh(m, w[2], y.word))
	carry := mid.Less(m.Mul(w[1])).Where(n(1), n(0))
	top := m.Mul(w[0]).Add(mulHigh(m, w[1], y.word)).Add(carry)

	q = top.Shr(n(y.word - 3)).Add(n(1)).Shr(n(1))
	// The fraction, in units of 2^-word, as a signed number in [−½, ½), and the word behind it.
	fraction := top.Shl(n(2)).Or(mid.Shr(n(y.word - 2))).Bitcast(y.i).Cast(d)
	behind := mid.Shl(n(2)).Shr(n(1)).Bitcast(y.i).Cast(d)
	f := behind.MulAdd(behind.Float(math.Ldexp(1, 1-y.word)), fraction)
	return q, f.Mul(f.Float(math.Ldexp(math.Pi/2, -y.word)))
}

// window gives the three words that begin at bit offset of the string: the word is chosen by a shifter of
// selections, then shifted by the bits that remain.
func window(offset *uop.UOp, y layout) [3]*uop.UOp {
	n := func(i int) *uop.UOp { return offset.Int(i) }
	logWord := 5
	steps := []int{4, 2, 1}
	if y.word == 64 {
		logWord, steps = 6, []int{16, 8, 4, 2, 1}
	}
	var words []*uop.UOp
	for _, w := range windowWords(y) {
		words = append(words, n(int(w)))
	}
	at := offset.Shr(n(logWord))
	need := steps[0] + 4
	for _, s := range steps {
		need = min(need, s+3)
		take := at.And(n(s)).Equal(n(0))
		next := make([]*uop.UOp, need)
		for i := range next {
			next[i] = words[i]
			if i+s < len(words) {
				next[i] = take.Where(words[i], words[i+s])
			}
		}
		words = next
	}
	shift := offset.And(n(y.word - 1))
	back := shift.Xor(n(y.word - 1))
	var w [3]*uop.UOp
	for i := range w {
		w[i] = words[i].Shl(shift).Or(words[i+1].Shr(n(1)).Shr(back))
	}
	return w
}

// windowWords are the words of the string: as many as a window of any finite number reaches.
func windowWords(y layout) []uint64 {
	words := make([]uint64, (y.bias+1)/y.word+4)
	for i := range words {
		words[i] = stringBits(i*y.word-(y.frac+3), y.word)
	}
	return words
}

// stringBits are count bits of 2/π from bit at on; before the binary point there are zeros.
func stringBits(at, count int) (v uint64) {
	for i := range count {
		v <<= 1
		if j := at + i; j >= 0 && j < 64*len(twoOverPi) {
			v |= twoOverPi[j/64] >> (63 - j%64) & 1
		}
	}
	return v
}

// mulHigh is the upper word of a product of two words, from four products of half words.
func mulHigh(a, b *uop.UOp, word int) *uop.UOp {
	h, mask := a.Int(word/2), a.Int(1<<(word/2)-1)
	al, ah, bl, bh := a.And(mask), a.Shr(h), b.And(mask), b.Shr(h)
	ll, lh, hl, hh := al.Mul(bl), al.Mul(bh), ah.Mul(bl), ah.Mul(bh)
	mid := ll.Shr(h).Add(lh.And(mask)).Add(hl.And(mask))
	return hh.Add(lh.Shr(h)).Add(hl.Shr(h)).Add(mid.Shr(h))
}
