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

// float is the difference as float32: integers of up to 16 bits and their differences are such numbers.
func (s shifted) float() t {
	if s.zero == nil {
		return s.x.To(dtype.F32)
	}
	return s.x.To(dtype.F32).Sub(s.zero.To(dtype.F32))
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
	})
	register("com.microsoft", map[string]operator{"FusedMatMul": fusedMatMul})
}
