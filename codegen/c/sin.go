package c

import (
	"fmt"
	"math"

	"github.com/weft-ml/weft/codegen/legal"
	"github.com/weft-ml/weft/dtype"
)

// sine writes what package codegen composes of sin, bit by bit, in a type and the integers of its width.
type sine struct {
	legal.SinTerms
	t, u   string // the type and its bits
	fma    string
	bits   string                 // of a number
	number func(f float64) string // a constant
}

// sin is the name of a function of vectors. Where all lanes are below the limit, multiples of π/2 are taken off in parts; elsewhere
// each lane is computed by itself.
func (r *renderer) sin(d dtype.DType) string {
	e := elem(d)
	splat, i := r.helper("sp", e), "i"+e[1:]
	s := &sine{SinTerms: legal.SinTermsOf(d), t: r.vtype(e), u: r.vtype("u" + e[1:]), fma: r.helper("fma", e), bits: "(" + r.vtype("u"+e[1:]) + ")",
		number: func(f float64) string { return splat + "(" + floatConst(d, f) + ")" }}
	name := "sin_" + s.t
	lanes := each(r.n, numbered(r.sinOfOne(d)+"(x[%d])"))
	r.define(name, fmt.Sprintf(`static __attribute__((noinline, cold)) %[1]s %[2]s_far(%[1]s x) { return (%[1]s){%[3]s}; }
static inline %[1]s %[2]s(%[1]s x) {
	%[4]s b = (%[4]s)x << 1 >> 1, q;
	%[1]s a = (%[1]s)b, r;
	if (__builtin_expect(!%[5]s((%[6]s)(a < %[7]s)), 0)) return %[2]s_far(x);
%[8]s%[9]s	%[4]s odd = -(q & 1);
	return (%[1]s)((((%[4]s)cosine & odd) | ((%[4]s)sine & ~odd)) ^ (%[4]s)x ^ b ^ ((q & 2) << %[10]d));
}
`, s.t, name, lanes, s.u, r.helper("all", i), r.vtype(i), s.number(s.Limit), s.near(), s.polynomials(), 8*d.Size()-2))
	return name
}

// sinOfOne is the name of the function of a number.
func (r *renderer) sinOfOne(d dtype.DType) string {
	e := elem(d)
	u := "u" + e[1:]
	s := &sine{SinTerms: legal.SinTermsOf(d), t: byElem[e], u: byElem[u], fma: "weft_fma_" + e, bits: "bits_" + e + "_" + u,
		number: func(f float64) string { return floatConst(d, f) }}
	name, back := "sin_"+e, "bits_"+u+"_"+e
	r.define(name, s.far(name+"_far", d)+fmt.Sprintf(`static inline %[1]s %[2]s(%[1]s x) {
	%[3]s w = %[4]s(x), b = w << 1 >> 1, q;
	%[1]s a = %[5]s(b), r;
	if (a < %[6]s) {
%[7]s	} else if (a < %[8]s) {
		r = %[2]s_far(b, &q);
	} else {
		return %[9]s;
	}
%[10]s	return %[5]s(%[4]s(q & 1 ? cosine : sine) ^ w ^ b ^ ((q & 2) << %[11]d));
}
`, s.t, name, s.u, s.bits, back, s.number(s.Limit), s.near(), floatConst(d, math.Inf(1)), floatConst(d, math.NaN()), s.polynomials(), 8*d.Size()-2))
	return name
}

// near takes q quarters of a turn off a, of which r is left.
func (s *sine) near() string {
	shifter, r := s.number(s.Shifter), "a"
	for _, p := range s.Parts {
		r = fmt.Sprintf("%s(n, %s, %s)", s.fma, s.number(-p), r)
	}
	return fmt.Sprintf("\t%[1]s s = %[2]s(a, %[3]s, %[4]s), n = s - %[4]s;\n\tq = %[5]s(s);\n\tr = %[6]s;\n", s.t, s.fma, s.number(s.Quarters), shifter, s.bits, r)
}

// polynomials are sine and cosine of r.
func (s *sine) polynomials() string {
	horner := func(c []float64) string {
		p := s.number(c[len(c)-1])
		for i := len(c) - 2; i >= 0; i-- {
			p = fmt.Sprintf("%s(%s, z, %s)", s.fma, p, s.number(c[i]))
		}
		return p
	}
	return fmt.Sprintf("\t%[1]s z = r * r, sine = %[2]s(%[3]s * z, r, r), cosine = %[4]s;\n",
		s.t, s.fma, horner(s.Sine), horner(append([]float64{1, -0.5}, s.Cosine...)))
}

// far is the exact reduction of the bits b of a large number: three words of 2/π times the fraction.
func (s *sine) far(name string, d dtype.DType) string {
	word, suffix := 8*d.Size(), ""
	if word == 64 {
		suffix = "ULL"
	}
	frac, bias := 23, 127
	if word == 64 {
		frac, bias = 52, 1023
	}
	words := each(len(s.Window), func(i int) string { return fmt.Sprintf("%#x%s", s.Window[i], suffix) })
	return fmt.Sprintf(`static %[1]s %[2]s_high(%[1]s a, %[1]s b) {
	const %[1]s mask = (%[1]s)-1 >> %[3]d;
	%[1]s low = (a & mask) * (b & mask), one = (a & mask) * (b >> %[3]d), two = (a >> %[3]d) * (b & mask);
	%[1]s mid = (low >> %[3]d) + (one & mask) + (two & mask);
	return (a >> %[3]d) * (b >> %[3]d) + (one >> %[3]d) + (two >> %[3]d) + (mid >> %[3]d);
}
static __attribute__((noinline, cold)) %[4]s %[2]s(%[1]s b, %[1]s *q) {
	static const %[1]s words[] = {%[5]s};
	%[1]s m = (b & ((%[1]s)1 << %[6]d) - 1) | (%[1]s)1 << %[6]d, offset = (b >> %[6]d) - %[7]d, shift = offset %% %[8]d, w[3];
	for (int i = 0; i < 3; i++)
		w[i] = (words[offset / %[8]d + i] << shift) | (words[offset / %[8]d + i + 1] >> 1 >> (shift ^ %[9]d));
	%[1]s mid = m * w[1] + %[2]s_high(m, w[2]), top = m * w[0] + %[2]s_high(m, w[1]) + (mid < m * w[1]);
	*q = ((top >> %[10]d) + 1) >> 1;
	%[4]s fraction = (%[4]s)(%[11]s)((top << 2) | (mid >> %[12]d)), behind = (%[4]s)(%[11]s)(mid << 2 >> 1);
	return %[13]s(behind, %[14]s, fraction) * %[15]s;
}
`, s.u, name, word/2, s.t, words, frac, bias-1, word, word-1, word-3, byElem[fmt.Sprintf("i%d", word)], word-2,
		s.fma, s.number(math.Ldexp(1, 1-word)), s.number(math.Ldexp(math.Pi/2, -word)))
}
