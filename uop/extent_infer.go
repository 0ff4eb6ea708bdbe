package uop

import (
	"fmt"
	"slices"
	"strings"
)

// inferSizes gives the sizes of a node where one of its axes varies. It panics where elements that do not count would matter.
func inferSizes(u *UOp) *[]Size {
	out := make([]Size, len(u.shape))
	for i, n := range u.shape {
		out[i] = Fixed(n)
	}
	switch {
	case u.op == Extent:
		limited(u, out)
	case Info(u.op).Group == Movement:
		movedSizes(u, out)
	case Info(u.op).Elementwise():
		for _, s := range u.src {
			together(u, s, out)
		}
	case u.op == Reduce:
		reducedSizes(u, out)
	case u.op == Gather:
		if x, axis := u.src[0], u.arg.(AxisArg).Axis; x.Varies(axis) {
			fail(u, "axis %d has %v elements, and an index might take one that does not count", axis, (*x.sizes)[axis])
		}
		for i := range out {
			if i != u.arg.(AxisArg).Axis && u.src[0].Varies(i) {
				out[i] = (*u.src[0].sizes)[i]
			}
		}
		together(u, u.src[1], out)
	case u.op == Scan, u.op == Contiguous, u.op == Detach, u.op == Check, u.op == Copy, u.op == Part:
		together(u, u.src[0], out) // an element of a scan depends on none after it
	default:
		refuse(u)
	}
	if !slices.ContainsFunc(out, Size.Varies) {
		return nil
	}
	return &out
}

// Elementwise reports whether the op works on each element alone.
func (i *OpInfo) Elementwise() bool {
	return i.Group == Unary || i.Group == Binary || i.Group == Ternary
}

// refuse fails with the name of what varies.
func refuse(u *UOp) {
	for _, s := range u.src {
		for axis := range s.shape {
			if s.Varies(axis) {
				fail(u, "axis %d has %v elements, and this needs a size that does not vary", axis, (*s.sizes)[axis])
			}
		}
	}
}

// varyingReason adds to what is wrong with a node which of its operands' sizes vary, where that is not said.
func varyingReason(u *UOp, reason string) string {
	for _, s := range u.src {
		for axis, n := range s.Sizes() {
			if n.Varies() && !strings.Contains(reason, n.String()) {
				reason += fmt.Sprintf(" (axis %d has %v elements)", axis, n)
			}
		}
	}
	return reason
}

func limited(u *UOp, out []Size) {
	a := u.arg.(ExtentArg)
	together(u, u.src[0], out)
	if a.Axis < 0 || a.Axis >= len(out) {
		fail(u, "axis %d of rank %d", a.Axis, len(out))
	}
	if lo, hi := a.Size.Bounds(); lo < 0 || hi != u.shape[a.Axis] {
		fail(u, "axis %d has room for %d elements, and %v can be from %d to %d", a.Axis, u.shape[a.Axis], a.Size, lo, hi)
	}
	out[a.Axis] = a.Size
}

// together adds the sizes of an operand of the same shape. Where one operand varies and another has all elements, those count that
// count in both.
func together(u, s *UOp, out []Size) {
	if s.sizes == nil || len(s.shape) != len(out) {
		return
	}
	for i, n := range *s.sizes {
		switch {
		case !n.Varies():
		case !out[i].Varies():
			out[i] = n
		case out[i] != n:
			fail(u, "axis %d has %v elements here and %v there", i, out[i], n)
		}
	}
}

func reducedSizes(u *UOp, out []Size) {
	a := u.arg.(ReduceArg)
	drop := make([]bool, len(u.src[0].shape))
	for i := range a.Axes.Len() {
		drop[a.Axes.At(i)] = true
	}
	for _, s := range u.src[:a.Parts] {
		if s.sizes == nil {
			continue
		}
		k := 0
		for i, n := range *s.sizes {
			switch {
			case drop[i] && n.Varies():
				fail(u, "axis %d has %v elements, and this needs a size that does not vary", i, n)
			case drop[i]:
				continue
			case n.Varies() && out[k].Varies() && out[k] != n:
				fail(u, "axis %d has %v elements here and %v there", i, out[k], n)
			case n.Varies():
				out[k] = n
			}
			k++
		}
	}
}

func movedSizes(u *UOp, out []Size) {
	in := *u.src[0].sizes
	keep := func(i int) { out[i] = in[i] }
	varies := func(i int) bool { return in[i].Varies() }
	switch a := u.arg.(type) {
	case Ints:
		switch u.op {
		case Reshape:
			reshapedSizes(u, out)
		case Permute:
			for i := range out {
				out[i] = in[a.At(i)]
			}
		case Expand:
			for i := range in {
				if u.shape[i] == u.src[0].shape[i] {
					keep(i)
				}
			}
		case Flip:
			for i := range in {
				if varies(i) && slices.Contains(a.Slice(), i) {
					refuse(u)
				}
				keep(i)
			}
		}
	case PadArg:
		for i := range in {
			lo, hi := a.Lo.At(i), a.Hi.At(i)
			least, _ := in[i].Bounds()
			switch {
			case !varies(i):
			case u.op == Pad && (lo != 0 || hi != 0):
				refuse(u)
			case u.op == Pad, lo == 0 && hi == u.src[0].shape[i]:
				keep(i)
			case hi > least:
				fail(u, "elements %d to %d of axis %d, which has %v", lo, hi-1, i, in[i])
			}
		}
	case SlideArg:
		for i := range in {
			if varies(i) && (i == a.Axis || i == a.By) {
				refuse(u)
			}
			keep(i)
		}
	}
}

// reshapedSizes follows a reshape: of axes that become others together only the first may vary, because then the elements that
// count come first; and they have to fill whole rows of the new axes.
func reshapedSizes(u *UOp, sizes []Size) {
	in, out := u.src[0].shape, u.shape
	if in.Numel() == 0 {
		return
	}
	from := *u.src[0].sizes
	Regrouped(in, out, func(i0, i, o0, o int) { regroupSizes(u, in[i0:i], from[i0:i], out[o0:o], sizes[o0:o]) })
}

func regroupSizes(u *UOp, in Shape, from []Size, out Shape, to []Size) {
	first := slices.IndexFunc(from, Size.Varies)
	if first < 0 {
		return
	}
	if len(out) == 0 || in[:first].Numel() != 1 || slices.ContainsFunc(from[first+1:], Size.Varies) {
		refuse(u)
	}
	at := 0
	for at < len(out)-1 && out[at] == 1 {
		at++
	}
	n, ok := from[first].Times(in[first+1:].Numel()).Over(out[at+1:].Numel())
	if !ok {
		fail(u, "%v elements do not fill rows of %d", from[first].Times(in[first+1:].Numel()), out[at+1:].Numel())
	}
	to[at] = n
}
