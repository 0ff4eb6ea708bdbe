package grad

import "github.com/weft-ml/weft/uop"

// detach gives the derivatives that are stated, and no others.
func detach(u, g *uop.UOp) []*uop.UOp {
	if f, ok := u.Arg().(uop.Stated); ok {
		return f.Gradients(u, g)
	}
	out := make(grads, len(u.Src()))
	slope := itself(u)
	for i := 1; i+1 < len(out); i += 2 {
		out[i] = g.Mul(slope(u.At(i + 1)))
	}
	return out
}

// itself puts u in the place of its value in the derivatives that it states: what they contain of it has these derivatives again, as
// in s′ = s·(1 − s). So one statement holds for derivatives of all orders. What the operands are made of stays.
func itself(u *uop.UOp) func(d *uop.UOp) *uop.UOp {
	var done uop.Map[*uop.UOp]
	done.Set(u.At(0), u)
	for i := 1; i < len(u.Src()); i += 2 {
		done.Set(u.At(i), u.At(i))
	}
	var put func(d *uop.UOp) *uop.UOp
	put = func(d *uop.UOp) *uop.UOp {
		v, ok := done.Get(d)
		if !ok && d.Op() == uop.Detach && len(d.Src()) > 1 && d.At(0) == u.At(0) {
			return d // the value with derivatives already, as where those of two functions contain each other
		}
		if !ok {
			v = d.WithSrc(d.Home(), put)
			done.Set(d, v)
		}
		return v
	}
	return put
}

// push is the tangent of a function with stated gradients: these are linear maps of the gradient of the value, and the
// tangent is the sum of their transposes applied to those of the operands.
func push(u *uop.UOp, t []*uop.UOp) *uop.UOp {
	f, named := u.Arg().(uop.FunctionArg)
	a, stated := u.Arg().(uop.Stated)
	switch {
	case !stated:
		return diagonal(u, t)
	case named && f.Slot == 0:
		return t[0]
	}
	seed := uop.NewStandIn(u.DType(), u.Shape()...)
	var ds, ts []*uop.UOp
	for i, d := range a.Gradients(u, seed) {
		if d != nil && t[i] != nil {
			ds, ts = append(ds, d), append(ts, t[i])
		}
	}
	if len(ds) == 0 {
		return nil
	}
	gs, reached := FindAll(ds, ts, seed)
	if !reached[0] {
		return nil
	}
	// What is linear has the same transpose everywhere, at 0 too.
	return uop.Fill(map[int]*uop.UOp{seed.Slot(): zeros(seed, seed.Shape())}, gs[0])[0]
}
