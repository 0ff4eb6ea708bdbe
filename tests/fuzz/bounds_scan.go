package fuzz

import (
	"math"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// scan merges what lies before each element, at once: how a device groups it is not known.
func (e *evaluator) scan(u *uop.UOp) []area {
	arg := u.Arg().(uop.ScanArg)
	shape := u.Shape()
	n := shape[arg.Axis]
	if e.spent += shape.Numel() * (n + arg.Parts); e.spent > e.limit {
		panic(tooMuch{})
	}
	out, areas := make([]area, arg.Parts), make([]area, 2*arg.Parts) // areas: sources, then results
	for i, s := range u.Src() {
		out[i] = newArea(shape)
		areas[i], areas[arg.Parts+i] = e.src(u, i), out[i]
		if len(s.Shape()) == 0 {
			areas[i].strides = make([]int, len(shape))
		}
	}
	rows := slices.Clone(shape)
	rows[arg.Axis] = 1
	walk(rows, areas, func(at []int) {
		place := func(i, j int) *bound { return &areas[i].data[at[i]+j*areas[i].strides[arg.Axis]] }
		items := make([][]bound, arg.Parts)
		for j := range n {
			for i := range items {
				items[i] = append(items[i], *place(i, j))
			}
			switch {
			case arg.Parts == 1:
				*place(1, j) = merge(arg.Monoid, u.DType(), items[0])
			case arg.Monoid == uop.Linear && u.DType().IsFloat():
				*place(2, j), *place(3, j) = linearOf(u.DType(), items[0], items[1])
			default:
				for i, s := range u.Src() {
					*place(arg.Parts+i, j) = unknown(s.DType())
				}
			}
		}
	})
	return out
}

// linearOf merges the functions y ↦ a·y + b, the later after the earlier, grouped in any way.
func linearOf(d dtype.DType, as, bs []bound) (a, b bound) {
	lo, hi := 0.0, 0.0
	most, factors, terms := 0.0, 1.0, 0.0 // what the result, any product of factors, and the sum of all terms may reach
	for i, x := range as {
		f, t := greatestOf(x), greatestOf(bs[i])
		l, h, nan := product(floats(lo, hi, false), x)
		if nan || x.nan || bs[i].nan || math.IsInf(f+t, 0) {
			return anyNum, anyNum
		}
		lo, hi = l+bs[i].flo(), h+bs[i].fhi()
		most, factors, terms = most*f+t, factors*max(1, f), terms+t
	}
	least, frac, top := format(d)
	if factors*max(1, terms) > top*0.9 { // parts may overflow
		return anyNum, anyNum
	}
	a = merge(uop.Prod, d, as)
	if len(as) == 1 {
		return a, widen(d, lo, hi, false, 0, 0)
	}
	steps := 2 * float64(len(as))
	return a, widen(d, lo, hi, false, slack, steps*(math.Ldexp(most, -frac)+math.Ldexp(factors*max(1, terms), least)))
}

func greatestOf(x bound) float64 { return max(math.Abs(x.flo()), math.Abs(x.fhi())) }
