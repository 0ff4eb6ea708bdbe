package fuzz

import (
	"fmt"
	"math"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// What a device may answer is an interval: the reference rounds after each op and sums in float64, a device sums in its
// own order, keeps a product unrounded, or computes a sine a little differently. So graphs are evaluated on intervals,
// op by op: a result that is exact in any order stays a single number, every other rounding widens the interval by
// some units in the last place, and a comparison of intervals that overlap is "either". Whatever depends on that is the
// hull of both, so that a comparison is never wrong about a right device, and what is exact is compared exactly.

// bound is what an element may be: any number from lo to hi (of the node's type), or NaN if nan is set. lo > hi of a
// float means no number at all.
type bound struct {
	lo, hi uop.Value
	nan    bool
}

func point(v uop.Value) bound { return bound{v, v, false} }

// floats is a bound of floats.
func floats(lo, hi float64, nan bool) bound {
	return bound{uop.Value(math.Float64bits(lo)), uop.Value(math.Float64bits(hi)), nan}
}

// number is a float that is known exactly.
func number(f float64) bound {
	if f != f {
		return onlyNaN
	}
	return floats(f, f, false)
}

var (
	inf     = math.Inf(1)
	onlyNaN = floats(inf, -inf, true)
	anyNum  = floats(-inf, inf, true)
	zeros   = floats(math.Copysign(0, -1), 0, false)
)

func (b bound) flo() float64 { return b.lo.Float() }
func (b bound) fhi() float64 { return b.hi.Float() }

// fixed says that a float is one number; zeros of both signs are one.
func (b bound) fixed() bool { return !b.nan && b.flo() == b.fhi() }

// never says that a float is NaN.
func (b bound) never() bool { return b.flo() > b.fhi() }

// exact says that there is one value, bit by bit.
func (b bound) exact(d dtype.DType) bool {
	if d.IsFloat() && b.never() {
		return true
	}
	return b.lo == b.hi && !b.nan
}

// unknown is every value of a type.
func unknown(d dtype.DType) bound {
	if d.IsFloat() {
		return anyNum
	}
	lo, hi := uop.IntLimits(d)
	return bound{lo, hi, false}
}

func isUnknown(d dtype.DType, b bound) bool { return b == unknown(d) }

// hull holds both.
func hull(d dtype.DType, a, b bound) bound {
	if d.IsFloat() {
		switch {
		case a.never():
			b.nan = true
			return b
		case b.never():
			a.nan = true
			return a
		}
		return floats(min(a.flo(), b.flo()), max(a.fhi(), b.fhi()), a.nan || b.nan)
	}
	if less(d, b.lo, a.lo) {
		a.lo = b.lo
	}
	if less(d, a.hi, b.hi) {
		a.hi = b.hi
	}
	return a
}

// less compares integers.
func less(d dtype.DType, a, b uop.Value) bool {
	if d == dtype.U64 {
		return a < b
	}
	return a.Int() < b.Int()
}

// holds says that a device may answer v.
func (b bound) holds(d dtype.DType, v uop.Value) bool {
	if !d.IsFloat() {
		return !less(d, v, b.lo) && !less(d, b.hi, v)
	}
	f := v.Float()
	if f != f {
		return b.nan
	}
	return b.flo() <= f && f <= b.fhi()
}

// show prints a bound.
func (b bound) show(d dtype.DType) string {
	one := func(v uop.Value) string {
		switch {
		case d.IsFloat():
			return fmt.Sprint(v.Float())
		case d == dtype.U64:
			return fmt.Sprint(uint64(v))
		}
		return fmt.Sprint(v.Int())
	}
	switch {
	case d.IsFloat() && b.never():
		return "NaN"
	case isUnknown(d, b):
		return "anything"
	case b.lo == b.hi && !b.nan:
		return one(b.lo)
	case b.nan:
		return one(b.lo) + " … " + one(b.hi) + " or NaN"
	}
	return one(b.lo) + " … " + one(b.hi)
}

// evaluator computes bounds of nodes and keeps them.
type evaluator struct {
	known map[*uop.UOp][]area // by parts
	spent int                 // elements computed so far
	limit int                 // of spent; beyond, it panics with tooMuch

	checks map[*uop.UOp][]*uop.UOp // that a node depends on
	sums   map[*uop.UOp]terms      // of sums of floats
}

type tooMuch struct{}

func newEvaluator(limit int) *evaluator {
	return &evaluator{known: map[*uop.UOp][]area{}, limit: limit, checks: map[*uop.UOp][]*uop.UOp{}, sums: map[*uop.UOp]terms{}}
}

// area is a strided view of bounds; the shape is the node's.
type area struct {
	data    []bound
	strides []int
	offset  int
}

// set states the elements of a leaf.
func (e *evaluator) set(leaf *uop.UOp, v []uop.Value) {
	for leaf.Op() != uop.Buffer {
		leaf = leaf.At(0)
	}
	data := make([]bound, len(v))
	for i, x := range v {
		data[i] = point(x)
		if leaf.DType().IsFloat() {
			data[i] = number(x.Float())
		}
	}
	e.known[leaf] = []area{{data, rowMajor(leaf.Shape()), 0}}
}

// same states that a leaf has the elements of a node, and the checks that these depend on.
func (e *evaluator) same(leaf, u *uop.UOp) {
	e.known[leaf] = []area{{e.of(u), rowMajor(leaf.Shape()), 0}}
	e.checks[leaf] = e.checksOf(u)
}

// of gives the bounds of a node's elements, row-major.
func (e *evaluator) of(root *uop.UOp) []bound {
	if _, ok := e.known[root]; !ok {
		for _, u := range e.missing(root) {
			e.known[u] = e.eval(u)
		}
	}
	return e.known[root][0].dense(root.Shape()).data
}

// missing lists the nodes that have no bounds yet, operands first.
func (e *evaluator) missing(root *uop.UOp) (out []*uop.UOp) {
	operands := func(u *uop.UOp) []*uop.UOp {
		switch u.Op() {
		case uop.Detach, uop.Check: // the rest tells of derivatives, and of indices
			return u.Src()[:1]
		case uop.Store: // its view is read by After
			return []*uop.UOp{below(u.At(0)), u.At(1)}
		}
		return u.Src()
	}
	known := func(u *uop.UOp) bool { _, ok := e.known[u]; return ok }
	uop.WalkBy([]*uop.UOp{root}, operands, known, func(u *uop.UOp) { out = append(out, u) })
	return out
}

// below is the buffer, or the assignment before, that a view looks at.
func below(view *uop.UOp) *uop.UOp {
	for view.Op() != uop.Buffer && view.Op() != uop.After {
		view = view.At(0)
	}
	return view
}

func (e *evaluator) src(u *uop.UOp, i int) area { return e.known[u.At(i)][0] }

func (e *evaluator) eval(u *uop.UOp) []area {
	if e.spent += u.Shape().Numel(); e.spent > e.limit {
		panic(tooMuch{})
	}
	switch {
	case u.Op().Elementwise():
		return []area{e.elementwise(u)}
	case u.Op().IsMovement():
		return []area{e.movement(u, e.src(u, 0))}
	}
	switch u.Op() {
	case uop.Const:
		v, _ := u.ConstValue()
		b := point(v)
		if u.DType().IsFloat() {
			b = number(v.Float())
		}
		return []area{{[]bound{b}, nil, 0}}
	case uop.Buffer: // put there by an op, or empty
		if v := uploaded(u); v != nil {
			e.set(u, v)
			return e.known[u]
		}
		a := newArea(u.Shape())
		for i := range a.data {
			a.data[i] = unknown(u.DType())
		}
		return []area{a}
	case uop.Range:
		a := newArea(u.Shape())
		for i := range a.data {
			a.data[i] = point(uop.Value(i))
		}
		return []area{a}
	case uop.Reduce:
		return e.reduce(u)
	case uop.Scan:
		return e.scan(u)
	case uop.ArgSort:
		return []area{e.argSort(u)}
	case uop.Part:
		return []area{e.known[u.At(0)][u.Arg().(uop.PartArg).I]}
	case uop.Gather:
		return []area{e.gather(u)}
	case uop.Scatter:
		return []area{e.scatter(u)}
	case uop.Var:
		return []area{{[]bound{point(uop.Value(u.Arg().(uop.VarArg).Value))}, nil, 0}}
	case uop.Contiguous, uop.Copy, uop.Detach, uop.Check, uop.Extent:
		return []area{e.src(u, 0)}
	case uop.Store:
		return []area{e.src(u, 1)}
	case uop.After:
		return []area{e.assigned(u)}
	case uop.Call, uop.Loop:
		v := u.Inlined()
		e.of(v)
		return e.known[v]
	}
	panic(fmt.Sprintf("BUG: no bounds for %v", u))
}

// assigned is the content of a buffer after a store.
func (e *evaluator) assigned(u *uop.UOp) area {
	store := u.At(1)
	view, v := store.At(0), e.src(store, 1)
	base := below(view)
	shape := base.Shape()
	out := newArea(shape)
	copy(out.data, e.known[base][0].dense(shape).data)
	places := newArea(shape) // which element each of the view is
	for i := range places.data {
		places.data[i] = point(uop.Value(i))
	}
	var chain []*uop.UOp
	for x := view; x != base; x = x.At(0) {
		chain = append(chain, x)
	}
	for _, x := range slices.Backward(chain) {
		places = e.movement(x, places)
	}
	if len(store.At(1).Shape()) == 0 {
		v.strides = make([]int, len(view.Shape()))
	}
	walk(view.Shape(), []area{places, v}, func(at []int) { out.data[places.data[at[0]].lo.Int()] = v.data[at[1]] })
	return out
}

func (e *evaluator) elementwise(u *uop.UOp) area {
	shape := u.Shape()
	in := make([]area, len(u.Src()))
	for i, s := range u.Src() {
		in[i] = e.src(u, i)
		if len(s.Shape()) == 0 {
			in[i].strides = make([]int, len(shape))
		}
	}
	out := newArea(shape)
	f := meaning(u)
	var x [3]bound
	i := 0
	walk(shape, in, func(at []int) {
		for k := range in {
			x[k] = in[k].data[at[k]]
		}
		out.data[i] = f(x)
		i++
	})
	return out
}

// meaning is what an elementwise node makes of bounds.
func meaning(u *uop.UOp) func(x [3]bound) bound {
	from, to := u.At(0).DType(), u.DType()
	op := u.Op()
	twice := len(u.Src()) > 1 && u.At(0) == u.At(1)
	switch op {
	case uop.Cast:
		return func(x [3]bound) bound { return cast(from, to, x[0]) }
	case uop.Bitcast:
		return func(x [3]bound) bound { return bitcast(from, to, x[0]) }
	case uop.Less, uop.Equal:
		return func(x [3]bound) bound { return compare(op, from, twice, x[0], x[1]) }
	case uop.Where:
		return func(x [3]bound) bound {
			switch {
			case x[0].lo != 0:
				return x[1]
			case x[0].hi == 0:
				return x[2]
			}
			return hull(to, x[1], x[2])
		}
	}
	if from.IsFloat() {
		return floatMeaning(op, from, twice)
	}
	return intMeaning(op, from, len(u.Src()))
}
