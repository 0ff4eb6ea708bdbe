package sizes

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// rule makes the node of a pair, whose operands have theirs. That not all of its elements count is said by build.
type rule func(g *Graph, p *pair) value

// rules is keyed by op; a test reports missing rows. What works on each element alone needs none of its own.
var rules = [uop.NumOps]rule{
	uop.Const: constant, uop.Buffer: shared, uop.Param: shared, uop.Var: shared, uop.Range: grid, uop.Reg: refuse,
	uop.Reshape: reshape, uop.Expand: expand, uop.Permute: permute, uop.Flip: flip, uop.Pad: pad, uop.Shrink: shrink, uop.Slide: slide,
	uop.Reduce: reduce, uop.Scan: scan, uop.Part: part, uop.ArgSort: argSort,
	uop.Gather: gather, uop.Scatter: scatter, uop.Load: refuse, uop.Store: refuse, uop.After: refuse,
	uop.Contiguous: elementwise, uop.Copy: refuse, uop.Check: check, uop.Extent: refuse, uop.Detach: detach,
	uop.Foreign: exact, uop.Call: refuse, uop.Loop: loop,
}

func ruleOf(rules *[uop.NumOps]rule, o uop.Op) rule {
	if rules[o] == nil && o.Elementwise() {
		return elementwise
	}
	return rules[o]
}

func refuse(*Graph, *pair) value { panic(errRefused) }

// remade is a pair's node of other operands.
func remade(p *pair, arg uop.Arg, src ...*uop.UOp) *uop.UOp {
	return home().Make(p.first().Op(), p.first().DType(), arg, src...)
}

// shared is what all cases have in common.
func shared(_ *Graph, p *pair) value { return value{p.first(), p.size} }

func constant(g *Graph, p *pair) value {
	d := p.first().DType()
	switch {
	case p.how == equal:
		x, _ := p.first().ConstValue()
		return value{node: home().ConstOf(d, x)}
	case p.how == free:
		return value{node: g.number(p, d)}
	case d == dtype.Index:
		return value{node: g.size(p.number).Node()}
	}
	return value{node: g.size(p.number).Node().Cast(d)}
}

// number is what a constant of a type that is any number is in a case.
func (g *Graph) number(p *pair, d dtype.DType) *uop.UOp {
	i := slices.Index(g.numbers.types, numberType(d))
	u := g.Ins[len(g.ins)+i].Shrink([]int{p.slot}, []int{p.slot + 1}).Reshape()
	if d == dtype.Index {
		u = u.Cast(d)
	}
	return u
}

func grid(g *Graph, p *pair) value {
	factors := p.size[0]
	if len(factors) == 1 {
		return value{uop.NewIota(g.room(factors[0])), p.size}
	}
	return g.gridOf(value{axes: p.size}, 0)
}

func elementwise(g *Graph, p *pair) value {
	vs, axes := g.together(len(p.size), p.src...)
	src := make([]*uop.UOp, len(vs))
	for i, v := range vs {
		src[i] = v.node
	}
	return value{remade(p, p.first().Arg(), src...), axes}
}

func detach(_ *Graph, p *pair) value { return p.src[0].value }

// check finds nothing wrong with what does not count.
func check(_ *Graph, p *pair) value {
	return value{remade(p, p.first().Arg(), p.src[0].node, zeroed(p.src[1].node)), p.src[0].axes}
}

// exact is for ops whose operands have sizes that do not vary.
func exact(g *Graph, p *pair) value {
	src := make([]*uop.UOp, len(p.src))
	for i, s := range p.src {
		src[i] = g.exactly(s).node
	}
	return value{remade(p, p.first().Arg(), src...), p.size}
}

// exactly is a value with sizes that do not vary.
func (g *Graph) exactly(p *pair) value {
	v := g.full(p)
	if slices.ContainsFunc(v.axes, func(factors []form) bool { return len(factors) != 1 || factors[0].varies() }) {
		panic(errRefused)
	}
	return v
}

// reshape gives each new axis factors of the old ones that it is made of, in order.
func reshape(g *Graph, p *pair) value {
	v := p.src[0].value
	var out [][]form
	uop.Regrouped(p.src[0].shape, p.shape, func(i0, i, o0, o int) {
		if standsForAll(v.axes[i0:i]) {
			for axis := o0; axis < o; axis++ {
				out = append(out, standing(p.size[axis]))
			}
			return
		}
		var factors []form
		for _, size := range p.size[o0:o] {
			if !one(size) {
				factors = append(factors, size...)
			}
		}
		if p.src[0].grid() && i == i0+1 && len(factors) > 1 {
			v = g.gridAs(p.src[0], slices.Concat(v.axes[:i0], [][]form{factors}, v.axes[i:]))
		}
		for axis := i0; axis < i; axis++ {
			v = g.repeated(v, axis, p.src[0].size[axis])
		}
		rest := slices.Concat(v.axes[i0:i]...)
		for axis := o0; axis < o; axis++ {
			var factors []form
			factors, rest = taken(p.size[axis], rest)
			out = append(out, joined(factors))
		}
		if !one(rest) {
			panic(errRefused)
		}
	})
	to := value{axes: out}
	to.node = v.node.Reshape(g.rooms(to.flat())...)
	return to
}

// standsForAll says that there is one element along axes, which stands for more.
func standsForAll(axes [][]form) bool {
	more := false
	for _, factors := range axes {
		if factors != nil && !one(factors) {
			return false
		}
		more = more || factors == nil
	}
	return more
}

// standing are the factors of an axis of which one element stands for all.
func standing(size []form) []form {
	if one(size) {
		return []form{{C: 1}}
	}
	return nil
}

// one says that factors are all 1.
func one(factors []form) bool {
	return !slices.ContainsFunc(factors, func(f form) bool { return f != form{C: 1} })
}

// taken are the first of some factors, as many as an axis of a size is made of, and the rest. A number may be divided, and so may what is a multiple of
// one whatever the variables are.
func taken(size, from []form) (out, rest []form) {
	want := product(size)
	have := polynomial{{}: 1}
	rest = slices.Clone(from)
	for !have.equal(want) {
		if len(rest) == 0 {
			panic(errRefused)
		}
		f := rest[0]
		next := have.times(f)
		if d, ok := next.multiple(want); ok && d > 1 { // f is what is wanted of it, times d
			part, ok := f.over(d)
			if !ok {
				panic(errRefused)
			}
			out, rest[0] = append(out, part), form{C: d}
			return out, rest
		}
		have, out, rest = next, append(out, f), rest[1:]
	}
	if out == nil {
		out = []form{{C: 1}}
	}
	return out, rest
}

// joined are factors of which each but the first varies: elements that count come first in a size times a number. So what is the same has the same
// factors, wherever it comes from.
func joined(factors []form) []form {
	out := []form{{C: 1}}
	for _, f := range factors {
		if last := &out[len(out)-1]; !f.varies() {
			*last = last.times(f.C)
		} else if *last == (form{C: 1}) {
			*last = f
		} else {
			out = append(out, f)
		}
	}
	return out
}

// expand leaves elements that are repeated to stand for all.
func expand(_ *Graph, p *pair) value {
	v := p.src[0].value
	out := value{v.node, slices.Clone(v.axes)}
	for i, size := range p.size {
		if !slices.Equal(p.src[0].size[i], size) {
			if !one(p.src[0].size[i]) {
				panic(errRefused)
			}
			out.axes[i] = nil
		}
	}
	return out
}

func permute(_ *Graph, p *pair) value {
	v := p.src[0].value
	var order []int
	var out value
	for _, axis := range p.first().Arg().(uop.Ints).Slice() {
		order = append(order, v.span(axis)...)
		out.axes = append(out.axes, v.axes[axis])
	}
	out.node = v.node.Permute(order...)
	return out
}

// flip turns each axis of an axis around. Where it varies its last element that counts is taken first.
func flip(g *Graph, p *pair) value {
	v := p.src[0].value
	var axes []int
	sizes := v.flat()
	for _, axis := range p.first().Arg().(uop.Ints).Slice() {
		for _, i := range v.span(axis) {
			if !sizes[i].varies() {
				axes = append(axes, i)
				continue
			}
			u, n, last := v.node.Limit(i, uop.Fixed(g.room(sizes[i]))), g.room(sizes[i]), sizes[i]
			last.C--
			line := slices.Repeat([]int{1}, len(u.Shape()))
			line[i] = n
			v.node = u.Gather(uop.NewIota(n).Neg().Add(g.size(last).Node()).Reshape(line...).Expand(u.Shape()...), i)
		}
	}
	return value{g.limited(v.node.Flip(axes...), sizes), v.axes}
}

// single is a pair's value with one axis of its own for an axis of the case.
func (g *Graph) single(p *pair, axes ...int) value {
	v := g.whole(p, axes...)
	for _, axis := range axes {
		if len(v.axes[axis]) != 1 {
			panic(errRefused)
		}
	}
	return v
}

// pad goes axis by axis. Where the zeros before an axis vary it is shifted.
func pad(g *Graph, p *pair) value {
	v := g.single(p.src[0], p.done()...)
	for _, i := range p.done() {
		axis, lo := v.start(i), p.cuts[i].lo
		u := v.node.Only(zero(v.node), axis)
		if len(p.size[i]) != 1 { // which would be several axes
			panic(errRefused)
		}
		v.axes = slices.Clone(v.axes)
		v.axes[i] = p.size[i]
		room := g.rooms(v.flat())[axis]
		switch {
		case p.cuts[i].from != nil:
			v.node = shifted(u, axis, g.number(p.cuts[i].from, dtype.Index).Neg(), room)
			continue
		case lo.varies():
			v.node = shifted(u, axis, g.size(lo.times(-1)).Node(), room)
			continue
		}
		before, after := make([]int, len(u.Shape())), make([]int, len(u.Shape()))
		before[axis], after[axis] = lo.C, room-lo.C-u.Shape()[axis]
		if after[axis] < 0 {
			panic(errRefused)
		}
		v.node = u.Pad(before, after)
	}
	return v
}

// done are the axes that are cut or grow.
func (p *pair) done() (axes []int) {
	for i, c := range p.cuts {
		if c.done {
			axes = append(axes, i)
		}
	}
	return axes
}

// shrink goes axis by axis likewise.
func shrink(g *Graph, p *pair) value {
	v := g.single(p.src[0], p.done()...)
	for _, i := range p.done() {
		axis, lo := v.start(i), p.cuts[i].lo
		u := v.node
		if u.Varies(axis) { // what is taken counts
			u = u.Limit(axis, uop.Fixed(u.Shape()[axis]))
		}
		if len(p.size[i]) != 1 { // which would be several axes
			panic(errRefused)
		}
		v.axes = slices.Clone(v.axes)
		v.axes[i] = p.size[i]
		room := g.rooms(v.flat())[axis]
		switch {
		case p.cuts[i].from != nil:
			v.node = shifted(u, axis, g.number(p.cuts[i].from, dtype.Index), room)
			continue
		case lo.varies() || lo.C+room > u.Shape()[axis]: // some of which there may be room for, but not there
			v.node = shifted(u, axis, g.size(lo).Node(), room)
			continue
		}
		from, to := make([]int, len(u.Shape())), slices.Clone([]int(u.Shape()))
		from[axis], to[axis] = lo.C, lo.C+room
		v.node = u.Shrink(from, to)
	}
	return v
}

// shifted is n elements of an axis from a position on, zeros where it has none.
func shifted(u *uop.UOp, axis int, from *uop.UOp, n int) *uop.UOp {
	line, shape := slices.Repeat([]int{1}, len(u.Shape())), slices.Clone([]int(u.Shape()))
	line[axis], shape[axis] = n, n
	return u.Gather(uop.NewIota(n).Add(from).Reshape(line...).Expand(shape...), axis)
}

// slide has zeros where nothing counts, as outside.
func slide(g *Graph, p *pair) value {
	a := p.first().Arg().(uop.SlideArg)
	v := g.single(p.src[0], a.Axis, a.By)
	i := a.Axis
	a.Axis, a.By = v.start(a.Axis), v.start(a.By)
	if v.node.Varies(a.By) || len(p.size[i]) != 1 {
		panic(errRefused)
	}
	a.N = g.room(p.size[i][0])
	out := value{remade(p, a, v.node.Only(zero(v.node), a.Axis)), slices.Clone(v.axes)}
	out.axes[i] = p.size[i]
	return out
}

// reduce merges neutral elements in place of those that do not count.
func reduce(g *Graph, p *pair) value {
	a := p.first().Arg().(uop.ReduceArg)
	over := a.Axes.Slice()
	vs, _ := g.together(len(p.src[0].size), p.src...)
	var axes []int
	out := value{}
	for _, i := range over {
		for k, v := range vs {
			vs[k] = g.repeated(v, i, p.src[0].size[i])
		}
	}
	for i := range vs[0].axes {
		if slices.Contains(over, i) {
			axes = append(axes, vs[0].span(i)...)
		} else {
			out.axes = append(out.axes, vs[0].axes[i])
		}
	}
	src := make([]*uop.UOp, len(vs))
	for i, v := range vs {
		src[i] = v.node.Only(a.Monoid.Info().Identity(v.node.DType(), i), axes...)
	}
	a.Axes = uop.MakeInts(axes...)
	out.node = remade(p, a, src...)
	return out
}

func scan(g *Graph, p *pair) value {
	a := p.first().Arg().(uop.ScanArg)
	i := a.Axis
	vs, _ := g.together(len(p.src[0].size), p.src...)
	var src []*uop.UOp
	for k, v := range vs {
		vs[k] = g.repeated(v, i, p.src[0].size[i])
		if len(vs[k].axes[i]) != 1 {
			panic(errRefused)
		}
		src = append(src, vs[k].node)
	}
	a.Axis = vs[0].start(i)
	return value{remade(p, a, src...), vs[0].axes}
}

func part(_ *Graph, p *pair) value {
	return value{p.src[0].node.Part(p.first().Arg().(uop.PartArg).I), p.src[0].axes}
}

// argSort sorts all rows that there is room for. What does not count is the greatest, and comes behind its equals that do.
func argSort(g *Graph, p *pair) value {
	last := len(p.size) - 1
	v := g.single(p.src[0], last)
	_, most := uop.IntLimits(v.node.DType())
	return value{remade(p, p.first().Arg(), unlimited(v.node.Only(most, v.start(last)))), v.axes}
}

// scatter leaves out what does not count: its index is outside. Then all that there is room for may lie in one row again, but along axes on which
// index and base go together. What is written to may vary: its elements come first, and what lies behind them does not count.
func scatter(g *Graph, p *pair) value {
	a := p.first().Arg().(uop.ScatterArg)
	base := g.single(p.src[0], upTo(len(p.src[0].axes))...)
	if a.Once { // which numbers the elements of the whole
		base = g.exactly(p.src[0])
	}
	vs, axes := g.together(len(p.size), p.src[1:]...)
	var row []int
	for i := range axes {
		if axes[i] == nil {
			axes[i] = p.src[1].size[i]
		}
		row = append(row, g.rooms(axes[i]).Numel())
		if i != a.Axis && !slices.Equal(axes[i], base.axes[i]) {
			panic(errRefused)
		}
	}
	base.node = unlimited(base.node)
	src := []*uop.UOp{base.node}
	for i, v := range vs {
		u := g.as(v, axes).node
		if i == 0 {
			u = outside(u)
		}
		src = append(src, unlimited(u).Reshape(row...))
	}
	return value{remade(p, a, src...), base.axes}
}

// outside is an index that is outside of all arrays where it does not count.
func outside(u *uop.UOp) *uop.UOp {
	if u.DType().IsUnsigned() {
		panic(errRefused)
	}
	return u.Only(uop.ValueOf(u.DType(), -1), upTo(len(u.Shape()))...)
}

// gather has zeros for indices of elements that do not count, which are outside.
func gather(g *Graph, p *pair) value {
	i := p.first().Arg().(uop.AxisArg).Axis
	x, index := g.single(p.src[0], i), p.src[1].value
	axes := make([][]form, len(index.axes)) // of the result
	for k := range axes {
		if axes[k] = index.axes[k]; axes[k] == nil && k != i {
			axes[k] = x.axes[k]
		}
	}
	index = g.as(index, axes)
	// The axis that is taken from lies where the first of those of the index does; along others of these it is the same.
	from := x.axes[i]
	ones, wide := []int{}, []int{}
	for k, factors := range axes {
		switch {
		case k == i:
			more := max(1, len(factors)) - 1
			ones = append(append(ones, g.room(from[0])), slices.Repeat([]int{1}, more)...)
			wide = append(wide, g.room(from[0]))
			if more > 0 {
				wide = append(wide, g.rooms(factors[1:])...)
			}
		case x.axes[k] == nil:
			ones = append(ones, slices.Repeat([]int{1}, max(1, len(factors)))...)
			wide = append(wide, g.rooms(value{axes: [][]form{factors}}.flat())...)
		case !slices.Equal(x.axes[k], factors):
			panic(errRefused)
		default:
			ones, wide = append(ones, g.rooms(factors)...), append(wide, g.rooms(factors)...)
		}
	}
	axis := index.start(i)
	u := x.node.Only(zero(x.node), x.start(i))
	u = unlimited(u).Reshape(ones...).Expand(wide...)
	return value{u.Gather(index.node, axis), axes}
}
