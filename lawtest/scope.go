package lawtest

import (
	"math"
	"math/rand/v2"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Scope draws random expressions of a kernel: over a few ranges, with masks, divisions, negative offsets, casts, loads
// whose gates keep them inside of their arrays, and reductions. What it makes can be evaluated at every point of its ranges;
// no load leaves its array, also where its value is not used.
type Scope struct {
	*rand.Rand
	Table  *uop.Table
	Ranges []*uop.UOp
	arrays []array
	next   int // of ranges
}

// array is memory that expressions load from.
type array struct {
	param *uop.UOp
	dims  []int
	v     []uop.Value
}

// scopeTypes are the types of arrays and values.
var scopeTypes = []dtype.DType{dtype.F32, dtype.I32, dtype.U8, dtype.Bool, dtype.F64, dtype.I64, dtype.U32, dtype.F16, dtype.I8}

// NewScope makes the ranges and arrays of a seed.
func NewScope(seed uint64) *Scope {
	s := &Scope{Rand: rand.New(rand.NewPCG(seed, 0x5c09e)), Table: uop.NewArena()}
	for range 1 + s.IntN(3) {
		s.Ranges = append(s.Ranges, s.newRange(1+s.IntN(7)))
	}
	for i, d := range scopeTypes {
		a := array{dims: []int{1 + s.IntN(9)}}
		if s.IntN(2) == 0 {
			a.dims = append(a.dims, 1+s.IntN(4))
		}
		n := uop.Shape(a.dims).Numel()
		a.param = s.Table.Param(i, n, d)
		for range n {
			a.v = append(a.v, s.element(d))
		}
		s.arrays = append(s.arrays, a)
	}
	return s
}

func (s *Scope) newRange(n int) *uop.UOp {
	s.next++
	return s.Table.Range(s.next-1, n, "")
}

// element is a number that an array may hold.
func (s *Scope) element(d dtype.DType) uop.Value {
	if s.IntN(3) == 0 {
		v := Values(d, false)
		return v[s.IntN(len(v))]
	}
	if d.IsFloat() {
		return uop.FloatValue(d, float64(s.IntN(17)-8)/2)
	}
	return uop.IntValue(d, int64(s.IntN(24)-6))
}

// Const is a random constant; those of indices are small.
func (s *Scope) Const(d dtype.DType) *uop.UOp {
	if d == dtype.Index {
		return s.Table.Index([]int{0, 1, -1, 2, 3, 4, 6, 8, 12, -3, 5, 24, -7}[s.IntN(13)])
	}
	return s.Table.ConstOf(d, s.element(d))
}

// Value is a random expression of a type.
func (s *Scope) Value(d dtype.DType, depth int) *uop.UOp {
	switch {
	case d == dtype.Index:
		return s.Index(depth)
	case d == dtype.Bool:
		return s.Cond(depth)
	case depth <= 0:
		return s.leaf(d)
	}
	x := s.Value(d, depth-1)
	switch s.IntN(10) {
	case 0:
		return s.Cond(depth-1).Where(x, s.Value(d, depth-1))
	case 1:
		return s.Cond(depth-1).Where(x, x.Int(0))
	case 2, 3:
		return s.Load(d, depth-1)
	case 4:
		return s.Value(scopeTypes[s.IntN(len(scopeTypes))], depth-1).Cast(d)
	case 5:
		return s.reduce(x)
	case 6:
		return x.Neg()
	}
	ops := []uop.Op{uop.Add, uop.Mul, uop.Max}
	if d.IsInt() {
		ops = append(ops, uop.IDiv, uop.Mod, uop.And, uop.Or, uop.Xor)
	} else {
		ops = append(ops, uop.Div)
	}
	return s.Table.Make(ops[s.IntN(len(ops))], d, nil, x, s.Value(d, depth-1))
}

func (s *Scope) leaf(d dtype.DType) *uop.UOp {
	switch s.IntN(3) {
	case 0:
		return s.Const(d)
	case 1:
		return s.Index(0).Cast(d)
	}
	return s.Load(d, 0)
}

// Load reads an array where the index is inside, and perhaps something else holds; a mask may say the same again.
func (s *Scope) Load(d dtype.DType, depth int) *uop.UOp {
	var a array
	for _, x := range s.arrays {
		if x.param.DType() == d {
			a = x
		}
	}
	if a.param == nil {
		return s.Const(d)
	}
	gate, index := s.Table.True(), []*uop.UOp(nil)
	for _, n := range a.dims {
		e := s.Index(depth)
		if s.IntN(4) == 0 {
			e = e.Mod(s.Table.Index(n))
		} else {
			gate = gate.And(s.Table.Index(-1).Less(e)).And(e.Less(s.Table.Index(n)))
		}
		index = append(index, e)
	}
	mask := gate
	if s.IntN(3) == 0 {
		gate = gate.And(s.Cond(depth - 1))
	}
	if s.IntN(3) == 0 {
		mask = gate
	}
	l := s.Table.Load(a.param, gate, index...)
	switch s.IntN(4) {
	case 0:
		return mask.Where(l, l.Int(0))
	case 1:
		return s.Cond(depth-1).Where(l, l.Int(0))
	}
	return l
}

// reduce sums a value, or takes its maximum, over a range in the place of one that it may depend on: over all of it, or up
// to where a range of the scope stands.
func (s *Scope) reduce(x *uop.UOp) *uop.UOp {
	r, to := s.newRange(1+s.IntN(4)), (*uop.UOp)(nil)
	if s.IntN(3) == 0 {
		to = s.Ranges[s.IntN(len(s.Ranges))]
		r = s.newRange(to.Arg().(uop.RangeArg).N)
	}
	old := s.Ranges[s.IntN(len(s.Ranges))]
	e := r
	if n := old.Arg().(uop.RangeArg).N; n < r.Arg().(uop.RangeArg).N {
		e = r.Mod(s.Table.Index(n)) // loads without gates rely on the limits of their index
	}
	x = uop.Substitute(s.Table, map[*uop.UOp]*uop.UOp{old: e}, x)[0]
	m := []uop.Monoid{uop.Sum, uop.MaxOf}[s.IntN(2)]
	if to != nil {
		return s.Table.ScanRange(uop.ScanArg{Monoid: m, Parts: 1}, []*uop.UOp{x}, r, to)
	}
	return s.Table.ReduceRanges(m, []*uop.UOp{x}, []*uop.UOp{r})
}

// Index is a random index: divisions, remainders, offsets of either sign, choices, numbers that were loaded.
func (s *Scope) Index(depth int) *uop.UOp {
	if depth <= 0 {
		if s.IntN(5) == 0 {
			return s.Const(dtype.Index)
		}
		return s.Ranges[s.IntN(len(s.Ranges))]
	}
	x := s.Index(depth - 1)
	switch s.IntN(14) {
	case 0, 1:
		return x.Add(s.Const(dtype.Index))
	case 2:
		return x.Add(s.Index(depth - 1))
	case 3:
		return x.Sub(s.Index(depth - 1))
	case 4, 5:
		return x.Mul(s.Const(dtype.Index))
	case 6, 7:
		return x.IDiv(s.Const(dtype.Index))
	case 8:
		return x.Mod(s.Const(dtype.Index))
	case 9:
		return x.Max(s.Index(depth - 1))
	case 10:
		return x.Min(s.Index(depth - 1))
	case 11:
		return s.Cond(depth-1).Where(x, s.Index(depth-1))
	case 12:
		return s.Load([]dtype.DType{dtype.I32, dtype.U8, dtype.I8}[s.IntN(3)], depth-1).Cast(dtype.Index)
	}
	n := s.Const(dtype.Index)
	return x.IDiv(n).Mul(n).Add(x.Mod(n))
}

// Cond is a random condition.
func (s *Scope) Cond(depth int) *uop.UOp {
	if depth <= 0 {
		return s.Index(0).Less(s.Index(0))
	}
	switch s.IntN(9) {
	case 0, 1:
		return s.Index(depth - 1).Less(s.Index(depth - 1))
	case 2:
		return s.Index(depth - 1).Equal(s.Index(depth - 1))
	case 3, 4:
		return s.Cond(depth - 1).And(s.Cond(depth - 1))
	case 5:
		return s.Cond(depth - 1).Or(s.Cond(depth - 1))
	case 6:
		return s.Cond(depth - 1).Not()
	case 7:
		return s.Load(dtype.Bool, depth-1)
	}
	d := scopeTypes[s.IntN(len(scopeTypes))]
	return s.Value(d, depth-1).Less(s.Value(d, depth-1))
}

// Context is a random expression around a value, given as a function of it.
func (s *Scope) Context(d dtype.DType, depth int) func(x *uop.UOp) *uop.UOp {
	if depth <= 0 {
		return func(x *uop.UOp) *uop.UOp { return x }
	}
	f, to := s.around(d, depth)
	g := s.Context(to, depth-1)
	return func(x *uop.UOp) *uop.UOp { return g(f(x)) }
}

// around is one step of a context, and the type it leads to.
func (s *Scope) around(d dtype.DType, depth int) (f func(x *uop.UOp) *uop.UOp, to dtype.DType) {
	y, c := s.Value(d, 1), s.Cond(depth-1)
	switch s.IntN(6) {
	case 0: // a mask
		return func(x *uop.UOp) *uop.UOp { return c.Where(x, x.Int(0)) }, d
	case 1:
		return func(x *uop.UOp) *uop.UOp { return c.Where(y, x) }, d
	}
	if d == dtype.Bool {
		z := scopeTypes[s.IntN(len(scopeTypes))]
		switch l, v := s.Load(z, 1), s.Value(z, 1); {
		case l.Op() == uop.Load && s.IntN(2) == 0: // a gate
			src := append([]*uop.UOp{}, l.Src()...)
			return func(x *uop.UOp) *uop.UOp { return s.Table.Load(src[0], src[1].And(x), src[2:]...) }, z
		default:
			return func(x *uop.UOp) *uop.UOp { return x.Where(l, v) }, z
		}
	}
	if d == dtype.Index {
		a := s.arrays[s.IntN(len(s.arrays))]
		n, k := s.Table.Index(uop.Shape(a.dims).Numel()), s.Const(dtype.Index)
		if s.IntN(2) == 0 { // an index, with an offset
			return func(x *uop.UOp) *uop.UOp {
				e := x.Add(k)
				at := []*uop.UOp{e}
				if len(a.dims) == 2 {
					m := s.Table.Index(a.dims[1])
					at = []*uop.UOp{e.IDiv(m), e.Mod(m)}
				}
				return s.Table.Load(a.param, s.Table.Index(-1).Less(e).And(e.Less(n)), at...)
			}, a.param.DType()
		}
		return func(x *uop.UOp) *uop.UOp { return x.Less(y.Add(k)) }, dtype.Bool
	}
	switch s.IntN(3) {
	case 0:
		to = scopeTypes[s.IntN(len(scopeTypes))]
		return func(x *uop.UOp) *uop.UOp { return x.Cast(to) }, to
	case 1:
		r := s.Ranges[s.IntN(len(s.Ranges))]
		return func(x *uop.UOp) *uop.UOp {
			return s.Table.ReduceRanges(uop.Sum, []*uop.UOp{x}, []*uop.UOp{r})
		}, d
	}
	o := []uop.Op{uop.Add, uop.Mul, uop.Max}[s.IntN(3)]
	return func(x *uop.UOp) *uop.UOp { return s.Table.Make(o, d, nil, x, y) }, d
}

// Points calls f with every point of the scope's ranges, until it returns false; the map is the same each time.
func (s *Scope) Points(f func(at map[*uop.UOp]uop.Value) bool) {
	at := map[*uop.UOp]uop.Value{}
	var walk func(i int) bool
	walk = func(i int) bool {
		if i == len(s.Ranges) {
			return f(at)
		}
		for n := range s.Ranges[i].Arg().(uop.RangeArg).N {
			if at[s.Ranges[i]] = uop.Value(n); !walk(i + 1) {
				return false
			}
		}
		return true
	}
	walk(0)
}

// limit keeps index arithmetic far from where it is not exact.
const limit = math.MaxInt32 << 8
