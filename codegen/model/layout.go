package model

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/nest"
	"github.com/weft-ml/weft/uop"
)

// arranger turns a tiling into directives: which loops, in which order, what is staged where.
type arranger struct {
	*tiler
	t      *tiling
	out    []codegen.Directive
	serial []loop // loops outside of the block, in the order of the outputs
	inner  []string
	lane   string
	packs  []*access    // brought into the order of lanes
	boxes  []*access    // padded with zeros
	shares []*access    // widened, of those that all lanes share
	words  *uop.UOp     // the range whose steps go in words, or nil
	dots   *nest.Dotted // of such words
}

// loop is a serial axis: the range that it came from, and how many of its iterations lie inside.
type loop struct {
	name  string
	n     int
	r     *uop.UOp
	block int
	also  []loop // others fused into it
}

// cutLoop splits a loop into an outer one and one of n iterations.
func (p *arranger) cutLoop(l loop, n int, tail codegen.Tail) (outer, inner loop) {
	p.out = append(p.out, codegen.Directive{Verb: codegen.Split, Name: l.name, N: n, Tail: tail})
	return loop{l.name + ".0", codegen.CeilDiv(l.n, n), l.r, l.block * n, nil}, loop{l.name + ".1", n, l.r, l.block, nil}
}

func (p *arranger) directives() []codegen.Directive {
	t := p.t
	for _, a := range p.g.Axes {
		n := codegen.Extent(a.Range)
		block := t.size(a.Range)
		if a.Range == t.v {
			block = t.lanes * t.u
		}
		if block == 1 {
			p.serial = append(p.serial, loop{a.Name, n, a.Range, 1, nil})
			continue
		}
		outer, inner := p.cut(&p.out, a.Name, n, block)
		if outer != "" {
			p.serial = append(p.serial, loop{outer, codegen.CeilDiv(n, block), a.Range, block, nil})
		}
		if a.Range == t.v {
			p.lane = inner
			p.out = append(p.out, codegen.Directive{Verb: codegen.Vectors, Name: inner})
		} else {
			p.inner = append(p.inner, inner)
			p.out = append(p.out, codegen.Directive{Verb: codegen.Tiles, Name: inner})
		}
	}
	if t.along {
		return p.alongDirectives()
	}
	for _, r := range p.reds {
		if r != t.r {
			p.laneDirectives(&p.out, r, t.v)
		}
	}
	if p.choosePacks(); !p.blocked() {
		p.arrange()
	}
	return p.out
}

func names(loops []loop) (order []string) {
	for _, l := range loops {
		order = append(order, l.name)
	}
	return order
}

// choosePacks decides which operands are staged.
func (p *arranger) choosePacks() {
	for _, l := range p.t.r.loads {
		reuse := p.reuse(p.t.r, l)
		if p.boxed(p.t.r, l, p.windowed(l)) {
			p.boxes = append(p.boxes, l)
		}
		if !p.depends(l, p.t.v) && p.worthWide(l) && !slices.Contains(p.boxes, l) {
			p.shares = append(p.shares, l)
		}
		if !p.depends(l, p.t.v) || !l.plain || p.words != nil && p.ofWords(p.t, l) {
			continue
		}
		s, _ := p.stride(l, p.t.v)
		dense := slices.ContainsFunc(p.t.r.ranges, func(x *uop.UOp) bool {
			k, _ := p.stride(l, x)
			return k == p.t.lanes*p.t.u
		})
		if s != 1 && reuse >= 3 && reuse*p.width() >= 3*p.t.lanes || s == 1 && p.oftenRead(l) && !dense && !l.gated || s == 1 && p.oftenWide(l, reuse) {
			p.packs = append(p.packs, l)
		}
	}
	p.shares = withoutUnpacked(p.shares)
}

// crowdedSteps is from how many rows on it counts that they push each other out of the first cache: of fewer the second one has all.
const crowdedSteps = 128

// fewReads is how often an operand is read at least that is worth it even then.
const fewReads = 24

// oftenRead says that an operand is read so often that bringing rows of lanes together pays: sooner where they push each other out of the caches.
func (p *arranger) oftenRead(l *access) bool {
	often := 16 * p.t.lanes * p.t.u / 8
	if slices.ContainsFunc(p.t.r.ranges, func(x *uop.UOp) bool {
		s, ok := p.stride(l, x)
		return ok && codegen.Extent(x) >= crowdedSteps && p.crowded(codegen.Abs(s)*l.bytes, codegen.Extent(x))
	}) {
		often = min(often, max(often/3, fewReads))
	}
	return p.t.r.work/max(1, p.count(l.free)) >= often
}

// boxable says that a load's index and gate are simple enough for a box.
func (c *view) boxable(l *access) bool {
	if !l.plain {
		return false
	}
	return !slices.ContainsFunc(uop.Topo(l.u.At(1)), func(u *uop.UOp) bool { return u.Op() == uop.Load || u.Op() == uop.Reduce })
}

// boxBytes is the size of a load's box where some loops are open.
func (p *arranger) boxBytes(l *access, open []loop) int {
	bytes := l.held() * p.repeated(l)
	for _, x := range l.u.Src()[2:] {
		form, span := p.Facts.Form(x), 0
		changes := func(u *uop.UOp) bool { return u.Op() == uop.Range && p.inside(u, open) > 1 }
		for _, t := range form.Terms {
			if changes(t.Node) {
				span += codegen.Abs(t.Coef) * (p.inside(t.Node, open) - 1)
			}
		}
		bytes *= 1 + span/form.Step(changes)
	}
	return bytes
}

// packBytes is the size of a packed operand where some loops are open.
func (p *arranger) packBytes(l *access, open []loop) int {
	bytes := l.held()
	l.free.Each(func(i int) { bytes *= p.inside(p.Facts.Ranges[i], open) })
	return bytes
}

// inside is how many iterations of a range lie inside the open loops.
func (p *arranger) inside(r *uop.UOp, open []loop) int {
	for _, l := range open {
		if l.r == r {
			return l.block
		}
		for _, x := range l.also {
			if x.r == r {
				return x.block
			}
		}
	}
	return p.steps(r)
}

func (p *arranger) allDepend(list []*access, r *uop.UOp) bool {
	return !slices.ContainsFunc(list, func(l *access) bool { return !p.depends(l, r) })
}

// take moves the loops that f accepts from the rest to the end of the order.
func take(order, rest *[]loop, f func(l loop) bool) {
	*rest = slices.DeleteFunc(*rest, func(l loop) bool {
		if f(l) {
			*order = append(*order, l)
			return true
		}
		return false
	})
}

// arrange orders the loops. Outside lie loops on which everything staged depends, then those that make boxes
// fit the cache, then those that make panels fit, then loops of the reduction where a panel is still too
// large; innermost those that use the staged again.
func (p *arranger) arrange() {
	staged := append(slices.Clone(p.packs), p.boxes...)
	var order []loop
	rest := slices.Clone(p.serial)
	if len(staged) > 0 {
		take(&order, &rest, func(l loop) bool { return p.allDepend(staged, l.r) && p.batch(l.r) })
	}
	carried := p.carryLoops(order, rest)
	budget := p.Target.L2 / 2
	stages := map[*access]int{} // number of loops outside
	if len(p.boxes) > 0 {
		order = append(order, carried...)
		for {
			over := slices.IndexFunc(p.boxes, func(l *access) bool { return p.boxBytes(l, order) > budget })
			if over < 0 {
				break
			}
			i := slices.IndexFunc(rest, func(l loop) bool { return p.depends(p.boxes[over], l.r) })
			if i < 0 {
				break
			}
			if l := rest[i]; l.block == 1 && l.n > 8 {
				p.blockAxis(&rest, i, p.boxes[over], order, budget)
			}
			order = append(order, rest[i])
			rest = slices.Delete(rest, i, i+1)
		}
		if len(carried) == 0 {
			order, rest = p.lanesFirst(order, rest)
		}
		for _, l := range p.boxes {
			stages[l] = len(order)
		}
		outside := len(order)
		if take(&order, &rest, p.packed); outside == len(carried) { // each call of threads does what lies outside of their loop: a panel is packed inside
			outside = len(order)
		}
		for _, l := range p.packs {
			stages[l] = p.packLevel(l, order[:outside])
		}
	} else {
		if slices.ContainsFunc(p.packs, func(l *access) bool { return p.packBytes(l, order) > budget }) {
			if take(&order, &rest, p.packed); len(carried) == 0 {
				order = p.groupLanes(order, &rest, budget)
			}
		}
		order = append(order, carried...)
		for _, l := range p.packs {
			stages[l] = len(order)
		}
	}
	if len(staged) == 0 {
		if p.swept(rest) {
			return
		}
		rest = p.reordered(rest)
	}
	order = append(order, rest...)
	for _, l := range p.shares {
		stages[l] = p.packLevel(l, order)
	}
	if len(carried) == 0 {
		order, carried = p.cached(order)
	}
	p.finish(order, stages, carried)
}

// lanesFirst moves loops over blocks of lanes outside of those for which boxes are copied, where the lanes' operand is not staged, no cache holds
// all of it, and to copy boxes for each block moves less than to read all of it for each box.
func (p *arranger) lanesFirst(order, rest []loop) (moved, left []loop) {
	i := slices.IndexFunc(p.t.r.loads, func(l *access) bool {
		return p.depends(l, p.t.v) && l.plain && !slices.Contains(p.packs, l) && !slices.Contains(p.boxes, l)
	})
	if i < 0 {
		return order, rest
	}
	lanes := p.t.r.loads[i]
	boxes, times, blocks := 1, 1, 1
	for _, o := range order {
		if boxes *= o.n; !p.depends(lanes, o.r) {
			times *= o.n
		}
	}
	for _, o := range rest {
		if p.depends(lanes, o.r) {
			moved, blocks = append(moved, o), blocks*o.n
		} else {
			left = append(left, o)
		}
	}
	copied := 0
	for _, l := range p.boxes {
		copied += p.boxBytes(l, order) * boxes * (blocks - 1)
	}
	all := p.packBytes(lanes, nil)
	if all <= 2*p.Target.L2 || p.packBytes(lanes, moved) > 2*p.Target.L2 || 2*copied > all*(times-1) {
		return order, rest
	}
	return append(moved, order...), left
}

// packed says that a packed operand depends on a loop.
func (p *arranger) packed(l loop) bool {
	return slices.ContainsFunc(p.packs, func(a *access) bool { return p.depends(a, l.r) })
}

// batch says that nothing else than one operand's own axes are these: blocks of the result along r share nothing.
func (p *arranger) batch(r *uop.UOp) bool { return p.allDepend(p.t.r.loads, r) }

// packLevel is the outermost place at which an operand can be packed without doing it again.
func (p *arranger) packLevel(l *access, order []loop) int {
	level := 0
	for i, o := range order {
		if p.depends(l, o.r) {
			level = i + 1
		}
	}
	return level
}

// blockAxis splits a loop of the boxes so that several of its iterations share a box.
func (p *arranger) blockAxis(rest *[]loop, i int, box *access, order []loop, budget int) {
	l := (*rest)[i]
	total := 1
	for _, o := range order {
		total *= o.n
	}
	best := 1
	one := p.boxBytes(box, append(slices.Clone(order), loop{l.name, l.n, l.r, 1, nil}))
	for b := 2; b <= l.n/2; b++ { // worth it where boxes of neighbours overlap
		open := append(slices.Clone(order), loop{l.name, l.n / b, l.r, b, nil})
		if bytes := p.boxBytes(box, open); l.n%b == 0 && bytes <= budget && total*l.n/b >= 14 && bytes < one*b*9/10 {
			best = b
		}
	}
	if best > 1 {
		outer, inner := p.cutLoop(l, best, codegen.Exact)
		*rest = slices.Replace(*rest, i, i+1, outer, inner)
	}
}

// carryLoops are the loops of the reduction that must lie outside for a panel to fit the cache.
func (p *arranger) carryLoops(order, rest []loop) (out []loop) {
	open := slices.Clone(order)
	if len(p.boxes) == 0 { // panels are staged where their own loops are open
		rest = slices.Clone(rest)
		take(&open, &rest, p.packed)
	}
	large := func() bool {
		bytes := 0
		for _, l := range p.packs {
			bytes += p.packBytes(l, open)
		}
		return bytes > p.Target.L2
	}
	for _, x := range p.t.r.ranges {
		if !large() {
			break
		}
		if x == p.words && p.steps(x) == 1 {
			continue
		}
		l := loop{p.name(x), p.steps(x), x, 1, nil}
		rows := 1 // of all panels, in bytes, for one x
		for _, a := range p.packs {
			if p.depends(a, x) {
				rows += p.packBytes(a, append(slices.Clone(open), l))
			}
		}
		if keep := p.Target.L2 / 4 / rows; keep < l.n {
			n, tail := codegen.CeilDiv(l.n, codegen.CeilDiv(l.n, max(1, keep))), codegen.Guard
			if d := divisor(l.n, max(1, keep)); keep <= 8 || 3*d >= 2*keep { // no conditions in so few steps, and none where blocks are about as long without
				n, tail = d, codegen.Exact
			}
			if n > 1 {
				l, _ = p.cutLoop(l, n, tail)
			}
		}
		out = append(out, l)
		open = append(open, l)
	}
	return out
}

// finish writes threads, order, stages and carries.
func (p *arranger) finish(order []loop, stages map[*access]int, carried []loop) {
	if p.Threaded(p.g) && p.t.r.work > threadWork {
		order = p.share(order, stages, carried)
	}
	p.out = append(p.out, codegen.Directive{Verb: codegen.Order, Axes: slices.Concat(names(order), p.inner, []string{p.lane})})
	at := func(level int) string { return innermost(names(order[:level])) }
	for _, l := range p.boxes {
		p.out = append(p.out, codegen.Directive{Verb: codegen.Stage, Name: l.staged(), At: at(stages[l]), Box: true})
	}
	for _, l := range p.packs {
		m := codegen.Directive{Verb: codegen.Stage, Name: l.staged(), At: at(stages[l]), Axes: p.panel(l, order, stages[l])}
		m.Vector, m.Tile = p.packLanes(l, order, stages[l])
		p.out = append(p.out, m)
	}
	for _, l := range p.shares {
		for _, name := range l.shared() {
			p.out = append(p.out, p.shareDirective(l, name, order, stages[l], at(stages[l])))
		}
	}
	p.sumDirectives(order, stages, carried, at)
	if len(carried) > 0 {
		m := codegen.Directive{Verb: codegen.Carry, Name: p.t.r.name}
		from := slices.IndexFunc(order, func(l loop) bool { return l.name == carried[0].name })
		for _, l := range order[from:] {
			if !isIn(carried, l) {
				m.Axes = append(m.Axes, l.name)
			}
		}
		m.Axes = append(append(m.Axes, p.inner...), p.lane)
		p.out = append(p.out, m)
	}
}

func isIn(list []loop, l loop) bool {
	return slices.ContainsFunc(list, func(x loop) bool { return x.name == l.name })
}

// panel is the layout of a packed operand: its loops inside the place where it is packed, lanes last.
func (p *arranger) panel(l *access, order []loop, level int) (out []string) {
	for _, o := range order[level:] {
		if p.dependsOn(l, o) {
			out = append(out, o.name)
		}
	}
	for _, x := range p.t.r.ranges {
		name := p.name(x)
		i := slices.IndexFunc(order, func(o loop) bool { return o.r == x })
		switch {
		case !p.depends(l, x) || x == p.words && p.steps(x) == 1:
		case i < 0:
			out = append(out, name)
		case order[i].block > 1:
			out = append(out, name+".1")
		}
	}
	for _, a := range p.g.Axes {
		if n := p.t.size(a.Range); n > 1 && p.depends(l, a.Range) {
			if out = append(out, a.Name); n < codegen.Extent(a.Range) {
				out[len(out)-1] += ".1"
			}
		}
	}
	if !p.depends(l, p.t.v) {
		return out
	}
	return append(out, p.lane)
}

// dependsOn says whether an operand depends on a loop, perhaps one of several that were fused.
func (p *arranger) dependsOn(l *access, o loop) bool {
	return p.depends(l, o.r) || slices.ContainsFunc(o.also, func(x loop) bool { return p.depends(l, x.r) })
}
