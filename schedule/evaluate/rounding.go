package evaluate

import (
	"math"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// The reference sums in float64, a kernel in its own type and perhaps in another order. Everything else is the same op on the
// same bits, so differences begin at sums and products of numbers that are not exact, and this is how far they go: a bound for
// each node, of all its elements together. Where a node is not continuous in something that is not exact, nothing is known. Nor is
// it of the bits of a NaN, whose sign laws may change: −(x·c) is x·(−c). And a sum of one −0 is that, or 0 + −0, which shows
// where something is divided by it.

var unsure = math.Inf(1)

func ulp(d dtype.DType) float64 { return math.Ldexp(1, 1-d.Digits()) }

// errors is how far elements of root may be apart if those of known are the same.
func (w *filled) errors(known map[*uop.UOp]bool, root *uop.UOp) float64 {
	e := &rounding{w, map[*uop.UOp]float64{}}
	for _, u := range uop.Topo(root) {
		if u != root && known[u] {
			continue
		}
		e.of[u] = e.node(u)
	}
	return e.of[root]
}

type rounding struct {
	w  *filled
	of map[*uop.UOp]float64
}

// size is the largest and the smallest magnitude of a node's finite elements.
func (e *rounding) size(u *uop.UOp) (most, least float64) {
	least = math.Inf(1)
	for _, v := range e.w.values[u] {
		if x := math.Abs(v.Float()); finite(x) {
			most, least = max(most, x), min(least, x)
		}
	}
	return most, least
}

func (e *rounding) most(u *uop.UOp) float64 { m, _ := e.size(u); return m }

func (e *rounding) node(u *uop.UOp) float64 {
	src := u.Src()
	if u.Op() == uop.Detach {
		src = src[:1]
	}
	worst := 0.0
	for _, x := range src {
		worst = max(worst, e.of[x])
	}
	switch {
	case u.Op() == uop.Reduce:
		return e.merged(u, u.Arg().(uop.ReduceArg).Monoid, u.At(0).Shape().Numel()/max(1, u.Shape().Numel()), worst)
	case u.Op() == uop.Scan:
		a := u.Arg().(uop.ScanArg)
		if a.Step != nil {
			return unsure
		}
		return e.merged(u, a.Monoid, u.At(0).Shape()[a.Axis], worst)
	case u.Op() == uop.Scatter && u.DType().IsFloat():
		return e.scatter(u)
	case u.Op() == uop.Bitcast && (e.has(u.At(0), math.NaN()) || e.has(u.At(0), 0) && addsUp(u.At(0))):
		return unsure
	case u.Op() == uop.Div && e.has(u.At(1), 0) && addsUp(u.At(1)):
		return unsure
	case worst == 0:
		return 0
	case u.Op().IsMovement(), u.Op() == uop.Contiguous, u.Op() == uop.Detach, u.Op() == uop.Part:
		return worst
	case !u.DType().IsFloat(), math.IsInf(worst, 1):
		return unsure
	case u.Op() == uop.Gather:
		if e.of[u.At(1)] > 0 {
			return unsure
		}
		return worst
	}
	return e.elementwise(u, worst) + 2*ulp(u.DType())*e.most(u) // and its own rounding may go the other way
}

// elementwise is how far an op carries what its operands differ by.
func (e *rounding) elementwise(u *uop.UOp, worst float64) float64 {
	d := func(i int) float64 { return e.of[u.At(i)] }
	switch u.Op() {
	case uop.Neg, uop.Max, uop.Sin:
		return worst
	case uop.Cast:
		if u.At(0).DType().IsFloat() {
			return worst
		}
	case uop.Add:
		return d(0) + d(1)
	case uop.Mul:
		return d(0)*(e.most(u.At(1))+d(1)) + d(1)*e.most(u.At(0))
	case uop.MulAdd:
		return d(0)*(e.most(u.At(1))+d(1)) + d(1)*e.most(u.At(0)) + d(2)
	case uop.Where:
		if d(0) == 0 {
			return worst
		}
	case uop.Exp2:
		return (e.most(u) + 1e-30) * (math.Exp2(slack*worst) - 1)
	case uop.Sqrt, uop.Log2, uop.Div:
		x := u.At(len(u.Src()) - 1)
		_, least := e.size(x)
		if dx := e.of[x]; dx > 0 && least <= 8*dx { // it may be zero, or below
			return unsure
		} else if u.Op() == uop.Div {
			return 2 * (d(0) + e.most(u)*dx) / least
		} else if u.Op() == uop.Sqrt {
			return dx / math.Sqrt(least)
		} else {
			return 2 * math.Log2E * dx / least
		}
	}
	return unsure
}

// exact says that any n of a node's elements add up exactly in any order: all are multiples of one power of two, and small.
func (e *rounding) exact(u *uop.UOp, n int) bool {
	for k := range 11 {
		step := math.Ldexp(1, k)
		whole := true
		for _, v := range e.w.values[u] {
			if x := v.Float() * step; finite(x) && x != math.Trunc(x) {
				whole = false
				break
			}
		}
		if whole {
			return float64(n)*e.most(u)*step < math.Ldexp(1, u.DType().Digits())
		}
	}
	return false
}

// merged is about any part of a reduction or a scan of n elements.
func (e *rounding) merged(u *uop.UOp, m uop.Monoid, n int, worst float64) float64 {
	x := u.At(0)
	if !x.DType().IsFloat() || x.Shape().Numel() == 0 {
		if worst > 0 {
			return unsure
		}
		return 0
	}
	count, round := float64(n), ulp(x.DType())
	switch m {
	case uop.MaxOf:
		return worst
	case uop.Linear:
		return e.linear(x, u.At(1), n)
	case uop.Sum:
		if worst == 0 && e.exact(x, n) {
			return 0
		}
		return count*worst + count*count*round*(e.most(x)+worst)
	case uop.SumExp: // Σ f·2^(s−m), of which each term is f at most
		df := e.of[u.At(1)]
		if e.of[x] > 0 {
			return unsure
		}
		return count*df + 8*count*count*round*(e.most(u.At(1))+df)
	case uop.Moments:
		if worst > 0 || !e.finite(u.At(1)) {
			return unsure
		}
		most := e.most(u.At(1))
		return 8 * count * count * round * (most + most*most)
	}
	if worst == 0 && (m.Info().Exact || n == 1) {
		return 0
	}
	if m == uop.Prod && worst == 0 {
		return e.product(x, n)
	}
	return unsure
}

// linear is about y = a·y′ + b, n times over. A product of a's and a sum of b's, each times such a product, is all there is.
func (e *rounding) linear(a, b *uop.UOp, n int) float64 {
	if !e.finite(a) || !e.finite(b) {
		return unsure
	}
	count, da, db := float64(n), e.of[a], e.of[b]
	m := math.Pow(max(1, e.most(a)+da), count)
	most := max(1, e.most(b)+db)
	if !(m*most*count < 1e30) || a.DType().IsNarrow() { // it may overflow on the way
		return unsure
	}
	return 4 * count * m * (most*count*(ulp(a.DType())+da*m) + db)
}

// product is about n factors, of which each may round.
func (e *rounding) product(x *uop.UOp, n int) float64 {
	m := math.Pow(max(1, e.most(x)), float64(n))
	if !(m*ulp(x.DType()) < 1e30) || x.DType().IsNarrow() { // it may overflow on the way
		return unsure
	}
	return float64(n) * ulp(x.DType()) * m
}

// has says that an element of u, if those are floats, is x, be it NaN.
func (e *rounding) has(u *uop.UOp, x float64) bool {
	return u.DType().IsFloat() && slices.ContainsFunc(e.w.values[u], func(v uop.Value) bool { return v.Float() == x || v.Float() != v.Float() && x != x })
}

// addsUp says that there is a sum of floats in u.
func addsUp(u *uop.UOp) bool {
	return slices.ContainsFunc(uop.Topo(u), func(v *uop.UOp) bool {
		return (v.Op() == uop.Reduce || v.Op() == uop.Scatter) && v.DType().IsFloat()
	})
}

func (e *rounding) finite(u *uop.UOp) bool {
	for _, v := range e.w.values[u] {
		if !finite(v.Float()) {
			return false
		}
	}
	return true
}

func (e *rounding) scatter(u *uop.UOp) float64 {
	base, index, value := u.At(0), u.At(1), u.At(2)
	worst := max(e.of[base], e.of[value])
	n := index.Shape().Numel() + 1
	count := float64(n)
	if e.of[index] > 0 {
		return unsure
	}
	switch u.Arg().(uop.ScatterArg).Monoid {
	case uop.Last, uop.MaxOf:
		return worst
	case uop.Sum:
		if worst == 0 && e.exact(base, n) && e.exact(value, n) {
			return 0
		}
		return count*worst + count*count*ulp(u.DType())*(max(e.most(base), e.most(value))+worst)
	}
	if worst > 0 {
		return unsure
	}
	return e.product(value, n) * max(1, e.most(base))
}
