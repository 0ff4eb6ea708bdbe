package sizes

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// comparison pairs the nodes of cases.
type comparison struct {
	*Graph
	s      samples
	cases  []Case
	with   []map[*uop.UOp]*uop.UOp // by case but the first: what the first one's nodes are in it
	pairs  map[*uop.UOp]*pair
	rows   map[*pair]*pair
	inputs map[*uop.UOp]int  // Params of the first case, counted from 1
	known  []form            // sizes that vary: of inputs, then of what is cut out of an array or laid in zeros
	needs  *[uop.MaxVars]int // see samples.fractions, of what was no form last
}

// compare finds what cases have in common. If it is false needs say of what fractions of the variables an integer is perhaps a sum.
func (g *Graph) compare(cases []Case, s samples, needs *[uop.MaxVars]int) bool {
	c := &comparison{Graph: g, s: s, needs: needs, cases: cases, pairs: map[*uop.UOp]*pair{}, rows: map[*pair]*pair{}, inputs: map[*uop.UOp]int{}}
	for i, u := range cases[0].Ins {
		c.inputs[base(u)] = i + 1
		shapes := make([]uop.Shape, len(cases))
		for k := range cases {
			shapes[k] = cases[k].Ins[i].Shape()
		}
		var fs []form
		for axis := range shapes[0] {
			f, ok := c.form(column(shapes, axis))
			if !ok {
				return false
			}
			if fs = append(fs, f); f.varies() && !slices.Contains(c.known, f) {
				c.known = append(c.known, f)
			}
		}
		g.ins, g.inputTypes = append(g.ins, fs), append(g.inputTypes, u.DType())
	}
	for i := range uop.MaxVars {
		f := form{}
		f.K[i] = 1
		if s.differs(i) && !slices.ContainsFunc(c.known, func(f form) bool { return f.K[i] != 0 }) {
			c.known = append(c.known, f) // of parts
		}
	}
	order := uop.Topo(cases[0].Roots...)
	for k := 1; k < len(cases); k++ {
		with, ok := meetings(order, cases[0].Roots, cases[k].Roots)
		if !ok {
			return false
		}
		c.with = append(c.with, with)
	}
	for _, u := range order {
		of := []*uop.UOp{u}
		for _, with := range c.with {
			of = append(of, with[u])
		}
		if slices.Contains(of, nil) { // a leaf
			continue
		}
		p := &pair{of: of, input: c.inputs[u], shape: u.Shape()}
		if p.input > 0 {
			p.shape = cases[0].Ins[p.input-1].Shape()
		}
		if !c.add(p) {
			return false
		}
		c.pairs[u] = p
	}
	for _, u := range cases[0].Roots {
		g.roots = append(g.roots, c.pairs[u])
	}
	return true
}

// meetings are what the nodes of one case are in another, but for leaves.
func meetings(order, roots, others []*uop.UOp) (with map[*uop.UOp]*uop.UOp, ok bool) {
	with = map[*uop.UOp]*uop.UOp{}
	for i, u := range roots {
		if leaf(u) || !meet(with, u, others[i]) {
			return nil, false
		}
	}
	for _, u := range slices.Backward(order) { // users first
		v := with[u]
		if v == nil {
			continue
		}
		if u.Op() != v.Op() || u.DType() != v.DType() || len(u.Src()) != len(v.Src()) {
			return nil, false
		}
		for i, s := range operands(u) {
			if !leaf(s) && !meet(with, s, v.At(i)) {
				return nil, false
			}
		}
	}
	return with, true
}

// meet notes that u is v in the other case, and says whether it can be.
func meet(with map[*uop.UOp]*uop.UOp, u, v *uop.UOp) bool {
	if w := with[u]; w != nil {
		return w == v
	}
	with[u] = v
	return true
}

// add finds what a pair's operands and integers are, and says whether that is all in which its nodes differ.
func (c *comparison) add(p *pair) bool {
	u := p.first()
	for i, v := range p.of {
		if v.Op() != u.Op() || v.DType() != u.DType() || len(v.Src()) != len(u.Src()) || len(v.Shape()) != len(u.Shape()) ||
			p.input > 0 && base(c.cases[i].Ins[p.input-1]) != v {
			return false
		}
	}
	for i, s := range operands(u) {
		q := c.pairs[s]
		if leaf(s) {
			q = &pair{leaf: true, shape: s.Shape()}
			for _, v := range p.of {
				q.of = append(q.of, v.At(i))
			}
			if !c.add(q) {
				return false
			}
		}
		if q.input > 0 && u.Op() != uop.Reshape && len(q.shape) != 1 {
			if q = c.row(q); q == nil {
				return false
			}
		}
		p.src = append(p.src, q)
	}
	if !c.sizes(p) || !c.arg(p) {
		return false
	}
	c.nodes = append(c.nodes, p)
	for axis, x := range p.cuts {
		if f := p.size[axis][0]; x.done && len(p.size[axis]) == 1 && f.varies() && !slices.Contains(c.known, f) {
			c.known = append(c.known, f)
		}
		if k, ok := p.size[axis][0].alone(); x.done && ok && len(p.size[axis]) == 1 && c.places[k].pair == nil {
			c.places[k] = place{p, axis}
		}
	}
	return true
}

// row is an input as a row of all of its elements, which its Param is.
func (c *comparison) row(q *pair) *pair {
	if c.rows[q] == nil {
		p := &pair{of: q.of, src: []*pair{q}, shape: q.first().Shape(), row: true}
		if !c.sizes(p) {
			return nil
		}
		c.rows[q], c.nodes = p, append(c.nodes, p)
	}
	return c.rows[q]
}

// sizes finds the factors of a pair's sizes.
func (c *comparison) sizes(p *pair) bool {
	if p.input > 0 {
		for _, f := range c.ins[p.input-1] {
			p.size = append(p.size, []form{f})
		}
		return true
	}
	shapes := make([]uop.Shape, len(p.of))
	for i, u := range p.of {
		shapes[i] = u.Shape()
	}
	for axis := range shapes[0] {
		xs := column(shapes, axis)
		if slices.Contains(xs, 0) { // reshapes of nothing say nothing
			return false
		}
		f, ok := c.form(xs)
		var factors []form
		if !ok || f.falls() { // few cases: a product may be such a sum by chance
			factors = c.product(xs)
		}
		if factors == nil && ok {
			factors = []form{f}
		}
		if factors == nil {
			return false
		}
		p.size = append(p.size, factors)
	}
	return true
}

// product are two sizes that are known, and a number perhaps, that a size is the product of; nil: there are none.
func (c *comparison) product(xs []int) []form {
	for i, a := range c.known {
		for _, b := range c.known[i:] {
			ab := []form{a, b}
			n := number(ab, c.s[0])
			if n == 0 || xs[0]%n != 0 {
				continue
			}
			if k := xs[0] / n; k != 1 {
				ab = append(ab, form{C: k})
			}
			if !slices.ContainsFunc(c.s, func(n Values) bool { return number(ab, n) != xs[slices.Index(c.s, n)] }) {
				return ab
			}
		}
	}
	return nil
}

// arg compares the fixed parts of a pair's nodes.
func (c *comparison) arg(p *pair) bool {
	u := p.first()
	switch u.Op() {
	case uop.Const:
		return c.constant(p)
	case uop.Param:
		return p.input > 0 || !slices.ContainsFunc(p.of, func(v *uop.UOp) bool { return v != u })
	case uop.Range, uop.Reshape, uop.Expand: // their shape says all
		return true
	case uop.Detach: // is its first operand
		return true
	case uop.Pad, uop.Shrink:
		return c.cuts(p)
	case uop.Loop:
		return c.loop(p)
	}
	return !slices.ContainsFunc(p.of, func(v *uop.UOp) bool { return argOf(v) != argOf(u) })
}

// argOf is the fixed part of a node without what its shape says.
func argOf(u *uop.UOp) uop.Arg {
	if a, ok := u.Arg().(uop.SlideArg); ok {
		a.N = 0
		return a
	}
	return u.Arg()
}

// cuts compares what Pad or Shrink do to each axis.
func (c *comparison) cuts(p *pair) bool {
	for axis := range p.first().Shape() {
		var lo, hi []int
		done := false
		for _, u := range p.of {
			a := u.Arg().(uop.PadArg)
			lo, hi = append(lo, a.Lo.At(axis)), append(hi, a.Hi.At(axis))
			done = done || u.At(0).Shape()[axis] != u.Shape()[axis] || a.Lo.At(axis) != 0
		}
		x := cut{done: done}
		if done {
			var ok, ok2 bool
			x.lo, ok = c.form(lo)
			x.hi, ok2 = c.form(hi)
			if !ok || !ok2 { // the size says the rest
				x.from = &pair{how: free}
				c.number(x.from, numberType(dtype.Index))
			}
		}
		p.cuts = append(p.cuts, x)
	}
	return true
}

// constant says how one differs.
func (c *comparison) constant(p *pair) bool {
	xs := make([]int, len(p.of))
	same := true
	first, _ := p.first().ConstValue()
	for i, u := range p.of {
		x, _ := u.ConstValue()
		xs[i], same = int(x.Int()), same && x == first
	}
	if same {
		return true
	}
	d := p.first().DType()
	if d.IsInt() {
		if f, ok := c.form(xs); ok {
			p.how, p.number = linear, f
			return true
		}
	}
	p.how = free
	c.number(p, numberType(d))
	return d != dtype.Bool && !(d == dtype.Index && slices.ContainsFunc(xs, far))
}

// numberType is the type by which a case says what a constant is: no array holds indices.
func numberType(d dtype.DType) dtype.DType {
	if d == dtype.Index {
		return dtype.I32
	}
	return d
}

// far says that such a number is none of numberType's.
func far(index int) bool { return index != int(int32(index)) }

// number gives a number a slot among those of its type.
func (c *comparison) number(p *pair, d dtype.DType) {
	n := c.numbers
	i := slices.Index(n.types, d)
	if i < 0 {
		i = len(n.types)
		n.types, n.pairs = append(n.types, d), append(n.pairs, nil)
	}
	p.slot = len(n.pairs[i])
	n.pairs[i] = append(n.pairs[i], p)
}

// parts are how many elements parts of arrays have that differ in size, where the cases are alike otherwise.
func parts(cases []Case) (list [][]int) {
	order := uop.Topo(cases[0].Roots...)
	of := make([]map[*uop.UOp]*uop.UOp, len(cases))
	for k := 1; k < len(cases); k++ {
		var ok bool
		if of[k], ok = meetings(order, cases[0].Roots, cases[k].Roots); !ok {
			return nil
		}
	}
	for _, u := range order {
		if u.Op() != uop.Shrink || len(cases) > 1 && of[1][u] == nil {
			continue
		}
		shapes := []uop.Shape{u.Shape()}
		for k := 1; k < len(cases); k++ {
			shapes = append(shapes, of[k][u].Shape())
		}
		for axis := range u.Shape() {
			xs := column(shapes, axis)
			if slices.ContainsFunc(xs, func(x int) bool { return x != xs[0] }) && !slices.ContainsFunc(list, func(ys []int) bool { return slices.Equal(xs, ys) }) {
				list = append(list, xs)
			}
		}
	}
	return list
}

// form is that of an integer.
func (c *comparison) form(xs []int) (form, bool) {
	f, ok := c.s.form(xs)
	if !ok {
		*c.needs = c.s.fractions(xs)
	}
	return f, ok
}

func column(shapes []uop.Shape, axis int) []int {
	out := make([]int, len(shapes))
	for i, s := range shapes {
		if axis < len(s) {
			out[i] = s[axis]
		}
	}
	return out
}

// operands are what a value comes from: a Detach is its first one, the others are for differentiation.
func operands(u *uop.UOp) []*uop.UOp {
	if u.Op() == uop.Detach {
		return u.Src()[:1]
	}
	return u.Src()
}

// base is the Param of an input.
func base(u *uop.UOp) *uop.UOp {
	for u.Op() == uop.Reshape {
		u = u.At(0)
	}
	return u
}

// leaf says whether u is a constant or a grid, perhaps in another shape. Two of these that are equal by chance are one node, and would be two in
// another case; so each use has its own.
func leaf(u *uop.UOp) bool {
	u = source(u)
	return u.Op() == uop.Const || u.Op() == uop.Range
}

// source is what has been given another shape.
func source(u *uop.UOp) *uop.UOp {
	for u.Op() == uop.Reshape || u.Op() == uop.Expand || u.Op() == uop.Permute {
		u = u.At(0)
	}
	return u
}
