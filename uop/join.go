package uop

// MostSelected is how many parts Join selects by place where the whole is used. More of them are written one after the other, and then read, unless
// they lie one after the other anyway.
const MostSelected = 24

// Join joins nodes along an axis of so many elements. They begin at places that rise, and do not overlap; zeros are where none is. Each is padded to
// the whole, and one is selected by place, half of them first, so that nothing is computed with a padding zero.
func Join(axis, total int, starts []int, parts []*UOp) *UOp {
	if len(parts) > MostSelected && axis > 0 {
		front := make([]int, len(parts[0].Shape()))
		for i := range front {
			front[i] = i
		}
		front[0], front[axis] = axis, 0
		first := make([]*UOp, len(parts))
		for i, u := range parts {
			first[i] = u.Permute(front...)
		}
		return Join(0, total, starts, first).Contiguous().Permute(front...)
	}
	var choose func(from, to int) *UOp
	choose = func(from, to int) *UOp {
		if to == from+1 {
			u := parts[from]
			lo, hi := make([]int, len(u.Shape())), make([]int, len(u.Shape()))
			lo[axis], hi[axis] = starts[from], total-starts[from]-u.Shape()[axis]
			return u.Pad(lo, hi)
		}
		middle := (from + to) / 2
		before, after := choose(from, middle), choose(middle, to)
		place := make([]int, len(before.Shape()))
		for i := range place {
			place[i] = 1
		}
		place[axis] = total
		at := before.Home().Iota(total).Reshape(place...).Expand(before.Shape()...)
		return at.Less(at.Int(starts[middle])).Where(before, after)
	}
	return choose(0, len(parts))
}
