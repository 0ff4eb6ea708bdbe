package uop

import (
	"math"

	"github.com/weft-ml/weft/dtype"
)

// Monoid is how a reduction merges. Whatever splits a reduction uses only its row of the table.
type Monoid uint8

// The monoids. An element is a tuple of parts; the sources of a Reduce are its elements.
const (
	Sum     Monoid = iota // (x)
	Prod                  // (x)
	MaxOf                 // (x): NaN wins
	ArgMax                // (x, i): the largest x, of ties the smallest i; NaN is the largest
	SumExp                // (s, f…): (max s, Σ f·exp2(s − max s) …)
	Moments               // (n, mean, M2), elements (1, x, 0)
	Last                  // (x): the later one; for scatters only
	ArgLast               // (x, i): the largest x, of ties the later one; NaN is the largest; for scans only
	Linear                // (a, b): y ↦ a·y + b, the later after the earlier; for scans only, as order counts
	numMonoids
)

// MonoidInfo is a row of the table.
type MonoidInfo struct {
	Name string
	// Identity is the neutral element of part i.
	Identity func(d dtype.DType, i int) Value
	// Merge combines two elements, a before b. The graph it builds says what the monoid means.
	Merge func(a, b []*UOp) []*UOp
	// Exact: the result does not depend on how elements are grouped.
	Exact bool
}

// Info gives the row of a monoid.
func (m Monoid) Info() *MonoidInfo { return &monoids[m] }

// String is the monoid's name.
func (m Monoid) String() string { return monoids[m].Name }

// Least is the smallest value of a type: −inf, the least integer, false. Float8 e4m3fn has no infinities, and −448.
func Least(d dtype.DType) Value {
	if d.IsFloat() {
		return FloatValue(d, math.Inf(-1))
	}
	lo, _ := IntLimits(d)
	return lo
}

func constant(n int) func(dtype.DType, int) Value {
	return func(d dtype.DType, _ int) Value { return ValueOf(d, n) }
}

var monoids = [numMonoids]MonoidInfo{
	Sum:  {"sum", constant(0), func(a, b []*UOp) []*UOp { return []*UOp{a[0].Add(b[0])} }, false},
	Prod: {"prod", constant(1), func(a, b []*UOp) []*UOp { return []*UOp{a[0].Mul(b[0])} }, false},
	MaxOf: {"max", func(d dtype.DType, _ int) Value { return Least(d) },
		func(a, b []*UOp) []*UOp { return []*UOp{a[0].Max(b[0])} }, true},
	ArgMax: {"argmax", func(d dtype.DType, i int) Value {
		if i == 0 {
			return Least(d)
		}
		_, hi := IntLimits(d)
		return hi
	}, mergeArgMax, true},
	ArgLast: {"arglast", func(d dtype.DType, i int) Value {
		if i == 0 {
			return Least(d)
		}
		return 0
	}, mergeArgLast, true},
	SumExp: {"sumexp", func(d dtype.DType, i int) Value {
		if i == 0 {
			return Least(d)
		}
		return 0
	}, mergeSumExp, false},
	Moments: {"moments", constant(0), mergeMoments, false},
	Linear: {"linear", func(d dtype.DType, i int) Value { return ValueOf(d, 1-i) }, func(a, b []*UOp) []*UOp {
		return []*UOp{a[0].Mul(b[0]), a[1].Mul(b[0]).Add(b[1])}
	}, false},
	Last: {"last", constant(0), func(a, b []*UOp) []*UOp { return []*UOp{b[0]} }, true},
}

// mergeArgMax takes b where it is larger, or equal with a smaller index. NaN counts as larger than
// everything, so that max and argmax agree.
func mergeArgMax(a, b []*UOp) []*UOp {
	x, y := a[0], b[0]
	larger := x.Less(y)
	equal := x.Equal(y)
	if x.dtype.IsFloat() {
		xn, yn := x.Equal(x).Not(), y.Equal(y).Not()
		larger = larger.Or(yn.And(xn.Not()))
		equal = equal.Or(xn.And(yn))
	}
	take := larger.Or(equal.And(b[1].Less(a[1])))
	return []*UOp{take.Where(y, x), take.Where(b[1], a[1])}
}

// mergeArgLast takes the place of b where it is not smaller. The value waits for the value before it and for nothing else.
func mergeArgLast(a, b []*UOp) []*UOp {
	x, y := a[0], b[0]
	m := x.Max(y)
	take := m.Equal(y)
	if x.dtype.IsFloat() {
		take = take.Or(y.Equal(y).Not())
	}
	return []*UOp{m, take.Where(b[1], a[1])}
}

// mergeSumExp rescales both sums to the common maximum; exp2(−inf − −inf) counts as 0, so that a
// row of −inf ends in 0.
func mergeSumExp(a, b []*UOp) []*UOp {
	m := a[0].Max(b[0])
	scale := func(x *UOp) *UOp {
		return x.Equal(x.Const(Least(x.dtype))).Where(x.Int(0), x.Sub(m).Exp2())
	}
	p, q := scale(a[0]), scale(b[0])
	out := []*UOp{m}
	for i := 1; i < len(a); i++ {
		out = append(out, a[i].Mul(p).Add(b[i].Mul(q)))
	}
	return out
}

// mergeMoments is the parallel update of Chan, Golub and LeVeque (1979).
func mergeMoments(a, b []*UOp) []*UOp {
	n := a[0].Add(b[0])
	d := b[1].Sub(a[1])
	w := n.Equal(n.Int(0)).Where(n.Int(0), b[0].Div(n))
	return []*UOp{n, a[1].Add(d.Mul(w)), a[2].Add(b[2]).Add(d.Mul(d).Mul(a[0]).Mul(w))}
}
