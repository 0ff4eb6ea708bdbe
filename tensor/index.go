package tensor

import (
	"math"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Range is a part of an axis: from, to (not included) and step, as R and RS make it.
type Range struct{ From, To, Step int }

// Begin and End are the ends of an axis in R and RS, for either direction.
const (
	Begin = math.MinInt
	End   = math.MaxInt
)

type special int

// Indices of At beside int, Range and *Tensor (or []int).
const (
	All      special = 0 // the whole axis; nil is the same
	Ellipsis special = 1 // as many whole axes as are left
	NewAxis  special = 2 // a new axis of size 1
)

// R is from … to−1; negative numbers count from the end, and what lies outside is left out.
func R(from, to int) Range { return Range{from, to, 1} }

// RS is R with a step, which may be negative: RS(End, Begin, −1) reverses.
func RS(from, to, step int) Range { return Range{from, to, step} }

// picks collects what an index list does, axis by axis.
type picks struct {
	u     *uop.UOp // with ranges applied; axes that an int takes have size 1
	keep  []int    // for each axis of the result before tensors: the axis of u, −1 for a new one
	which map[int]*Tensor
	lo    []int        // of each axis of u, for writing: first index
	step  []int        // … and distance
	size  []int        // … and length
	spans map[int]Span // of axes of u: parts that vary
}

// Span is n elements of an axis from a position on, as S makes it.
type Span struct{ from, n uop.Size }

// S is n elements from a position on; both are integers, Variables or Sizes.
func S(from, n any) Span { return Span{toSize("S", from), toSize("S", n)} }

// At picks elements, an index for each axis from the left. An int, a Variable or a Size takes one element and its axis goes;
// a Range (R, RS) or a Span (S) keeps a part; All or nil keeps an axis; NewAxis makes one; Ellipsis stands for the axes left.
// An integer tensor or []int picks by number, negative ones from the end; one outside is an error, for a tensor when
// the result is read (*ValueError). Several broadcast together; their axes come where they stand, or first if they stand apart, where
// one without axes does not count: it takes an element as an int does. A bool takes no axis: true and false are tensors of one
// index and of none along a new axis of size 1. A bool tensor cannot be used here, since the shape would depend on its values: see MaskedSelect and Where, or
// index with what it stands for, the columns of NonZero (Unbind(1)).
func (t *Tensor) At(index ...any) *Tensor {
	p := t.pick("At", index)
	if len(p.which) == 0 {
		return t.like(p.basic())
	}
	ts := []*Tensor{t}
	for _, w := range p.which {
		ts = append(ts, w)
	}
	e := commonEngine("At", ts...)
	f := p.flatten("At")
	rows := spread(f.linear.Reshape(append([]int{f.linear.Shape().Numel()}, ones(len(f.rest))...)...), append(uop.Shape{f.linear.Shape().Numel()}, f.rest...))
	out := f.matrix(p.u).Gather(rows, 0)
	return newTensor(f.arrange(out), e)
}

func ones(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = 1
	}
	return s
}

func (t *Tensor) pick(op string, index []any) *picks {
	p := &picks{u: t.node(), which: map[int]*Tensor{}}
	s := t.room()
	used := 0
	dots := false
	for _, x := range index {
		switch x := x.(type) {
		case special:
			if x == Ellipsis {
				if dots {
					failArg(op, "two ellipses")
				}
				dots = true
			} else if x == All {
				used++
			}
		case *Tensor:
			if x.DType() == dtype.Bool {
				failType(op, []dtype.DType{dtype.Bool}, "the shape would depend on the values of a bool index; use MaskedSelect, Where or NonZero")
			}
			used++
		case bool:
		default:
			used++
		}
	}
	if used > len(s) {
		fail(op, shapes(s), "%d indices for %d axes", used, len(s))
	}
	axis := 0
	for _, x := range index {
		if x == Ellipsis {
			for range len(s) - used {
				p.part(op, axis, Range{Begin, End, 1})
				axis++
			}
			continue
		}
		if x == NewAxis {
			p.keep = append(p.keep, -1)
			continue
		}
		if b, ok := x.(bool); ok {
			which := []int32{0}
			if !b {
				which = nil
			}
			p.which[len(p.keep)] = t.ints(which, len(which))
			p.keep = append(p.keep, -1)
			continue
		}
		p.one(op, t, axis, x)
		axis++
	}
	for ; axis < len(s); axis++ {
		p.part(op, axis, Range{Begin, End, 1})
	}
	return p
}

// one applies an index to an axis.
func (p *picks) one(op string, t *Tensor, axis int, x any) {
	switch x := x.(type) {
	case nil, special:
		p.part(op, axis, Range{Begin, End, 1})
	case Range:
		p.part(op, axis, x)
	case Span:
		p.span(op, axis, x)
		p.keep = append(p.keep, axis)
	case Variable, Size:
		p.span(op, axis, Span{toSize(op, x), uop.Fixed(1)})
	case []int:
		for _, i := range x {
			if n := p.u.Shape()[axis]; i < -n || i >= n {
				fail(op, shapes(p.u.Shape()), "index %d is out of range for axis %d of size %d", i, axis, n)
			}
		}
		p.which[len(p.keep)] = t.ints(int32s(x), len(x))
		p.part(op, axis, Range{Begin, End, 1})
	case *Tensor:
		checkIndex(op, x)
		p.which[len(p.keep)] = x
		p.part(op, axis, Range{Begin, End, 1})
	default:
		o := toOperand(op, x)
		if o.kind != dtype.I64 && o.kind != dtype.U64 {
			failType(op, nil, "index %v (%T) of axis %d", x, x, axis)
		}
		n, i := p.u.Shape()[axis], int(o.bits.Int())
		if p.u.Varies(axis) {
			from := uop.Fixed(i)
			if i < 0 {
				from = p.u.Sizes()[axis].Plus(i)
			}
			p.span(op, axis, Span{from, uop.Fixed(1)})
			return
		}
		if i < -n || i >= n {
			fail(op, shapes(p.u.Shape()), "index %d is outside axis %d", i, axis)
		}
		if i < 0 {
			i += n
		}
		p.u = cut(p.u, axis, i, i+1)
		p.lo, p.step, p.size = append(p.lo, i), append(p.step, 1), append(p.size, 1)
	}
}

func int32s(x []int) []int32 {
	out := make([]int32, len(x))
	for i, v := range x {
		out[i] = int32(v)
	}
	return out
}

// part keeps a range of an axis.
func (p *picks) part(op string, axis int, r Range) {
	n := p.u.Shape()[axis]
	if r.Step == 0 {
		failArg(op, "a range of axis %d has step 0", axis)
	}
	if p.u.Varies(axis) && r != (Range{Begin, End, 1}) {
		p.span(op, axis, r.within(op, axis, p.u.Sizes()[axis]))
		p.keep = append(p.keep, axis)
		return
	}
	first, count := r.resolve(n)
	p.keep = append(p.keep, axis)
	p.lo, p.step, p.size = append(p.lo, first), append(p.step, r.Step), append(p.size, count)
	p.u = stride(p.u, axis, first, count, r.Step)
}

// span keeps a part of an axis that may vary.
func (p *picks) span(op string, axis int, x Span) {
	t := newTensor(p.u, nil).slice(op, axis, x.from, x.n)
	p.u = t.node()
	p.lo, p.step, p.size = append(p.lo, x.from.C), append(p.step, 1), append(p.size, p.u.Shape()[axis])
	if x.from.Varies() || x.n.Varies() {
		if p.spans == nil {
			p.spans = map[int]Span{}
		}
		p.spans[axis] = x
	}
}

// within is the part of an axis whose size varies.
func (r Range) within(op string, axis int, size uop.Size) Span {
	if r.Step != 1 {
		failArg(op, "step %d along axis %d, which has %v elements", r.Step, axis, size)
	}
	end := func(i int) uop.Size {
		switch {
		case i == Begin:
			return uop.Fixed(0)
		case i == End:
			return size
		case i < 0:
			return size.Plus(i)
		}
		return uop.Fixed(i)
	}
	from := end(r.From)
	n, ok := end(r.To).Add(from, -1)
	if !ok {
		failArg(op, "a size of more than %d variables", uop.MaxVars)
	}
	return Span{from, n}
}

// resolve gives the first index and the number of indices on an axis of n.
func (r Range) resolve(n int) (first, count int) {
	bound := func(i, lo, hi int) int {
		if i < 0 && i > Begin {
			i += n
		}
		return min(max(i, lo), hi)
	}
	if r.Step > 0 {
		from, to := bound(r.From, 0, n), bound(r.To, 0, n)
		return from, max(0, (to-from+r.Step-1)/r.Step)
	}
	from, to := bound(r.From, -1, n-1), bound(r.To, -1, n-1)
	if r.From == Begin {
		from = -1
	}
	return from, max(0, (from-to-r.Step-1)/-r.Step)
}

// stride keeps count elements of an axis from first on, step apart.
func stride(u *uop.UOp, axis, first, count, step int) *uop.UOp {
	n := u.Shape()[axis]
	if count == 0 {
		return cut(u, axis, 0, 0)
	}
	last := first + (count-1)*step
	if step < 0 {
		u = cut(u, axis, last, first+1).Flip(axis)
		step = -step
	} else if first != 0 || last+1 != n {
		u = cut(u, axis, first, last+1)
	}
	if step == 1 {
		return u
	}
	s := slices.Clone(u.Shape())
	u = extend(u, axis, 0, count*step-s[axis])
	u = u.Reshape(slices.Concat(s[:axis], []int{count, step}, s[axis+1:])...)
	s[axis] = count
	return cut(u, axis+1, 0, 1).Reshape(s...)
}

// basic is the result without index tensors.
func (p *picks) basic() *uop.UOp {
	s := make([]int, len(p.keep))
	for i, a := range p.keep {
		s[i] = 1
		if a >= 0 {
			s[i] = p.u.Shape()[a]
		}
	}
	return p.u.Reshape(s...)
}

// flat says how index tensors become one linear index into rows.
type flat struct {
	view   *uop.UOp // the basic result
	order  []int    // axes of view: those indexed first
	k      int      // how many are indexed
	linear *uop.UOp // of the broadcast shape of the index tensors; −1 outside
	rest   uop.Shape
	at     int // where the broadcast axes come in the result
}

func (p *picks) flatten(op string) *flat {
	f := &flat{view: p.basic()}
	s := f.view.Shape()
	var axes []int
	for i := range s {
		if p.which[i] != nil {
			axes = append(axes, i)
		}
	}
	var ss []uop.Shape
	for _, a := range axes {
		ss = append(ss, p.which[a].room())
	}
	common := broadcastShape(op, ss...)
	var bad *uop.UOp
	for i, a := range axes {
		x := indexWithin(op, p.which[a].node(), p.keep[a], s[a], true)
		x = x.Cast(indexType(x.DType()))
		n := x.Int(s[a])
		out := x.Less(n).Not()
		if !x.DType().IsUnsigned() {
			out = out.Or(x.Less(x.Int(0)))
		}
		x, out = spread(x.Cast(dtype.I64), common), spread(out, common)
		if i == 0 {
			f.linear, bad = x, out
		} else {
			f.linear, bad = f.linear.Mul(x.Int(s[a])).Add(x), bad.Or(out)
		}
	}
	f.linear = bad.Where(f.linear.Int(-1), f.linear)
	if n := s.Numel(); n < 1<<31 {
		f.linear = f.linear.Cast(dtype.I32)
	}
	f.k = len(axes)
	f.order = slices.Clone(axes)
	for i := range s {
		if !slices.Contains(axes, i) {
			f.order = append(f.order, i)
			f.rest = append(f.rest, s[i])
		}
	}
	f.at = p.place(axes)
	return f
}

// place says where, among the axes that tensors do not index, those come that they do: where they stand, or first if they stand apart. A
// tensor without axes takes one element like a number, and stands nowhere.
func (p *picks) place(axes []int) int {
	var at []int // how many axes are left before each tensor that has axes
	for i, a := range axes {
		if p.which[a].Rank() > 0 {
			at = append(at, a-i)
		}
	}
	if len(at) == 0 || at[0] != at[len(at)-1] {
		return 0
	}
	return at[0]
}

// indexType is wide enough to compare with any size.
func indexType(d dtype.DType) dtype.DType {
	if d.Bits() < 32 {
		return dtype.I32
	}
	return d
}

// matrix is the basic result with the indexed axes merged in front.
func (f *flat) matrix(*uop.UOp) *uop.UOp {
	u := f.view.Permute(f.order...)
	return u.Reshape(append([]int{u.Shape()[:f.k].Numel()}, f.rest...)...)
}

// shape is that of the result.
func (f *flat) shape() []int {
	return slices.Concat(f.rest[:f.at], f.linear.Shape(), f.rest[f.at:])
}

// arrange puts gathered rows into the result's shape.
func (f *flat) arrange(u *uop.UOp) *uop.UOp {
	b := len(f.linear.Shape())
	u = u.Reshape(slices.Concat(f.linear.Shape(), f.rest)...)
	order := make([]int, 0, b+len(f.rest))
	for i := range f.at {
		order = append(order, b+i)
	}
	order = append(order, identity(b)...)
	for i := f.at; i < len(f.rest); i++ {
		order = append(order, b+i)
	}
	return u.Permute(order...)
}
