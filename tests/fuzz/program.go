package fuzz

import (
	"math"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Program is a list of ops over earlier values, and how they are realized. It is plain data: it can be sent to another
// process, made smaller and printed as Go.
type Program struct {
	Seed    uint64
	Ops     []Op    // value i is the result of op i
	Parts   [][]int // the values to compare, in the parts and the order in which they are realized at the end
	Inputs  []int   // leaves that are inputs of a captured function; none: nothing is captured
	Runs    int     // of the captured function
	Options Options
}

// Options are what an engine is opened with.
type Options struct {
	NoOpt      bool
	StoreAll   bool
	Directives uint64 // not 0: kernels have random directives of this seed beside the chosen ones
	Numbers    bool   // constants and shifts are arguments of plans, as if others had come before
	Known      bool   // a program that captures nothing ran before, with other elements, so that its graphs are known
	Others     bool   // and with other numbers
	Check      bool   // graphs are evaluated before and after each phase of their schedule, kernels before and after each pass
}

// Op makes one value: Name is a method of Tensor or a function of package tensor, or one of the words below.
type Op struct {
	Name string
	Args []Arg
	Out  int // which result, or which element of a result that is a list
	Leaf *Leaf
}

// Words that are no methods.
const (
	leafOp    = "leaf"    // Leaf
	realizeOp = "realize" // of the values that Args name; its own value is none
	gradOp    = "Grad"    // of the first argument with respect to the second
	gradWith  = "GradWith"
	assignOp  = "Assign"
	setAtOp   = "SetAt"

	assignBytesOp = "AssignBytes"
)

// mutates says that an op changes its first operand, which is also its result.
func (o *Op) mutates() bool {
	switch o.Name {
	case assignOp, setAtOp, assignBytesOp, "AddAssign", "SubAssign", "MulAssign", "DivAssign":
		return true
	}
	return false
}

// Kind says which field of an Arg counts.
type Kind uint8

// The kinds of arguments.
const (
	Val       Kind = iota // N: the value's number
	Vals                  // List: values as a variadic list
	ValsSl                // List: values as a slice
	Int                   // N
	Float                 // X
	Bool                  // N
	Ints                  // List, variadic
	Slice                 // List, as []int
	Type                  // N: a dtype
	Text                  // S
	Span                  // List: from, to, step of an index
	Whole                 // an index: the whole axis
	Axis                  // an index: a new axis
	Dots                  // an index: all axes left
	Nil                   // no tensor
	ConvA                 // List: stride, padding, dilation, groups, output padding; and 1 for Same
	PoolA                 // List: size, stride, padding, dilation, axes, ceil, exclude; and padding after if it is another, −1: Same
	AttnA                 // N: causal
	LossA                 // N: the reduction; List: values, the weight and that of the positive part, -1: none; X: smoothing; Reals: what is ignored; S: "last" for the class axis
	Enum                  // N, of the named type of package tensor in S
	Floats                // Reals
	SeedA                 // N: random numbers begin anew; no argument of the op
	Bytes                 // List: a type, a fill, a seed and a shape, of elements as bytes
	EmbedA                // List: padding, whether gradients are scaled; Reals: the longest row, its norm
	ResizeA               // List: mode, corners, antialias; Reals: scales
	SampleA               // List: mode, padding, corners
	TripletA              // N: swap; Reals: margin, norm, eps
	CTCA                  // List: blank, reduction, whether infinite losses are zero
	SizesA                // S: names, one letter each; List: their sizes
	SamplingA             // N: with replacement
	GumbelA               // N: hard; X: temperature
	FramesA               // List: hop, whether uncentred, padded with zeros, normalized, two-sided; and the length
	ReduceA               // S: a method of Tensor over axes
	NewtonA               // Reals: three coefficients
	Bound                 // List: the bounds of a variable, and its value
)

// Arg is one argument of an op.
type Arg struct {
	Kind Kind
	N    int
	List []int
	X    float64
	S    string
	// Reals are the numbers of options.
	Reals []float64
}

// Constructors, short for the tables.
func val(n int) Arg         { return Arg{Kind: Val, N: n} }
func vals(n ...int) Arg     { return Arg{Kind: Vals, List: n} }
func num(n int) Arg         { return Arg{Kind: Int, N: n} }
func flt(x float64) Arg     { return Arg{Kind: Float, X: x} }
func list(n ...int) Arg     { return Arg{Kind: Ints, List: n} }
func slice(n ...int) Arg    { return Arg{Kind: Slice, List: n} }
func typ(d dtype.DType) Arg { return Arg{Kind: Type, N: int(d)} }
func span(from, to, step int) Arg {
	return Arg{Kind: Span, List: []int{from, to, step}}
}
func boolean(b bool) Arg {
	n := 0
	if b {
		n = 1
	}
	return Arg{Kind: Bool, N: n}
}

// operands lists the values that an op reads.
func (o *Op) operands() []int {
	var out []int
	for _, a := range o.Args {
		switch a.Kind {
		case Val:
			out = append(out, a.N)
		case Vals, ValsSl:
			out = append(out, a.List...)
		case LossA:
			for _, v := range a.List {
				if v >= 0 {
					out = append(out, v)
				}
			}
		}
	}
	return out
}

// rename maps the values that an op reads; the op shares nothing with the old one.
func (o Op) rename(to func(int) int) Op {
	o.Args = slices.Clone(o.Args)
	for i := range o.Args {
		a := &o.Args[i]
		a.List = slices.Clone(a.List)
		switch a.Kind {
		case Val:
			a.N = to(a.N)
		case Vals, ValsSl, LossA:
			for k, v := range a.List {
				if v >= 0 {
					a.List[k] = to(v)
				}
			}
		}
	}
	if o.Leaf != nil {
		l := *o.Leaf
		l.Shape = slices.Clone(l.Shape)
		o.Leaf = &l
	}
	return o
}

// clone is a copy that shares nothing.
func (p *Program) clone() *Program {
	q := *p
	q.Ops = make([]Op, len(p.Ops))
	for i, o := range p.Ops {
		q.Ops[i] = o.rename(func(v int) int { return v })
	}
	q.Parts = make([][]int, len(p.Parts))
	for i, part := range p.Parts {
		q.Parts[i] = slices.Clone(part)
	}
	q.Inputs = slices.Clone(p.Inputs)
	return &q
}

// roots lists the values to compare.
func (p *Program) roots() []int { return slices.Concat(p.Parts...) }

// Fill is what numbers a leaf gets.
type Fill uint8

// The fills. Sums and products of a few exact numbers are exact in any order.
const (
	Quarters Fill = iota // quarters up to ±4, integers up to ±16
	Small                // −2 … 2
	Signs                // ±1, some 0
	Halves               // powers of two: ½, 1, 2, mostly 1, of both signs
	Smooth               // between ±2, many digits
	Positive             // between ½ and 2
	Places               // indices from 0 to Top−1
	Edges                // integers: extremes; floats: zeros of both signs, infinities, NaN
	Counted              // 1, 2, 3 …
	Astray               // indices from 0 to Top−1, now and then one that is outside
	Definite             // symmetric positive definite matrices of quarters, which have clear inverses
	Rising               // a list that does not fall
	Shares               // between 0 and 1
)

// Leaf is an array in memory: drawn from a fill and a seed, or given.
type Leaf struct {
	Type  dtype.DType
	Shape []int
	Fill  Fill
	Seed  uint64
	Top   int // Places
	Given []uint64
}

func (l *Leaf) numel() int { return uop.Shape(l.Shape).Numel() }

// values are the elements. Each run of a captured function has others.
func (l *Leaf) values(run int) []uop.Value {
	out := make([]uop.Value, l.numel())
	if len(l.Given) == len(out) && len(out) > 0 && run == 0 {
		for i, v := range l.Given {
			out[i] = uop.Value(v)
		}
		return out
	}
	r := newRand(l.Seed + uint64(run)*0x632be59bd9b4e019)
	switch {
	case l.Fill == Definite && len(l.Shape) > 1 && l.Type.IsFloat():
		return l.definite(r)
	case l.Fill == Rising:
		return l.rising(r)
	}
	for i := range out {
		out[i] = l.draw(r, i)
	}
	return out
}

// definite has a diagonal that is larger than all else in its row.
func (l *Leaf) definite(r *Rand) []uop.Value {
	n := l.Shape[len(l.Shape)-1]
	out := make([]uop.Value, l.numel())
	for i := range out {
		row, column := i/n%n, i%n
		switch {
		case row == column:
			out[i] = uop.FloatValue(l.Type, float64(n)/2+1+float64(r.N(5))/4)
		case column < row:
			out[i] = uop.FloatValue(l.Type, float64(r.N(5)-2)/4)
			out[i+(row-column)*(1-n)] = out[i]
		}
	}
	return out
}

// rising adds up steps from 0 to 1. Integers begin with 0, as the places where bags do.
func (l *Leaf) rising(r *Rand) []uop.Value {
	out := make([]uop.Value, l.numel())
	at := float64(-r.N(3))
	for i := range out {
		at += float64(r.N(5)) / 4
		if l.Type.IsFloat() {
			out[i] = uop.FloatValue(l.Type, at)
		} else if i > 0 {
			out[i] = uop.IntValue(l.Type, int64(max(at, 0)))
		}
	}
	return out
}

func (l *Leaf) draw(r *Rand, i int) uop.Value {
	d := l.Type
	if d == dtype.Bool {
		return uop.Value(r.N(2))
	}
	var f float64
	switch l.Fill {
	case Quarters:
		f = float64(r.N(33) - 16)
		if d.IsFloat() {
			f /= 4
		}
	case Small:
		f = float64(r.N(5) - 2)
	case Signs:
		f = float64(pick(r, 1, -1, 1, -1, 0))
	case Halves:
		f = pick(r, 1, -1, 1, 1, 2, 0.5, -1, 1)
	case Smooth:
		f = 4*r.Float() - 2
		if !d.IsFloat() {
			f *= 8
		}
	case Positive:
		f = 0.5 + 1.5*r.Float()
		if !d.IsFloat() {
			f = float64(1 + r.N(7))
		}
	case Places:
		f = float64(r.N(l.Top))
	case Counted:
		f = float64(i%200 + 1)
	case Astray:
		f = float64(r.N(l.Top))
		if r.One(6) {
			f = float64(pick(r, l.Top, l.Top+3, -1, -l.Top, -l.Top-1, -40, 1<<20))
		}
	case Shares:
		f = float64(1+r.N(15)) / 16
	case Edges:
		return edge(r, d)
	}
	if d.IsFloat() {
		return uop.FloatValue(d, f)
	}
	if d.IsUnsigned() {
		f = math.Abs(f)
	}
	return uop.IntValue(d, int64(f))
}

func edge(r *Rand, d dtype.DType) uop.Value {
	if d.IsFloat() {
		return uop.FloatValue(d, pick(r, 0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 1, -1, 0.5, 2.5, -2.5, 127, -129, 255, 256))
	}
	lo, hi := uop.IntLimits(d)
	return pick(r, lo, hi, 0, 1, uop.IntValue(d, -1), uop.IntValue(d, lo.Int()+1), uop.IntValue(d, hi.Int()-1), 2, 3,
		uop.IntValue(d, -3), 7, uop.IntValue(d, 31), uop.IntValue(d, int64(r.Uint64())))
}

// raw are the elements as bytes.
func raw(d dtype.DType, v []uop.Value) []byte {
	out := make([]byte, 0, len(v)*d.Size())
	for _, x := range v {
		bits := uop.ToBits(d, x)
		for range d.Size() {
			out = append(out, byte(bits))
			bits >>= 8
		}
	}
	return out
}

// decode is raw's inverse.
func decode(d dtype.DType, b []byte) []uop.Value {
	size := d.Size()
	out := make([]uop.Value, len(b)/size)
	for i := range out {
		var bits uint64
		for k := range size {
			bits |= uint64(b[i*size+k]) << (8 * k)
		}
		out[i] = uop.FromBits(d, bits)
	}
	return out
}
