package fuzz

import (
	"github.com/weft-ml/weft/dtype"
)

func (g *generator) fftNorm() Arg { return Arg{Kind: Enum, N: g.N(3), S: "FFTNorm"} }

// complexOf is a complex array: x where it is one, else x beside another.
func (g *generator) complexOf(x int) (int, bool) {
	if g.rank(x) > 1 && g.dim(x, -1) == 2 {
		return x, true
	}
	if g.rank(x) > 3 {
		return 0, false
	}
	if !g.add(Op{Name: "Complex", Args: []Arg{vals(x, g.same(x))}}) {
		return 0, false
	}
	return len(g.prog.Ops) - 1, true
}

// length is what a transform cuts or fills an axis to, −1 for what it has.
func (g *generator) transformed(n int) int {
	return pick(g.Rand, -1, -1, -1, n, n+1, max(1, n-1), 1, 2)
}

var signals = []maker{
	floating(full(func(g *generator, x int) (Op, bool) {
		z, ok := g.complexOf(x)
		if !ok {
			return none, false
		}
		a := g.N(g.rank(z) - 1)
		return on(pick(g.Rand, "FFT", "IFFT", "IRFFT", "HFFT"), z, num(g.transformed(g.dim(z, a))), num(a), g.fftNorm())
	})),
	floating(full(func(g *generator, x int) (Op, bool) {
		a := g.axis(x)
		return on(pick(g.Rand, "RFFT", "IHFFT"), x, num(g.transformed(g.dim(x, a))), num(a), g.fftNorm())
	})),
	floating(full(func(g *generator, x int) (Op, bool) {
		z, ok := g.complexOf(x)
		if !ok {
			return none, false
		}
		var sizes, axes []int
		for _, a := range g.Perm(g.rank(z) - 1)[:g.In(1, min(2, g.rank(z)-1))] {
			sizes, axes = append(sizes, g.In(1, 5)), append(axes, a)
		}
		if g.One(2) {
			sizes = nil
		}
		return on(pick(g.Rand, "FFTN", "IFFTN", "IRFFTN"), z, slice(sizes...), slice(axes...), g.fftNorm())
	})),
	floating(full(func(g *generator, x int) (Op, bool) {
		return on("RFFTN", x, slice(), slice(g.someAxes(x)...), g.fftNorm())
	})),
	floating(func(g *generator, x int) (Op, bool) { // longer than one matrix makes
		if !g.One(6) {
			return none, false
		}
		return on(pick(g.Rand, "RFFT", "IHFFT"), g.of(x, []int{pick(g.Rand, 65, 66, 67, 72, 100, 128, 130)}), num(-1), num(0), g.fftNorm())
	}),
	floating(full(func(g *generator, x int) (Op, bool) {
		n, two, centred := g.In(2, 6), g.N(2), g.N(2)
		o := Arg{Kind: FramesA, List: []int{g.In(1, n), 1 - centred, 1, g.N(2), two, g.N(2) * g.In(1, 20)}}
		if g.One(2) {
			rows, windows := []int{}, g.In(2, 4)
			if g.One(2) {
				rows = append(rows, g.In(1, 3))
			}
			bins := n/2 + 1
			if two != 0 {
				bins = n
			}
			return on("ISTFT", g.of(x, append(rows, bins, windows, 2)), num(n), o)
		}
		if g.rank(x) > 2 || g.dim(x, g.rank(x)-1) < n {
			return none, false
		}
		return on("STFT", x, num(n), o)
	})),
	func(g *generator, x int) (Op, bool) {
		if g.rank(x) > 3 {
			return none, false
		}
		return Op{Name: "Complex", Args: []Arg{vals(x, g.same(x))}}, true
	},
	func(g *generator, x int) (Op, bool) {
		d := typ(pick(g.Rand, dtype.F32, dtype.F32, dtype.F64, dtype.F16))
		n := num(g.N(10))
		switch g.N(4) {
		case 3:
			return Op{Name: "KaiserWindow", Args: []Arg{n, boolean(g.One(2)), flt(pick(g.Rand, 0., 5, 12)), d}}, true
		case 0:
			return Op{Name: pick(g.Rand, "FFTFreq", "RFFTFreq"), Args: []Arg{num(g.In(1, 9)), flt(pick(g.Rand, 1, 0.5, 0.1)), d}}, true
		case 1:
			return Op{Name: "HammingWindow", Args: []Arg{n, boolean(g.One(2)), flt(0.54), flt(0.46), d}}, true
		}
		return Op{Name: pick(g.Rand, "BartlettWindow", "BlackmanWindow", "HannWindow"), Args: []Arg{n, boolean(g.One(2)), d}}, true
	},
	full(func(g *generator, x int) (Op, bool) {
		return on("Trapezoid", x, flt(0.5), num(g.axis(x)))
	}),
	full(func(g *generator, x int) (Op, bool) {
		a := g.axis(x)
		at := g.leaf(&Leaf{Type: g.kind(x), Shape: []int{g.dim(x, a)}, Fill: Rising})
		if g.One(3) {
			at = g.same(x)
		}
		return on(pick(g.Rand, "TrapezoidAt", "CumulativeTrapezoidAt"), x, val(at), num(a))
	}),
}
