package lower

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/codegen/nest"
	"github.com/weft-ml/weft/uop"
)

// carried is a reduction some of whose loops lie outside loops of outputs: between them its partial results
// wait in scratch, one place for each iteration of the loops inside.
type carried struct {
	name   string
	outer  []*uop.UOp // its ranges among the loops of the nest, outermost first
	layout []*nest.Axis
	bufs   []*uop.UOp // of each part
	index  []*uop.UOp
	first  *uop.UOp // no partial result yet
	last   *uop.UOp // the result is complete
}

// carriedIn finds what a nest carries, and checks that it says where.
func (b *builder) carriedIn(g *nest.Group) *carried {
	var c *carried
	for _, a := range g.Order {
		if a.Owner == "" {
			continue
		}
		i := slices.IndexFunc(b.Carry, func(m codegen.Directive) bool { return m.Name == a.Owner })
		if i < 0 {
			refuse("order: %s lies among axes of outputs, so %s must be carried", a.Name, a.Owner)
		}
		if a.Kind != codegen.Serial {
			refuse("axis %s of a carried reduction must be serial", a.Name)
		}
		if c == nil {
			c = &carried{name: a.Owner}
			for _, x := range b.Carry[i].Axes {
				if b.Axes[x].Owner == a.Owner { // what one iteration lays down the next one takes up from the same place
					refuse("carry %s: its layout names its own axis %s", a.Owner, x)
				}
				c.layout = append(c.layout, b.Axes[x])
			}
		}
		if c.name != a.Owner {
			refuse("order: %s and %s cannot both be carried", c.name, a.Owner)
		}
		c.outer = append(c.outer, a.Range)
	}
	if c == nil {
		return nil
	}
	u := b.Values[c.name]
	parts, ranges := codegen.ReduceParts(u)
	if slices.ContainsFunc(ranges, func(r *uop.UOp) bool { return b.ByRange[r].Kind == codegen.Vector }) {
		refuse("carry %s: its own lanes are folded at its end, not in each step outside", c.name)
	}
	inner := b.Facts.FreeRanges(u)
	for _, a := range g.Order {
		if a.Range == c.outer[0] {
			break
		}
		inner = inner.Minus(b.Facts.Set(a.Range))
	}
	for i, need := range b.PartRanges(u, b.reg) {
		at, n := affine.Form{}, 1
		for _, a := range slices.Backward(c.layout) {
			// One place serves all lanes and instances of what does not differ between them, for they take it up before any
			// of them lays it down; the iterations of a serial loop do not.
			if need.Has(b.Facts.RangeID(a.Range)) || a.Kind == codegen.Serial {
				at = affine.Form{Terms: []affine.Term{{Node: a.Range, Coef: n}}}.Add(at, 1)
				n *= codegen.Extent(a.Range)
			}
			inner = inner.Minus(b.Facts.Set(a.Range))
		}
		c.index = append(c.index, at.Node(b.Table))
		c.bufs = append(c.bufs, b.newScratch(parts[i].DType(), n))
	}
	if !inner.Empty() {
		refuse("carry %s: its layout lacks %v", c.name, b.Facts.List(inner))
	}
	c.first, c.last = b.Table.True(), b.Table.True()
	for _, r := range c.outer {
		c.first = b.Fold(c.first.And(r.Less(b.Table.Index(1))))
		c.last = b.Fold(c.last.And(b.Table.Index(codegen.Extent(r) - 2).Less(r)))
	}
	return c
}

// allocs opens the scratch just outside the outermost of the reduction's loops.
func (c *carried) allocs(r *uop.UOp) (out []codegen.Stmt) {
	if c == nil || c.outer[0] != r {
		return nil
	}
	for _, buf := range c.bufs {
		out = append(out, &codegen.Alloc{Buf: buf, N: buf.Arg().(uop.ParamArg).N})
	}
	return out
}

// is says whether u is the carried reduction.
func (c *carried) is(u *uop.UOp) bool {
	if c == nil {
		return false
	}
	_, ranges := codegen.ReduceParts(u)
	return slices.Contains(ranges, c.outer[0])
}

// resume gives the accumulators what was carried so far.
func (b *builder) resume(m uop.Monoid, parts []*uop.UOp) (regs []*uop.UOp, lets []codegen.Stmt) {
	c := b.carrying
	again := c.first.Xor(b.Table.True())
	for i, p := range parts {
		r := b.reg(p.DType())
		regs = append(regs, r)
		v := b.Table.Load(c.bufs[i], again, c.index[i])
		if id := p.Const(m.Info().Identity(p.DType(), i)); !id.IsConst(0) {
			v = c.first.Where(id, v)
		}
		lets = append(lets, &codegen.Let{Reg: r, Value: v})
	}
	return regs, lets
}

// suspend stores partial results.
func (b *builder) suspend(regs []*uop.UOp) []codegen.Stmt {
	c := b.carrying
	var out []codegen.Stmt
	for i, r := range regs {
		out = append(out, &codegen.Store{Buf: c.bufs[i], Index: []*uop.UOp{c.index[i]}, Value: r})
	}
	return when(c.last.Xor(b.Table.True()), out...)
}
