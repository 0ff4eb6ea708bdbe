// Package grad differentiates graphs: given a value and what it counts, it builds the graph of the
// gradients of other nodes.
//
// It knows one law per op, in a table that a test checks for completeness. It refuses to know
// tensors, devices and anything about running.
//
//	g := grad.Of(loss, loss.Int(1), w, b) // ∂loss/∂w, ∂loss/∂b
package grad

import (
	"fmt"

	"github.com/weft-ml/weft/uop"
)

// Of gives the gradient of Σ y·seed with respect to each node of wrt: a node of its shape and type. A
// node that y does not depend on, or whose type is no float, has the gradient 0.
//
// A node that has been realized since y was built may be named by its buffer.
func Of(y, seed *uop.UOp, wrt ...*uop.UOp) []*uop.UOp {
	out, _ := Find(y, seed, wrt...)
	return out
}

// Find is Of, and says of which nodes a gradient was found; the others are 0.
func Find(y, seed *uop.UOp, wrt ...*uop.UOp) (gradients []*uop.UOp, reached []bool) {
	return FindAll([]*uop.UOp{y}, []*uop.UOp{seed}, wrt...)
}

// FindAll is Find for the sum over several values, each with its seed.
func FindAll(ys, seeds []*uop.UOp, wrt ...*uop.UOp) (gradients []*uop.UOp, reached []bool) {
	order := uop.Topo(ys...)
	name := aliases(order, wrt)
	useful := reaching(order, name)
	defer useful.Free()
	sums := map[*uop.UOp][]share{}
	for i, y := range ys {
		seed := seeds[i]
		if len(seed.Shape()) == 0 {
			seed = expand(seed, y.Shape())
		}
		sums[y] = append(sums[y], share{seed, nil})
	}
	found := make(map[*uop.UOp]*uop.UOp, len(wrt))
	loops := loopsOf(order)
	for i := len(order) - 1; i >= 0; i-- {
		u := order[i]
		shares, ok := sums[u]
		l := loops[u]
		if ok {
			delete(sums, u)
			g := merge(shares)
			if w, ok := name[u]; ok {
				other := g.Reshape(w.Shape()...)
				if old, ok := found[w]; ok {
					other = old.Add(other)
				}
				found[w] = other
			}
			if l == nil {
				step(u, lawOf(u.Op()), g, useful, sums)
				continue
			}
			l.results, l.gs = append(l.results, u), append(l.gs, g)
		}
		if l != nil && l.first == u && l.results != nil {
			step(l.results[0], func(*uop.UOp, *uop.UOp) []*uop.UOp { return looped(l.results, l.gs) }, nil, useful, sums)
		}
	}
	out := make([]*uop.UOp, len(wrt))
	reached = make([]bool, len(wrt))
	for i, w := range wrt {
		if g, ok := found[w]; ok {
			out[i], reached[i] = g, true
		} else {
			out[i] = expand(w.Int(0), w.Shape())
		}
	}
	return out, reached
}

// Transposed applies the transpose of a linear map to g, which has the shape of y: y is x moved by views, one after
// the other. Unlike gradients it holds for all types.
func Transposed(y, x, g *uop.UOp) *uop.UOp {
	for ; y != x; y = y.At(0) {
		switch y.Op() {
		case uop.Reshape, uop.Permute, uop.Expand, uop.Flip, uop.Pad, uop.Shrink, uop.Slide:
			g = lawOf(y.Op())(y, g)[0]
		default:
			panic(fmt.Sprintf("grad: %v is no view", y.Op()))
		}
	}
	return g
}

// operands are the nodes that a law gives gradients to: those of u; for a part of a tuple those of
// the tuple, and for an assignment what was assigned.
func operands(u *uop.UOp) []*uop.UOp {
	switch u.Op() {
	case uop.Part:
		return u.At(0).Src()
	case uop.After:
		return u.At(1).Src()
	}
	return u.Src()
}

// step applies the law of u to the gradient g.
func step(u *uop.UOp, by law, g *uop.UOp, useful *uop.Seen, sums map[*uop.UOp][]share) {
	srcs := operands(u)
	needed := false
	for _, s := range srcs {
		needed = needed || useful.Has(s)
	}
	if !needed {
		return
	}
	var origin *uop.Origin
	if o := u.Origin(); o != nil {
		origin = o.Gradient()
	}
	for i, d := range by(u, g) {
		s := srcs[i]
		switch {
		case d == nil || !useful.Has(s) || !s.DType().IsFloat():
			continue
		case len(s.Shape()) == 0 && len(d.Shape()) > 0: // a scalar met an array
			d = total(d)
		case len(d.Shape()) == 0 && len(s.Shape()) > 0:
			d = expand(d, s.Shape())
		}
		sums[s] = append(sums[s], share{d, origin})
	}
}

// total sums all axes; 16-bit floats in 32 bits.
func total(d *uop.UOp) *uop.UOp {
	axes := make([]int, len(d.Shape()))
	for i := range axes {
		axes[i] = i
	}
	return sum(d, axes)
}

// aliases finds which nodes of the graph stand for the nodes asked for: themselves, and what has been
// realized into them.
func aliases(order, wrt []*uop.UOp) map[*uop.UOp]*uop.UOp {
	name := map[*uop.UOp]*uop.UOp{}
	storage := map[*uop.UOp]*uop.UOp{} // Buffer → node asked for
	for _, w := range wrt {
		name[w] = w
		if b := buffer(w); b != nil {
			storage[b] = w
		}
	}
	present := map[*uop.UOp]bool{}
	for _, u := range order {
		if name[u] != nil {
			present[u] = true
		}
	}
	for _, u := range order {
		r := u.Realized()
		switch {
		case name[u] != nil:
		case r != nil && name[r] == r && buffer(u) == nil:
			name[u] = r
		case r != nil && storage[buffer(r)] != nil && buffer(u) == nil: // a view of a buffer leads to the buffer itself
			name[u] = storage[buffer(r)]
		case u.Op() == uop.Buffer && storage[u] != nil && !present[storage[u]]:
			name[u] = storage[u]
		}
	}
	return name
}

// buffer is the Buffer that u is, perhaps reshaped.
func buffer(u *uop.UOp) *uop.UOp {
	for u.Op() == uop.Reshape {
		u = u.At(0)
	}
	if u.Op() == uop.Buffer {
		return u
	}
	return nil
}

// reaching are the nodes that depend on one asked for: no other needs a gradient.
func reaching(order []*uop.UOp, name map[*uop.UOp]*uop.UOp) *uop.Seen {
	useful := uop.NewSeen()
	for _, u := range order {
		_, ok := name[u]
		for _, s := range u.Src() {
			ok = ok || useful.Has(s)
		}
		if ok {
			useful.Enter(u)
		}
	}
	return useful
}
