package uop

import (
	"slices"
	"sync/atomic"

	"github.com/weft-ml/weft/dtype"
)

// Leaves. The package functions make nodes in the global table, the methods in an arena.

// ConstOf is the scalar v of type d, made in table t.
func (t *Table) ConstOf(d dtype.DType, v Value) *UOp { return t.Make(Const, d, ConstArg{Value: v}) }

// Int is the integer constant n of type d (for a float type, the float n).
func (t *Table) Int(d dtype.DType, n int) *UOp { return t.ConstOf(d, ValueOf(d, n)) }

// Index is the constant n of type Index.
func (t *Table) Index(n int) *UOp { return t.ConstOf(dtype.Index, Value(n)) }

// True is the constant true.
func (t *Table) True() *UOp { return t.ConstOf(dtype.Bool, 1) }

// Param is the Slot-th argument, of n elements.
func (t *Table) Param(slot, n int, d dtype.DType) *UOp {
	return t.Make(Param, d, ParamArg{Slot: slot, N: n})
}

// Range is a loop index 0 … n−1 of type Index; id tells ranges of one kernel apart.
func (t *Table) Range(id, n int, name string) *UOp {
	return t.Make(Range, dtype.Index, RangeArg{ID: id, N: n, Name: name})
}

// Iota is the array 0, 1, …, n−1 of type Index.
func (t *Table) Iota(n int) *UOp {
	return t.Make(Range, dtype.Index, RangeArg{ID: -1, N: n})
}

// NewConst is the scalar v of type d.
func NewConst(d dtype.DType, v Value) *UOp { return global.ConstOf(d, v) }

// NewOwnConst is a constant of type d that is equal to no other node.
func NewOwnConst(d dtype.DType, v Value) *UOp {
	return global.Make(Const, d, ConstArg{Value: v, ID: ownConsts.Add(1)})
}

var ownConsts atomic.Uint64

// NewInt is the number n as a constant of type d.
func NewInt(d dtype.DType, n int) *UOp { return global.Int(d, n) }

// NewFloat is the number f as a constant of type d.
func NewFloat(d dtype.DType, f float64) *UOp { return global.ConstOf(d, ValueOf(d, f)) }

// NewBuffer is storage of n elements, shape [n].
func NewBuffer(id uint64, n int, device string, d dtype.DType) *UOp {
	return global.Make(Buffer, d, BufferArg{ID: id, N: n, Device: device})
}

// NewIota is the array 0, 1, …, n−1 of type Index.
func NewIota(n int) *UOp { return global.Iota(n) }

// Const is the constant v of u's type, in u's table.
func (u *UOp) Const(v Value) *UOp { return u.home.ConstOf(u.dtype, v) }

// Int is the number n as a constant of u's type.
func (u *UOp) Int(n int) *UOp { return u.home.Int(u.dtype, n) }

// Float is the number f as a constant of u's type.
func (u *UOp) Float(f float64) *UOp { return u.home.ConstOf(u.dtype, ValueOf(u.dtype, f)) }

// Elementwise.

func (u *UOp) unary(o Op) *UOp          { return u.home.Make(o, u.dtype, nil, u) }
func (u *UOp) binary(o Op, v *UOp) *UOp { return u.home.Make(o, u.dtype, nil, u, v) }

// Neg is −u.
func (u *UOp) Neg() *UOp { return u.unary(Neg) }

// Sqrt is the square root of u.
func (u *UOp) Sqrt() *UOp { return u.unary(Sqrt) }

// Exp2 is 2 to the u.
func (u *UOp) Exp2() *UOp { return u.unary(Exp2) }

// Log2 is the logarithm of u to base 2.
func (u *UOp) Log2() *UOp { return u.unary(Log2) }

// Sin is the sine of u, in radians.
func (u *UOp) Sin() *UOp { return u.unary(Sin) }

// Trunc is u rounded toward zero; integers unchanged.
func (u *UOp) Trunc() *UOp {
	if !u.dtype.IsFloat() {
		return u
	}
	return u.unary(Trunc)
}

// RoundEven is the integer nearest to u, of two the even one; integers unchanged.
func (u *UOp) RoundEven() *UOp {
	if !u.dtype.IsFloat() {
		return u
	}
	return u.unary(RoundEven)
}

// Cast converts to d: floats to integers truncate and saturate, NaN becomes 0.
func (u *UOp) Cast(d dtype.DType) *UOp {
	if u.dtype == d {
		return u
	}
	return u.home.Make(Cast, d, nil, u)
}

// Bitcast reads the bits of u as type d of the same size.
func (u *UOp) Bitcast(d dtype.DType) *UOp {
	if u.dtype == d {
		return u
	}
	return u.home.Make(Bitcast, d, nil, u)
}

// Add is u + v.
func (u *UOp) Add(v *UOp) *UOp { return u.binary(Add, v) }

// Sub is u − v.
func (u *UOp) Sub(v *UOp) *UOp { return u.binary(Add, v.Neg()) }

// Mul is u · v.
func (u *UOp) Mul(v *UOp) *UOp { return u.binary(Mul, v) }

// Div is u / v of floats.
func (u *UOp) Div(v *UOp) *UOp { return u.binary(Div, v) }

// IDiv is the largest integer not above u / v; 0 for v = 0.
func (u *UOp) IDiv(v *UOp) *UOp { return u.binary(IDiv, v) }

// Mod is u − v·IDiv(u, v); 0 for v = 0.
func (u *UOp) Mod(v *UOp) *UOp { return u.binary(Mod, v) }

// Max is the larger of both; NaN if one is.
func (u *UOp) Max(v *UOp) *UOp { return u.binary(Max, v) }

// Min is the smaller of both; NaN if one is.
func (u *UOp) Min(v *UOp) *UOp {
	if u.dtype.IsFloat() {
		return u.Neg().Max(v.Neg()).Neg()
	}
	return u.Not().Max(v.Not()).Not()
}

// And is the bitwise and.
func (u *UOp) And(v *UOp) *UOp { return u.binary(And, v) }

// Or is the bitwise or.
func (u *UOp) Or(v *UOp) *UOp { return u.binary(Or, v) }

// Xor is the bitwise exclusive or.
func (u *UOp) Xor(v *UOp) *UOp { return u.binary(Xor, v) }

// Not is the bitwise complement; for bool the negation.
func (u *UOp) Not() *UOp {
	if u.dtype == dtype.Bool {
		return u.Xor(u.Int(1))
	}
	_, hi := IntLimits(u.dtype)
	if !u.dtype.IsUnsigned() {
		hi = ^Value(0)
	}
	return u.Xor(u.Const(hi))
}

// Shl shifts left by v modulo the width.
func (u *UOp) Shl(v *UOp) *UOp { return u.binary(Shl, v) }

// Shr shifts right by v modulo the width; signed types keep the sign.
func (u *UOp) Shr(v *UOp) *UOp { return u.binary(Shr, v) }

// Less is u < v; false if one is NaN.
func (u *UOp) Less(v *UOp) *UOp { return u.home.Make(Less, dtype.Bool, nil, u, v) }

// Equal is u = v; false if one is NaN.
func (u *UOp) Equal(v *UOp) *UOp { return u.home.Make(Equal, dtype.Bool, nil, u, v) }

// Where is x where u (bool) is true and y elsewhere.
func (u *UOp) Where(x, y *UOp) *UOp { return u.home.Make(Where, x.dtype, nil, u, x, y) }

// Dot2 is the sum of the products of the low and of the high halves of u and v, int32 words of two int16 each. It
// wraps where both products are 2³⁰.
func (u *UOp) Dot2(v *UOp) *UOp { return u.binary(Dot2, v) }

// Dot4 is the sum of the products of the four bytes of u, numbers from 0 to 255, with those of v, numbers from −128 to 127. It
// never overflows.
func (u *UOp) Dot4(v *UOp) *UOp { return u.binary(Dot4, v) }

// DotBF16 is the sum, in float32, of the products of the low and of the high halves of u and v, int32 words of two bfloat16 each. Denormal
// numbers may count as 0: machines do that.
func (u *UOp) DotBF16(v *UOp) *UOp { return u.home.Make(DotBF16, dtype.F32, nil, u, v) }

// MulAdd is u·v + w, rounded once.
func (u *UOp) MulAdd(v, w *UOp) *UOp { return u.home.Make(MulAdd, u.dtype, nil, u, v, w) }

// LooseMulAdd is u·v + w, whose product is rounded where a multiply-add takes longer than it and a sum.
func (u *UOp) LooseMulAdd(v, w *UOp) *UOp { return u.home.Make(MulAdd, u.dtype, LooseArg{}, u, v, w) }

// Movement. A movement that changes nothing is left out.

// Reshape gives the elements another shape. In an arena a reshape of a reshape is one; the global table keeps
// both, because a user may ask for the gradient of the first.
func (u *UOp) Reshape(shape ...int) *UOp {
	if u.shape.Equal(shape) {
		return u
	}
	if u.op == Reshape && !u.home.shared {
		return u.src[0].Reshape(shape...)
	}
	return u.home.Make(Reshape, u.dtype, MakeInts(shape...), u)
}

// Permute reorders axes: axis i of the result is axis order[i] of u.
func (u *UOp) Permute(order ...int) *UOp {
	if len(order) == len(u.shape) && identity(order) {
		return u
	}
	return u.home.Make(Permute, u.dtype, MakeInts(order...), u)
}

func identity(order []int) bool {
	for i, o := range order {
		if o != i {
			return false
		}
	}
	return true
}

// Expand repeats axes of size 1.
func (u *UOp) Expand(shape ...int) *UOp {
	if u.shape.Equal(shape) {
		return u
	}
	return u.home.Make(Expand, u.dtype, MakeInts(shape...), u)
}

// Pad puts lo[i] zeros before and hi[i] after axis i.
func (u *UOp) Pad(lo, hi []int) *UOp {
	if zero(lo) && zero(hi) && len(lo) == len(u.shape) && len(hi) == len(u.shape) {
		return u
	}
	return u.home.Make(Pad, u.dtype, PadArg{Lo: MakeInts(lo...), Hi: MakeInts(hi...)}, u)
}

// Shrink keeps lo[i] … hi[i]−1 of axis i.
func (u *UOp) Shrink(lo, hi []int) *UOp {
	if zero(lo) && u.shape.Equal(hi) && len(lo) == len(u.shape) {
		return u
	}
	return u.home.Make(Shrink, u.dtype, PadArg{Lo: MakeInts(lo...), Hi: MakeInts(hi...)}, u)
}

// Flip reverses axes.
func (u *UOp) Flip(axes ...int) *UOp {
	if len(axes) == 0 {
		return u
	}
	return u.home.Make(Flip, u.dtype, MakeInts(axes...), u)
}

// Slide is out[… i … k …] = u[… i + step·k + lo … k …], zero outside, with i on axis (new size n), k on by.
func (u *UOp) Slide(axis, by, step, lo, n int) *UOp {
	return u.home.Make(Slide, u.dtype, SlideArg{axis, by, step, lo, n}, u)
}

func zero(v []int) bool {
	for _, x := range v {
		if x != 0 {
			return false
		}
	}
	return true
}

// Reduce merges axes of u with a monoid of one part; the axes go.
func (u *UOp) Reduce(m Monoid, axes ...int) *UOp {
	if len(axes) == 0 {
		return u
	}
	return u.home.ReduceParts(m, axes, u)
}

// ReduceParts merges axes of several values with a monoid; Part(i) gives the results.
func (t *Table) ReduceParts(m Monoid, axes []int, parts ...*UOp) *UOp {
	return t.Make(Reduce, parts[0].dtype, ReduceArg{m, len(parts), MakeInts(axes...)}, parts...)
}

// ReduceRanges merges values over loop ranges, in a kernel.
func (t *Table) ReduceRanges(m Monoid, parts, ranges []*UOp) *UOp {
	return t.Make(Reduce, parts[0].dtype, ReduceArg{Monoid: m, Parts: len(parts)}, append(slices.Clone(parts), ranges...)...)
}

// Scan merges each element of u with all before it on an axis, with a monoid of one part.
func (u *UOp) Scan(m Monoid, axis int) *UOp { return u.home.ScanParts(m, axis, u) }

// ScanParts does so with several values; Part(i) gives the results.
func (t *Table) ScanParts(m Monoid, axis int, parts ...*UOp) *UOp {
	return t.Make(Scan, parts[0].dtype, ScanArg{Monoid: m, Parts: len(parts), Axis: axis}, parts...)
}

// Recur is a scan along the first axis that does a step with the parts of each element. Those that are scalars are the same in all steps.
func (t *Table) Recur(step *Recurrence, parts ...*UOp) *UOp {
	return t.Make(Scan, step.Next[0].dtype, ScanArg{Parts: len(parts), Step: step}, parts...)
}

// ScanByKey merges each element of u with those before it on an axis that have the same key, of 0 … keys−1.
func (u *UOp) ScanByKey(m Monoid, axis int, key *UOp, keys int) *UOp {
	return u.home.Make(Scan, u.dtype, ScanArg{Monoid: m, Parts: 1, Axis: axis, Keys: keys}, u, key)
}

// ArgSort gives the indices that order integers along the last axis.
func (u *UOp) ArgSort() *UOp { return u.home.Make(ArgSort, dtype.I32, nil, u) }

// ScanRange merges values over the range over, from 0 up to the value of the range at, in a kernel. A scan by key has that behind them.
func (t *Table) ScanRange(a ScanArg, parts []*UOp, over, at *UOp, key ...*UOp) *UOp {
	a.Axis = 0
	d := parts[0].dtype
	if a.Step != nil {
		d = a.Step.Next[0].dtype
	}
	return t.Make(Scan, d, a, slices.Concat(parts, []*UOp{over, at}, key)...)
}

// Part is the i-th result of a reduction or of a scan.
func (u *UOp) Part(i int) *UOp {
	switch a := u.arg.(type) {
	case ReduceArg:
		if a.Parts == 1 {
			return u
		}
	case ScanArg:
		switch {
		case a.Results() == 1:
			return u
		case a.Step != nil:
			return u.home.Make(Part, a.Step.Next[i].dtype, PartArg{i}, u)
		}
	}
	return u.home.Make(Part, u.src[i].dtype, PartArg{i}, u)
}

// Indexing and order.

// Gather is out[…i…] = u[…index[…i…]…] on axis; 0 where the index is outside.
func (u *UOp) Gather(index *UOp, axis int) *UOp {
	return u.home.Make(Gather, u.dtype, AxisArg{axis}, u, index)
}

// Scatter is u merged with value at index on axis; indices outside are ignored. Merging is in row-major order.
func (u *UOp) Scatter(index, value *UOp, axis int, m Monoid) *UOp {
	return u.home.Make(Scatter, u.dtype, ScatterArg{Axis: axis, Monoid: m}, u, index, value)
}

// Placed is an array with the elements of u where index says, which numbers the elements of the whole array, each once.
func (u *UOp) Placed(index *UOp) *UOp {
	base := u.Int(0).Reshape(slices.Repeat([]int{1}, len(u.shape))...).Expand(u.shape...)
	return u.home.Make(Scatter, u.dtype, ScatterArg{Monoid: Last, Once: true}, base, index, u)
}

// Load is the element of a Param at index (one per axis of dims, or one linear), 0 where gate is false. The
// gate guarantees that the index is inside.
func (t *Table) Load(param, gate *UOp, index ...*UOp) *UOp {
	return t.Make(Load, param.dtype, nil, append([]*UOp{param, gate}, index...)...)
}

// Contiguous asks for u to be materialised.
func (u *UOp) Contiguous() *UOp { return u.unary(Contiguous) }

// Detach is u outside differentiation.
func (u *UOp) Detach() *UOp { return u.unary(Detach) }

// Derive is u, an elementwise expression, with its derivatives stated instead of found: pairs are
// x, du/dx for each operand that it depends on. Where a derivative contains u, that has the derivatives stated here
// in its turn: of sigmoid s it is s·(1 − s), whose derivative is found from the same statement.
func (u *UOp) Derive(pairs ...*UOp) *UOp {
	return u.home.Make(Detach, u.dtype, nil, append([]*UOp{u}, pairs...)...)
}

// Copy is u on another device.
func (u *UOp) Copy(device string) *UOp { return u.CopyCut(device, 0) }

// CopyCut is u on several devices, see DeviceArg.
func (u *UOp) CopyCut(devices string, cut int) *UOp {
	return u.home.Make(Copy, u.dtype, DeviceArg{devices, cut}, u)
}

// Store is the effect of writing value to u, a buffer or a view of one.
func (u *UOp) Store(value *UOp) *UOp { return u.home.Make(Store, dtype.Void, nil, u, value) }

// After is the content of buffer u after the given stores.
func (u *UOp) After(stores ...*UOp) *UOp {
	return u.home.Make(After, u.dtype, nil, append([]*UOp{u}, stores...)...)
}
