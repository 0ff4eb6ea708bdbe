package shard

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// RingBytes is from how many bytes on an all-reduce goes round a ring. Below it every device sends all that it has to every other, which
// takes one step instead of 2·(n−1) but moves n/2 times as much. Between two devices both move the same, so that one step is better.
const RingBytes = 1 << 18

// reduce merges axes. Where one is cut, each device merges its part, and the results of the devices are merged.
func (s *Spreader) reduce(u *uop.UOp) (Value, error) {
	a := u.Arg().(uop.ReduceArg)
	cut, free, by, err := s.together(u, u.Src())
	if err != nil {
		return Value{}, err
	}
	axes := a.Axes.Slice()
	out := Value{Cut: cut, Free: free, Parts: make([]*uop.UOp, len(by))}
	for i, src := range by {
		out.Parts[i] = u.Home().ReduceParts(a.Monoid, axes, src...)
	}
	if cut != Whole && !slices.Contains(axes, cut) {
		for _, x := range axes {
			if x < cut {
				out.Cut--
			}
		}
	}
	merging := slices.Contains(axes, cut)
	if a.Parts == 1 && !merging {
		return out, nil
	}
	if a.Parts == 1 {
		out.Cut, out.Parts = Whole, s.allReduce(a.Monoid, out.Parts)
		return out, nil
	}
	out.many = results(out.Parts, a.Parts)
	if merging {
		out.Cut, out.many = Whole, s.merge(a.Monoid, out.many)
	}
	return out, nil
}

// results are those of a reduction or scan, by result and device.
func results(by []*uop.UOp, n int) [][]*uop.UOp {
	out := make([][]*uop.UOp, n)
	for k := range out {
		for _, p := range by {
			out[k] = append(out[k], p.Part(k))
		}
	}
	return out
}

func (s *Spreader) part(u *uop.UOp) (Value, error) {
	v := s.of(u.At(0))
	return Value{Cut: v.Cut, Free: v.Free, Parts: v.many[u.Arg().(uop.PartArg).I]}, nil
}

func (s *Spreader) scan(u *uop.UOp) (Value, error) {
	a := u.Arg().(uop.ScanArg)
	cut, free, by, err := s.together(u, u.Src())
	if err != nil {
		return Value{}, err
	}
	if cut == a.Axis {
		return Value{}, s.fail(u, u.Shape(), cut, "and each element of it needs all before")
	}
	out := Value{Cut: cut, Free: free, Parts: make([]*uop.UOp, len(by))}
	for i, src := range by {
		out.Parts[i] = u.Home().ScanParts(a.Monoid, a.Axis, src...)
	}
	if a.Parts > 1 {
		out.many = results(out.Parts, a.Parts)
	}
	return out, nil
}

// argSort orders rows that each lie on one device.
func (s *Spreader) argSort(u *uop.UOp) (Value, error) {
	if v := s.of(u.At(0)); v.Cut == len(u.Shape())-1 {
		return Value{}, s.fail(u, u.Shape(), v.Cut, "and the place of each element depends on all others")
	}
	return s.elementwise(u)
}

// merge has every device merge the results of all, in the order of the devices, so that all get the same bits.
func (s *Spreader) merge(m uop.Monoid, by [][]*uop.UOp) [][]*uop.UOp {
	out := make([][]*uop.UOp, len(by))
	for to := range s.names {
		var all []*uop.UOp
		for from := range s.names {
			next := make([]*uop.UOp, len(by))
			for k := range by {
				next[k] = s.stored(by[k][from], from, to)
			}
			if all == nil {
				all = next
			} else {
				all = m.Info().Merge(all, next)
			}
		}
		for k := range by {
			out[k] = append(out[k], all[k])
		}
	}
	return out
}

// stored is the value of a device on another, or on itself, as its memory holds it: rounded alike wherever it is used.
func (s *Spreader) stored(u *uop.UOp, from, to int) *uop.UOp {
	if s.free(u) {
		return u
	}
	if d := u.DType(); d == dtype.Index { // which no memory holds
		return s.stored(u.Cast(dtype.I32), from, to).Cast(d)
	}
	s.hold(u, from)
	return s.copy(u, from, to)
}

func (s *Spreader) hold(u *uop.UOp, on int) {
	if h := (Hold{u, on}); !s.held[h] {
		s.held[h] = true
		s.Holds = append(s.Holds, h)
	}
}

// allReduce merges an array of each device with those of the others, and gives the result to all.
func (s *Spreader) allReduce(m uop.Monoid, parts []*uop.UOp) []*uop.UOp {
	u := parts[0]
	if n := len(parts); n > 2 && u.Shape().Numel() >= n && u.Shape().Numel()*u.DType().Size() >= RingBytes && !s.free(u) {
		return s.ring(m, parts)
	}
	return s.merge(m, [][]*uop.UOp{parts})[0]
}

// ring is the all-reduce of Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations" (2009). The arrays
// are cut into as many chunks as there are devices. Each chunk goes round from device to device and every one merges what it has; then
// the results go round once more. Each device sends and receives 2·(n−1) chunks, whatever n is nearly twice the array.
func (s *Spreader) ring(m uop.Monoid, parts []*uop.UOp) []*uop.UOp {
	n, shape := len(parts), parts[0].Shape()
	total := shape.Numel()
	flat := make([]*uop.UOp, n)
	for i, p := range parts {
		s.hold(p, i)
		flat[i] = p.Reshape(total)
	}
	pieces := make([][]*uop.UOp, n) // by device and chunk
	for i := range pieces {
		pieces[i] = make([]*uop.UOp, n)
	}
	for c := range n {
		chunk := func(i int) *uop.UOp { return between(flat[i], 0, total*c/n, total*(c+1)/n) }
		at, sum := c, chunk(c)
		for range n - 1 {
			next := (at + 1) % n
			sum = m.Info().Merge([]*uop.UOp{s.copy(sum, at, next)}, []*uop.UOp{chunk(next)})[0]
			at = next
		}
		s.hold(sum, at)
		pieces[at][c] = sum
		for range n - 1 {
			next := (at + 1) % n
			sum = s.copy(sum, at, next)
			at = next
			pieces[at][c] = sum
		}
	}
	out := make([]*uop.UOp, n)
	for i := range out {
		out[i] = join(pieces[i], 0).Reshape(shape...)
	}
	return out
}

// join lays arrays one behind the other along an axis. Each element is selected by its place, so that nothing is computed with padding.
func join(us []*uop.UOp, axis int) *uop.UOp {
	total := 0
	for _, u := range us {
		total += u.Shape()[axis]
	}
	var out *uop.UOp
	at := total
	for i := len(us) - 1; i >= 0; i-- {
		n := us[i].Shape()[axis]
		at -= n
		lo, hi := make([]int, len(us[i].Shape())), make([]int, len(us[i].Shape()))
		lo[axis], hi[axis] = at, total-at-n
		part := us[i].Pad(lo, hi)
		if out == nil {
			out = part
			continue
		}
		ones := make([]int, len(lo))
		for k := range ones {
			ones[k] = 1
		}
		place := part.Home().Iota(total).Reshape(with(ones, axis, total)...).Expand(part.Shape()...)
		out = place.Less(place.Int(at+n)).Where(part, out)
	}
	return out
}

// filled is a constant of a shape.
func filled(d dtype.DType, n int, shape uop.Shape) *uop.UOp {
	return spread(uop.NewInt(d, n), shape)
}

// spread repeats a scalar.
func spread(u *uop.UOp, shape uop.Shape) *uop.UOp {
	ones := make([]int, len(shape))
	for i := range ones {
		ones[i] = 1
	}
	return u.Reshape(ones...).Expand(shape...)
}
