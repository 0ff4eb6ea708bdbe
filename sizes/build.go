package sizes

import (
	"errors"
	"slices"

	"github.com/weft-ml/weft/uop"
)

// value is a node of the graph, and which of its axes are each axis of the case's node: those that its factors say. An axis without factors is one of
// size 1, whose element stands for all.
type value struct {
	node *uop.UOp
	axes [][]form
}

// errRefused says that a node has no sizes that vary.
var errRefused = errors.New("sizes: there is no such graph")

// build makes the graph, and says whether there is one: nodes refuse that would let elements matter that do not count.
func (g *Graph) build() (ok bool) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *uop.ShapeError:
			ok = false
		case error:
			if !errors.Is(r, errRefused) {
				panic(r)
			}
			ok = false
		default:
			panic(r)
		}
	}()
	for i, fs := range g.ins {
		g.Ins = append(g.Ins, uop.NewStandIn(g.inputTypes[i], g.rooms(fs)...))
	}
	for i, d := range g.numbers.types {
		g.Ins = append(g.Ins, uop.NewStandIn(d, len(g.numbers.pairs[i])))
	}
	for _, p := range g.nodes {
		if p.input > 0 { // what follows is a reshape of it, which begins at its shape
			p.value = g.input(p.input - 1)
			continue
		}
		if p.row {
			p.value = reshape(g, p)
		} else {
			p.value = ruleOf(g.by, p.first().Op())(g, p)
		}
		p.node = g.limited(p.node, p.flat())
	}
	for i, p := range g.roots {
		p.value = g.full(p)
		u := p.node
		if i >= len(g.roots)-g.codes {
			u = zeroed(u)
		}
		g.Roots = append(g.Roots, unlimited(u))
	}
	return true
}

// input is what input i is, in its shape.
func (g *Graph) input(i int) value {
	v := value{node: g.limited(g.Ins[i], g.ins[i])}
	for _, f := range g.ins[i] {
		v.axes = append(v.axes, []form{f})
	}
	return v
}

// flat are the sizes of the node's axes.
func (v value) flat() (out []form) {
	for _, factors := range v.axes {
		if factors == nil {
			out = append(out, form{C: 1})
		}
		out = append(out, factors...)
	}
	return out
}

// start is the node's first axis of an axis of the case.
func (v value) start(axis int) (n int) {
	for _, factors := range v.axes[:axis] {
		n += max(1, len(factors))
	}
	return n
}

// span are the node's axes of an axis of the case.
func (v value) span(axis int) (out []int) {
	for i := range max(1, len(v.axes[axis])) {
		out = append(out, v.start(axis)+i)
	}
	return out
}

// limited is u, of which those elements count that sizes say.
func (g *Graph) limited(u *uop.UOp, sizes []form) *uop.UOp {
	for axis, f := range sizes {
		switch size := g.size(f); {
		case !f.varies() && u.Varies(axis):
			panic(errRefused)
		case f.varies() && !(u.Varies(axis) && u.Sizes()[axis] == size):
			u = u.Limit(axis, size)
		}
	}
	return u
}

// as is a value whose axes are those: elements that stand for all are repeated.
func (g *Graph) as(v value, axes [][]form) value {
	out := value{v.node, axes}
	if slices.EqualFunc(v.axes, axes, slices.Equal[[]form]) {
		return out
	}
	var ones []int
	for i, factors := range v.axes {
		switch {
		case slices.Equal(factors, axes[i]) && factors != nil:
			ones = append(ones, g.rooms(factors)...)
		case factors == nil:
			ones = append(ones, slices.Repeat([]int{1}, max(1, len(axes[i])))...)
		default: // elements that count lie elsewhere
			panic(errRefused)
		}
	}
	out.node = g.limited(v.node.Reshape(ones...).Expand(g.rooms(out.flat())...), out.flat())
	return out
}

// repeated is a value with factors for an axis along which an element may stand for all.
func (g *Graph) repeated(v value, axis int, factors []form) value {
	if v.axes[axis] != nil {
		return v
	}
	return g.as(v, slices.Concat(v.axes[:axis], [][]form{factors}, v.axes[axis+1:]))
}

// whole is a value with all elements along axes of the case, or along all.
func (g *Graph) whole(p *pair, axes ...int) value {
	full := slices.Clone(p.axes)
	for _, i := range axes {
		if full[i] == nil {
			full[i] = p.size[i]
		}
	}
	return g.as(p.value, full)
}

func (g *Graph) full(p *pair) value { return g.whole(p, upTo(len(p.axes))...) }

// upTo are the numbers below n.
func upTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// together are values of one shape with the same axes, for what computes element by element. Where that is possible, elements stand for all still.
// Scalars fit everywhere.
func (g *Graph) together(rank int, ps ...*pair) (out []value, axes [][]form) {
	axes = make([][]form, rank)
	for i := range axes {
		for _, grids := range []bool{false, true} { // grids can be made anew
			for _, p := range ps {
				if axes[i] == nil && len(p.axes) == rank && p.grid() == grids {
					axes[i] = p.axes[i]
				}
			}
		}
	}
	for _, p := range ps {
		v := p.value
		if len(v.axes) != rank {
			out = append(out, v)
			continue
		}
		if p.grid() {
			v = g.gridAs(p, axes)
		}
		for i, factors := range axes {
			if factors != nil {
				v = g.repeated(v, i, factors)
			}
		}
		out = append(out, g.as(v, axes))
	}
	return out, axes
}

// grid says whether a pair is a grid, perhaps in another shape.
func (p *pair) grid() bool { return p.leaf && len(p.axes) > 0 && source(p.first()).Op() == uop.Range }

// gridAs is a grid whose one axis has other factors.
func (g *Graph) gridAs(p *pair, axes [][]form) value {
	at := slices.IndexFunc(p.axes, func(factors []form) bool { return factors != nil && !one(factors) })
	if at < 0 || slices.Equal(axes[at], p.axes[at]) || axes[at] == nil {
		return p.value
	}
	out := value{axes: slices.Clone(p.axes)}
	out.axes[at] = axes[at]
	return g.gridOf(out, at)
}

// gridOf makes the node of a grid along an axis: each element says at which place it lies in the case.
func (g *Graph) gridOf(out value, at int) value {
	factors, shape, first := out.axes[at], g.rooms(out.flat()), out.start(at)
	for i, f := range factors {
		line := slices.Repeat([]int{1}, len(shape))
		line[first+i] = g.room(f)
		u := uop.NewIota(g.room(f)).Reshape(line...).Expand(shape...)
		for _, inner := range factors[i+1:] {
			u = u.Mul(g.size(inner).Node().Reshape(slices.Repeat([]int{1}, len(shape))...).Expand(shape...))
		}
		if out.node == nil {
			out.node = u
		} else {
			out.node = out.node.Add(u)
		}
	}
	out.node = g.limited(out.node, out.flat())
	return out
}

// unlimited is u with all elements that there is room for.
func unlimited(u *uop.UOp) *uop.UOp {
	for axis, n := range u.Shape() {
		if u.Varies(axis) {
			u = u.Limit(axis, uop.Fixed(n))
		}
	}
	return u
}

// home is where nodes of programs are.
func home() *uop.Table { return uop.NewIota(1).Home() }

func zero(u *uop.UOp) uop.Value { return uop.ValueOf(u.DType(), 0) }

// zeroed is u with zeros in place of what does not count.
func zeroed(u *uop.UOp) *uop.UOp { return u.Only(zero(u), upTo(len(u.Shape()))...) }
