package onnx

import (
	"math"
	"slices"
	"strings"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

func matMul(c *call) []*Value {
	if p := c.quantProduct(false); p != nil {
		return c.one(p, c.elem(0))
	}
	return c.one(product(c.t(0), c.t(1)), c.elem(0))
}

// product is a matrix product in the type of its operands; floats of 16 bits are added up in 32.
func product(x, y t) t { return x.MatMul(y) }

func gemm(c *call) []*Value {
	x, y := c.t(0), c.t(1)
	if c.attrBool("transA", false) {
		x = x.T()
	}
	if c.attrBool("transB", false) {
		y = y.T()
	}
	var p t
	if !c.attrBool("transA", false) {
		p = c.quantProduct(c.attrBool("transB", false))
	}
	if p == nil {
		p = product(x, y)
	}
	if a := c.attrFloat("alpha", 1); a != 1 {
		p = scaled(p, a)
	}
	if c.has(2) {
		b := c.t(2)
		if v := c.attrFloat("beta", 1); v != 1 {
			b = scaled(b, v)
		}
		p = p.Add(b.To(p.DType()))
	}
	return c.one(p, c.elem(0))
}

// scaled multiplies by a number, integers too.
func scaled(x t, by float64) t {
	if x.IsFloat() {
		return x.Mul(by)
	}
	return x.To(dtype.F64).Mul(by).To(x.DType())
}

func einsum(c *call) []*Value {
	var list []t
	for i := range c.in {
		list = append(list, c.t(i))
	}
	return c.one(tensor.Einsum(strings.ReplaceAll(c.attrString("equation", ""), " ", ""), list...), c.elem(0))
}

// shifted are integers less a zero point, both int32: of narrow numbers that are only made wider, so that sums of their products are those that
// machines have units for. The zero point's part of such a sum is taken away from it.
type shifted struct {
	x, zero t   // zero may be nil
	most    int // how large the difference is at most, of bytes; 0: not known
}

// shifted is input i less its zero point, input z, which lies along an axis (from the end) or is one number.
func (c *call) shifted(i, z, axis int) shifted {
	x := c.t(i).To(dtype.I32)
	if !c.has(z) || c.isZero(z) {
		return shifted{x, nil, mostOf(c.elem(i))}
	}
	return shifted{x, c.perAxis(c.t(z).To(dtype.I32), x.Rank(), axis), 255}
}

// mostOf is the largest magnitude of a byte.
func mostOf(e Elem) int {
	if e == Int8 {
		return 128
	}
	return 255
}

// isZero says that the elements of input i are known to be 0.
func (c *call) isZero(i int) bool {
	v := c.array(i)
	return v.raw != nil && !slices.ContainsFunc(v.raw, func(b byte) bool { return b != 0 })
}

// difference is what was shifted as one array.
func (s shifted) difference() t {
	if s.zero == nil {
		return s.x
	}
	return s.x.Sub(s.zero)
}

// turned is the transposed matrix.
func (s shifted) turned() shifted {
	s.x = s.x.T()
	if s.zero != nil && s.zero.Rank() > 1 {
		s.zero = s.zero.T()
	}
	return s
}

// even says that the zero point is the same along an axis.
func (s shifted) even(axis int) bool {
	return s.zero == nil || s.zero.Numel() == 1 || s.zero.Rank() == s.x.Rank() && s.zero.Dim(axis) == 1
}

// times is the matrix product: Σ(x−a)·(y−b) = Σx·y − a·Σy − b·Σx + n·a·b.
func (s shifted) times(o shifted) t {
	x, y := s.x, o.x
	if x.Rank() < 2 || y.Rank() < 2 || !s.even(-1) || !o.even(-2) {
		return s.difference().MatMul(o.difference())
	}
	p := x.MatMul(y)
	if s.zero != nil {
		p = p.Sub(s.zero.Mul(y.SumOf(dtype.I32, -2).Unsqueeze(-2)))
	}
	if o.zero != nil {
		p = p.Sub(o.zero.Mul(x.SumOf(dtype.I32, -1).Unsqueeze(-1)))
	}
	if s.zero != nil && o.zero != nil {
		p = p.Add(s.zero.Mul(o.zero).Mul(x.Dim(-1)))
	}
	return p
}

// perAxis lays a list along an axis, counted from the end where it is negative; one number stays one.
func (c *call) perAxis(p t, rank, axis int) t {
	switch {
	case p.Numel() == 1:
		return p.Reshape()
	case p.Rank() == 1:
		return p.Reshape(c.along(rank, c.axis(axis, rank), p.Numel())...)
	}
	return p
}

// quantities are numbers that a scale makes of integers: one, or one for each place on an axis.
type quantities struct {
	shifted
	scale t
	axis  int
}

// quantities are the integers that input i stands for, if it has one scale and zero point, or those of an axis; else nil.
func (c *call) quantities(i, axis int) *quantities {
	q := c.array(i).quant
	if q == nil || q.scale.Numel() != 1 && q.axis != axis {
		return nil
	}
	return q
}

// mostTerms is how many products of differences of bytes a sum of 32 bits holds, whatever they are.
const mostTerms = math.MaxInt32 / (255 * 255)

// quantProduct is the product of inputs 0 and 1, of which the second may be transposed, where both stand for narrow integers and it is known: the sums
// are those of integers. Else it is nil.
func (c *call) quantProduct(transposed bool) t {
	axis := c.t(1).Rank() - 1
	if transposed {
		axis--
	}
	x, y := c.quantities(0, -1), c.quantities(1, axis)
	if x == nil || y == nil || !c.in[1].known || x.x.Rank() < 2 || y.x.Rank() < 2 || x.x.Dim(-1) > mostTerms {
		return nil
	}
	w := y.shifted
	if transposed {
		w = w.turned()
	}
	return toF32(x.times(w)).Mul(x.scale.Reshape()).Mul(c.perAxis(y.scale, w.x.Rank(), -1))
}

func matMulInteger(c *call) []*Value {
	return c.one(c.shifted(0, 2, -2).times(c.shifted(1, 3, -1)), Int32)
}

func qLinearMatMul(c *call) []*Value {
	sx, sy := toF32(c.t(1)), toF32(c.t(4))
	p := toF32(c.shifted(0, 2, -2).times(c.shifted(3, 5, -1)))
	sz, zz := toF32(c.t(6)), c.t(7)
	scale := c.perAxis(sx, p.Rank(), -2).Mul(c.perAxis(sy, p.Rank(), -1)).Div(c.perAxis(sz, p.Rank(), -2))
	q := quantized(p.Mul(scale), c.perAxis(zz, p.Rank(), -2), c.elem(7))
	return c.one(q, c.elem(7))
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
	y := x
	if c.has(2) && !c.elem(0).isFloat() {
		y = x.To(dtype.I64).Sub(c.blocked(c.t(2), x.Shape(), axis, block).To(dtype.I64))
		if x.DType().Size() < 4 {
			y = x.To(dtype.I32).Sub(c.blocked(c.t(2), x.Shape(), axis, block).To(dtype.I32))
		}
	} else if c.has(2) {
		y = x.To(d).Sub(c.blocked(c.t(2), x.Shape(), axis, block).To(d))
	}
	y = y.To(d).Mul(c.blocked(c.t(1), x.Shape(), axis, block).To(d))
	out := c.out(y, e)
	if scale := c.t(1); e == Float32 && (c.elem(0) == Int8 || c.elem(0) == Uint8) && scale.Rank() <= 1 && x.Rank() > 0 {
		out.quant = &quantities{shifted{x.To(dtype.I32), nil, mostOf(c.elem(0))}, toF32(scale), c.axis(axis, x.Rank())}
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

// fusedMatMul is MatMul of com.microsoft with transposes and a factor.
func fusedMatMul(c *call) []*Value {
	x, y := c.t(0), c.t(1)
	turn := func(x t, batch, trans bool) t {
		if batch && x.Rank() > 2 { // the first axis moves before the last
			order := []int{}
			for i := 1; i < x.Rank()-1; i++ {
				order = append(order, i)
			}
			x = x.Permute(slices.Concat(order, []int{0, x.Rank() - 1})...)
		}
		if trans && x.Rank() > 1 {
			x = x.T()
		}
		return x
	}
	x = turn(x, c.attrBool("transBatchA", false), c.attrBool("transA", false))
	y = turn(y, c.attrBool("transBatchB", false), c.attrBool("transB", false))
	return c.one(scaled(product(x, y), c.attrFloat("alpha", 1)), c.elem(0))
}

func init() {
	register("", map[string]operator{
		"MatMul": matMul, "Gemm": gemm, "Einsum": einsum, "MatMulInteger": matMulInteger, "QLinearMatMul": qLinearMatMul,
		"QuantizeLinear": quantizeLinear, "DequantizeLinear": dequantizeLinear, "DynamicQuantizeLinear": dynamicQuantize,
	})
	register("com.microsoft", map[string]operator{
		"FusedMatMul": fusedMatMul, "QuantizeLinear": quantizeLinear, "DequantizeLinear": dequantizeLinear,
	})
}
