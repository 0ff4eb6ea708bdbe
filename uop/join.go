package uop

// MostSelected is how many parts Join selects by place where the whole is used. More of them are written one after the other, and then read: a kernel
// that selects one of a hundred for each element has a text that compilers take seconds for.
const MostSelected = 24

// leastPart is how many elements parts have, in the mean, that are written by nests of their own. Shorter ones are joined in groups, which have
// kernels that are alike, and the groups then.
const leastPart = 16

// Join joins nodes along an axis of so many elements. They begin at places that rise, and do not overlap; zeros are where none is. Each is padded to
// the whole, and one is selected by place, half of them first, so that nothing is computed with a padding zero.
func Join(axis, total int, starts []int, parts []*UOp) *UOp {
	if len(parts) <= MostSelected {
		return selected(axis, total, starts, parts)
	}
	front := make([]int, len(parts[0].Shape()))
	for i := range front {
		front[i] = i
	}
	front[0], front[axis] = axis, 0
	first := make([]*UOp, len(parts))
	for i, u := range parts {
		first[i] = u.Permute(front...)
	}
	elements := 0
	for _, u := range first {
		elements += u.Shape().Numel()
	}
	if elements >= len(parts)*leastPart {
		return selected(0, total, starts, first).Contiguous().Permute(front...)
	}
	var groups []*UOp
	var places []int
	for i := 0; i < len(first); i += MostSelected {
		to := min(i+MostSelected, len(first))
		within := make([]int, to-i)
		for j := range within {
			within[j] = starts[i+j] - starts[i]
		}
		n := within[len(within)-1] + first[to-1].Shape()[0]
		groups, places = append(groups, selected(0, n, within, first[i:to]).Contiguous()), append(places, starts[i])
	}
	return Join(0, total, places, groups).Permute(front...)
}

// selected is Join without memory of its own.
func selected(axis, total int, starts []int, parts []*UOp) *UOp {
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
