package lawtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/ref"
	"github.com/weft-ml/weft/uop"
)

// Gradients gives the gradient of Σ y·seed with respect to each of wrt: grad.Of.
type Gradients func(y, seed *uop.UOp, wrt ...*uop.UOp) []*uop.UOp

// CheckGradients puts each of the ops into random graphs of tensors, tries of each kind, and compares the gradients of what they
// are made from with differences, in float64. Elements near a kink, where some comparison turns out otherwise a little further,
// are passed over. An op that no graph is known for is an error. Seeds are the given one and a fresh one.
func CheckGradients(t *testing.T, of Gradients, ops []uop.Op, seed uint64, tries int) {
	t.Helper()
	for _, o := range ops {
		if !slices.ContainsFunc(differentiable, func(k kind) bool { return k.op == o }) {
			t.Errorf("no random graph has the op %v", o)
		}
	}
	eachKind(t, ops, seed, tries, func(k kind, from uint64) (int, int, error) { return gradient(of, k, from) })
}

// eachKind tries each of the ops in each way that there is.
func eachKind(t *testing.T, ops []uop.Op, seed uint64, tries int, try func(k kind, seed uint64) (compared, skipped int, err error)) {
	t.Helper()
	for i, k := range differentiable {
		if !slices.Contains(ops, k.op) {
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			compared, skipped := 0, 0
			for n := range tries {
				from := seed
				if n%4 == 3 {
					from = rand.Uint64()
				}
				c, s, err := try(k, from^uint64(i)<<32^uint64(n)<<16)
				if compared, skipped = compared+c, skipped+s; err != nil {
					t.Fatalf("seed %#x, try %d: %v", from, n, err)
				}
			}
			if skipped > compared {
				t.Errorf("only %d elements were compared, %d were near a kink or out of bounds", compared, skipped)
			}
		})
	}
}

// Gradient tries an op once in each way that there is, and says how many elements were compared.
func Gradient(of Gradients, o uop.Op, seed uint64) (compared int, err error) {
	for i, k := range differentiable {
		if k.op != o {
			continue
		}
		n, _, err := gradient(of, k, seed^uint64(i)<<32)
		if compared += n; err != nil {
			return compared, fmt.Errorf("%s: %w", k.name, err)
		}
	}
	return compared, nil
}

// Differences are taken at step and at half of it, of so many elements of a leaf.
const (
	step      = 1.0 / (1 << 12)
	perLeaf   = 4
	rough     = 1e-5 // relative to the gradient
	roundings = 1e-8 // relative to what is added up
)

// gradient tries one graph.
func gradient(of Gradients, k kind, seed uint64) (compared, skipped int, err error) {
	return slopes(of, func(g *tensors) *uop.UOp { return g.grow(k) }, seed)
}

// slopes compares the gradients of a graph with differences.
func slopes(of Gradients, grow func(g *tensors) *uop.UOp, seed uint64) (compared, skipped int, err error) {
	g := newTensors(seed)
	y := grow(g)
	g = newTensors(seed)
	g.plain = true // the same without what rounds
	smooth := grow(g)
	weight := g.leaf(y.Shape()...)
	var all []int
	for i := range y.Shape() {
		all = append(all, i)
	}
	loss := smooth.Mul(weight)
	terms := loss.Mul(loss).Sqrt()
	if len(all) > 0 {
		loss, terms = loss.Reduce(uop.Sum, all...), terms.Reduce(uop.Sum, all...)
	}
	wrt := g.leaves[:len(g.leaves)-1]
	gradients := of(y, weight, wrt...)
	if !g.agree(decisions(y), decisions(smooth)) {
		return 0, 1, nil
	}
	watch := append([]*uop.UOp{loss, terms}, decisions(smooth)...)
	for i, leaf := range wrt {
		if !gradients[i].Shape().Equal(leaf.Shape()) || gradients[i].DType() != leaf.DType() {
			return compared, skipped, fmt.Errorf("the gradient of %v is %v", leaf, gradients[i])
		}
		got := ref.Eval(g.load, gradients[i])[0]
		data := g.data(leaf)
		for range perLeaf {
			at := g.IntN(len(data))
			d, ok := g.difference(watch, data, at)
			if !ok {
				skipped++
				continue
			}
			compared++
			if a := got[at].Float(); !(math.Abs(a-d.slope) <= d.tolerance) {
				return compared, skipped, fmt.Errorf("element %d of the gradient of %v is %v, differences say %v ± %.2g\n%s", at, leaf, a, d.slope,
					d.tolerance, uop.Print(y))
			}
		}
	}
	return compared, skipped, nil
}

// agree says that two graphs are on the same side of their kinks.
func (g *tensors) agree(a, b []*uop.UOp) bool {
	return slices.EqualFunc(ref.Eval(g.load, a...), ref.Eval(g.load, b...), slices.Equal[[]uop.Value])
}

type difference struct{ slope, tolerance float64 }

// difference is the slope of the first of the watched nodes along an element; ok is false where one of the decisions changes
// nearby, or the slope is not settled.
func (g *tensors) difference(watch []*uop.UOp, data []uop.Value, at int) (d difference, ok bool) {
	old := data[at]
	defer func() { data[at] = old }()
	var loss [5]float64
	var here [][]uop.Value
	terms := 0.0
	for i, k := range []float64{0, -1, -.5, .5, 1} {
		data[at] = uop.FloatValue(dtype.F64, old.Float()+k*step)
		v := ref.Eval(g.load, watch...)
		loss[i], terms = v[0][0].Float(), max(terms, v[1][0].Float())
		if i == 0 {
			here = v[2:]
		} else if !slices.EqualFunc(here, v[2:], slices.Equal[[]uop.Value]) {
			return d, false
		}
	}
	whole, half := (loss[4]-loss[1])/(2*step), (loss[3]-loss[2])/step
	d.slope = (4*half - whole) / 3
	d.tolerance = rough*(1+math.Abs(d.slope)) + roundings*terms/step*rough + math.Abs(half-whole)
	return d, d.tolerance < 1e-2*(1+math.Abs(d.slope)) && terms < 1e6
}

// decisions are the comparisons in a graph: while all of them stay, it is smooth. Ties that stay are of things that move alike.
func decisions(y *uop.UOp) (out []*uop.UOp) {
	for _, u := range uop.Topo(y) {
		switch u.Op() {
		case uop.Less, uop.Equal:
			out = append(out, u)
		case uop.Max:
			out = append(out, u.At(0).Less(u.At(1)), u.At(0).Equal(u.At(1)))
		case uop.Reduce:
			a := u.Arg().(uop.ReduceArg)
			x, top := u.At(0), u
			switch a.Monoid {
			case uop.ArgMax, uop.SumExp:
				top = u.Part(0)
			case uop.MaxOf:
			default:
				continue
			}
			shape := slices.Clone(x.Shape())
			for _, ax := range a.Axes.Slice() {
				shape[ax] = 1
			}
			out = append(out, x.Equal(top.Reshape(shape...).Expand(x.Shape()...)))
		case uop.Scatter:
			if a := u.Arg().(uop.ScatterArg); a.Monoid == uop.MaxOf {
				out = append(out, u.At(0).Equal(u), u.At(2).Equal(u.Gather(u.At(1), a.Axis)))
			}
		}
	}
	return out
}
