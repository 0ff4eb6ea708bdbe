package tensor

import (
	mathbits "math/bits"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/uop"
)

// Random integers of a range of n numbers are the whole part of n times a random fraction of 1, in integers. Where n is a power
// of two the fraction has as many bits as it takes, else at least 32 more, so that no number is likelier than another by more
// than one part in 2³².

// RandInt is uniform among low … high−1, int32.
func RandInt(low, high int, shape ...int) *Tensor {
	return defaultGenerator.RandInt(low, high, shape...)
}

// RandIntOf is RandInt of any integer type. The bounds are integers of any Go type; high may be one more than the greatest number
// of the type, and nil is that: RandIntOf(dtype.U64, 0, nil) is 64 random bits.
func RandIntOf(d dtype.DType, low, high any, shape ...int) *Tensor {
	return defaultGenerator.RandIntOf(d, low, high, shape...)
}

// RandInt is uniform among low … high−1, int32.
func (g *Generator) RandInt(low, high int, shape ...int) *Tensor {
	return g.RandIntOf(dtype.I32, low, high, shape...)
}

// RandIntOf is RandInt of any integer type. The bounds are integers of any Go type; high may be one more than the greatest number
// of the type, and nil is that: RandIntOf(dtype.U64, 0, nil) is 64 random bits.
func (g *Generator) RandIntOf(d dtype.DType, low, high any, shape ...int) *Tensor {
	checkSizes("RandInt", shape)
	if !d.IsInt() || d.Size() == 0 {
		failType("RandInt", []dtype.DType{d}, "needs an integer type")
	}
	least, greatest := integersOf(d)
	first, last := toInteger(low), greatest
	if high != nil {
		end := toInteger(high)
		if !first.less(end) {
			failArg("RandInt", "no number is at least %v and below %v", low, high)
		}
		last = end.before()
	}
	if first.less(least) || greatest.less(last) || last.less(first) {
		failArg("RandInt", "the numbers from %v to below %v are not all numbers of %v", low, high, d)
	}
	t := g.below(nil, last.bits-first.bits+1, d, uop.Shape(shape).Numel())
	u := t.node()
	return t.like(u.Add(u.Const(uop.FromBits(d, first.bits&(^uint64(0)>>(64-d.Bits()))))).Reshape(shape...))
}

// below is uniform among 0 … n−1 as numbers of type d, wrapped; n is 2⁶⁴ where it is 0.
func (g *Generator) below(e *engine.Engine, n uint64, d dtype.DType, count int) *Tensor {
	w := g.words(e, count)
	hi := w.node()
	if k := mathbits.Len64(n - 1); n&(n-1) == 0 { // 2 to the k
		switch {
		case n == 1:
			return w.like(hi.Mul(hi.Int(0)).Cast(d))
		case n != 0 && k <= 32:
			return w.like(hi.Shr(hi.Int(32 - k)).Cast(d))
		case n == 0:
			k = 64
		}
		lo := g.words(w.Engine(), count).node()
		return w.like(joined(hi, lo).Shr(uop.NewInt(dtype.U64, 64-k)).Cast(d))
	}
	fraction := []*uop.UOp{g.words(w.Engine(), count).node(), hi} // words of 32 bits, the last one first
	if n>>32 == 0 {
		return w.like(product(fraction, n)[2].Cast(dtype.U32).Cast(d))
	}
	fraction = append([]*uop.UOp{g.words(w.Engine(), count).node()}, fraction...)
	low, high := product(fraction, n&(1<<32-1)), product(fraction, n>>32)
	// high counts one word more than low.
	carry, sum := low[0].Int(0), make([]*uop.UOp, 4)
	for i := range sum {
		sum[i] = high[i].Add(carry)
		if i+1 < len(low) {
			sum[i] = sum[i].Add(low[i+1])
		}
		carry = sum[i].Shr(sum[i].Int(32))
	}
	return w.like(sum[3].Shl(sum[3].Int(32)).Or(sum[2].And(sum[2].Int(1<<32 - 1))).Cast(d))
}

// joined is hi·2³² + lo, uint64.
func joined(hi, lo *uop.UOp) *uop.UOp {
	hi = hi.Cast(dtype.U64)
	return hi.Shl(hi.Int(32)).Or(lo.Cast(dtype.U64))
}

// product is n < 2³² times a number of several words of 32 bits: its words, the last one first, as uint64.
func product(words []*uop.UOp, n uint64) []*uop.UOp {
	var out []*uop.UOp
	var carry *uop.UOp
	for _, w := range words {
		w = w.Cast(dtype.U64)
		v := w.Mul(w.Const(uop.Value(n)))
		if carry != nil {
			v = v.Add(carry)
		}
		out, carry = append(out, v.And(v.Int(1<<32-1))), v.Shr(v.Int(32))
	}
	return append(out, carry)
}

// integer is an int64 where it is negative and a uint64 else.
type integer struct {
	negative bool
	bits     uint64
}

func toInteger(v any) integer {
	o := toOperand("RandInt", v)
	switch {
	case o.t != nil || o.kind != dtype.I64 && o.kind != dtype.U64:
		failArg("RandInt", "the bound %v is a %T; it must be an integer", v, v)
	case o.kind == dtype.U64:
		return integer{false, uint64(o.bits)}
	}
	return integer{o.bits.Int() < 0, uint64(o.bits)}
}

func integersOf(d dtype.DType) (least, greatest integer) {
	lo, hi := uop.IntLimits(d)
	return integer{!d.IsUnsigned(), uint64(lo)}, integer{false, uint64(hi)}
}

func (a integer) less(b integer) bool {
	if a.negative != b.negative {
		return a.negative
	}
	return a.bits < b.bits
}

// before is a − 1 for an a that is greater than another integer.
func (a integer) before() integer { return integer{a.negative || a.bits == 0, a.bits - 1} }
