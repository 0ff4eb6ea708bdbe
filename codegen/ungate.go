package codegen

import (
	"slices"

	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// ungate takes the gate off loads that lie within their arrays without it and that nothing looks at where it does not hold: the
// factor of a product that is chosen as a whole, as the weight of a window that reaches over an edge. Such a load depends on fewer
// loops, can be staged, and is one number for all lanes that share it.
func (k *kernel) ungate() {
	roots := k.roots()
	if !slices.ContainsFunc(uop.Topo(roots...), func(u *uop.UOp) bool { return u.Op() == uop.Where }) {
		return
	}
	needed := demanded(roots)
	k.rewrite(func(u *uop.UOp, src []*uop.UOp) *uop.UOp {
		if u.Op() == uop.Load && u.At(1).Op() != uop.Const && needed[u].implies(u.At(1)) && k.inside(u) {
			return k.t.Load(src[0], k.t.True(), src[2:]...)
		}
		return k.fold(remake(k.t, u, src))
	})
}

// implies says that a gate holds wherever a condition does.
func (c under) implies(gate *uop.UOp) bool {
	if c.cond == nil || c.opposite {
		return false
	}
	known := symbolic.Conjuncts(c.cond)
	return !slices.ContainsFunc(symbolic.Conjuncts(gate), func(g *uop.UOp) bool { return !slices.Contains(known, g) })
}

// inside says that a load lies within its array whatever its gate is.
func (k *kernel) inside(load *uop.UOp) bool {
	p, index := k.params[load.At(0).Arg().(uop.ParamArg).Slot], load.Src()[2:]
	if len(index) != len(p.Dims) { // linear already
		n := load.At(0).Arg().(uop.ParamArg).N
		return symbolic.Under(k.t).Within(index[0], n)
	}
	for d, x := range index {
		if !symbolic.Under(k.t).Within(x, p.Dims[d]) {
			return false
		}
	}
	return true
}
