package nest

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// smallScan leaves of a scan of one element that element.
func (k *Kernel) smallScan(u *uop.UOp, src []*uop.UOp) *uop.UOp {
	parts, over, _ := codegen.ScanParts(u)
	if codegen.Extent(over) > 1 {
		return codegen.Remake(k.Table, u, src)
	}
	a, x := u.Arg().(uop.ScanArg), src[:len(parts)]
	if a.Step != nil {
		return codegen.Tuple(k.Table, symbolic.SimplifyAll(k.Table, a.Merge(a.Start(x), x)...))
	}
	return codegen.Tuple(k.Table, k.alone(a.Monoid, x))
}

// noteScan remembers which axis of the outputs a scan goes along, and which range its values run over.
func (k *Kernel) noteScan(u *uop.UOp) {
	_, over, at := codegen.ScanParts(u)
	if a := u.Arg().(uop.ScanArg); a.Step != nil {
		k.Held = max(k.Held, a.Results())
	}
	k.Keyed = k.Keyed || codegen.ScanKey(u) != nil
	k.Scanned = k.Scanned.Or(k.Facts.FreeRanges(at))
	k.scanning = k.scanning.With(k.Facts.RangeID(over))
}

// Runs says whether a scan goes along r.
func (k *Kernel) Runs(r *uop.UOp) bool { return k.Scanned.Has(k.Facts.RangeID(r)) }

// scans says whether a value is taken up by a scan, or depends on one.
func (k *Kernel) scans(u *uop.UOp) bool {
	return !k.Facts.FreeRanges(u).Disjoint(k.scanning) || !k.Scanned.Empty() && slices.ContainsFunc(uop.Topo(u), func(x *uop.UOp) bool { return x.Op() == uop.Scan })
}
