package grad

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Derivatives of products are products of the other factors. Their values are quotients where no factor is 0. They are stated to be products
// in earnest, which are computed for derivatives of derivatives alone: a quotient has no right derivative beside a 0.

// product gives each factor the product of the others: the total divided by it where no factor is
// zero; where one is, that one has the product of the others; where more are, 0.
func product(u, g *uop.UOp) *uop.UOp {
	x, axes := u.At(0), u.Arg().(uop.ReduceArg).Axes.Slice()
	zero, one := x.Int(0), x.Int(1)
	isZero := x.Equal(zero)
	whole := isZero.Where(one, x).Reduce(uop.Prod, axes...)
	n := sum(isZero.Where(one, zero), axes)
	none, single := unreduce(n, u).Equal(zero), unreduce(n, u).Equal(one)
	rest := unreduce(whole, u)
	d := none.Where(rest.Div(isZero.Where(one, x)), isZero.And(single).Where(rest, zero))
	return d.Derive(others(x, axes), one).Mul(unreduce(g, u))
}

// others is the product of what stands before each element and of what stands after it in the order of some axes.
func others(x *uop.UOp, axes []int) *uop.UOp {
	var order []int
	for i := range x.Shape() {
		if !slices.Contains(axes, i) {
			order = append(order, i)
		}
	}
	last := len(order)
	order = append(order, axes...)
	wide := x.Permute(order...)
	flat := wide.Reshape(append(slices.Clone(wide.Shape()[:last]), wide.Shape()[last:].Numel())...)
	if flat.Shape()[last] == 0 {
		return x
	}
	before := func(x *uop.UOp) *uop.UOp { return previous(x.Scan(uop.Prod, last), last, 1) }
	out := before(flat).Mul(before(flat.Flip(last)).Flip(last))
	return out.Reshape(wide.Shape()...).Permute(inverse(order)...)
}

// scatterProduct differentiates a scatter of products: with one zero its partners' product counts, with more nothing does.
func scatterProduct(u, g *uop.UOp) []*uop.UOp {
	axis := u.Arg().(uop.ScatterArg).Axis
	base, index, value := u.At(0), u.At(1), u.At(2)
	back := func(g *uop.UOp) *uop.UOp { return g.Gather(index, axis) }
	one, zero := g.Int(1), g.Int(0)
	zb, zv := base.Equal(zero), value.Equal(zero)
	rest := zb.Where(one, base).Scatter(index, zv.Where(one, value), axis, uop.Prod)
	n := zb.Where(one, zero).Scatter(index, zv.Where(one, zero), axis, uop.Sum)
	d := func(x, isZero, rest, n *uop.UOp) *uop.UOp {
		return n.Equal(zero).Where(rest.Div(isZero.Where(one, x)), isZero.And(n.Equal(one)).Where(rest, zero))
	}
	ofBase := d(base, zb, rest, n).Derive(expand(one, base.Shape()).Scatter(index, value, axis, uop.Prod), one)
	ofValue := d(value, zv, back(rest), back(n)).Derive(back(base).Mul(partners(index, value, axis)), one)
	return grads{g.Mul(ofBase), nil, back(g).Mul(ofValue)}
}

// partners is for each value the product of the others that have the same index: in the order of the indices, of those before it and of
// those after it.
func partners(index, value *uop.UOp, axis int) *uop.UOp {
	var order []int
	for i := range index.Shape() {
		if i != axis {
			order = append(order, i)
		}
	}
	last := len(order)
	order = append(order, axis)
	index, value = index.Permute(order...), value.Permute(order...)
	sorted := index.ArgSort()
	key, x := index.Gather(sorted, last), value.Gather(sorted, last)
	before := func(x, key *uop.UOp) *uop.UOp {
		first := places(key.Shape(), last).Equal(uop.NewInt(dtype.I32, 0))
		same := key.Equal(previous(key, last, 0)).And(first.Not())
		return recurrence(same.Where(previous(x, last, 0), x.Int(0)), same.Where(x.Int(0), x.Int(1)), last)
	}
	out := before(x, key).Mul(before(x.Flip(last), key.Flip(last)).Flip(last))
	return zeros(out, out.Shape()).Scatter(sorted, out, last, uop.Sum).Permute(inverse(order)...)
}
