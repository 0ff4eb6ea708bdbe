package devicetest

import (
	"fmt"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

func opTolerance(o uop.Op, d dtype.DType) Tolerance {
	if tol, ok := tolerance[o.String()+" "+d.Short()]; ok {
		return tol
	}
	return tolerance[o.String()]
}

// elementwise tries every op of the table on every type: on all pairs of special values, on views, on
// sizes that fit no vector, and on nothing.
func elementwise(s *suite) {
	for o := range uop.NumOps {
		if !o.Elementwise() || uop.Info(o).Type == uop.Given {
			continue // their types are not their operands': casts and pairs have cases of their own
		}
		for _, d := range dtype.All {
			if uop.Info(o).Takes.Has(d) {
				s.pairs(o, d)
				s.apply(o, d, []int{257})
				s.apply(o, d, s.shape(2+s.rng.IntN(2), 600))
			}
		}
		for _, shape := range [][]int{{}, {0}, {1}, {3, 0, 2}, {1, 1, 1}, {33, 1, 7}, {2, 1, 3, 1, 5}} {
			s.apply(o, dtype.F32, shape)
			s.apply(o, dtype.I32, shape)
		}
	}
	s.scalars()
	s.pairsOfBF16()
}

// pairsOfBF16 adds products of pairs. They are of normal numbers: machines take others for 0.
func (s *suite) pairsOfBF16() {
	for _, shape := range [][]int{{}, {0}, {1}, {257}, {3, 65}} {
		s.one(fmt.Sprintf("dotbf16 %v", shape), Tolerance{Zero: true}, func(in *Inputs) *uop.UOp {
			bits := func() *uop.UOp { return in.View(dtype.I8, Special, shape...).Cast(dtype.F32).Bitcast(dtype.I32) }
			word := func() *uop.UOp {
				high, low := bits(), bits()
				return high.And(high.Int(-1 << 16)).Or(low.Shr(low.Int(16)).And(low.Int(1<<16 - 1)))
			}
			return word().DotBF16(word())
		})
	}
}

// pairs applies o to all pairs of special values.
func (s *suite) pairs(o uop.Op, d dtype.DType) {
	const n = 49
	s.one(fmt.Sprintf("%v %v pairs", o, d.Short()), opTolerance(o, d), func(in *Inputs) *uop.UOp {
		x := in.Leaf(d, Special, n, 1).Expand(n, n)
		y := in.Leaf(d, Special, 1, n).Expand(n, n)
		switch uop.Info(o).Arity {
		case 1:
			return operate(o, x)
		case 2:
			return operate(o, x, y)
		}
		if o == uop.Where {
			return x.Less(y).Where(x, y)
		}
		return operate(o, x, y, in.Leaf(d, Special, n, n))
	})
}

// apply applies o to views.
func (s *suite) apply(o uop.Op, d dtype.DType, shape []int) {
	if !uop.Info(o).Takes.Has(d) {
		return
	}
	s.one(fmt.Sprintf("%v %v %v", o, d.Short(), shape), opTolerance(o, d), func(in *Inputs) *uop.UOp {
		var src []*uop.UOp
		for i := range uop.Info(o).Arity {
			t := d
			if o == uop.Where && i == 0 {
				t = dtype.Bool
			}
			src = append(src, in.View(t, Special, shape...))
		}
		return operate(o, src...)
	})
}

func operate(o uop.Op, src ...*uop.UOp) *uop.UOp {
	d := src[0].DType()
	switch uop.Info(o).Type {
	case uop.Boolean:
		d = dtype.Bool
	case uop.Second:
		d = src[1].DType()
	}
	return src[0].Home().Make(o, d, nil, src...)
}

// scalars mixes constants with arrays, on either side, and folds constants.
func (s *suite) scalars() {
	for _, d := range []dtype.DType{dtype.F32, dtype.F16, dtype.F64, dtype.I8, dtype.U8, dtype.I32, dtype.U64, dtype.I64} {
		for i, c := range []float64{0, 1, -1, 2, 3, 0.5, -7, 127, 16} {
			if !d.IsFloat() && c != float64(int(c)) {
				continue
			}
			s.add(fmt.Sprintf("constant %v %v", c, d.Short()), Tolerance{Zero: true}, func(in *Inputs) []*uop.UOp {
				x := in.View(d, Special, 65+i)
				k := x.Float(c)
				if !d.IsFloat() {
					k = x.Int(int(c))
				}
				out := []*uop.UOp{x.Add(k), x.Mul(k), k.Add(x).Sub(x), x.Max(k), x.Less(k), k.Less(x), x.Equal(k), x.Less(k).Where(k, x), x.Mul(k).Add(x.Mul(k))}
				if d.IsFloat() {
					return append(out, x.Div(k), k.Div(x), x.Sub(x), x.Mul(x.Int(0)))
				}
				return append(out, x.IDiv(k), x.Mod(k), k.IDiv(x), k.Mod(x), x.Shl(k), x.Shr(k), x.And(k), x.Or(k), x.Xor(k), x.IDiv(k).Mul(k).Add(x.Mod(k)))
			})
		}
	}
}

// casts tries every pair of types.
func casts(s *suite) {
	s.float8()
	for _, from := range dtype.All {
		for _, to := range dtype.All {
			if from == to {
				continue
			}
			s.one(fmt.Sprintf("cast %v to %v", from.Short(), to.Short()), Tolerance{}, func(in *Inputs) *uop.UOp {
				return in.View(from, Special, 257).Cast(to)
			})
			if from.Size() == to.Size() && from != dtype.Bool && to != dtype.Bool {
				s.one(fmt.Sprintf("bitcast %v to %v", from.Short(), to.Short()), Tolerance{}, func(in *Inputs) *uop.UOp {
					if from == dtype.F16 && NormalInputs { // and there is one NaN
						return in.View(from, Finite, 100).Bitcast(to)
					}
					return in.View(from, Special, 100).Bitcast(to)
				})
			}
		}
		s.one(fmt.Sprintf("cast %v and back", from.Short()), tolerance["to integer and back"], func(in *Inputs) *uop.UOp {
			x := in.View(from, Special, 7, 17)
			return x.Cast(dtype.F64).Cast(dtype.F16).Cast(dtype.I8).Cast(from)
		})
	}
}
