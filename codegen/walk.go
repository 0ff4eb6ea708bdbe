package codegen

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// What is asked of any expression, whoever lowers it.

// ReduceParts splits the operands of a Reduce; for other nodes all operands are parts.
func ReduceParts(u *uop.UOp) (parts, ranges []*uop.UOp) {
	if u.Op() != uop.Reduce {
		return u.Src(), nil
	}
	n := u.Arg().(uop.ReduceArg).Parts
	return u.Src()[:n], u.Src()[n:]
}

// ScanParts splits the operands of a Scan: the values, the range they run over, and the axis up to which. over is nil for
// other nodes.
func ScanParts(u *uop.UOp) (parts []*uop.UOp, over, at *uop.UOp) {
	if u.Op() != uop.Scan {
		return nil, nil, nil
	}
	n := u.Arg().(uop.ScanArg).Parts
	return u.Src()[:n], u.At(n), u.At(n + 1)
}

// ScanKey is what says with which of its values a Scan merges each, or nil.
func ScanKey(u *uop.UOp) *uop.UOp {
	if a := u.Arg().(uop.ScanArg); a.Keys > 0 {
		return u.At(a.Parts + 2)
	}
	return nil
}

// Extent is the number of iterations of a range.
func Extent(r *uop.UOp) int { return r.Arg().(uop.RangeArg).N }

// Remember computes a fact about a node, from the facts about its operands that the step finds in m.
func Remember[V any](m *uop.Map[V], u *uop.UOp, step func(u *uop.UOp) V) V {
	if v, ok := m.Get(u); ok {
		return v
	}
	type frame struct {
		u *uop.UOp
		i int
	}
	var room [32]frame
	stack := append(room[:0], frame{u, 0})
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if top.i < len(top.u.Src()) {
			s := top.u.At(top.i)
			top.i++
			if _, ok := m.Get(s); !ok {
				stack = append(stack, frame{s, 0})
			}
			continue
		}
		if _, ok := m.Get(top.u); !ok {
			m.Set(top.u, step(top.u))
		}
		stack = stack[:len(stack)-1]
	}
	v, _ := m.Get(u)
	return v
}

// Remake is u with new operands.
func Remake(t *uop.Table, u *uop.UOp, src []*uop.UOp) *uop.UOp {
	if u.Home() == t && slices.Equal(u.Src(), src) {
		return u
	}
	return t.Make(u.Op(), u.DType(), u.Arg(), src...)
}

// MapAll maps a list.
func MapAll(list []*uop.UOp, f func(*uop.UOp) *uop.UOp) []*uop.UOp {
	out := make([]*uop.UOp, len(list))
	for i, u := range list {
		out[i] = f(u)
	}
	return out
}

// MonoidOf is what a Reduce merges by.
func MonoidOf(u *uop.UOp) uop.Monoid { return u.Arg().(uop.ReduceArg).Monoid }

// OrTrue is a condition, or true for none.
func OrTrue(t *uop.Table, u *uop.UOp) *uop.UOp {
	if u == nil {
		return t.True()
	}
	return u
}

// FromData says that a value comes from data.
func FromData(u *uop.UOp) bool {
	return slices.ContainsFunc(uop.Topo(u), func(u *uop.UOp) bool { return u.Op() == uop.Load })
}

// Reads says that an expression depends on more than ranges and constants.
func Reads(u *uop.UOp) bool {
	for _, x := range uop.Topo(u) {
		if !x.Op().Elementwise() && x.Op() != uop.Range && x.Op() != uop.Const && x.Op() != uop.Var {
			return true
		}
	}
	return false
}

// Tuple is one value, or several held together by a node that only Part looks into.
func Tuple(t *uop.Table, parts []*uop.UOp) *uop.UOp {
	if len(parts) == 1 {
		return parts[0]
	}
	return t.Make(uop.After, parts[0].DType(), nil, parts...)
}

// RootsOf lists every expression of outputs.
func RootsOf(outs []Out) []*uop.UOp {
	var out []*uop.UOp
	for _, o := range outs {
		out = append(out, o.Index...)
		if o.Gate != nil {
			out = append(out, o.Gate)
		}
		out = append(out, o.Value)
	}
	return out
}

// Weight is the cost of one evaluation of a node that is no load, in instructions.
func Weight(u *uop.UOp) float64 {
	if !u.Op().Elementwise() || u.DType() == dtype.Index {
		return 0
	}
	return uop.Info(u.Op()).Cost.Loop
}

// NextRange is the number of a range that the Spec has not.
func NextRange(s *Spec) (id int) {
	roots := RootsOf(s.Outs)
	for _, o := range s.Outs {
		roots = append(roots, o.Axes...)
	}
	for _, u := range uop.Topo(roots...) {
		if u.Op() == uop.Range {
			id = max(id, u.Arg().(uop.RangeArg).ID+1)
		}
	}
	return id
}

// LooksUp is the uint8 that is the index of a load from an array of 256 elements of one byte; nil: it is another load. All of its values lie within the array.
func LooksUp(load *uop.UOp) *uop.UOp {
	if load.Op() != uop.Load || load.DType().Size() != 1 || !load.At(1).IsConst(1) || load.At(0).Arg().(uop.ParamArg).N != 256 || len(load.Src()) != 3 {
		return nil
	}
	if index := load.At(2); index.Op() == uop.Cast && index.At(0).DType() == dtype.U8 {
		return index.At(0)
	}
	return nil
}
