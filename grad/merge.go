package grad

import (
	"cmp"
	"slices"

	"github.com/weft-ml/weft/uop"
)

// share is a gradient that arrives over one of several ways, and where that is marked.
type share struct {
	g      *uop.UOp
	origin *uop.Origin
}

// merge adds up gradients in the order in which they arrived.
func merge(shares []share) (sum *uop.UOp) {
	for _, s := range joined(shares) {
		if sum != nil {
			s.g = sum.Add(s.g)
		}
		if sum = s.g; s.origin != nil {
			sum.Mark(s.origin)
		}
	}
	return sum
}

// joined replaces the gradients of many parts that lie behind each other along an axis, as those of the steps of a recurrence do, by the whole:
// adding n padded parts takes n additions an element.
func joined(shares []share) []share {
	if len(shares) <= uop.MostSelected {
		return shares
	}
	byAxis := map[int][]share{}
	var others []share
	for _, s := range shares {
		if axis := paddedAlong(s.g); axis >= 0 {
			byAxis[axis] = append(byAxis[axis], s)
		} else {
			others = append(others, s)
		}
	}
	if len(byAxis) != 1 {
		return shares
	}
	for axis, parts := range byAxis {
		first := func(s share) int { return s.g.Arg().(uop.PadArg).Lo.At(axis) }
		ordered := slices.Clone(parts)
		slices.SortStableFunc(ordered, func(a, b share) int { return cmp.Compare(first(a), first(b)) })
		var starts []int
		var whole []*uop.UOp
		end := 0
		for _, s := range ordered {
			at, g := first(s), s.g.At(0)
			switch last := len(whole) - 1; {
			case at >= end:
				starts, whole = append(starts, at), append(whole, g)
			case at == starts[last] && g.Shape().Equal(whole[last].Shape()):
				whole[last] = whole[last].Add(g)
			default: // they overlap
				return shares
			}
			end = at + g.Shape()[axis]
		}
		if len(whole) <= uop.MostSelected {
			return shares
		}
		others = append([]share{{uop.Join(axis, parts[0].g.Shape()[axis], starts, whole), parts[len(parts)-1].origin}}, others...)
	}
	return others
}

// paddedAlong is the axis along which alone g is padded, or −1.
func paddedAlong(g *uop.UOp) int {
	if g.Op() != uop.Pad {
		return -1
	}
	a, axis := g.Arg().(uop.PadArg), -1
	for i := range g.Shape() {
		switch {
		case a.Lo.At(i) == 0 && a.Hi.At(i) == 0:
		case axis >= 0:
			return -1
		default:
			axis = i
		}
	}
	return axis
}
