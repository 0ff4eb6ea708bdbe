package saved

import (
	"errors"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// graph reads the nodes of a function into a table of their own.
type graph struct {
	*reader
	p     *Program
	f     *Function
	table *uop.Table
	most  map[*uop.UOp]int // see magnitude
}

// typeOf and size are those of the array in a slot.
func (g *graph) typeOf(slot int) dtype.DType {
	if n := len(g.f.Inputs); slot >= n {
		return g.p.Arrays[g.f.Arrays[slot-n]].DType
	}
	return g.f.Inputs[slot].DType
}

func (g *graph) size(slot int) int {
	if n := len(g.f.Inputs); slot >= n {
		return g.p.Arrays[g.f.Arrays[slot-n]].N
	}
	return uop.Shape(g.f.Inputs[slot].Shape).Numel()
}

func (g *graph) read() (nodes []*uop.UOp) {
	g.table, g.most = uop.NewArena(), map[*uop.UOp]int{}
	var ops []uop.Op
	var loose []bool
	for range g.count("ops") {
		name := g.text()
		o, ok := opNamed(name)
		if !ok {
			g.fail("this version of Weft knows no op %.40q", name)
		}
		ops, loose = append(ops, o), append(loose, name == looseName)
	}
	for i := range g.count("nodes") {
		k := g.within("the op of a node", 0, len(ops)-1)
		if g.err != nil {
			return nil
		}
		src := make([]*uop.UOp, g.count("operands"))
		for j := range src {
			back := g.within("the distance of an operand", 1, i)
			if g.err != nil {
				return nil
			}
			src[j] = nodes[i-back]
		}
		u := g.node(ops[k], src)
		if g.err != nil {
			return nil
		}
		if loose[k] {
			u = g.table.Make(u.Op(), u.DType(), uop.LooseArg{}, u.Src()...)
		}
		if g.bound(u); g.err != nil {
			return nil
		}
		nodes = append(nodes, u)
	}
	return nodes
}

// node makes a node of its operands, when all that package uop takes for granted holds.
func (g *graph) node(o uop.Op, src []*uop.UOp) *uop.UOp {
	info := uop.Info(o)
	if g.err != nil {
		return nil
	}
	if info.Arity >= 0 && len(src) != info.Arity || info.Arity < 0 && len(src) == 0 {
		g.fail("%v has %d operands", o, len(src))
		return nil
	}
	for _, s := range src {
		if s.Op() == uop.Reduce || s.Op() == uop.Scan {
			if parts := len(s.Src()); parts > 1 && o != uop.Part {
				g.fail("%v takes a reduction of %d parts as one value", o, parts)
				return nil
			}
		}
	}
	var arg uop.Arg
	d := dtype.Void
	switch {
	case info.Group == uop.Leaf:
		return g.leaf(o)
	case o.Elementwise():
		d = g.elementwise(o, info, src)
	case o.IsMovement():
		d, arg = src[0].DType(), g.movement(o)
	default:
		d, arg = g.other(o, src)
	}
	return g.make(o, d, arg, src)
}

// make has package uop infer the shape. What does not fit there is an error here.
func (g *graph) make(o uop.Op, d dtype.DType, arg uop.Arg, src []*uop.UOp) (u *uop.UOp) {
	if g.err != nil {
		return nil
	}
	defer func() {
		if x := recover(); x != nil {
			e, ok := x.(error)
			var shape *uop.ShapeError
			if !ok || !errors.As(e, &shape) {
				panic(x)
			}
			g.fail("%v: %s", o, shape.Reason)
		}
	}()
	u = g.table.Make(o, d, arg, src...)
	if len(u.Shape()) > maxRank {
		g.fail("%v gives an array of %d axes", o, len(u.Shape()))
	} else if why := u.Shape().TooMany(); why != "" {
		g.fail("%s", why)
	}
	return u
}

func (g *graph) leaf(o uop.Op) *uop.UOp {
	switch o {
	case uop.Const:
		d := g.dtype()
		v := uop.Value(g.u64())
		if g.err == nil && normal(d, v) != v {
			g.fail("a constant is no %v", d)
		}
		return g.make(o, d, uop.ConstArg{Value: v}, nil)
	case uop.Param:
		slot := g.within("the slot of an array", 0, len(g.f.Inputs)+len(g.f.Arrays)-1)
		if g.err != nil {
			return nil
		}
		return g.make(o, g.typeOf(slot), uop.ParamArg{Slot: slot, N: g.size(slot)}, nil)
	case uop.Var:
		d := g.dtype()
		v := g.variable()
		if g.err == nil && d != dtype.Index {
			g.fail("a variable of type %v", d)
		}
		return g.make(o, d, v, nil)
	case uop.Range:
		n := g.within("the size of an index grid", 0, uop.MaxElements)
		return g.make(o, dtype.Index, uop.RangeArg{ID: -1, N: n}, nil)
	}
	g.fail("a leaf %v", o)
	return nil
}

// normal is a value as its type has it.
func normal(d dtype.DType, v uop.Value) uop.Value {
	switch {
	case d.IsFloat():
		if f := v.Float(); f != f {
			return v
		}
		return uop.FloatValue(d, v.Float())
	case d == dtype.Index:
		return v
	}
	return uop.IntValue(d, v.Int())
}

// elementwise gives the type of the result.
func (g *graph) elementwise(o uop.Op, info *uop.OpInfo, src []*uop.UOp) dtype.DType {
	last := src[len(src)-1].DType()
	if !info.Takes.Has(last) {
		g.fail("%v of %v", o, last)
		return last
	}
	switch {
	case info.Type == uop.Given:
		d := g.dtype()
		switch {
		case g.err != nil:
		case !info.Takes.Has(d) || o == uop.Bitcast && d.Size() != last.Size():
			g.fail("%v of %v to %v", o, last, d)
		case d == dtype.Index && last != d: // nothing bounds it
			g.fail("%v of %v to %v", o, last, d)
		}
		return d
	case info.Type == uop.Boolean:
		return dtype.Bool
	}
	return last
}

func (g *graph) movement(o uop.Op) uop.Arg {
	switch o {
	case uop.Pad, uop.Shrink:
		lo, hi := g.ints("bounds", maxRank), g.ints("bounds", maxRank)
		return uop.PadArg{Lo: uop.MakeInts(lo...), Hi: uop.MakeInts(hi...)}
	case uop.Slide:
		n := g.ints("numbers of a slide", 5)
		if len(n) != 5 {
			g.fail("a slide has %d numbers, not 5", len(n))
			return nil
		}
		return uop.SlideArg{Axis: n[0], By: n[1], Step: n[2], Lo: n[3], N: n[4]}
	case uop.Reshape, uop.Expand:
		return uop.MakeInts(g.shape()...)
	}
	return uop.MakeInts(g.ints("axes", maxRank)...)
}

// other gives the type and the argument of what is neither elementwise nor movement.
func (g *graph) other(o uop.Op, src []*uop.UOp) (d dtype.DType, arg uop.Arg) {
	d = src[0].DType()
	switch o {
	case uop.Reduce, uop.Scan:
		m := g.monoid()
		if why := merges(m, o == uop.Scan, src); g.err == nil && why != "" {
			g.fail("%v by %v: %s", o, m, why)
		}
		if o == uop.Scan {
			return d, uop.ScanArg{Monoid: m, Parts: len(src), Axis: g.int()}
		}
		return d, uop.ReduceArg{Monoid: m, Parts: len(src), Axes: uop.MakeInts(g.ints("axes", maxRank)...)}
	case uop.Part:
		i := g.within("a part", 0, maxRank)
		if of := src[0].Op(); g.err == nil && (of != uop.Reduce && of != uop.Scan || i >= len(src[0].Src())) {
			g.fail("part %d of %v", i, of)
			return d, nil
		}
		if g.err == nil {
			d = src[0].At(i).DType()
		}
		return d, uop.PartArg{I: i}
	case uop.Gather:
		return d, uop.AxisArg{Axis: g.int()}
	case uop.Scatter:
		axis, m := g.int(), g.monoid()
		ok := m == uop.Last || m == uop.MaxOf && uop.Ordered.Has(d) || (m == uop.Sum || m == uop.Prod) && uop.Numbers.Has(d)
		if g.err == nil && !ok {
			g.fail("scatter of %v by %v", d, m)
		}
		return d, uop.ScatterArg{Axis: axis, Monoid: m}
	case uop.Contiguous:
		return d, nil
	case uop.ArgSort:
		if g.err == nil && !d.IsInt() {
			g.fail("argsort of %v", d)
		}
		return dtype.I32, nil
	}
	g.fail("op %v", o)
	return d, nil
}
