package codegen

import (
	"slices"

	"github.com/weft-ml/weft/uop"
)

// carried is a reduction some of whose loops lie outside loops of outputs: between them its partial results
// wait in scratch, one place for each iteration of the loops inside.
type carried struct {
	name   string
	outer  []*uop.UOp // its ranges among the loops of the nest, outermost first
	layout []*axis
	bufs   []*uop.UOp // of each part
	index  []*uop.UOp
	first  *uop.UOp // no partial result yet
	last   *uop.UOp // the result is complete
}

// carriedIn finds what a nest carries, and checks that it says where.
func (b *builder) carriedIn(g *group) *carried {
	var c *carried
	for _, a := range g.order {
		if a.owner == "" {
			continue
		}
		i := slices.IndexFunc(b.carry, func(m Directive) bool { return m.Name == a.owner })
		if i < 0 {
			refuse("order: %s lies among axes of outputs, so %s must be carried", a.name, a.owner)
		}
		if a.kind != Serial {
			refuse("axis %s of a carried reduction must be serial", a.name)
		}
		if c == nil {
			c = &carried{name: a.owner}
			for _, x := range b.carry[i].Axes {
				if b.axes[x].owner == a.owner { // what one iteration lays down the next one takes up from the same place
					refuse("carry %s: its layout names its own axis %s", a.owner, x)
				}
				c.layout = append(c.layout, b.axes[x])
			}
		}
		if c.name != a.owner {
			refuse("order: %s and %s cannot both be carried", c.name, a.owner)
		}
		c.outer = append(c.outer, a.r)
	}
	if c == nil {
		return nil
	}
	u := b.values[c.name]
	parts, _ := reduceParts(u)
	inner := b.facts.freeRanges(u)
	for _, a := range g.order {
		if a.r == c.outer[0] {
			break
		}
		inner = inner.minus(b.facts.set(a.r))
	}
	for i, need := range b.partRanges(u) {
		at, n := affine{}, 1
		for _, a := range slices.Backward(c.layout) {
			// One place serves all lanes and instances of what does not differ between them, for they take it up before any
			// of them lays it down; the iterations of a serial loop do not.
			if need.has(b.facts.rangeID(a.r)) || a.kind == Serial {
				at = affine{terms: []term{{a.r, n}}}.add(at, 1)
				n *= extent(a.r)
			}
			inner = inner.minus(b.facts.set(a.r))
		}
		c.index = append(c.index, at.node(b.t))
		c.bufs = append(c.bufs, b.newScratch(parts[i].DType(), n))
	}
	if !inner.empty() {
		refuse("carry %s: its layout lacks %v", c.name, b.facts.list(inner))
	}
	c.first, c.last = b.t.True(), b.t.True()
	for _, r := range c.outer {
		c.first = b.fold(c.first.And(r.Less(b.t.Index(1))))
		c.last = b.fold(c.last.And(b.t.Index(extent(r) - 2).Less(r)))
	}
	return c
}

// partRanges are the free ranges of each result of a reduction: of the parts that its merge looks at.
func (b *builder) partRanges(u *uop.UOp) []rangeSet {
	parts, _ := reduceParts(u)
	x, y := make([]*uop.UOp, len(parts)), make([]*uop.UOp, len(parts))
	for i, p := range parts {
		x[i], y[i] = b.reg(p.DType()), b.reg(p.DType())
	}
	own := b.facts.freeRanges(u)
	out := make([]rangeSet, len(parts))
	for i, m := range u.Arg().(uop.ReduceArg).Monoid.Info().Merge(x, y) {
		for _, v := range uop.Topo(m) {
			if j := slices.Index(y, v); j >= 0 {
				out[i] = out[i].or(b.facts.freeRanges(parts[j]).and(own))
			}
		}
	}
	return out
}

// allocs opens the scratch just outside the outermost of the reduction's loops.
func (c *carried) allocs(r *uop.UOp) (out []Stmt) {
	if c == nil || c.outer[0] != r {
		return nil
	}
	for _, buf := range c.bufs {
		out = append(out, &Alloc{Buf: buf, N: buf.Arg().(uop.ParamArg).N})
	}
	return out
}

// is says whether u is the carried reduction.
func (c *carried) is(u *uop.UOp) bool {
	if c == nil {
		return false
	}
	_, ranges := reduceParts(u)
	return slices.Contains(ranges, c.outer[0])
}

// resume gives the accumulators what was carried so far.
func (b *builder) resume(m uop.Monoid, parts []*uop.UOp) (regs []*uop.UOp, lets []Stmt) {
	c := b.carrying
	again := c.first.Xor(b.t.True())
	for i, p := range parts {
		r := b.reg(p.DType())
		regs = append(regs, r)
		v := b.t.Load(c.bufs[i], again, c.index[i])
		if id := p.Const(m.Info().Identity(p.DType(), i)); !id.IsConst(0) {
			v = c.first.Where(id, v)
		}
		lets = append(lets, &Let{r, v})
	}
	return regs, lets
}

// suspend stores partial results.
func (b *builder) suspend(regs []*uop.UOp) []Stmt {
	c := b.carrying
	var out []Stmt
	for i, r := range regs {
		out = append(out, &Store{Buf: c.bufs[i], Index: []*uop.UOp{c.index[i]}, Value: r})
	}
	return when(c.last.Xor(b.t.True()), out...)
}
