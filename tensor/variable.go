package tensor

import (
	"fmt"
	"math"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/uop"
)

// Variable is an integer that a graph is built with and gets its value when it is computed: where a row lies, how many elements of an
// axis count. Graphs that differ in values of variables only have one plan, which is compiled once and whose memory is that for the greatest.
//
//	n := tensor.NewVariable("n", 0, 511)
//	step, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor {
//		cache.SetAt(in[0], n)                       // one row is written
//		seen := cache.Narrow(0, 0, n.Plus(1))       // shape [n+1, …]
//		return []*tensor.Tensor{seen.Mean(0)}
//	}, row)
//	out, err := step.With(tensor.Values{n: 17}).Run(ctx, row)
//
// Operations for which it matters where an axis ends, or in which order all of its elements lie, refuse one whose size varies: Sort, TopK, Median,
// Flip, Cat, Pad, Tril, CumMax, convolutions and pooling along it, At on it, Einsum, CrossEntropy and other losses of classes over such rows, and
// ScaledDotProduct with Causal of queries whose number varies. Elementwise operations and losses of elements, Sum, Mean, Max and the like, Softmax,
// CumSum, MatMul, Linear, Dropout, Cat and Stack along another axis, At and Embedding of so many rows, and attention to keys whose number varies
// take it, and so do nn.MultiheadAttention and nn.TransformerLayer without masks. Of ids with several axes only the first may vary.
//
// Outside of Capture a graph is built with a value: cache.Narrow(0, 0, n.Bind(17)). Variables of one name and bounds are the same.
type Variable struct{ arg uop.VarArg }

// NewVariable is a variable of lo … hi.
func NewVariable(name string, lo, hi int) Variable {
	if name == "" || lo > hi || lo < math.MinInt32 || hi > math.MaxInt32 {
		failArg("NewVariable", "variable %q from %d to %d: it needs a name, and bounds in order that are 32-bit integers", name, lo, hi)
	}
	return Variable{uop.VarArg{Name: name, Lo: lo, Hi: hi}}
}

// Bind is the variable with a value, for tensors that are computed outside of Capture. In a captured function it is the value of runs that
// are given no other.
func (v Variable) Bind(value int) Variable {
	if err := engine.CheckValue(v.arg, value); err != nil {
		failArg("Bind", "%v", err)
	}
	v.arg.Bound, v.arg.Value = true, value
	return v
}

// Size is the variable as a size.
func (v Variable) Size() Size { return Size{uop.SizeOf(v.arg)} }

// Plus is v + n, where n is an int, a Variable or a Size.
func (v Variable) Plus(n any) Size { return v.Size().Plus(n) }

// Minus is v − n, where n is an int, a Variable or a Size.
func (v Variable) Minus(n any) Size { return v.Size().Minus(n) }

// Times is k · v.
func (v Variable) Times(k int) Size { return v.Size().Times(k) }

// Tensor is the value as an int32 tensor without axes, to compute with.
func (v Variable) Tensor() *Tensor { return v.Size().Tensor() }

// String is the name with the value or the bounds.
func (v Variable) String() string { return v.arg.String() }

// Size is a sum of multiples of variables and a number: the size of an axis, or a position on one. Sizes that are equal for all
// values of their variables are ==.
type Size struct{ is uop.Size }

// Plus is s + n, where n is an int, a Variable or a Size.
func (s Size) Plus(n any) Size { return s.add("Plus", n, 1) }

// Minus is s − n, where n is an int, a Variable or a Size.
func (s Size) Minus(n any) Size { return s.add("Minus", n, -1) }

func (s Size) add(op string, n any, k int) Size {
	sum, ok := s.is.Add(toSize(op, n), k)
	if !ok {
		failArg(op, "a size of more than %d variables", uop.MaxVars)
	}
	return Size{sum}
}

// Times is k · s.
func (s Size) Times(k int) Size { return Size{s.is.Times(k)} }

// Bounds are the least and the greatest that the size can be.
func (s Size) Bounds() (lo, hi int) { return s.is.Bounds() }

// Value is what the size comes to; ok is false where a variable has no value.
func (s Size) Value() (n int, ok bool) {
	n, ok, _ = s.is.Value()
	return n, ok
}

// Tensor is the size as an int32 tensor without axes, to compute with.
func (s Size) Tensor() *Tensor {
	if lo, hi := s.Bounds(); lo < math.MinInt32 || hi > math.MaxInt32 {
		failArg("Tensor", "%v leaves 32 bits", s)
	}
	return newTensor(s.is.Node().Cast(dtype.I32), nil)
}

// String writes the size with the values or bounds of its variables.
func (s Size) String() string { return s.is.String() }

// toSize takes an int, a Variable or a Size.
func toSize(op string, v any) uop.Size {
	switch v := v.(type) {
	case Variable:
		return v.Size().is
	case Size:
		return v.is
	case int:
		return uop.Fixed(v)
	}
	if o := toOperand(op, v); o.t == nil && (o.kind == dtype.I64 || o.kind == dtype.U64) {
		return uop.Fixed(int(o.bits.Int()))
	}
	failArg(op, "a size or position is a %T; it must be an integer or be made of variables", v)
	return uop.Size{}
}

// Values are values of variables, for runs of a captured function.
type Values map[Variable]int

// check says what is wrong with values for a function that takes these variables, or nil: each has to have one. Values of
// others do no harm: what a function does with a variable may cancel.
func (vs Values) check(takes []uop.VarArg) error {
	for v, n := range vs {
		if err := engine.CheckValue(v.arg, n); err != nil {
			return err
		}
	}
	value := vs.bindings()
	for _, a := range takes {
		if _, ok := value(a); !ok && !a.Bound {
			return fmt.Errorf("variable %v has no value; give the run one", a)
		}
	}
	return nil
}

// is reports whether v names the variable a, whatever its value.
func (v Variable) is(a uop.VarArg) bool {
	return v.arg.Name == a.Name && v.arg.Lo == a.Lo && v.arg.Hi == a.Hi
}

// bindings are the values for the engine.
func (vs Values) bindings() engine.Bindings {
	return func(a uop.VarArg) (int, bool) {
		for v, n := range vs {
			if v.is(a) {
				return n, true
			}
		}
		return 0, false
	}
}
