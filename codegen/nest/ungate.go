package nest

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// ungate takes the gate off loads that lie within their arrays without it and that nothing looks at where it does not hold: the
// factor of a product that is chosen as a whole, as the weight of a window that reaches over an edge. Such a load depends on fewer
// loops, can be staged, and is one number for all lanes that share it.
func (k *Kernel) ungate() {
	roots := k.Roots()
	if !slices.ContainsFunc(uop.Topo(roots...), func(u *uop.UOp) bool { return u.Op() == uop.Where }) {
		return
	}
	needed := demanded(roots)
	k.Rewrite(func(u *uop.UOp, src []*uop.UOp) *uop.UOp {
		if u.Op() == uop.Load && u.At(1).Op() != uop.Const && needed[u].implies(u.At(1)) && k.inside(u) {
			return k.Table.Load(src[0], k.Table.True(), src[2:]...)
		}
		return k.Fold(codegen.Remake(k.Table, u, src))
	})
}

// gateProducts makes of products of two loads with the same gate, of which one lies within its array without it, products that are chosen as a
// whole, in sums, for a graphics processor: the gradient of a window's input is one of them. That load depends on fewer loops then, so that a
// workgroup can keep it, and the sum leaves out what is not chosen.
func (k *Kernel) gateProducts() {
	k.Rewrite(func(u *uop.UOp, src []*uop.UOp) *uop.UOp {
		u = k.Fold(codegen.Remake(k.Table, u, src))
		if u.Op() != uop.Reduce || codegen.MonoidOf(u) != uop.Sum {
			return u
		}
		parts, ranges := codegen.ReduceParts(u)
		if parts[0].Op() != uop.Mul {
			return u
		}
		a, b := gated(parts[0].At(0)), gated(parts[0].At(1))
		if a == nil || b == nil || a.At(1) != b.At(1) || !k.inside(b) && !k.inside(a) {
			return u
		}
		if !k.inside(b) {
			a, b = b, a
		}
		with := map[*uop.UOp]*uop.UOp{b: k.Table.Load(b.At(0), k.Table.True(), b.Src()[2:]...)}
		product := k.Substitute(with, parts[0])
		return k.Table.ReduceRanges(uop.Sum, []*uop.UOp{b.At(1).Where(product, product.Int(0))}, ranges)
	})
}

// gated is the load that a value converts, if it has a gate; else nil.
func gated(u *uop.UOp) *uop.UOp {
	for u.Op() == uop.Cast {
		u = u.At(0)
	}
	if u.Op() != uop.Load || u.At(1).Op() == uop.Const {
		return nil
	}
	return u
}

// inside says that a load lies within its array whatever its gate is.
func (k *Kernel) inside(load *uop.UOp) bool {
	p, index := k.Params[load.At(0).Arg().(uop.ParamArg).Slot], load.Src()[2:]
	if len(index) != len(p.Dims) { // linear already
		n := load.At(0).Arg().(uop.ParamArg).N
		return symbolic.Under(k.Table).Within(index[0], n)
	}
	for d, x := range index {
		if !symbolic.Under(k.Table).Within(x, p.Dims[d]) {
			return false
		}
	}
	return true
}
