package variables

import (
	"testing"

	"github.com/weft-ml/weft/tensor"
)

// Tangents, and functions of many arguments at once, are those of fixed sizes.
func TestForwardModeFollows(t *testing.T) {
	const most = 7
	n := tensor.NewVariable("n", 2, most)
	functions := map[string]func(x, w *T) *T{
		"a sum":     func(x, w *T) *T { return x.Mul(w).Sigmoid().Sum(0) },
		"a mean":    func(x, w *T) *T { return x.Mul(w).Exp().Mean(0) },
		"a product": func(x, w *T) *T { return x.MatMul(w).Square().Sum(0) },
		"a softmax": func(x, w *T) *T { return x.Softmax(0).Mul(w).Sum(0) },
		"a maximum": func(x, w *T) *T { return x.Mul(w).Max(0) },
	}
	onAll(t, func(b *bench) {
		for name, f := range functions {
			for _, k := range []int{most, 2, 5} {
				w := b.numbers(6, 6)
				if name == "a product" {
					w = b.numbers(6, 6, 6)
				}
				array, fixed := b.rooms(k, k, most)
				_, bound := b.rooms(k, n.Bind(k), most)
				dw := b.numbers(9, w.Shape()...)
				tangent := func(view func(*T) *T) *T {
					_, d := tensor.JVP(func(in ...*T) []*T { return []*T{f(view(in[0]), in[1])} }, []*T{array, w}, []*T{array.Sin(), dw})
					return d[0]
				}
				want := tangent(fixed)
				b.equal(want.Shape(), b.values(want), tangent(bound), "the tangent of %s of %d", name, k)
				many := tensor.Stack(0, w, dw, w.Neg())
				each := func(view func(*T) *T) *T {
					return tensor.Vmap(func(in ...*T) []*T { return []*T{f(view(array), in[0])} }, tensor.VmapOptions{})(many)[0]
				}
				want = each(fixed)
				b.equal(want.Shape(), b.values(want), each(bound), "%s of %d for many weights", name, k)
				arrays := tensor.Stack(0, array, array.Mul(0.5))
				each = func(view func(*T) *T) *T {
					return tensor.Vmap(func(in ...*T) []*T { return []*T{f(view(in[0]), w)} }, tensor.VmapOptions{})(arrays)[0]
				}
				want = each(fixed)
				b.equal(want.Shape(), b.values(want), each(bound), "%s of %d for many arrays", name, k)
			}
		}
	})
}
