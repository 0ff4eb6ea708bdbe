package onnx

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// quantities are numbers that a scale makes of integers: one, or one for each place on an axis.
type quantities struct {
	shifted
	scale t
	axis  int
	codes *codes // where all is known but the integers
}

// codes are bytes and the numbers that they stand for: scale·(byte − zero), with one scale and one zero point that are known. Greater bytes stand for
// greater numbers.
type codes struct {
	elem  Elem   // what a model has: Int8 or Uint8
	bytes *Value // of that type, or 128 more than that, without a sign
	scale float64
	zero  int64 // of the bytes
}

// Products of bytes with signed ones are what machines have units for, so numbers that become signed bytes beside known factors, which have a sign, are
// kept without: as 128 more. unsigned is that array, of a value that a QuantizeLinear made.
const signOf = 128

// signed are the bytes with a sign of which an array has 128 more.
func (c *call) signed(unsigned *Value) *Value {
	v := c.out(c.r.tensor(unsigned).Xor(signOf).Bitcast(dtype.I8), Int8)
	v.unsigned = unsigned
	return v
}

// Scales between these neither lose digits of a number nor overflow: then quantising what bytes stand for gives the bytes again.
const leastScale, mostScale = 1e-30, 1e30

// step gives the one scale and the one zero point of a node of type e, inputs 1 and 2, if they are known and as codes have them.
func (c *call) step(e Elem) (scale float64, zero int64, ok bool) {
	known := func(i int) bool { return c.array(i).raw != nil && count(c.in[i].shape) == 1 }
	if c.elem(1) != Float32 || e != Int8 && e != Uint8 || !known(1) || c.has(2) && !known(2) {
		return 0, 0, false
	}
	if c.has(2) {
		list, _ := integersOf(c.elem(2), c.in[2].raw)
		zero = list[0]
	}
	scale = c.float(1)
	return scale, zero, scale >= leastScale && scale <= mostScale
}

// codes are those of a DequantizeLinear, or nil.
func (c *call) codes() *codes {
	q := &codes{elem: c.elem(0), bytes: c.in[0]}
	var ok bool
	if q.scale, q.zero, ok = c.step(q.elem); !ok {
		return nil
	}
	if u := q.bytes.unsigned; u != nil {
		q.bytes, q.zero = u, q.zero+signOf
	}
	return q
}

// value are the numbers that bytes stand for.
func (q *codes) value(c *call, bytes *Value) *Value {
	x := c.r.tensor(bytes).To(dtype.I32)
	whole := shifted{x, nil, mostOf(bytes.elem)}
	if q.zero != 0 {
		whole.zero, whole.most = tensor.Full(q.zero, dtype.I32), 255
	}
	scale := tensor.Full(q.scale, dtype.F32)
	out := c.out(whole.float().Mul(scale), Float32)
	out.quant = &quantities{whole, scale, 0, &codes{q.elem, bytes, q.scale, q.zero}}
	return out
}

// bytewise is an operator that moves floats, or picks some of them. Where all that it is given stand for bytes in the same way it does so with the
// bytes, which are fewer and need no arithmetic.
func bytewise(f operator) operator {
	return func(c *call) []*Value {
		own := *c
		own.in = slices.Clone(c.in)
		var first *codes
		for i, v := range c.in {
			if v == nil || !v.elem.isFloat() {
				continue
			}
			if v.quant == nil || v.quant.codes == nil || first != nil && !v.quant.codes.same(first) {
				return f(c)
			}
			first = v.quant.codes
			own.in[i] = first.bytes
		}
		if first == nil {
			return f(c)
		}
		outs := f(&own)
		for i, v := range outs {
			if v.elem == first.bytes.elem {
				outs[i] = first.value(&own, v)
			}
		}
		return outs
	}
}

// same says that equal bytes stand for equal numbers.
func (q *codes) same(p *codes) bool {
	return q.elem == p.elem && q.bytes.elem == p.bytes.elem && q.scale == p.scale && q.zero == p.zero
}

// again are the bytes for which input 0 of a QuantizeLinear stands, if it would only find them again.
func (c *call) again(e Elem) *Value {
	q := c.in[0].quant
	if q == nil || q.codes == nil || q.codes.elem != e || c.attrInt("precision", 0) != 0 {
		return nil
	}
	scale, zero, ok := c.step(e)
	with := q.codes.bytes.elem != e
	if with {
		zero += signOf
	}
	if !ok || scale != q.codes.scale || zero != q.codes.zero {
		return nil
	}
	if with {
		return c.signed(q.codes.bytes)
	}
	return q.codes.bytes
}

// quantities are the integers that input i stands for, if it has one scale and zero point, or those of an axis; else nil.
func (c *call) quantities(i, axis int) *quantities {
	q := c.array(i).quant
	if q == nil || q.scale.Numel() != 1 && q.axis != axis {
		return nil
	}
	return q
}

// limits are the least and greatest value of an integer type.
func limits(e Elem) (lo, hi float64) {
	bits := e.bits()
	if e.DType().IsUnsigned() {
		return 0, float64(uint64(1)<<bits - 1)
	}
	return -float64(uint64(1) << (bits - 1)), float64(uint64(1)<<(bits-1) - 1)
}

// quantized rounds x, adds a zero point (or nil) and keeps what the type holds.
func quantized(x, zero t, e Elem) t {
	x = x.Round()
	if zero != nil {
		x = x.Add(zero.To(x.DType()))
	}
	if e.bits() < 8*e.DType().Size() { // which conversions do not saturate to
		x = x.Clamp(limits(e))
	}
	return x.To(e.DType())
}

// blocked lays scales or zero points along an axis of x: one number, a list, or one for each block of the axis.
func (c *call) blocked(p t, shape []int, axis, block int) t {
	if p.Rank() <= 1 {
		return c.perAxis(p, len(shape), axis)
	}
	axis = c.axis(axis, len(shape))
	if p.Rank() != len(shape) {
		c.fail("scales %v for %v", p.Shape(), shape)
	}
	if block < 1 {
		block = (shape[axis] + p.Dim(axis) - 1) / max(1, p.Dim(axis))
	}
	p = p.RepeatInterleave(block, axis)
	if p.Dim(axis) < shape[axis] {
		c.fail("%d scales of blocks of %d for axis %d of %v", p.Dim(axis)/block, block, axis, shape)
	}
	return p.Narrow(axis, 0, shape[axis])
}

func quantizeLinear(c *call) []*Value {
	x := c.t(0)
	e := Uint8
	if c.has(2) {
		e = c.elem(2)
	} else if a := c.attrInt("output_dtype", 0); a != 0 {
		e = Elem(a)
	}
	if e.DType() == dtype.Void {
		c.fail("it is to give %v", e)
	}
	if v := c.again(e); v != nil {
		return []*Value{v}
	}
	axis, block := c.attrInt("axis", 1), c.attrInt("block_size", 0)
	if x.Rank() <= 1 && c.t(1).Numel() == 1 {
		axis = 0
	}
	scale := c.blocked(c.t(1), x.Shape(), axis, block)
	in := wide(x)
	if p := Elem(c.attrInt("precision", 0)); p.DType().IsFloat() {
		in = x.To(p.DType())
		scale = scale.To(p.DType())
	}
	q := in.Div(scale.To(in.DType()))
	var zero t
	if c.has(2) {
		zero = c.blocked(c.t(2), x.Shape(), axis, block)
	}
	if e.row().small != nil {
		q = toF32(q)
		if zero != nil {
			q = q.Add(zero.To(dtype.F32))
		}
		return c.one(e.row().small.round(q, c.attrBool("saturate", true)), e)
	}
	if _, z, ok := c.step(e); ok && e == Int8 && in.DType() == dtype.F32 && !c.in[0].isKnown() {
		return []*Value{c.signed(c.out(quantized(q, tensor.Full(z+signOf, dtype.I32), Uint8), Uint8))}
	}
	return c.one(quantized(wide(q), zero, e), e)
}

func dequantizeLinear(c *call) []*Value {
	x := c.t(0)
	e := c.elem(1)
	if a := c.attrInt("output_dtype", 0); a != 0 {
		e = Elem(a)
	}
	axis, block := c.attrInt("axis", 1), c.attrInt("block_size", 0)
	if x.Rank() <= 1 && c.t(1).Numel() == 1 {
		axis = 0
	}
	d := dtype.F32
	if e == Float64 {
		d = dtype.F64
	}
	if q := c.codes(); q != nil && e == Float32 && x.Rank() > 0 {
		return []*Value{q.value(c, q.bytes)}
	}
	y := x
	if c.has(2) && !c.elem(0).isFloat() && x.DType().Size() >= 4 {
		y = x.To(dtype.I64).Sub(c.blocked(c.t(2), x.Shape(), axis, block).To(dtype.I64))
	} else if c.has(2) { // differences of integers of 16 bits are floats as well
		y = x.To(d).Sub(c.blocked(c.t(2), x.Shape(), axis, block).To(d))
	}
	y = y.To(d).Mul(c.blocked(c.t(1), x.Shape(), axis, block).To(d))
	out := c.out(y, e)
	if scale := c.t(1); e == Float32 && (c.elem(0) == Int8 || c.elem(0) == Uint8) && scale.Rank() <= 1 && x.Rank() > 0 {
		out.quant = &quantities{shifted{x.To(dtype.I32), nil, mostOf(c.elem(0))}, toF32(scale), c.axis(axis, x.Rank()), nil}
		if c.has(2) && !c.isZero(2) {
			out.quant.zero, out.quant.most = c.perAxis(c.t(2).To(dtype.I32), x.Rank(), axis), 255
		}
	}
	return []*Value{out}
}

func dynamicQuantize(c *call) []*Value {
	y, scale, zero := c.dynamicQuantized(toF32(c.t(0)))
	return []*Value{c.out(y, Uint8), c.out(scale, Float32), c.out(zero, Uint8)}
}

// dynamicQuantized are bytes for x, with the scale and the zero point that its least and greatest element ask for.
func (c *call) dynamicQuantized(x t) (y, scale, zero t) {
	lo, hi := c.full(0.0, Float32, nil), c.full(0.0, Float32, nil)
	if x.Numel() > 0 {
		lo, hi = x.Min().Minimum(0), x.Max().Maximum(0)
	}
	scale = hi.Sub(lo).Div(255)
	zero = scale.Eq(0).Where(0.0, lo.Neg().Div(scale)).To(dtype.F32).Clamp(0, 255).Round()
	safe := scale.Eq(0).Where(1.0, scale).To(dtype.F32)
	return x.Div(safe).Round().Add(zero).Clamp(0, 255).To(dtype.U8), scale, zero.To(dtype.U8)
}

func init() {
	register("", map[string]operator{
		"QuantizeLinear": quantizeLinear, "DequantizeLinear": dequantizeLinear, "DynamicQuantizeLinear": dynamicQuantize,
	})
	register("com.microsoft", map[string]operator{"QuantizeLinear": quantizeLinear, "DequantizeLinear": dequantizeLinear})
}
