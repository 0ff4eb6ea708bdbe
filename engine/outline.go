package engine

import (
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// An outline is a graph without its numbers: its key is equal for graphs that differ only in scalar constants and in
// how far they shift. The numbers stand beside it, in the order in which a walk meets their places. A constant has a
// place for each node that uses it, because two constants of a graph that are equal by chance are one node, and
// would be two the next time.

// place is where a graph has a number that could as well be an argument of its plan.
type place struct {
	dtype dtype.DType // of the argument
	value uop.Value
}

// outliner walks over a canonical graph: once to find the places, and once more, with a table, to put arguments there.
type outliner struct {
	w      keyWriter
	ops    []byte // without any argument
	places []place
	tags   []uint64 // of the places, see tag
	fixed  []uint64 // tags of numbers that have no place

	table  *uop.Table // nil: nothing is built
	number func(i int) *uop.UOp
	done   map[*uop.UOp]*uop.UOp
}

// outline is that of the graph, found once.
func (c *canonical) outline() *outliner {
	if c.outlined == nil {
		c.outlined = &outliner{}
		c.outlined.walk(c)
	}
	return c.outlined
}

// replaced is the graph in a table of its own, with number(i) in place i; nil keeps what is there. number makes nodes
// of type I64 or of the place's type, of rank 0, in that table.
func replaced(c *canonical, t *uop.Table, number func(i int) *uop.UOp) (roots []*uop.UOp) {
	o := outliner{table: t, number: number, done: map[*uop.UOp]*uop.UOp{}}
	return o.walk(c)
}

func (o *outliner) walk(c *canonical) (roots []*uop.UOp) {
	values := make([]*uop.UOp, len(c.graph.Roots))
	for i, r := range c.graph.Roots {
		values[i] = r.Value
	}
	for _, u := range uop.Topo(values...) {
		if !repeated(u) {
			o.node(u)
		}
	}
	for i, v := range values {
		roots = append(roots, o.operand(nil, v))
		o.w.int(c.graph.Roots[i].Dest)
	}
	o.w.inputs(c.graph)
	return roots
}

// repeated says whether u is a constant, perhaps in all elements of an array.
func repeated(u *uop.UOp) bool {
	for u.Op() == uop.Reshape || u.Op() == uop.Expand || u.Op() == uop.Permute {
		u = u.At(0)
	}
	return u.Op() == uop.Const
}

func (o *outliner) node(u *uop.UOp) {
	o.w.number(u)
	o.w.buf = append(o.w.buf, byte(u.Op()), byte(u.DType()))
	o.ops = append(o.ops, byte(u.Op()), byte(u.DType()))
	o.w.int(len(u.Src()))
	src := make([]*uop.UOp, len(u.Src()))
	for i, s := range u.Src() {
		src[i] = o.operand(u, s)
	}
	if u.Op() == uop.Shrink || u.Op() == uop.Pad {
		o.shift(u, src)
		return
	}
	o.w.arg(u.Arg())
	o.build(u, src)
}

// build makes u of other operands.
func (o *outliner) build(u *uop.UOp, src []*uop.UOp) *uop.UOp {
	if o.table == nil {
		return nil
	}
	i := -1
	v := u.WithSrc(o.table, func(*uop.UOp) *uop.UOp { i++; return src[i] })
	o.done[u] = v
	return v
}

// operand writes what u (nil: a root) uses.
func (o *outliner) operand(u, s *uop.UOp) *uop.UOp {
	if !repeated(s) {
		o.w.int(o.w.id(s))
		return o.done[s]
	}
	o.w.int(-1)
	var chain []*uop.UOp
	for ; s.Op() != uop.Const; s = s.At(0) {
		o.w.int(int(s.Op()))
		o.w.arg(s.Arg())
		chain = append(chain, s)
	}
	v := o.constant(u, s)
	for i := len(chain) - 1; i >= 0; i-- {
		v = o.build(chain[i], []*uop.UOp{v})
	}
	return v
}

// mostIndex is how large an index may be that becomes an argument: sums of a few stay within 32 bits.
const mostIndex = 1 << 28

// constant writes a constant that u uses.
func (o *outliner) constant(u, c *uop.UOp) *uop.UOp {
	d := c.DType()
	o.w.int(int(uop.Const))
	o.w.int(int(d))
	value, _ := c.ConstValue()
	var n *uop.UOp
	id := c.Arg().(uop.ConstArg).ID
	switch {
	case !free(u, c):
		o.fix(id)
		o.w.int(0)
		o.w.arg(c.Arg())
	case d == dtype.Index:
		o.w.int(1)
		if n = o.place(place{dtype.I32, value}, id); n != nil {
			n = within(n, -mostIndex, mostIndex)
		}
	default:
		n = o.place(place{d, value}, id)
	}
	if n == nil {
		return o.build(c, nil)
	}
	return n
}

// free says whether a constant that u (nil: a root) uses has a place there.
func free(u, c *uop.UOp) bool {
	switch c.DType() {
	case dtype.Bool: // decides structure
		return false
	case dtype.Index: // needs bounds
		value, _ := c.ConstValue()
		return compares(u) && -mostIndex <= value.Int() && value.Int() <= mostIndex
	case dtype.F64: // folds
		return meets(u)
	}
	return true
}

// meets says whether u has an operand that is no constant. If not it may be folded, on a device that lacks its type.
func meets(u *uop.UOp) bool {
	if u != nil {
		for _, s := range u.Src() {
			if !repeated(s) {
				return true
			}
		}
	}
	return false
}

// compares says whether u compares or adds indices. Products and quotients need to know the number: they say where elements lie.
func compares(u *uop.UOp) bool {
	return u != nil && (u.Op() == uop.Add || u.Op() == uop.Less || u.Op() == uop.Equal || u.Op() == uop.Max)
}

// fix notes that a number has no place.
func (o *outliner) fix(id uint64) {
	if id >= tag {
		o.fixed = append(o.fixed, id)
	}
}

// place notes a number and gives what stands for it, if anything does.
func (o *outliner) place(p place, id uint64) *uop.UOp {
	o.places, o.tags = append(o.places, p), append(o.tags, id)
	if o.table == nil {
		return nil
	}
	return o.number(len(o.places) - 1)
}
