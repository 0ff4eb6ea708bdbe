package lawtest

import (
	"fmt"
	"math"
	"testing"

	"github.com/weft-ml/weft/ref"
	"github.com/weft-ml/weft/uop"
)

// CheckSecond is CheckGradients for gradients of gradients: graphs are made of the gradients of random graphs.
func CheckSecond(t *testing.T, of Gradients, ops []uop.Op, seed uint64, tries int) {
	t.Helper()
	eachKind(t, ops, seed, tries, func(k kind, seed uint64) (int, int, error) {
		return slopes(of, func(g *tensors) *uop.UOp { return g.curved(of, k) }, seed)
	})
}

// curved is a number made of the gradients of a random graph with an op.
func (g *tensors) curved(of Gradients, k kind) *uop.UOp {
	y := g.grow(k)
	if len(y.Shape()) > 0 {
		all := make([]int, len(y.Shape()))
		for i := range all {
			all[i] = i
		}
		y = y.Mul(g.leaf(y.Shape()...)).Reduce(uop.Sum, all...)
	}
	y = y.Sin() // so that second derivatives are not all 0
	wrt := g.leaves
	total := y
	for _, d := range of(y, y.Int(1), wrt...) {
		d = d.Reshape(d.Shape().Numel())
		total = total.Add(d.Mul(g.leaf(d.Shape()...)).Reduce(uop.Sum, 0))
	}
	return total
}

// Tangents gives the tangent of y while nodes move along theirs, nil for 0: grad.Forward.
type Tangents func(y *uop.UOp, along map[*uop.UOp]*uop.UOp) *uop.UOp

// CheckTangents compares tangents of random graphs with their gradients: Σ seed·ẏ is Σ gradient·ẋ.
func CheckTangents(t *testing.T, of Gradients, forward Tangents, ops []uop.Op, seed uint64, tries int) {
	t.Helper()
	eachKind(t, ops, seed, tries, func(k kind, seed uint64) (int, int, error) { return 1, 0, tangent(of, forward, k, seed) })
}

// Tangent tries an op once in each way that there is.
func Tangent(of Gradients, forward Tangents, o uop.Op, seed uint64) error {
	for i, k := range differentiable {
		if k.op != o {
			continue
		}
		if err := tangent(of, forward, k, seed^uint64(i)<<32); err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
	}
	return nil
}

func tangent(of Gradients, forward Tangents, k kind, seed uint64) error {
	g := newTensors(seed)
	y := g.grow(k)
	weight := g.leaf(y.Shape()...)
	wrt := g.leaves[:len(g.leaves)-1]
	along := map[*uop.UOp]*uop.UOp{}
	var moved []*uop.UOp
	for i, w := range wrt {
		if i > 0 && g.IntN(4) == 0 {
			moved = append(moved, nil) // this one stays
			continue
		}
		n := len(g.leaves)
		along[w] = g.leaf(w.Shape()...)
		moved = append(moved, g.leaves[n])
	}
	gs := of(y, weight, wrt...)
	tangent := forward(y, along)
	if tangent == nil {
		tangent = weight.Int(0).Reshape(ones(y)...).Expand(y.Shape()...)
	}
	if !tangent.Shape().Equal(y.Shape()) || tangent.DType() != y.DType() {
		return fmt.Errorf("the tangent of %v is %v", y, tangent)
	}
	dot := func(a, b *uop.UOp) (sum, size float64) {
		v := ref.Eval(g.load, a, b)
		for i := range v[0] {
			p := v[0][i].Float() * v[1][i].Float()
			sum, size = sum+p, size+math.Abs(p)
		}
		return sum, size
	}
	got, size := dot(tangent, weight)
	want := 0.0
	for i, d := range gs {
		if moved[i] == nil {
			continue
		}
		s, a := dot(d, moved[i])
		want, size = want+s, size+a
	}
	tolerance := 1e-12
	if k.op == uop.Cast { // rounds to float32 on the way
		tolerance = 1e-5
	}
	if !(math.Abs(got-want) <= tolerance*(1+size)) {
		return fmt.Errorf("the tangent gives %v, gradients give %v\n%s", got, want, uop.Print(y))
	}
	return nil
}
