package lower

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/nest"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// Bounds of parts of an array that is filled and then merged into.
const (
	leastMergeRows = 4  // parts that are worth it
	mostMergeRows  = 64 // parts
	leastLine      = 64 // neighbours of a part
	mostLines      = 16 // such parts: what lies in rows apart shares places of a cache
	mergeScan      = 64 // elements that are written while one place is looked at, that of an element which is not the part's
)

// MergeRows gives the two nests of a kernel that fills an array and then merges into it one outermost axis, so that threads may share it (see
// findRow): rows that the places of merged elements have as they are, or parts of the axis that data index. Each part goes over all of
// what is merged and merges what is its own, so that the order in which an element gets its values stays.
func MergeRows(s *codegen.Spec, limits codegen.NestLimits) *codegen.Spec {
	if limits.Rows == 0 || len(s.Outs) != 2 || s.Outs[0].Merge != nil || s.Outs[0].Gate != nil || s.Outs[1].Merge == nil || s.Outs[0].Param != s.Outs[1].Param {
		return s
	}
	return mergeRows(s, limits)
}

// mergeRows does so where an array is filled, and then merged into: along its first axis, or along another that merged elements keep.
func mergeRows(s *codegen.Spec, limits codegen.NestLimits) *codegen.Spec {
	fill, merge := s.Outs[0], s.Outs[1]
	if len(fill.Axes) == 0 || len(merge.Axes) == 0 || !slices.Equal(fill.Axes, fill.Index) {
		return s // one element, or not all of the array
	}
	d := keptAxis(&fill, &merge, limits.Rows)
	rows := 1 // of a part
	if d != 0 && codegen.FromData(merge.Index[0]) {
		if rows = mergedRows(&fill, &merge); rows > 0 {
			d = 0
		}
	}
	if d < 0 {
		return s
	}
	row, to := fill.Axes[d], merge.Index[d]
	n := codegen.Extent(row)
	if kept := slices.Index(merge.Axes, to); kept >= 0 {
		merge = substituted(s.Home, merge, to, row)
		merge.Axes[kept] = row
		fill.Axes, merge.Axes = first(fill.Axes, d), first(merge.Axes, kept)
		if rows = 1; d == len(fill.Index)-1 && d > 0 {
			rows = lineBlock(n)
		}
	}
	if rows > 1 || codegen.FromData(to) {
		id, t := codegen.NextRange(s), s.Home
		part, by := t.Range(id, codegen.CeilDiv(n, rows), ""), t.Index(rows)
		begin := part.Mul(by)
		inPart := func(o *codegen.Out, id, at int) { // row is one of part, at this place among the axes
			in := t.Range(id, rows, "")
			x := begin.Add(in)
			*o = substituted(t, *o, row, x)
			o.Axes[0] = part
			o.Axes = slices.Insert(o.Axes, at, in)
			if n%rows != 0 {
				o.Gate = codegen.OrTrue(t, o.Gate).And(x.Less(t.Index(n)))
			}
		}
		if codegen.FromData(to) {
			inPart(&fill, id+1, 1)
			merge.Axes, merge.Index = append([]*uop.UOp{part}, merge.Axes...), slices.Clone(merge.Index)
			merge.Gate = codegen.OrTrue(t, merge.Gate).And(to.IDiv(by).Equal(part))
			merge.Index[0] = begin.Add(to.Mod(by))
		} else {
			inPart(&fill, id+1, len(fill.Axes))
			inPart(&merge, id+2, len(merge.Axes))
		}
	}
	out := *s
	out.Outs = []codegen.Out{fill, merge}
	if !nest.SharesRows(&out) {
		return s
	}
	return &out
}

// keptAxis is the axis whose places merged elements have as they are: the first of at least so many, or the longest; or -1. The last one is
// cut into blocks, if it is long enough.
func keptAxis(fill, merge *codegen.Out, least int) int {
	best, most := -1, 1
	for d, to := range merge.Index {
		n := codegen.Extent(fill.Axes[d])
		if !slices.Contains(merge.Axes, to) || codegen.Extent(to) != n {
			continue
		}
		if d > 0 && d == len(fill.Axes)-1 {
			n /= lineBlock(n)
		}
		if n > most {
			best, most = d, n
		}
		if n >= least {
			break
		}
	}
	return best
}

// lineBlock is how many neighbours of n are one part.
func lineBlock(n int) int {
	size := max(leastLine, codegen.CeilDiv(n, mostLines))
	for k := size; k < 2*size; k++ {
		if n%k == 0 {
			return k
		}
	}
	return size
}

// first moves an element to the front.
func first(list []*uop.UOp, i int) []*uop.UOp {
	return slices.Concat(list[i:i+1], list[:i], list[i+1:])
}

// mergedRows is how many rows a part has, or 0: a power of two, by which dividing is cheap, and so many that looking at all places once for each
// part takes little beside filling the array and merging.
func mergedRows(fill, merge *codegen.Out) int {
	places := 1 // that differ
	for _, r := range symbolic.Depends(merge.Index[0]) {
		places *= codegen.Extent(r)
	}
	n, work := codegen.Extent(fill.Axes[0]), 0
	for _, o := range []*codegen.Out{fill, merge} {
		all := 1
		for _, r := range o.Axes {
			all *= codegen.Extent(r)
		}
		work += all
	}
	parts := min(n, mostMergeRows, work/(mergeScan*places))
	if parts < leastMergeRows {
		return 0
	}
	size := codegen.Pow2(n / parts)
	if size < codegen.CeilDiv(n, parts) {
		size *= 2
	}
	return size
}
