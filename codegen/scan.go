package codegen

import (
	"slices"

	"github.com/weft-ml/weft/uop"
)

// A scan merges the values over a range up to where an axis of the output stands. Code for it is one loop over that axis,
// the innermost of its nest: accumulators are declared before it, and each iteration merges one value into them and then
// stores. So that axis stays whole and serial; what directives may do is to share, unroll and put into lanes the others.
// A scan by key has an accumulator for each key, in scratch memory; the other axes of its nest are shared only.

// scanParts splits the operands of a Scan: the values, the range they run over, and the axis up to which. over is nil for
// other nodes.
func scanParts(u *uop.UOp) (parts []*uop.UOp, over, at *uop.UOp) {
	if u.Op() != uop.Scan {
		return nil, nil, nil
	}
	n := u.Arg().(uop.ScanArg).Parts
	return u.Src()[:n], u.At(n), u.At(n + 1)
}

// keyOf is what says with which of its values a Scan merges each, or nil.
func keyOf(u *uop.UOp) *uop.UOp {
	if a := u.Arg().(uop.ScanArg); a.Keys > 0 {
		return u.At(a.Parts + 2)
	}
	return nil
}

// smallScan leaves of a scan of one element that element.
func (k *kernel) smallScan(u *uop.UOp, src []*uop.UOp) *uop.UOp {
	parts, over, _ := scanParts(u)
	if extent(over) > 1 {
		return remake(k.t, u, src)
	}
	return tuple(k.t, k.alone(u.Arg().(uop.ScanArg).Monoid, src[:len(parts)]))
}

// noteScan remembers which axis of the outputs a scan goes along, and which range its values run over.
func (k *kernel) noteScan(u *uop.UOp) {
	_, over, at := scanParts(u)
	k.keyed = k.keyed || keyOf(u) != nil
	k.scanned = k.scanned.or(k.facts.freeRanges(at))
	k.scanning = k.scanning.with(k.facts.rangeID(over))
}

// runs says whether a scan goes along r.
func (k *kernel) runs(r *uop.UOp) bool { return k.scanned.has(k.facts.rangeID(r)) }

// scans says whether a value is taken up by a scan, or depends on one.
func (k *kernel) scans(u *uop.UOp) bool {
	return !k.facts.freeRanges(u).disjoint(k.scanning) || !k.scanned.empty() && slices.ContainsFunc(uop.Topo(u), func(x *uop.UOp) bool { return x.Op() == uop.Scan })
}

// openScans is what a scan needs of the loop over r that is about to be opened: accumulators before it, and in its innermost
// place, before what leaf does there, the merge of one more element. The scans themselves become their accumulators, which
// have no value for a reduction before that merge: as if they depended on a loop that is not open yet.
func (b *builder) openScans(sp insertionPoint, r *uop.UOp, leaf func(sp insertionPoint) []Stmt) ([]Stmt, insertionPoint, func(sp insertionPoint) []Stmt) {
	with := map[*uop.UOp]*uop.UOp{} // what values run over becomes the loop itself
	for _, u := range uop.Topo(sp.roots...) {
		if _, over, at := scanParts(u); at == r && over != nil {
			with[over] = r
		}
	}
	if len(with) == 0 {
		return nil, sp, leaf
	}
	type running struct {
		monoid uop.Monoid
		regs   []*uop.UOp
		over   rangeSet
		table  *uop.UOp // of a scan by key: its accumulators
	}
	var lets []Stmt
	var open []running
	var items []*uop.UOp
	results := map[*uop.UOp][]*uop.UOp{}
	n := len(sp.roots)
	inside := b.mapPoint(sp, new(uop.Map[*uop.UOp]), func(u *uop.UOp, src []*uop.UOp) *uop.UOp {
		if with[u] != nil {
			return r
		}
		if parts, over, at := scanParts(u); parts != nil && at == r {
			s := running{monoid: u.Arg().(uop.ScanArg).Monoid, over: b.facts.set(over)}
			for i, p := range src[:len(parts)] {
				x, start := b.reg(p.DType()), p.Const(s.monoid.Info().Identity(p.DType(), i))
				b.facts.free.Set(x, s.over)
				s.regs = append(s.regs, x)
				if key := keyOf(u); key == nil {
					lets = append(lets, &Let{x, start})
				} else {
					n := u.Arg().(uop.ScanArg).Keys
					s.table = b.newScratch(p.DType(), n)
					each := b.newRange(n, "")
					lets = append(lets, &Alloc{Buf: s.table, N: n}, &Loop{Range: each, Body: []Stmt{&Store{Buf: s.table, Index: []*uop.UOp{each}, Value: start}}})
				}
			}
			items = append(items, src[:len(parts)]...)
			if s.table != nil {
				items = append(items, src[len(parts)+2])
			}
			open, results[u] = append(open, s), s.regs
			return s.regs[0]
		}
		if u.Op() == uop.Part && results[u.At(0)] != nil {
			return results[u.At(0)][u.Arg().(uop.PartArg).I]
		}
		return b.fold(remake(b.t, u, src))
	})
	inside.roots = append(slices.Clip(inside.roots), items...)
	return lets, inside, func(sp insertionPoint) (out []Stmt) {
		x := sp.roots[n:]
		for _, s := range open {
			if s.table != nil {
				at := x[1:2]
				sum := mergeInto(s.monoid, []*uop.UOp{b.t.Load(s.table, b.t.True(), at...)}, x[:1])[0]
				out = append(out, &Let{s.regs[0], sum}, &Store{Buf: s.table, Index: at, Value: s.regs[0]})
				x = x[1:]
			} else {
				out = append(out, &Set{Regs: s.regs, Values: mergeInto(s.monoid, s.regs, x[:len(s.regs)])})
			}
			x = x[len(s.regs):]
			sp.open = sp.open.or(s.over)
		}
		sp.roots = sp.roots[:n]
		rest, sp := b.compute(sp, "")
		return slices.Concat(out, rest, leaf(sp))
	}
}

// running gives directives for a nest with a scan: threads share the other axes; lanes lie along one of them where the outputs
// are contiguous along it; and where none is, several rows go together, because each merge waits for the one before.
func (c *chooser) running() (directives []Directive) {
	lanes, wide := c.runningLanes()
	var order, tail []string
	sizes, all := map[string]int{}, 1
	for _, a := range c.g.axes {
		name, n := a.name, extent(a.r)
		all *= n
		if a.r == lanes {
			verb, inner := Tiles, ""
			if c.anyLength() || c.outs[0].index.coeff(a.r) == 1 {
				verb = Vectors
			}
			name, inner = c.cut(&directives, name, n, wide)
			directives = append(directives, Directive{Verb: verb, Name: inner})
			tail, n = append(tail, inner), ceilDiv(n, wide)
		}
		switch {
		case c.runs(a.r): // the last one
			tail = append(tail, name)
		case name != "":
			order, sizes[name] = append(order, name), n
		}
	}
	for _, r := range c.reds {
		c.laneDirectives(&directives, r, lanes)
	}
	if 4*all > threadWork {
		order = c.spread(&directives, order, sizes, len(order))
	}
	return append(directives, Directive{Verb: Order, Axes: append(order, tail...)})
}

// rowsTogether is how many rows hide the latency of a merge.
const rowsTogether = 4

// runningLanes chooses the axis for lanes, or for rows that go together, and how many: the contiguous one or else the longest.
func (c *chooser) runningLanes() (axis *uop.UOp, n int) {
	if c.keyed {
		return nil, 0
	}
	contiguous := false
	for _, a := range c.g.axes {
		if c.runs(a.r) || !c.mayVector(a.r) {
			continue
		}
		next := !c.anyLength() && c.outs[0].index.coeff(a.r) == 1 && extent(a.r) >= 4
		if axis == nil || next || !contiguous && extent(a.r) > extent(axis) {
			axis, contiguous = a.r, contiguous || next
		}
	}
	switch {
	case axis == nil:
		return nil, 0
	case c.anyLength():
		return axis, extent(axis)
	case contiguous:
		n = min(c.width(), pow2(extent(axis)))
		if extent(axis) >= rowsTogether*n {
			n *= rowsTogether
		}
	default:
		for n = min(rowsTogether, extent(axis)); n > 2 && c.sameSet(axis) && n*c.streams() > cacheWays; n /= 2 {
		}
	}
	for extent(axis)%n != 0 && (c.fixed || extent(axis) < 4*n) { // no element is computed twice where that counts, or costs
		n--
	}
	if n == 1 {
		return nil, 0
	}
	return axis, n
}

// sameSet says that elements of neighbouring rows lie in one set of the nearest cache.
func (c *chooser) sameSet(row *uop.UOp) bool {
	return abs(c.outs[0].index.coeff(row))*c.outs[0].bytes%cacheWay == 0
}

// streams is how many arrays are read or written.
func (c *chooser) streams() int {
	seen := map[*uop.UOp]bool{}
	for _, l := range c.loads {
		seen[l.u.At(0)] = true
	}
	return len(c.outs) + len(seen)
}

// running gives each row of a scan to an invocation of its own. Narrow elements of one word of memory belong to one
// invocation: where they are not neighbours in a row, one does all.
func (g *gridder) running() []Directive {
	words := g.words()
	var names []string
	for _, a := range g.g.axes {
		if g.mayVector(a.r) {
			names = append(names, a.name)
			continue
		}
		if words > 1 && slices.ContainsFunc(g.outs, func(o *access) bool { return o.index.coeff(a.r) != 1 || extent(a.r)%words != 0 }) {
			return nil
		}
	}
	var directives []Directive
	for _, name := range names {
		directives = append(directives, Directive{Verb: Threads, Name: name})
	}
	return append(directives, g.outermost(names)...)
}
