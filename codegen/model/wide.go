package model

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/nest"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Products of narrow numbers are computed in wider ones. A conversion where each product is made costs as much as the
// product, so what is used again and again is staged as the wider number: p1w is what the load p1 becomes.

// findWide notes the casts by which alone operands are read.
func (c *view) findWide() {
	for _, a := range c.loads {
		w := c.Values[a.name+nest.WideSuffix]
		if w == nil || a.name == "" {
			continue
		}
		only := true
		for _, u := range c.nodes {
			for _, s := range u.Src() {
				only = only && (s != a.u || u == w)
			}
		}
		if only {
			a.wide = w
		}
	}
}

// held is how many bytes a staged element of an operand takes.
func (a *access) held() int {
	return max(1, a.value().DType().Size())
}

// value is what is staged of an operand.
func (a *access) value() *uop.UOp {
	if a.wide != nil {
		return a.wide
	}
	return a.u
}

// staged is the name of the value that is staged of an operand.
func (a *access) staged() string {
	if a.wide != nil {
		return a.name + nest.WideSuffix
	}
	return a.name
}

// oftenWide says that lanes of an operand are widened several times, each time for a block of results.
func (p *arranger) oftenWide(l *access, reuse int) bool {
	reuse /= p.t.held(func(a *uop.UOp) bool { return !p.depends(l, a) })
	return l.wide != nil && !l.gated && reuse >= 2
}

// widenCost is what it costs to widen an operand that all lanes share once for each block of lanes.
func (c *tiler) widenCost(t *tiling, l *access) float64 {
	times := float64(c.count(l.free)) * float64(codegen.CeilDiv(codegen.Extent(t.v), t.lanes*t.u))
	if c.widening(l) > 0 && c.panelsFit(t, l) { // blocks of lanes lie inside, and use again what was widened
		times = float64(c.count(l.free))
	}
	if slices.ContainsFunc(t.r.ranges, func(x *uop.UOp) bool { return c.dense(l, x) }) {
		return times * (4 + c.widening(l)) / float64(c.width())
	}
	return times * (2 + c.widening(l))
}

// panelsFit says that half of the second cache has what all lanes need of the other operands, for one place of what they have in common with l.
func (c *tiler) panelsFit(t *tiling, l *access) bool {
	own, bytes := c.Facts.Set(t.r.ranges...), 0
	for _, a := range t.r.loads {
		if c.depends(a, t.v) {
			bytes += c.count(a.free.Minus(l.free.Minus(own))) * a.held()
		}
	}
	return bytes <= c.Target.L2/2
}

// widening is how many operations it takes to widen a number, beyond what a machine with an instruction for it needs: narrow floats are taken apart and
// put together again, but for BF16, which is the upper half of F32.
func (c *view) widening(l *access) float64 {
	if d := l.u.DType(); l.wide == nil || !d.IsNarrow() || d == dtype.BF16 || c.Target.Has(uop.Cast, d) {
		return 0
	}
	return narrowOps
}

// narrowOps are about those of codegen/legal/narrow.go.
const narrowOps = 10

// readInWords says that the words of an operand that all lanes share are read as they lie: those of so many rows that the first cache holds them all.
func (c *tiler) readInWords(t *tiling, l *access, words *uop.UOp, dots *nest.Dotted) bool {
	if words == nil || !c.Target.WordLoads || l.bytes*dots.N != 4 || !c.dense(l, words) {
		return false
	}
	for i, a := range t.axes {
		if s, ok := c.stride(l, a); !ok || c.crowded(codegen.Abs(s)*l.bytes, t.n[i]) {
			return false
		}
	}
	return slices.ContainsFunc(dots.Factors[:], func(f nest.Factor) bool { return f.Load() == l.u && !f.Biased() })
}

// worthWide says that an operand that all lanes share is worth widening ahead: it is used by several vectors, or densely along
// the reduction, so that widening it takes few instructions.
func (p *arranger) worthWide(l *access) bool {
	if l.wide == nil && l.factors == nil || l.gated || !l.plain || p.t.along || p.readInWords(p.t, l, p.words, p.dots) || p.alongSteps(p.t.r, l) == nil && p.t.r.work/max(1, p.count(l.free)) < 8*p.t.lanes {
		return false
	}
	bytes := l.held()
	if l.factors != nil {
		bytes = l.factors.Bytes
	}
	l.free.And(p.Facts.Set(p.t.r.ranges...)).Each(func(i int) { bytes *= codegen.Extent(p.Facts.Ranges[i]) })
	bytes *= p.t.held(p.along(l))
	return bytes <= p.Target.L2/4 && len(p.reds) == 1
}

// groupLanes lets several blocks of lanes share what was widened for a block of instances, as many as fit the cache.
func (p *arranger) groupLanes(order []loop, rest *[]loop, budget int) []loop {
	last := len(order) - 1
	if len(p.shares) == 0 || p.fixed || last < 0 || order[last].r != p.t.v {
		return order
	}
	l, bytes, group := order[last], 0, 1
	for _, a := range p.packs {
		bytes += p.packBytes(a, order)
	}
	for n := 2; n <= fewBlocks; n++ {
		if l.n%n == 0 && n*bytes <= budget {
			group = n
		}
	}
	if group == 1 {
		return order
	}
	outer, inner := p.cutLoop(l, group, codegen.Exact)
	*rest = append(*rest, inner)
	return append(order[:last:last], outer)
}

// packLanes is the axis along which an operand is packed in vectors, and the one of which vectors are turned in registers, or "": lanes, or steps where
// these lie together and lanes do not.
func (p *arranger) packLanes(l *access, order []loop, level int) (vector, tile string) {
	x, turned := p.alongSteps(p.t.r, l), p.turnsPack(p.t, l, p.words)
	if s, _ := p.stride(l, p.t.v); s == 1 || !turned && (p.words == nil || p.words != x || l.wide == nil) {
		return p.lane, ""
	}
	panel := p.panel(l, order, level)
	for _, name := range []string{p.name(x), p.name(x) + ".1"} {
		if slices.Contains(panel, name) && turned {
			return name, p.lane
		} else if slices.Contains(panel, name) {
			return name, ""
		}
	}
	return p.lane, ""
}

// turnsPack says that an operand, whose steps lie together and whose lanes do not, is packed in vectors of steps that are turned in registers.
func (c *tiler) turnsPack(t *tiling, l *access, words *uop.UOp) bool {
	x := c.alongSteps(t.r, l)
	return x != nil && c.turnsStores(t) && (words == nil && l.held() == 4 || words == x)
}

// turnsStores says that what lanes store to rows of their own is turned in registers, if there are enough neighbours.
func (c *tiler) turnsStores(t *tiling) bool {
	return c.Target.Turns && c.Target.Masks && t.lanes == c.Target.VectorLen(dtype.F32)
}

// alongSteps is the range of a reduction along which an operand lies densely, or nil.
func (c *tiler) alongSteps(r *reduction, l *access) *uop.UOp {
	i := slices.IndexFunc(r.ranges, func(x *uop.UOp) bool { return c.dense(l, x) && codegen.Extent(x) >= c.width() })
	if i < 0 {
		return nil
	}
	return r.ranges[i]
}

// shareDirective stages what is made of an operand that all lanes share: instances outside of the innermost steps of the reduction and inside of
// the others, so that what is read together does not lie a power of two apart.
func (p *arranger) shareDirective(l *access, name string, order []loop, level int, at string) codegen.Directive {
	m := codegen.Directive{Verb: codegen.Stage, Name: name, At: at}
	steps, instances := []string{}, []string{}
	for _, name := range p.panel(l, order, level) {
		if slices.Contains(p.inner, name) {
			instances = append(instances, name)
		} else {
			steps = append(steps, name)
		}
	}
	last := max(len(steps)-1, 0)
	m.Axes = slices.Concat(steps[:last], instances, steps[last:])
	if x := p.alongSteps(p.t.r, l); x != nil {
		for _, name := range []string{p.name(x), p.name(x) + ".1"} {
			if slices.Contains(steps, name) {
				m.Vector = name
			}
		}
	}
	return m
}
