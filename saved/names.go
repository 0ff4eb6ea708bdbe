package saved

import (
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Files name ops, types and monoids, so that a version of Weft may number them as it likes. They are looked up in lists, not in maps, which
// every program that captures functions would make when it starts.

// looseName is that of a MulAdd whose product may be rounded.
const looseName = "loose muladd"

// nameOf is how a file calls a node's op.
func nameOf(u *uop.UOp) string {
	if u.Arg() == uop.Arg(uop.LooseArg{}) {
		return looseName
	}
	return u.Op().String()
}

func opNamed(name string) (uop.Op, bool) {
	if name == looseName {
		return uop.MulAdd, true
	}
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
	for _, m := range []uop.Monoid{uop.Sum, uop.Prod, uop.MaxOf, uop.ArgMax, uop.ArgLast, uop.SumExp, uop.Moments, uop.Last, uop.Linear} {
		if m.String() == name {
			return m, true
		}
	}
	return 0, false
}

// allowed says whether a file may have an op: those of a graph that is ready to be scheduled.
func allowed(o uop.Op) bool {
	switch o {
	case uop.Const, uop.Param, uop.Var, uop.Range, uop.Reduce, uop.Part, uop.Scan, uop.ArgSort, uop.Gather, uop.Scatter, uop.Contiguous:
		return true
	}
	return o.IsMovement() || o.Elementwise()
}

func stored(d dtype.DType) bool { return d.Size() > 0 }

// merges says what is wrong with the parts that a monoid merges, or "".
func merges(m uop.Monoid, scan bool, parts []*uop.UOp) string {
	of := func(n int, is uop.Domain) string {
		if len(parts) != n {
			return "another number of parts"
		}
		for _, p := range parts {
			if !is.Has(p.DType()) || !stored(p.DType()) || p.DType() != parts[0].DType() {
				return "parts of types that it does not merge"
			}
		}
		return ""
	}
	switch m {
	case uop.Sum, uop.Prod, uop.MaxOf:
		return of(1, uop.Ordered)
	case uop.ArgMax, uop.ArgLast:
		if m == uop.ArgLast && !scan {
			break
		}
		if len(parts) != 2 || !uop.Ordered.Has(parts[0].DType()) || !parts[1].DType().IsInt() || !stored(parts[0].DType()) || !stored(parts[1].DType()) {
			return "parts that are no value and index"
		}
		return ""
	case uop.SumExp:
		if len(parts) < 2 {
			return "another number of parts"
		}
		return of(len(parts), uop.Floats)
	case uop.Moments:
		return of(3, uop.Floats)
	case uop.Linear:
		if scan {
			return of(2, uop.Numbers)
		}
	}
	return "no such reduction"
}
