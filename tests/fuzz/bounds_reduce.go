package fuzz

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// reduce collects what goes to each element, and merges it at once: how a device groups it is not known.
func (e *evaluator) reduce(u *uop.UOp) []area {
	arg := u.Arg().(uop.ReduceArg)
	in := u.At(0).Shape()
	if e.spent += in.Numel() * arg.Parts; e.spent > e.limit {
		panic(tooMuch{})
	}
	out := make([]area, arg.Parts)
	srcs := make([]area, arg.Parts, arg.Parts+1)
	for i, s := range u.Src() {
		srcs[i], out[i] = e.src(u, i), newArea(u.Shape())
		if len(s.Shape()) == 0 {
			srcs[i].strides = make([]int, len(in))
		}
	}
	dst := area{strides: make([]int, len(in))}
	axes, k := arg.Axes.Slice(), 0
	for i := range in {
		if !slices.Contains(axes, i) {
			dst.strides[i] = out[0].strides[k]
			k++
		}
	}
	items := make([][]bound, u.Shape().Numel())
	places := make([][]bound, len(items)) // of ArgMax
	walk(in, append(srcs, dst), func(at []int) {
		p := at[len(at)-1]
		items[p] = append(items[p], srcs[0].data[at[0]])
		if arg.Parts > 1 {
			places[p] = append(places[p], srcs[1].data[at[1]])
		}
	})
	d := u.DType()
	if arg.Monoid == uop.Sum && d.IsFloat() {
		e.sum(u, items, out[0].data)
		return out
	}
	for p := range items {
		if arg.Monoid == uop.ArgMax {
			out[0].data[p], out[1].data[p] = best(d, u.At(1).DType(), items[p], places[p])
			continue
		}
		out[0].data[p] = merge(arg.Monoid, d, items[p])
	}
	return out
}

// merge is a reduction of items in any order.
func merge(m uop.Monoid, d dtype.DType, items []bound) bound {
	if len(items) == 0 {
		v := m.Info().Identity(d, 0)
		if d.IsFloat() {
			return number(v.Float())
		}
		return point(v)
	}
	if len(items) == 1 {
		if d.IsFloat() && items[0].fixed() && items[0].flo() == 0 {
			return zeros
		}
		return items[0]
	}
	if m == uop.Last {
		return items[len(items)-1]
	}
	if d.IsFloat() {
		switch m {
		case uop.Sum:
			return sumOf(d, items, termsIn(items))
		case uop.Prod:
			return productOf(d, items)
		}
	}
	op, ok := map[uop.Monoid]uop.Op{uop.Sum: uop.Add, uop.Prod: uop.Mul, uop.MaxOf: uop.Max}[m]
	if !ok {
		panic(fmt.Sprintf("BUG: no bounds for a reduction by %v", m))
	}
	f := func(x [3]bound) bound { return maximum(x[0], x[1]) }
	if !d.IsFloat() {
		f = intMeaning(op, d, 2)
	}
	acc := items[0]
	for _, x := range items[1:] {
		acc = f([3]bound{acc, x})
	}
	return acc
}

// grain is the exponent of the last bit of x that is set.
func grain(x float64) int {
	frac, exp := math.Frexp(x)
	m := uint64(math.Abs(frac) * (1 << 53))
	return exp - 53 + bits.TrailingZeros64(m)
}

// terms are what a sum adds up, where its items are sums themselves that the compiler makes one with it: how many there are, at
// most, in all for one element, the sum of their magnitudes, at most, and the exponent of the last bit of all of them.
type terms struct {
	n     int
	most  float64
	least int
}

// termsOf finds those of an item of u.
func (e *evaluator) termsOf(u *uop.UOp) terms {
	for u.Op().IsMovement() || u.Op() == uop.Detach {
		u = u.At(0)
	}
	if t, ok := e.sums[u]; ok {
		return t
	}
	if u.Op() == uop.Add {
		a, b := e.operand(u, 0), e.operand(u, 1)
		return terms{a.n + b.n, a.most + b.most, min(a.least, b.least)}
	}
	return terms{1, 0, math.MaxInt}
}

// operand are the terms of an operand of an addition, and all of its elements.
func (e *evaluator) operand(u *uop.UOp, i int) terms {
	x := u.At(i)
	for x.Op() == uop.Neg {
		x = x.At(0)
	}
	t := e.termsOf(x)
	for _, b := range e.src(u, i).data {
		one := termsIn([]bound{b})
		if !math.IsInf(one.most, 0) {
			t.most = max(t.most, one.most)
		}
		t.least = min(t.least, one.least)
	}
	return t
}

// termsIn are those of a sum of these items alone.
func termsIn(items []bound) terms {
	t := terms{len(items), 0, math.MaxInt}
	for _, x := range items {
		t.most += max(math.Abs(x.flo()), math.Abs(x.fhi()))
		if x.fixed() && x.flo() != 0 && !math.IsInf(x.flo(), 0) {
			t.least = min(t.least, grain(x.flo()))
		}
	}
	return t
}

// sum computes the elements of a sum u of items.
func (e *evaluator) sum(u *uop.UOp, items [][]bound, out []bound) {
	d, of := u.DType(), e.termsOf(u.At(0))
	all := terms{0, 0, of.least}
	for p, list := range items {
		t := termsIn(list)
		t = terms{t.n * of.n, max(t.most, float64(t.n)*of.most), min(t.least, of.least)}
		if len(list) < 2 {
			out[p] = merge(uop.Sum, d, list)
		} else {
			out[p] = sumOf(d, list, t)
		}
		all.n, all.least = max(all.n, t.n), min(all.least, t.least)
		if !math.IsInf(t.most, 0) { // what adds up one that is infinite sees that
			all.most = max(all.most, t.most)
		}
	}
	e.sums[u] = all
}

// sumOf knows that sums of numbers on a common grid, with room for all of them, are exact in any order.
func sumOf(d dtype.DType, items []bound, of terms) bound {
	var lo, hi float64
	nan, plus, minus, exact, zero := false, false, false, true, true
	for _, x := range items {
		if x.never() {
			return onlyNaN
		}
		nan = nan || x.nan
		plus, minus = plus || x.fhi() == inf, minus || x.flo() == -inf
		lo, hi = sum(lo, x.flo(), -inf), sum(hi, x.fhi(), inf)
		exact = exact && x.fixed() && !math.IsInf(x.flo(), 0)
		zero = zero && x.flo() == 0
	}
	nan = nan || plus && minus
	normal, frac, top := format(d)
	if exact {
		if zero {
			return zeros
		}
		if of.most <= math.Ldexp(1, of.least+frac+1) && of.least >= normal && of.most < top {
			if lo == 0 {
				return zeros
			}
			return number(lo)
		}
	}
	if of.most > top*0.9 { // partial sums may overflow
		return floats(-inf, inf, true)
	}
	err := float64(of.n) * math.Ldexp(1, -frac) * of.most
	return widen(d, lo, hi, nan, slack, err)
}

// productOf knows that products are exact where the odd parts leave room for all of them.
func productOf(d dtype.DType, items []bound) bound {
	lo, hi := 1.0, 1.0
	nan, exact, odd := false, true, 1.0
	large, small := 1.0, 1.0 // what parts of the product may reach
	tiny := false            // some part may be less than a normal number, or nothing in its place
	normal, frac, top := format(d)
	for _, x := range items {
		if x.never() {
			return onlyNaN
		}
		l, h, n := product(floats(lo, hi, false), x)
		lo, hi, nan = l, h, nan || n || x.nan
		a := max(math.Abs(x.flo()), math.Abs(x.fhi()))
		large *= max(1, a)
		if tiny = tiny || x.hasZero() && a > 0; !x.hasZero() {
			small *= min(1, math.Abs(x.flo()), math.Abs(x.fhi()))
		}
		exact = exact && x.fixed() && !math.IsInf(x.flo(), 0)
		if exact && x.flo() != 0 {
			odd *= math.Abs(math.Ldexp(x.flo(), -grain(x.flo())))
		}
	}
	switch {
	case large > top*0.9:
		return anyNum
	case small < math.Ldexp(1, normal+2) && !exact:
		return anyNum
	case exact && small >= math.Ldexp(1, normal) && odd <= math.Ldexp(1, frac+1):
		if lo == 0 {
			return zeros
		}
		return number(lo)
	}
	n := float64(len(items))
	if small < math.Ldexp(1, normal+2) {
		return anyNum
	}
	lost := 0.0
	if tiny {
		lost = math.Ldexp(large, normal)
	}
	return widen(d, lo, hi, nan, 2*n+slack, lost)
}

// best is the largest item and where it may lie.
func best(d, id dtype.DType, items, places []bound) (v, at bound) {
	if len(items) == 0 {
		return merge(uop.MaxOf, d, nil), point(uop.ArgMax.Info().Identity(id, 1))
	}
	v = merge(uop.MaxOf, d, items)
	at = bound{}
	found, same := false, true
	for i, x := range items {
		if !mayWin(d, x, items) {
			continue
		}
		same = same && (d.IsFloat() && (x.fixed() || x.never()) || !d.IsFloat() && x.lo == x.hi)
		if !found {
			at, found = places[i], true
			continue
		}
		at = hull(id, at, places[i])
	}
	if same { // of equal ones the first
		at.hi = at.lo
	}
	return v, at
}

// mayWin says that no other item is surely larger.
func mayWin(d dtype.DType, x bound, items []bound) bool {
	for _, y := range items {
		switch {
		case !d.IsFloat():
			if less(d, x.hi, y.lo) {
				return false
			}
		case x.nan:
		case y.never(), x.fhi() < y.flo():
			return false
		}
	}
	return true
}

// gather hulls over the places that an index may name.
func (e *evaluator) gather(u *uop.UOp) area {
	x, idx := e.src(u, 0), e.src(u, 1).dense(u.Shape())
	d, id := u.DType(), u.At(1).DType()
	axis := u.Arg().(uop.AxisArg).Axis
	n := u.At(0).Shape()[axis]
	out := newArea(u.Shape())
	index := make([]int, len(u.Shape()))
	for o, b := range idx.data {
		unravel(index, o, u.Shape())
		index[axis] = 0
		p := x.offset
		for i, k := range index {
			p += k * x.strides[i]
		}
		first, last, outside := window(id, b, n)
		var r bound
		have := false
		if outside {
			r, have = bound{}, true // 0
		}
		for k := first; k <= last; k++ {
			v := x.data[p+k*x.strides[axis]]
			if have {
				v = hull(d, r, v)
			}
			r, have = v, true
		}
		out.data[o] = r
	}
	return out
}

// window is which of n places an index may name, and whether it may name none.
func window(d dtype.DType, b bound, n int) (first, last int, outside bool) {
	if d == dtype.U64 && b.hi > math.MaxInt64 {
		if b.lo > math.MaxInt64 {
			return 0, -1, true
		}
		return int(min(b.lo, uop.Value(n))), n - 1, true
	}
	lo, hi := b.lo.Int(), b.hi.Int()
	return int(min(max(lo, 0), int64(n))), int(max(min(hi, int64(n-1)), -1)), lo < 0 || hi >= int64(n)
}

// scatter merges the base with what goes to each element; where an index is not known, what it may reach is unknown.
func (e *evaluator) scatter(u *uop.UOp) area {
	arg := u.Arg().(uop.ScatterArg)
	shape, from, d := u.Shape(), u.At(1).Shape(), u.DType()
	idx, v := e.src(u, 1).dense(from), e.src(u, 2).dense(from)
	base := e.src(u, 0).dense(shape)
	out := newArea(shape)
	items := map[int][]bound{}
	lost := map[int]bool{}
	index := make([]int, len(shape))
	for o, b := range idx.data {
		unravel(index, o, from)
		index[arg.Axis] = 0
		p := 0
		for i, k := range index {
			p += k * out.strides[i]
		}
		first, last, outside := window(u.At(1).DType(), b, shape[arg.Axis])
		for k := first; k <= last; k++ {
			at := p + k*out.strides[arg.Axis]
			if first != last || outside {
				lost[at] = true
			}
			items[at] = append(items[at], v.data[o])
		}
	}
	copy(out.data, base.data)
	for at, list := range items {
		out.data[at] = merge(arg.Monoid, d, append([]bound{base.data[at]}, list...))
		if lost[at] {
			out.data[at] = unknown(d)
		}
	}
	return out
}
