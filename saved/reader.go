package saved

import (
	"encoding/binary"
	"math"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

const (
	maxRank  = 64
	maxText  = 1 << 12 // bytes of a name or of a reason
	maxDraws = 1 << 40 // words
)

// reader takes a program apart. The first mistake stays: what follows is 0 and empty.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = wrong(format, args...)
	}
	r.b = nil
}

func (r *reader) int() int {
	n, used := binary.Varint(r.b)
	if used <= 0 {
		r.fail("it ends too early")
		return 0
	}
	r.b = r.b[used:]
	return int(n)
}

// within is a number of lo … hi.
func (r *reader) within(what string, lo, hi int) int {
	n := r.int()
	if r.err == nil && (n < lo || n > hi) {
		r.fail("%s is %d, not within %d…%d", what, n, lo, hi)
	}
	if r.err != nil {
		return lo
	}
	return n
}

// count is the length of a list, of which each entry takes bytes.
func (r *reader) count(what string) int {
	n := r.int()
	if n < 0 || n > len(r.b) {
		r.fail("%d %s do not fit in what is left of it", n, what)
		return 0
	}
	return n
}

func (r *reader) u64() uint64 {
	if len(r.b) < 8 {
		r.fail("it ends too early")
		return 0
	}
	n := binary.LittleEndian.Uint64(r.b)
	r.b = r.b[8:]
	return n
}

func (r *reader) bool() bool { return r.within("a truth value", 0, 1) == 1 }

func (r *reader) text() string {
	n := r.count("bytes of text")
	if n > maxText {
		r.fail("a text of %d bytes is longer than %d", n, maxText)
		return ""
	}
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}

func (r *reader) ints(what string, most int) []int {
	n := r.count(what)
	if n > most {
		r.fail("%d %s are more than %d", n, what, most)
		return nil
	}
	out := make([]int, n)
	for i := range out {
		out[i] = r.int()
	}
	return out
}

func (r *reader) dtype() dtype.DType {
	name := r.text()
	d, ok := typeNamed(name)
	if !ok {
		r.fail("this version of Weft knows no type %.40q", name)
	}
	return d
}

// stored is the type of an array.
func (r *reader) stored() dtype.DType {
	d := r.dtype()
	if r.err == nil && d.Size() == 0 {
		r.fail("an array of type %v has no elements that could be kept", d)
	}
	return d
}

func (r *reader) monoid() uop.Monoid {
	name := r.text()
	m, ok := monoidNamed(name)
	if !ok {
		r.fail("this version of Weft knows no reduction %.40q", name)
	}
	return m
}

func (r *reader) shape() []int {
	s := r.ints("sizes", maxRank)
	for _, n := range s {
		if n < 0 {
			r.fail("an array has the size %d", n)
			return nil
		}
	}
	if why := uop.Shape(s).TooMany(); why != "" {
		r.fail("%s", why)
		return nil
	}
	return s
}

// Decode reads what Encode wrote, or says what is wrong with it.
func Decode(b []byte) (*Program, error) {
	r := &reader{b: b}
	p := &Program{}
	for range r.count("arrays") {
		a := Array{DType: r.stored(), N: r.within("an array's size", 0, uop.MaxElements), Form: Form(r.within("the form of an array", 0, int(numForms)-1)), Sum: uint32(r.u64())}
		if a.Form != Exact && a.DType != dtype.F32 {
			r.fail("an array of %v is kept as %v", a.DType, a.Form)
		}
		p.Arrays = append(p.Arrays, a)
	}
	for range r.count("generators") {
		p.Generators = append(p.Generators, Generator{r.u64(), r.u64()})
	}
	functions := names{}
	for range r.count("functions") {
		f := r.function(p)
		r.once(functions, "functions", f.Name)
		p.Functions = append(p.Functions, f)
	}
	if r.err == nil && len(r.b) > 0 {
		r.fail("%d bytes follow its end", len(r.b))
	}
	if r.err != nil {
		return nil, r.err
	}
	return p, nil
}

// names are those that were read.
type names map[string]bool

// once refuses a name that another of its kind has.
func (r *reader) once(of names, kind, name string) {
	if of[name] {
		r.fail("two %s have the name %.40q", kind, name)
	}
	of[name] = true
}

func (r *reader) function(p *Program) (f Function) {
	f.Name = r.text()
	inputs := names{}
	for range r.count("inputs") {
		f.Inputs = append(f.Inputs, Input{r.text(), r.stored(), r.shape()})
		r.once(inputs, "inputs", f.Inputs[len(f.Inputs)-1].Name)
	}
	f.Arrays = r.ints("arrays", len(p.Arrays))
	used := map[int]bool{}
	for _, a := range f.Arrays {
		if a < 0 || a >= len(p.Arrays) || used[a] {
			r.fail("a function uses array %d of %d, or one twice", a, len(p.Arrays))
			return f
		}
		used[a] = true
	}
	g := &graph{reader: r, p: p, f: &f}
	nodes := g.read()
	slots := len(f.Inputs) + len(f.Arrays)
	checks := r.targets(&f, g, nodes, slots)
	for _, t := range f.Targets {
		for _, c := range t.On {
			if c < 0 || c >= len(checks) || !checks[c] {
				r.fail("a value depends on check %d, which there is not", c)
			}
		}
	}
	r.results(&f, g, slots)
	for range r.count("draws") {
		d := r.ints("numbers of a draw", 3)
		if len(d) != 3 {
			r.fail("a draw has %d numbers, not 3", len(d))
			return f
		}
		r.draw(p, &f, Draw{d[0], d[1], d[2]})
	}
	f.Ran = r.bool()
	return f
}

// targets reads what is computed, and gives which checks there are.
func (r *reader) targets(f *Function, g *graph, nodes []*uop.UOp, slots int) (checks []bool) {
	assigned := map[int]bool{}
	n := r.count("targets")
	known := map[int]bool{}
	for range n {
		t := Target{}
		if i := r.within("the node of a target", 0, len(nodes)-1); r.err == nil {
			t.Value = nodes[i]
		}
		t.Shape = r.shape()
		t.Dest = r.within("the array that a target goes to", -1, slots-1)
		t.On = r.ints("checks", len(r.b))
		for range r.count("checks") {
			c := Check{Number: r.int(), Arg: uop.CheckArg{Op: r.text(), Reason: r.text(), At: r.text(), Lo: r.int(), N: r.int()}}
			if c.Number < 0 || c.Number > 1<<20 || known[c.Number] {
				r.fail("check %d comes twice, or has no such number", c.Number)
				return nil
			}
			known[c.Number] = true
			t.Checks = append(t.Checks, c)
		}
		if r.err != nil {
			return nil
		}
		r.target(f, g, t, assigned)
		f.Targets = append(f.Targets, t)
	}
	if r.err == nil && n == 0 {
		r.fail("a function computes nothing")
	}
	for c := range known {
		for len(checks) <= c {
			checks = append(checks, false)
		}
		checks[c] = true
	}
	return checks
}

// target says whether a value fits what it is for.
func (r *reader) target(f *Function, g *graph, t Target, assigned map[int]bool) {
	d, n := t.Value.DType(), t.Value.Shape().Numel()
	switch {
	case d.Size() == 0:
		r.fail("a value of type %v cannot be kept", d)
	case n != uop.Shape(t.Shape).Numel():
		r.fail("a value of %d elements is to have the shape %v", n, t.Shape)
	case len(t.Checks) > 0 && (t.Dest >= 0 || len(t.Checks) > 8 || d != dtype.I32 || n != len(t.Checks)):
		r.fail("%d checks have %d codes of %v", len(t.Checks), n, d)
	case t.Dest >= 0 && t.Dest < len(f.Inputs):
		r.fail("input %d is assigned", t.Dest)
	case t.Dest >= 0 && assigned[t.Dest]:
		r.fail("an array is assigned twice")
	case t.Dest >= 0 && (g.typeOf(t.Dest) != d || g.size(t.Dest) != n):
		r.fail("%d elements of %v are assigned to an array of %d of %v", n, d, g.size(t.Dest), g.typeOf(t.Dest))
	}
	if t.Dest >= 0 {
		assigned[t.Dest] = true
	}
}

func (r *reader) results(f *Function, g *graph, slots int) {
	named := names{}
	for range r.count("results") {
		x := Result{Name: r.text(), Target: r.within("the target of a result", -1, len(f.Targets)-1), Slot: r.within("the array of a result", -1, slots-1), DType: r.stored(), Shape: r.shape()}
		for range r.within("the number of sizes that vary", 0, maxRank) {
			x.Sizes = append(x.Sizes, r.size())
		}
		if r.err != nil {
			return
		}
		n, d := 0, dtype.Void
		switch {
		case (x.Target < 0) == (x.Slot < 0):
			r.fail("a result is a target and an array, or neither")
			return
		case x.Target >= 0:
			t := f.Targets[x.Target]
			n, d = t.Value.Shape().Numel(), t.Value.DType()
			if t.Dest >= 0 || len(t.Checks) > 0 {
				r.fail("a result is the target of an array")
			}
		default:
			n, d = g.size(x.Slot), g.typeOf(x.Slot)
		}
		if d != x.DType || n != uop.Shape(x.Shape).Numel() || len(x.Sizes) != 0 && len(x.Sizes) != len(x.Shape) {
			r.fail("a result of %d elements of %v is to be %v %v", n, d, x.DType, x.Shape)
			return
		}
		for axis, s := range x.Sizes {
			if lo, hi := s.Bounds(); lo < 0 || hi > x.Shape[axis] {
				r.fail("axis %d of a result has %v elements, where there is room for %d", axis, s, x.Shape[axis])
			}
		}
		r.once(named, "results", x.Name)
		f.Results = append(f.Results, x)
	}
}

// mostFactor bounds the numbers of a size, so that its bounds stay within 64 bits.
const mostFactor = 1 << 20

func (r *reader) size() (s uop.Size) {
	s.C = r.within("a size", -uop.MaxElements, uop.MaxElements)
	for i := range s.Terms {
		if k := r.within("a factor of a size", -mostFactor, mostFactor); k != 0 {
			if i > 0 && s.Terms[i-1].K == 0 {
				r.fail("the terms of a size have a gap")
			}
			s.Terms[i] = uop.SizeTerm{Var: r.variable(), K: k}
		}
	}
	return s
}

func (r *reader) variable() uop.VarArg {
	v := uop.VarArg{Name: r.text()}
	n := r.ints("numbers of a variable", 3)
	if len(n) != 3 {
		r.fail("a variable has %d numbers, not 3", len(n))
		return v
	}
	v.Lo, v.Hi, v.Value, v.Bound = n[0], n[1], n[2], r.bool()
	if v.Name == "" || v.Lo > v.Hi || v.Lo < math.MinInt32 || v.Hi > math.MaxInt32 || v.Bound && (v.Value < v.Lo || v.Value > v.Hi) || !v.Bound && v.Value != 0 {
		r.fail("variable %.40q is %d of %d…%d", v.Name, v.Value, v.Lo, v.Hi)
	}
	return v
}

func (r *reader) draw(p *Program, f *Function, d Draw) {
	k := d.Slot - len(f.Inputs)
	switch {
	case k < 0 || k >= len(f.Arrays) || d.Generator < 0 || d.Generator >= len(p.Generators) || d.Words < 0 || d.Words > maxDraws:
		r.fail("a draw of %d words from generator %d to array %d makes no sense", d.Words, d.Generator, k)
	case p.Arrays[f.Arrays[k]].DType != dtype.U32 || p.Arrays[f.Arrays[k]].N != 2:
		r.fail("the key of a draw is no array of two uint32")
	default:
		f.Draws = append(f.Draws, d)
	}
}
