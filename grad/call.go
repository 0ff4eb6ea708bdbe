package grad

import "github.com/weft-ml/weft/uop"

// A call has the derivatives of the graph that it stands for.

// called gives the gradients of the arguments: those of the stand-ins in the graph of the result, since arguments may be equal or made of each other.
func called(u, g *uop.UOp) []*uop.UOp {
	a, seed := u.Arg().(uop.CallArg), uop.NewStandIn(g.DType(), g.Shape()...)
	ds, reached := Find(a.Outs[a.Out], seed, a.Params...)
	with := map[*uop.UOp]*uop.UOp{seed: g}
	for i, p := range a.Params {
		with[p] = u.At(i)
	}
	ds = uop.Substitute(u.Home(), with, ds...)
	for i, ok := range reached {
		if !ok {
			ds[i] = nil
		}
	}
	return ds
}

func pushCall(u *uop.UOp, t []*uop.UOp) *uop.UOp {
	along := map[*uop.UOp]*uop.UOp{}
	for i, s := range u.Src() {
		if t[i] != nil {
			along[s] = t[i]
		}
	}
	return Forward(along, u.Inlined())[0]
}
