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

// mergeRows does so where an array is filled, and then merged into.
func mergeRows(s *codegen.Spec, limits codegen.NestLimits) *codegen.Spec {
	fill, merge := s.Outs[0], s.Outs[1]
	if len(fill.Axes) == 0 || len(merge.Axes) == 0 {
		return s // one element
	}
	row := fill.Axes[0]
	switch {
	case row != fill.Index[0]:
		return s
	case merge.Axes[0] == merge.Index[0] && codegen.Extent(merge.Axes[0]) == codegen.Extent(row) && codegen.Extent(row) >= limits.Rows:
		merge = substituted(s.Home, merge, merge.Axes[0], row)
		merge.Axes[0] = row
	case codegen.FromData(merge.Index[0]):
		size := mergedRows(&fill, &merge)
		if size == 0 {
			return s
		}
		n := codegen.Extent(row)
		id, t := codegen.NextRange(s), s.Home
		part, in, by := t.Range(id, codegen.CeilDiv(n, size), ""), t.Range(id+1, size, ""), t.Index(size)
		first := part.Mul(by)
		fill = substituted(t, fill, row, first.Add(in))
		fill.Axes = append([]*uop.UOp{part, in}, fill.Axes[1:]...)
		if n%size != 0 {
			fill.Gate = first.Add(in).Less(t.Index(n))
		}
		merge.Axes, merge.Index = append([]*uop.UOp{part}, merge.Axes...), slices.Clone(merge.Index)
		x := merge.Index[0]
		merge.Gate = codegen.OrTrue(t, merge.Gate).And(x.IDiv(by).Equal(part))
		merge.Index[0] = first.Add(x.Mod(by))
	default:
		return s
	}
	out := *s
	out.Outs = []codegen.Out{fill, merge}
	if !nest.SharesRows(&out) {
		return s
	}
	return &out
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
