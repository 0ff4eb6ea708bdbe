package lower

import (
	"maps"
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/nest"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// twoWays builds the nest twice: plainly, and without the gates of factors that are finite.
func (b *builder) twoWays() []codegen.Stmt {
	var out []codegen.Stmt
	var bad *uop.UOp
	for _, f := range b.Finite {
		stmts, flag := b.anyInfinite(b.Values[f.Name])
		out = append(out, stmts...)
		if bad == nil {
			bad = flag
		} else {
			bad = bad.Max(flag)
		}
	}
	g := b.Groups[0]
	outs, values, stages := slices.Clone(b.Outs), maps.Clone(b.Values), b.Stages
	kinds := map[*nest.Axis]codegen.Kind{}
	for _, a := range b.Axes {
		if kinds[a] = a.Kind; a.Kind != codegen.Thread {
			a.Kind = codegen.Serial
		}
	}
	b.Stages = nil
	slow := b.nestOf(g)
	b.Outs, b.Values, b.Stages = outs, values, stages
	for a, kind := range kinds {
		a.Kind = kind
	}
	drop, partners := map[*uop.UOp]nest.Light{}, b.Partners()
	for _, f := range b.Finite {
		if l := b.Values[f.Name]; b.covered(l, partners[l], f) {
			drop[l] = f
		}
	}
	b.Rewrite(func(u *uop.UOp, src []*uop.UOp) *uop.UOp {
		if how, ok := drop[u]; ok {
			return b.Table.Load(src[0], b.LightGate(codegen.Remake(b.Table, u, src), how), src[2:]...)
		}
		return b.Fold(codegen.Remake(b.Table, u, src))
	})
	fast := b.nestOf(g)
	return append(out, &codegen.If{Cond: bad.Less(bad.Int(1)), Body: fast}, &codegen.If{Cond: bad.Int(0).Less(bad), Body: slow})
}

// covered says that what a load drops its partner keeps in the loops that there are now: a split may have changed which of them
// conditions and indices depend on.
func (b *builder) covered(l, partner *uop.UOp, how nest.Light) bool {
	return partner != nil && partner.At(1) == l.At(1) && !slices.ContainsFunc(symbolic.Conjuncts(l.At(1)), func(c *uop.UOp) bool {
		return (how.Bare || !b.About(c, l)) && !b.Keeps(partner, c)
	})
}

// anyInfinite computes 1 when some element of a load's array is infinite or NaN, else 0.
func (b *builder) anyInfinite(l *uop.UOp) ([]codegen.Stmt, *uop.UOp) {
	n := l.At(0).Arg().(uop.ParamArg).N
	lanes := min(4*b.width(l.DType()), codegen.Pow2(n))
	if lanes == 0 {
		lanes = n
	}
	outer, inner := b.NewRange(codegen.CeilDiv(n, lanes), ""), b.NewRange(lanes, "")
	at := nest.MinIndex(outer.Mul(b.Table.Index(lanes)), b.Table.Index(n-lanes)).Add(inner)
	x := b.Table.Load(l.At(0), b.Table.True(), at)
	one := b.Table.Int(dtype.I32, 1)
	test := x.Sub(x).Equal(x.Int(0)).Where(one.Int(0), one)
	b.ByRange[outer] = &nest.Axis{Range: outer, Full: -1, Owner: "finite"}
	b.ByRange[inner] = &nest.Axis{Range: inner, Full: -1, Kind: codegen.Vector, Owner: "finite"}
	stmts, regs := b.reduce([]*uop.UOp{b.Table.ReduceRanges(uop.MaxOf, []*uop.UOp{test}, []*uop.UOp{outer, inner})}, insertionPoint{})
	return stmts, regs[0][0]
}
