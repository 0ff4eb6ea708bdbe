package saved

import (
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Files name ops, types and monoids, so that a version of Weft may number them as it likes. They are looked up in lists, not in maps, which
// every program that captures functions would make when it starts.

func opNamed(name string) (uop.Op, bool) {
	for o := uop.Op(1); o < uop.NumOps; o++ {
		if allowed(o) && o.String() == name {
			return o, true
		}
	}
	return 0, false
}

func typeNamed(name string) (dtype.DType, bool) {
	for _, d := range dtype.All {
		if d.String() == name {
			return d, true
		}
	}
	return dtype.Index, name == dtype.Index.String()
}

func monoidNamed(name string) (uop.Monoid, bool) {
	for _, m := range []uop.Monoid{uop.Sum, uop.Prod, uop.MaxOf, uop.ArgMax, uop.SumExp, uop.Moments, uop.Last, uop.Linear} {
		if m.String() == name {
			return m, true
		}
	}
	return 0, false
}

// allowed says whether a file may have an op: those of a graph that is ready to be scheduled.
func allowed(o uop.Op) bool {
	switch o {
	case uop.Const, uop.Param, uop.Var, uop.Range, uop.Reduce, uop.Part, uop.Scan, uop.Gather, uop.Scatter, uop.Contiguous:
		return true
	}
	return o.IsMovement() || o.Elementwise()
}

// domain says which element types an op computes with.
type domain func(d dtype.DType) bool

func anyType(d dtype.DType) bool   { return d != dtype.Void }
func floats(d dtype.DType) bool    { return d.IsFloat() }
func integers(d dtype.DType) bool  { return d.IsInt() }
func numbers(d dtype.DType) bool   { return d.IsFloat() || d.IsInt() }
func bits(d dtype.DType) bool      { return d.IsInt() || d == dtype.Bool }
func words(d dtype.DType) bool     { return d == dtype.I32 }
func ordered(d dtype.DType) bool   { return numbers(d) || d == dtype.Bool }
func stored(d dtype.DType) bool    { return d.Size() > 0 }
func byteKinds(d dtype.DType) bool { return numbers(d) && stored(d) }

// domainOf is that of an elementwise op, by the type of the last operand; nil: the op is not known here.
func domainOf(o uop.Op) domain {
	switch o {
	case uop.Sqrt, uop.Exp2, uop.Log2, uop.Sin, uop.Trunc, uop.Div:
		return floats
	case uop.Neg, uop.MulAdd:
		return numbers
	case uop.IDiv, uop.Mod, uop.Shl, uop.Shr:
		return integers
	case uop.And, uop.Or, uop.Xor:
		return bits
	case uop.Cast, uop.Add, uop.Mul, uop.Max, uop.Less, uop.Equal:
		return ordered
	case uop.Bitcast:
		return byteKinds
	case uop.Dot2, uop.Dot4:
		return words
	case uop.Where:
		return anyType
	}
	return nil
}

// merges says what is wrong with the parts that a monoid merges, or "".
func merges(m uop.Monoid, scan bool, parts []*uop.UOp) string {
	of := func(n int, is domain) string {
		if len(parts) != n {
			return "another number of parts"
		}
		for _, p := range parts {
			if !is(p.DType()) || !stored(p.DType()) || p.DType() != parts[0].DType() {
				return "parts of types that it does not merge"
			}
		}
		return ""
	}
	switch m {
	case uop.Sum, uop.Prod, uop.MaxOf:
		return of(1, ordered)
	case uop.ArgMax:
		if len(parts) != 2 || !ordered(parts[0].DType()) || !integers(parts[1].DType()) || !stored(parts[0].DType()) || !stored(parts[1].DType()) {
			return "parts that are no value and index"
		}
		return ""
	case uop.SumExp:
		if len(parts) < 2 {
			return "another number of parts"
		}
		return of(len(parts), floats)
	case uop.Moments:
		return of(3, floats)
	case uop.Linear:
		if scan {
			return of(2, numbers)
		}
	}
	return "no such reduction"
}
