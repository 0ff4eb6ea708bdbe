// Package evaluate computes slowly what a kernel means, from the table of ops alone: a Spec as its definition says, and a
// tree of statements one by one, lanes and invocations in lock step. A Checker does both for a kernel on its way down and
// compares: every pass of codegen must leave the numbers as they were, and touch no memory that is not there.
//
// It is for tests: nothing that is delivered imports it. It refuses to know targets' languages and machines, and how the
// passes work.
//
//	check := evaluate.New()
//	target.Check = check.Kernel // every Lower for this target fails where a pass changes a value
package evaluate

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Checker checks the lowering of kernels. Its counters may be read when nothing is being lowered.
type Checker struct {
	// Most is how many ops one evaluation may take; kernels that need more are passed over.
	Most int
	// Seed chooses the contents of memory.
	Seed uint64

	Kernels, Forms, TooLarge atomic.Int64
}

// New makes a Checker for kernels of up to a few million ops.
func New() *Checker { return &Checker{Most: 3_000_000} }

// ErrTooLarge says that an evaluation took more ops than were allowed.
var ErrTooLarge = errors.New("evaluate: too large")

// fills are the contents that memory is given, one evaluation each.
var fills = []string{"small", "special"}

// Kernel is what codegen.Target.Check wants: it computes what the Spec means, and gives a function that compares each form
// with it.
func (c *Checker) Kernel(s *codegen.Spec) func(l codegen.Lowering) error {
	c.Kernels.Add(1)
	var before, want [][][]uop.Value
	var others []func() [][][]uop.Value
	var open []map[element]bool // what may be anything
	near, broken := tolerance(s), false
	for i := range fills {
		m := contents(s, rand.New(rand.NewPCG(c.Seed, uint64(i))), i)
		after := cloneAll(m)
		exact := &nudge{}
		twice, err := define(s, nil, after, c.Most, exact)
		if errors.Is(err, ErrTooLarge) {
			c.TooLarge.Add(1)
			return func(codegen.Lowering) error { return nil }
		}
		if err != nil {
			return func(codegen.Lowering) error { return fmt.Errorf("the Spec as it was given: %w", err) }
		}
		if exact.inexact {
			near = 1
		}
		before, want, open = append(before, m), append(want, after), append(open, twice)
		others = append(others, sync.OnceValue(func() [][][]uop.Value { return nudged(s, m, near > 0, c.Most) }))
	}
	return func(l codegen.Lowering) error {
		if broken {
			return nil
		}
		f := l.Form()
		c.Forms.Add(1)
		for i := range fills {
			got := cloneAll(before[i])
			var err error
			if f.Body == nil {
				err = Spec(f.Spec, f.Guards, got, 8*c.Most)
			} else {
				err = Statements(f, got, 8*c.Most)
			}
			if errors.Is(err, ErrTooLarge) {
				c.TooLarge.Add(1)
				broken = true
				return nil
			}
			if err == nil {
				for x := range open[i] {
					got[x.param][x.at] = want[i][x.param][x.at]
				}
				err = compare(s, got, want[i], near, others[i])
			}
			if err != nil {
				return fmt.Errorf("memory of %s numbers: %w", fills[i], err)
			}
		}
		return nil
	}
}

func cloneAll(m [][]uop.Value) [][]uop.Value {
	out := make([][]uop.Value, len(m))
	for i, v := range m {
		out[i] = append([]uop.Value(nil), v...)
	}
	return out
}

// contents fills memory.
func contents(s *codegen.Spec, r *rand.Rand, kind int) [][]uop.Value {
	out, casts, counts := make([][]uop.Value, len(s.Params)), sumsCasts(s), countsOf(s)
	for i, p := range s.Params {
		out[i] = Numbers(p.DType, size(p.Dims), r, kind == 1 && (p.DType.IsFloat() || !casts))
		if counts[i] {
			for j, v := range out[i] {
				out[i][j] = uop.FloatValue(p.DType, math.Abs(v.Float()))
			}
		}
	}
	return out
}

// countsOf says which parameters count the elements of moments that are merged. Negative counts may cancel, and what a part without
// elements says of its mean is dropped, so that sums in another order would be others.
func countsOf(s *codegen.Spec) map[int]bool {
	counts := map[int]bool{}
	for _, u := range uop.Topo(roots(s)...) {
		if u.Op() != uop.Reduce || u.Arg().(uop.ReduceArg).Monoid != uop.Moments {
			continue
		}
		if n := u.At(0); n.Op() == uop.Load && n.DType().IsFloat() {
			counts[n.At(0).Arg().(uop.ParamArg).Slot] = true
		}
	}
	return counts
}

// Numbers fills an array: with small multiples of a half, whose sums and products are exact in any order, or with some
// infinities, NaN and signed zeros, or extremes, among them.
func Numbers(d dtype.DType, n int, r *rand.Rand, special bool) []uop.Value {
	list := []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1)}
	v := make([]uop.Value, n)
	for j := range v {
		switch {
		case d.IsFloat() && special && r.IntN(6) == 0:
			v[j] = uop.FloatValue(d, list[r.IntN(len(list))])
		case d.IsFloat():
			v[j] = uop.FloatValue(d, float64(r.IntN(13)-6)/2)
		case d == dtype.Bool:
			v[j] = uop.Value(r.IntN(2))
		case special && r.IntN(8) == 0:
			lo, hi := uop.IntLimits(d)
			v[j] = [2]uop.Value{lo, hi}[r.IntN(2)]
		default:
			v[j] = uop.IntValue(d, int64(r.IntN(14)-3))
		}
	}
	return v
}

func size(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

// Variable is the value that a variable has here, one within its bounds.
func Variable(u *uop.UOp) uop.Value {
	a := u.Arg().(uop.VarArg)
	return uop.ValueOf(u.DType(), a.Lo+(a.Hi-a.Lo)*3/5)
}

// tolerance is 1 where a Spec shows that ops round, or are replaced by polynomials; else 0, until a product or a sum turns out to round.
func tolerance(s *codegen.Spec) float64 {
	for _, u := range uop.Topo(roots(s)...) {
		if !u.DType().IsFloat() {
			continue
		}
		if uop.Info(u.Op()).Trait != uop.Exact {
			return 1
		}
		switch u.Op() {
		case uop.Const:
			v, _ := u.ConstValue()
			if f := v.Float(); !math.IsInf(f, 0) && f == f && (math.Abs(f) > 1<<12 || f*16 != math.Trunc(f*16)) {
				return 1
			}
		case uop.Reduce, uop.Scan:
			if a, ok := u.Arg().(uop.ScanArg); ok && a.Step != nil { // as it is
				return 1
			}
			if m := monoidOf(u); m == uop.Linear || m == uop.SumExp || m == uop.Moments || m == uop.Prod {
				return 1
			}
			if u.DType().IsNarrow() { // few digits
				return 1
			}
		}
	}
	return 0
}

// monoidOf is how a reduction or a scan merges.
func monoidOf(u *uop.UOp) uop.Monoid {
	if a, ok := u.Arg().(uop.ScanArg); ok {
		return a.Monoid
	}
	return u.Arg().(uop.ReduceArg).Monoid
}

func roots(s *codegen.Spec) (out []*uop.UOp) {
	for _, o := range s.Outs {
		out = append(append(out, o.Value), o.Index...)
		if o.Gate != nil {
			out = append(out, o.Gate)
		}
	}
	return out
}

// coarsest is the rounding of the least precise floats that are computed, which may be finer where they are stored.
func coarsest(s *codegen.Spec) (least float64) {
	for _, u := range uop.Topo(roots(s)...) {
		if u.Op() != uop.Load && u.Op() != uop.Const {
			least = max(least, codegen.Reordered(u.DType()))
		}
	}
	return least
}

// compare gives the first element that differs from what is wanted and from the others, what it might be as well.
func compare(s *codegen.Spec, got, want [][]uop.Value, near float64, others func() [][][]uop.Value) error {
	sums := reduces(s, func(u *uop.UOp) bool { return u.At(0).DType().IsFloat() })
	moments := reduces(s, func(u *uop.UOp) bool { return monoidOf(u) == uop.Moments })
	if near > 0 {
		near *= coarsest(s)
	}
	same := func(d dtype.DType, g, w uop.Value) bool {
		if g == w || !d.IsFloat() {
			return g == w
		}
		a, b := g.Float(), w.Float()
		return a != a && b != b || a == b && sums || moments && notFinite(a) && notFinite(b) ||
			near > 0 && math.Abs(a-b) <= math.Max(near, codegen.Reordered(d))*math.Max(1, math.Abs(b))
	}
	for i, p := range s.Params {
		if p.Own {
			continue
		}
		if near > 0 && !p.DType.IsFloat() { // bits or ranks of numbers that may differ in their last places
			continue
		}
		for j, w := range want[i] {
			g := got[i][j]
			if same(p.DType, g, w) || slices.ContainsFunc(others(), func(o [][]uop.Value) bool { return same(p.DType, g, o[i][j]) }) ||
				near > 0 && among(g.Float(), w.Float(), others(), i, j) {
				continue
			}
			return fmt.Errorf("element %d of p%d%v is %s, want %s", j, i, p.Dims, format(p.DType, g), format(p.DType, w))
		}
	}
	return nil
}

// among says that of what is wanted and the others some are less than x and some greater: it is one of them that was rounded
// differently. A number that by a rounding is none, as the logarithm of what cancels, may be any.
func among(x, want float64, others [][][]uop.Value, i, j int) bool {
	less, greater, none := want <= x, want >= x, false
	for _, o := range others {
		v := o[i][j].Float()
		less, greater, none = less || v <= x, greater || v >= x, none || v != v
	}
	return less && greater || none && want == want
}

// reduces looks for a reduction. Where floats are, the sign of a zero is free: a sum of one −0 is that, or 0 + −0. Of
// moments of what is not finite, which of the numbers that are not finite comes out depends on the order.
func reduces(s *codegen.Spec, f func(u *uop.UOp) bool) bool {
	return slices.ContainsFunc(uop.Topo(roots(s)...), func(u *uop.UOp) bool { return (u.Op() == uop.Reduce || u.Op() == uop.Scan) && f(u) })
}

// sumsCasts says that floats are added up in a graph that makes floats of integers: the least and the greatest integers would
// leave nothing of the small ones, or what the order of adding leaves.
func sumsCasts(s *codegen.Spec) bool {
	return reduces(s, func(u *uop.UOp) bool { return u.At(0).DType().IsFloat() }) &&
		slices.ContainsFunc(uop.Topo(roots(s)...), func(u *uop.UOp) bool {
			return u.Op() == uop.Cast && u.DType().IsFloat() && u.At(0).DType().IsInt()
		})
}

func notFinite(x float64) bool { return x != x || math.IsInf(x, 0) }

func format(d dtype.DType, v uop.Value) string {
	switch {
	case d.IsFloat():
		return fmt.Sprint(v.Float())
	case d.IsUnsigned():
		return fmt.Sprint(uint64(v))
	}
	return fmt.Sprint(v.Int())
}
