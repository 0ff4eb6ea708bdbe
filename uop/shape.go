package uop

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/dtype"
)

// Shape is the sizes of an array's axes; rank 0 is a scalar.
type Shape []int

// Numel is the number of elements.
func (s Shape) Numel() int {
	n := 1
	for _, d := range s {
		n *= d
	}
	return n
}

// Equal reports whether both have the same sizes.
func (s Shape) Equal(o Shape) bool { return slices.Equal(s, o) }

// ShapeError says that an op cannot be applied to operands of these shapes or types. At is the
// caller's file and line, and Layer the layer of a network that it is called in, filled in by package tensor.
type ShapeError struct {
	Op     string
	Shapes []Shape
	Reason string
	At     string
	Layer  string
}

func (e *ShapeError) Error() string {
	s := "tensor: " + e.Op
	for _, sh := range e.Shapes {
		s += fmt.Sprintf(" %v", []int(sh))
	}
	s = InLayer(s+": "+e.Reason, e.Layer)
	if e.At != "" {
		s += " (" + e.At + ")"
	}
	return s
}

// InLayer adds to an error's text the layers that it was found in.
func InLayer(text, layer string) string {
	if layer != "" {
		text += ", in " + layer
	}
	return text
}

func fail(u *UOp, format string, a ...any) Shape {
	e := &ShapeError{Op: u.op.String(), Reason: varyingReason(u, fmt.Sprintf(format, a...))}
	for _, s := range u.src {
		e.Shapes = append(e.Shapes, s.shape)
	}
	panic(e)
}

// infer gives the shape of a node and checks its operands.
func infer(u *UOp) Shape {
	info := Info(u.op)
	if info.Arity >= 0 && len(u.src) != info.Arity {
		panic(fmt.Sprintf("BUG: %s has %d operands", u.op, len(u.src)))
	}
	switch info.Group {
	case Unary, Binary, Ternary:
		return inferElementwise(u, info)
	case Movement:
		return inferMovement(u)
	}
	switch u.op {
	case Const, Var, Reg, Load:
		return nil
	case Range:
		if a := u.arg.(RangeArg); a.ID < 0 {
			return Shape{a.N}
		}
		return nil
	case Param:
		return Shape{u.arg.(ParamArg).N}
	case Buffer:
		return Shape{u.arg.(BufferArg).N}
	case Reduce:
		return inferReduce(u)
	case Scan:
		return inferScan(u)
	case ArgSort:
		if !u.src[0].dtype.IsInt() || len(u.src[0].shape) == 0 {
			return fail(u, "only the last axis of integers is sorted")
		}
	case Gather:
		return inferGather(u, u.src[0], u.src[1], u.arg.(AxisArg).Axis)
	case Scatter:
		inferGather(u, u.src[0], u.src[1], u.arg.(ScatterArg).Axis)
		if !u.src[1].shape.Equal(u.src[2].shape) || u.src[0].dtype != u.src[2].dtype {
			return fail(u, "index and value must have one shape, base and value one type")
		}
		return u.src[0].shape
	case Foreign:
		a := u.arg.(ForeignArg)
		return a.All()[a.Result].Shape
	case Call:
		a := u.arg.(CallArg)
		return a.Outs[a.Out].shape
	case Loop:
		return loopShape(u)
	case Check:
		if u.src[1].dtype != dtype.I32 {
			return fail(u, "the code is %v, not int32", u.src[1].dtype)
		}
	case Store:
		if !u.src[0].shape.Equal(u.src[1].shape) && len(u.src[0].shape) > 0 {
			return fail(u, "target and value must have one shape")
		}
	}
	return u.src[0].shape
}

func inferElementwise(u *UOp, info *OpInfo) Shape {
	var shape Shape
	set := false
	for i, s := range u.src {
		first := 0
		if info.Type == Second {
			first = 1
		}
		if i > first && s.dtype != u.src[first].dtype {
			fail(u, "operands are %v and %v", u.src[first].dtype, s.dtype)
		}
		if len(s.shape) == 0 { // scalars fit everywhere
			continue
		}
		if set && !shape.Equal(s.shape) {
			fail(u, "shapes differ")
		}
		shape, set = s.shape, true
	}
	want := u.dtype
	switch info.Type {
	case First, Same:
		want = u.src[0].dtype
	case Boolean:
		want = dtype.Bool
	case Second:
		want = u.src[1].dtype
		if u.src[0].dtype != dtype.Bool {
			fail(u, "the condition is %v, not bool", u.src[0].dtype)
		}
	}
	if u.dtype != want {
		panic(fmt.Sprintf("BUG: %s of %v made as %v", u.op, want, u.dtype))
	}
	return shape
}

func inferReduce(u *UOp) Shape {
	a := u.arg.(ReduceArg)
	in := u.src[0].shape
	for _, s := range u.src[1:a.Parts] {
		if len(s.shape) != 0 && !s.shape.Equal(in) {
			fail(u, "parts have different shapes")
		}
	}
	drop := make([]bool, len(in))
	for i := range a.Axes.Len() {
		ax := a.Axes.At(i)
		if ax < 0 || ax >= len(in) || drop[ax] {
			fail(u, "axis %d of rank %d", ax, len(in))
		}
		drop[ax] = true
	}
	out := Shape{}
	for i, n := range in {
		if !drop[i] {
			out = append(out, n)
		}
	}
	return out
}

func inferScan(u *UOp) Shape {
	a := u.arg.(ScanArg)
	if len(u.src) > a.Parts+min(a.Keys, 1) { // in a kernel
		return nil
	}
	shape := u.src[0].shape
	for _, s := range u.src[1:] {
		if len(s.shape) != 0 && !s.shape.Equal(shape) {
			fail(u, "parts have different shapes")
		}
	}
	if a.Axis < 0 || a.Axis >= len(shape) {
		fail(u, "axis %d of rank %d", a.Axis, len(shape))
	}
	return shape
}

func inferGather(u, x, index *UOp, axis int) Shape {
	if !index.dtype.IsInt() {
		fail(u, "the index is %v, not an integer", index.dtype)
	}
	if len(x.shape) != len(index.shape) || axis < 0 || axis >= len(x.shape) {
		fail(u, "axis %d", axis)
	}
	for i := range x.shape {
		if i != axis && x.shape[i] != index.shape[i] {
			fail(u, "sizes of axis %d differ", i)
		}
	}
	return index.shape
}

func inferMovement(u *UOp) Shape {
	in := u.src[0].shape
	switch a := u.arg.(type) {
	case Ints:
		v := a.Slice()
		switch u.op {
		case Reshape:
			if Shape(v).Numel() != in.Numel() || slices.ContainsFunc(v, func(n int) bool { return n < 0 }) {
				fail(u, "cannot become %v", v)
			}
			return v
		case Permute:
			return inferPermute(u, in, v)
		case Expand:
			if len(v) != len(in) {
				fail(u, "cannot expand to %v", v)
			}
			for i := range v {
				if in[i] != v[i] && in[i] != 1 || v[i] < 0 {
					fail(u, "cannot expand to %v", v)
				}
			}
			return v
		case Flip:
			for _, ax := range v {
				if ax < 0 || ax >= len(in) {
					fail(u, "axis %d", ax)
				}
			}
			return in
		}
	case PadArg:
		if a.Lo.Len() != len(in) || a.Hi.Len() != len(in) {
			fail(u, "needs two numbers an axis")
		}
		out := make(Shape, len(in))
		for i := range in {
			lo, hi := a.Lo.At(i), a.Hi.At(i)
			if u.op == Pad {
				out[i] = Plus(Plus(lo, in[i]), hi)
			} else {
				out[i] = hi - lo
			}
			if lo < 0 || hi < 0 || out[i] < 0 || u.op == Shrink && hi > in[i] {
				fail(u, "bounds %d, %d of axis %d", lo, hi, i)
			}
		}
		return out
	case SlideArg:
		if a.Axis == a.By || a.Axis < 0 || a.By < 0 || a.Axis >= len(in) || a.By >= len(in) || a.N < 0 {
			fail(u, "axes %d and %d", a.Axis, a.By)
		}
		// Where it reads is counted in 64 bits as well.
		if Plus(magnitude(a.Lo), Times(magnitude(a.Step), in[a.By])) > MaxElements {
			fail(u, "steps of %d from %d on lead beyond any array", a.Step, a.Lo)
		}
		out := slices.Clone(in)
		out[a.Axis] = a.N
		return out
	}
	panic("BUG: movement without argument")
}

func inferPermute(u *UOp, in Shape, perm []int) Shape {
	if len(perm) != len(in) {
		fail(u, "order %v", perm)
	}
	out := make(Shape, len(in))
	seen := make([]bool, len(in))
	for i, p := range perm {
		if p < 0 || p >= len(in) || seen[p] {
			fail(u, "order %v", perm)
		}
		seen[p] = true
		out[i] = in[p]
	}
	return out
}

// Regrouped calls f for the axes that a reshape of in to out, of as many elements, makes of others: in[i0:i] become out[o0:o], as few at
// a time as have equal products.
func Regrouped(in, out Shape, f func(i0, i, o0, o int)) {
	i, o := 0, 0
	for i < len(in) || o < len(out) {
		i0, o0 := i, o
		pi, po := 1, 1
		if i < len(in) {
			pi, i = in[i], i+1
		}
		if o < len(out) {
			po, o = out[o], o+1
		}
		for pi != po {
			if pi < po && i < len(in) || o == len(out) {
				pi, i = pi*in[i], i+1
			} else {
				po, o = po*out[o], o+1
			}
		}
		f(i0, i, o0, o)
	}
}
