package codegen

import (
	"fmt"
	"maps"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// A product of two gated loads is 0 where the gate does not hold. When one factor is known to be finite its gate
// is not needed, because 0 times it is 0; then it depends on fewer loops and can be staged. Whether it is finite
// is known at run time only: the kernel looks once, and has both forms.

// factors are the loads of a product, or nil.
func factors(u *uop.UOp) []*uop.UOp {
	switch u.Op() {
	case uop.Load:
		return []*uop.UOp{u}
	case uop.Mul:
		a, b := factors(u.At(0)), factors(u.At(1))
		if a != nil && b != nil {
			return append(a, b...)
		}
	}
	return nil
}

// needless says that a load lies inside its array without its gate, and that its reductions sum products in which
// another factor has the same gate.
func (k *kernel) needless(l *uop.UOp) bool {
	gate := l.At(1)
	index := l.Src()[2:]
	p := k.params[l.At(0).Arg().(uop.ParamArg).Slot]
	if gate.Op() == uop.Const || p.Write || !l.DType().IsFloat() || len(index) != len(p.Dims) {
		return false
	}
	for d, x := range index {
		if !k.facts.bound(x).within(0, p.Dims[d]-1) {
			return false
		}
	}
	used := 0
	for _, u := range uop.Topo(k.roots()...) {
		parts, ranges := reduceParts(u)
		if ranges == nil {
			if slices.Contains(u.Src(), l) && u.Op() != uop.Mul {
				return false
			}
			continue
		}
		f := factors(parts[0])
		if !slices.Contains(f, l) {
			continue
		}
		if u.Arg().(uop.ReduceArg).Monoid != uop.Sum || !slices.ContainsFunc(f, func(o *uop.UOp) bool {
			return o != l && o.At(1) == gate && !slices.Contains(k.finite, k.nameOf(o))
		}) {
			return false
		}
		used++
	}
	return used == 1
}

func (k *kernel) nameOf(u *uop.UOp) string {
	for _, n := range k.loads {
		if k.values[n] == u {
			return n
		}
	}
	return ""
}

func (k *kernel) assumeFinite(m Move) error {
	l := k.values[m.Name]
	if l == nil || l.Op() != uop.Load || !k.needless(l) || len(k.groups) > 1 {
		return fmt.Errorf("%s is not a factor that could do without its gate", m.Name)
	}
	k.finite = append(k.finite, m.Name)
	return nil
}

// twoWays builds the nest twice: plainly, and without the gates of factors that are finite.
func (b *builder) twoWays() []Stmt {
	var out []Stmt
	var bad *uop.UOp
	for _, name := range b.finite {
		stmts, flag := b.anyInfinite(b.values[name])
		out = append(out, stmts...)
		if bad == nil {
			bad = flag
		} else {
			bad = bad.Max(flag)
		}
	}
	g := b.groups[0]
	outs, values, stages := slices.Clone(b.outs), maps.Clone(b.values), b.stages
	kinds := map[*axis]Kind{}
	for _, a := range b.axes {
		if kinds[a] = a.kind; a.kind != Thread {
			a.kind = Serial
		}
	}
	b.stages = nil
	slow := b.nestOf(g)
	b.outs, b.values, b.stages = outs, values, stages
	for a, kind := range kinds {
		a.kind = kind
	}
	drop := map[*uop.UOp]bool{}
	for _, name := range b.finite {
		drop[b.values[name]] = true
	}
	b.rewrite(func(u *uop.UOp, src []*uop.UOp) *uop.UOp {
		if drop[u] {
			return b.t.Load(src[0], b.t.True(), src[2:]...)
		}
		return b.fold(remake(b.t, u, src))
	})
	fast := b.nestOf(g)
	return append(out, &If{Cond: bad.Less(bad.Int(1)), Body: fast}, &If{Cond: bad.Int(0).Less(bad), Body: slow})
}

// anyInfinite computes 1 when some element of a load's array is infinite or NaN, else 0.
func (b *builder) anyInfinite(l *uop.UOp) ([]Stmt, *uop.UOp) {
	n := l.At(0).Arg().(uop.ParamArg).N
	lanes := min(4*b.width(l.DType()), pow2(n))
	if lanes == 0 {
		lanes = n
	}
	outer, inner := b.newRange(ceilDiv(n, lanes), ""), b.newRange(lanes, "")
	at := minIndex(outer.Mul(b.t.Index(lanes)), b.t.Index(n-lanes)).Add(inner)
	x := b.t.Load(l.At(0), b.t.True(), at)
	one := b.t.Int(dtype.I32, 1)
	test := x.Sub(x).Equal(x.Int(0)).Where(one.Int(0), one)
	b.byR[outer] = &axis{r: outer, full: -1, owner: "finite"}
	b.byR[inner] = &axis{r: inner, full: -1, kind: Vector, owner: "finite"}
	stmts, regs := b.reduce([]*uop.UOp{b.t.ReduceRanges(uop.MaxOf, []*uop.UOp{test}, []*uop.UOp{outer, inner})}, spot{})
	return stmts, regs[0][0]
}
