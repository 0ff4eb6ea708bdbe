package tensor

import (
	"math"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/uop"
)

// operand is a tensor, or a Go number, whose type is weak: it takes the type of what it meets.
// Accepted are *Tensor, bool, all integer types, float32 and float64.
type operand struct {
	t    *Tensor
	kind dtype.DType // of a number: Bool, I64, U64 or F64
	bits uop.Value
}

func toOperand(op string, v any) operand {
	switch v := v.(type) {
	case *Tensor:
		if v == nil {
			failType(op, nil, "an operand is nil")
		}
		return operand{t: v}
	case bool:
		return operand{kind: dtype.Bool, bits: uop.ValueOf(dtype.Bool, v)}
	case int:
		return number(int64(v))
	case int8:
		return number(int64(v))
	case int16:
		return number(int64(v))
	case int32:
		return number(int64(v))
	case int64:
		return number(v)
	case uint8:
		return number(int64(v))
	case uint16:
		return number(int64(v))
	case uint32:
		return number(int64(v))
	case uint:
		return operand{kind: dtype.U64, bits: uop.Value(v)}
	case uint64:
		return operand{kind: dtype.U64, bits: uop.Value(v)}
	case float32:
		return operand{kind: dtype.F64, bits: uop.Value(math.Float64bits(float64(v)))}
	case float64:
		return operand{kind: dtype.F64, bits: uop.Value(math.Float64bits(v))}
	}
	failType(op, nil, "an operand is a %T; it must be a *Tensor, a bool, an integer or a float", v)
	return operand{}
}

func number(v int64) operand { return operand{kind: dtype.I64, bits: uop.Value(v)} }

// natural is the type that the operand has when it meets no tensor.
func (o operand) natural() dtype.DType {
	switch {
	case o.t != nil:
		return o.t.DType()
	case o.kind == dtype.F64:
		return DefaultFloat()
	case o.kind == dtype.Bool:
		return dtype.Bool
	}
	if d := DefaultInt(); o.fits(d) {
		return d
	}
	return o.kind
}

// fits says that an integer is one of type d.
func (o operand) fits(d dtype.DType) bool {
	return uop.IntValue(d, o.bits.Int()) == o.bits && (o.bits.Int() >= 0 || d.IsUnsigned() == (o.kind == dtype.U64))
}

// beyond says whether o is a whole number that is greater (1) or less (−1) than all of an integer type d; 0: neither.
func (o operand) beyond(d dtype.DType) int {
	switch {
	case o.t != nil || !d.IsInt() || o.kind != dtype.I64 && o.kind != dtype.U64 || o.fits(d):
		return 0
	case o.kind == dtype.I64 && o.bits.Int() < 0:
		return -1
	}
	return 1
}

// meet is the type of a tensor of type d together with o.
func (o operand) meet(d dtype.DType) dtype.DType {
	switch {
	case o.t != nil:
		return dtype.Promote(d, o.t.DType())
	case o.kind == dtype.Bool || d.IsFloat():
		return d
	case o.kind == dtype.F64:
		return DefaultFloat()
	case d == dtype.Bool:
		return o.natural()
	}
	return d
}

// as is the operand as a node of type d; a number is a scalar constant.
func (o operand) as(d dtype.DType) *uop.UOp {
	if o.t != nil {
		return o.t.node().Cast(d)
	}
	return uop.NewConst(d, uop.Eval(uop.Cast, o.kind, d, o.bits))
}

func (o operand) shape() uop.Shape {
	if o.t == nil {
		return nil
	}
	return o.t.room()
}

// commonType is the promotion of several operands: of the tensors first, then numbers meet it.
func commonType(os ...operand) dtype.DType {
	d := dtype.Void
	for _, o := range os {
		switch {
		case o.t == nil:
		case d == dtype.Void:
			d = o.t.DType()
		default:
			d = dtype.Promote(d, o.t.DType())
		}
	}
	for _, o := range os {
		switch {
		case o.t != nil:
		case d == dtype.Void:
			d = o.natural()
		default:
			d = o.meet(d)
		}
	}
	return d
}

// otherEngine says what is wrong where two engines have the same name.
func otherEngine(name string) string {
	return "another engine of " + name + ", one that was closed or opened by itself; make all on one"
}

// commonEngine is the device of an operation on ts: they must agree.
func commonEngine(op string, ts ...*Tensor) *engine.Engine {
	var e *engine.Engine
	for _, t := range ts {
		switch {
		case t == nil || t.Engine() == nil:
		case e == nil:
			e = t.Engine()
		case e != t.Engine():
			if e.Name() == t.Engine().Name() {
				failArg(op, "a tensor belongs to %s", otherEngine(e.Name()))
			}
			failArg(op, "tensors on %s and %s meet; move one with On", e.Name(), t.Engine().Name())
		}
	}
	return e
}

// broadcastShape is the common shape of several: aligned at the right, sizes 1 stretch.
func broadcastShape(op string, ss ...uop.Shape) uop.Shape {
	rank := 0
	for _, s := range ss {
		rank = max(rank, len(s))
	}
	out := make(uop.Shape, rank)
	for i := range out {
		out[i] = 1
	}
	for _, s := range ss {
		for i, n := range s {
			o := rank - len(s) + i
			switch {
			case out[o] == 1:
				out[o] = n
			case n != 1 && n != out[o]:
				fail(op, ss, "sizes %d and %d do not broadcast", out[o], n)
			}
		}
	}
	return out
}

// spread broadcasts a node to a shape that it fits.
func spread(u *uop.UOp, shape uop.Shape) *uop.UOp {
	have := u.Shape()
	if have.Equal(shape) {
		return u
	}
	if len(have) < len(shape) {
		wide := make([]int, len(shape))
		for i := range wide {
			wide[i] = 1
		}
		copy(wide[len(shape)-len(have):], have)
		u = u.Reshape(wide...)
	}
	return u.Expand(shape...)
}

// fit broadcasts a node for elementwise use: scalars stay scalars.
func fit(u *uop.UOp, shape uop.Shape) *uop.UOp {
	if len(u.Shape()) == 0 {
		return u
	}
	return spread(u, shape)
}

// elementwise gives operands one type (want of their promotion) and shape, and builds f on them.
func elementwise(op string, want func(dtype.DType) dtype.DType, f func(u []*uop.UOp) *uop.UOp, vs ...any) *Tensor {
	os := make([]operand, len(vs))
	ts := make([]*Tensor, len(vs))
	ss := make([]uop.Shape, 0, len(vs))
	for i, v := range vs {
		os[i] = toOperand(op, v)
		ts[i] = os[i].t
		if os[i].t != nil {
			ss = append(ss, os[i].shape())
		}
	}
	d := commonType(os...)
	if want != nil {
		d = want(d)
	}
	agree(op, ts...)
	shape := broadcastShape(op, ss...)
	us := make([]*uop.UOp, len(vs))
	for i, o := range os {
		us[i] = fit(o.as(d), shape)
	}
	return newTensor(spread(f(us), shape), commonEngine(op, ts...))
}

// floating is the type in which a float function of d is computed and returned.
func floating(d dtype.DType) dtype.DType {
	if d.IsFloat() {
		return d
	}
	return DefaultFloat()
}

// float applies f to the elements as floats; 16-bit floats are computed in 32 bits.
func (t *Tensor) float(f func(x *uop.UOp) *uop.UOp) *Tensor {
	d := floating(t.DType())
	return t.like(f(t.node().Cast(dtype.Accumulator(d))).Cast(d))
}

// float2 is float for two operands.
func float2(op string, f func(x, y *uop.UOp) *uop.UOp, x, y any) *Tensor {
	return elementwise(op, floating, func(u []*uop.UOp) *uop.UOp {
		d := u[0].DType()
		wide := dtype.Accumulator(d)
		return f(u[0].Cast(wide), u[1].Cast(wide)).Cast(d)
	}, x, y)
}
