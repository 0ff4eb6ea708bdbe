package nest

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// A product of two gated loads is 0 where the gate does not hold. When one factor is known to be finite its gate
// is not needed, because 0 times it is 0, or only as much of it as keeps the load inside its array; then it depends on fewer
// loops and can be staged. Whether it is finite is known at run time only: the kernel looks once, and has both forms.

// Light is a load that does with less than its gate while all elements of its array are finite: with nothing (bare), or with the
// conditions on loops that its index depends on.
type Light struct {
	Name string
	Bare bool
}

// Lighter says how a load does with less than its gate: it lies inside its array, and the other factor of the product that it is
// in, its partner, keeps what it drops.
func (k *Kernel) Lighter(l, partner *uop.UOp) (how Light, ok bool) {
	gate, index := l.At(1), l.Src()[2:]
	p := k.Params[l.At(0).Arg().(uop.ParamArg).Slot]
	if partner == nil || partner.At(1) != gate || gate.Op() == uop.Const || p.Write || !l.DType().IsFloat() || len(index) != len(p.Dims) {
		return how, false
	}
	if slices.ContainsFunc(k.Finite, func(f Light) bool { return k.Values[f.Name] == l }) {
		return how, false
	}
	how = Light{k.nameOf(l), true}
	for d, x := range index {
		how.Bare = how.Bare && affine.Bound(x).Within(0, p.Dims[d]-1)
	}
	dropped := 0
	for _, c := range symbolic.Conjuncts(gate) {
		switch {
		case !how.Bare && k.About(c, l):
		case !k.Keeps(partner, c):
			return how, false
		default:
			dropped++
		}
	}
	if dropped == 0 || how.Bare {
		return how, dropped > 0
	}
	known := symbolic.Under(k.Table, k.LightGate(l, how))
	for d, x := range index {
		if !known.Within(x, p.Dims[d]) {
			return how, false
		}
	}
	return how, true
}

// Partners holds the other factor of each load that is used once only, in a reduction that sums products of two loads. Of three
// factors, two that are finite may have an infinite product.
func (k *Kernel) Partners() map[*uop.UOp]*uop.UOp {
	roots := k.Roots()
	nodes := uop.Topo(roots...)
	uses := map[*uop.UOp]int{}
	for _, u := range roots {
		uses[u]++
	}
	for _, u := range nodes {
		for _, s := range u.Src() {
			uses[s]++
		}
	}
	others := map[*uop.UOp]*uop.UOp{}
	for _, u := range nodes {
		if u.Op() != uop.Reduce || u.Arg().(uop.ReduceArg).Monoid != uop.Sum {
			continue
		}
		product := u.At(0)
		if product.Op() != uop.Mul || uses[product] > 1 {
			continue
		}
		x, y := product.At(0), product.At(1)
		a, b := factorLoad(x), factorLoad(y)
		if a == b || a == nil || b == nil {
			continue
		}
		if uses[a] == 1 && uses[x] == 1 {
			others[a] = b
		}
		if uses[b] == 1 && uses[y] == 1 {
			others[b] = a
		}
	}
	return others
}

// factorLoad is the load that a factor is, perhaps in a wider type of floats, which has the same infinities; or nil.
func factorLoad(u *uop.UOp) *uop.UOp {
	if u.Op() == uop.Cast && u.DType().IsFloat() && u.At(0).DType().IsFloat() && u.At(0).DType().Size() < u.DType().Size() {
		u = u.At(0)
	}
	if u.Op() != uop.Load {
		return nil
	}
	return u
}

// About says that a condition is one on a load's indices: a limit of one of them where all are sums over loops, else whatever depends
// on no other loops, nor on other parts of loops that were fused.
func (k *Kernel) About(c, l *uop.UOp) bool {
	var free affine.RangeSet
	one, sums := false, c.Op() == uop.Less && c.At(0).DType() == dtype.Index
	var limited affine.Form
	if sums {
		limited = k.Facts.Form(c.At(0)).Add(k.Facts.Form(c.At(1)), -1)
		parts := uop.Topo(l.Src()[2:]...)
		if slices.ContainsFunc(limited.Terms, func(t affine.Term) bool { return t.Node.Op() != uop.Range && !slices.Contains(parts, t.Node) }) {
			return false
		}
		sums = limited.Plain()
	}
	for _, x := range l.Src()[2:] {
		a := k.Facts.Form(x)
		free, sums, one = free.Or(k.Facts.FreeRanges(x)), sums && a.Plain(), one || limited.Proportional(a)
	}
	return k.Facts.FreeRanges(c).Within(free) && (one || !sums)
}

// Keeps says that a load is read under a condition of its gate even if it is finite.
func (k *Kernel) Keeps(l, c *uop.UOp) bool {
	for _, f := range k.Finite {
		if k.Values[f.Name] == l {
			return !f.Bare && k.About(c, l)
		}
	}
	return true
}

// LightGate is what a load keeps of its gate.
func (k *Kernel) LightGate(l *uop.UOp, how Light) *uop.UOp {
	own := k.Table.True()
	for _, c := range symbolic.Conjuncts(l.At(1)) {
		if !how.Bare && k.About(c, l) {
			own = k.Fold(own.And(c))
		}
	}
	return own
}

func (k *Kernel) nameOf(u *uop.UOp) string {
	for _, n := range k.loads {
		if k.Values[n] == u {
			return n
		}
	}
	return ""
}

func (k *applier) assumeFinite(m codegen.Directive) error {
	l := k.Values[m.Name]
	if l == nil || l.Op() != uop.Load || len(k.Groups) > 1 {
		return fmt.Errorf("%s is not a factor that could do with less than its gate", m.Name)
	}
	how, ok := k.Lighter(l, k.Partners()[l])
	if !ok {
		return fmt.Errorf("%s is not a factor that could do with less than its gate", m.Name)
	}
	k.Finite = append(k.Finite, how)
	return nil
}
