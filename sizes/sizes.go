// Package sizes makes one graph of several that differ in sizes alone: batches of other lengths, a cache that has grown. Axes whose sizes differ get
// variables for their sizes and room for the most that they can be, so that one plan serves all cases.
//
// Nobody says which axes vary: graphs are compared, node by node, and each integer in which they differ must be a sum of multiples of one or two
// variables, or, where there are more, a multiple of a sum of some of them. These are sizes of inputs or of parts of them, or count so many elements at once as strides take. That this holds for a further case is
// not believed but checked, node by node too: a plan never runs for a case that it is not the plan of.
//
// Where a reshape makes one axis of several that vary, elements that count would no longer come first. So an axis of a case may be several axes of
// the graph, and an axis along which all elements are equal is one of size 1 as long as nothing wants more.
//
// It knows one rule per op, in a table that a test checks for completeness. It refuses to know tensors, devices and anything about running.
package sizes

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Case is a graph of fixed sizes: what is computed of arrays, Params in their shapes. The last roots are codes of checks, so many.
type Case struct {
	Ins, Roots []*uop.UOp
	Codes      int
}

// Graph is what cases have in common.
type Graph struct {
	Vars []uop.VarArg
	Ins  []*uop.UOp // stand-ins with room for the most, then one for the numbers of each type
	// Roots have all elements that there is room for; those count that Out says. Codes are zeros elsewhere.
	Roots []*uop.UOp
	Plan  any // what its user made of it

	work *work // see most
	used int   // the run of its family that used it last

	least      Values   // room for so much costs little where there is less
	ins        [][]form // the axes of inputs
	inputTypes []dtype.DType
	roots      []*pair
	codes      int
	nodes      []*pair // operands first; leaves before what uses them
	numbers    *numbers
	by         *[uop.NumOps]rule
	steps      []*step            // of loops
	places     [uop.MaxVars]place // by variable: what is cut out of an array, and is as long as that says; pair nil: nothing
}

// numbers are the constants that are any number, by type, of a graph and of the steps of its loops.
type numbers struct {
	types []dtype.DType
	pairs [][]*pair
}

// pair is a node of each of the cases that a graph is made from.
type pair struct {
	of    []*uop.UOp
	src   []*pair
	input int       // of a Param that stands for an input: which one, counted from 1
	leaf  bool      // see leaf
	row   bool      // of an input, its one operand: as a row of its elements
	shape uop.Shape // in the first case
	size  [][]form  // of each axis: factors of how many elements it has
	cuts  []cut     // of Pad and Shrink, by axis

	how    how
	number form // of a constant that differs: what it is, if it is linear
	slot   int  // of a number: its place among those of its type
	step   *step

	value // in the graph
}

// place is an axis of a pair.
type place struct {
	pair *pair
	axis int
}

// cut is what Pad or Shrink do to an axis.
type cut struct {
	done   bool
	lo, hi form
	from   *pair // a number that says where a part begins, in the place of lo and hi; nil: there is none
}

// how a constant differs.
type how uint8

const (
	equal  how = iota
	linear     // number says what it is
	free       // it is any number
)

// first is the node of the first case.
func (p *pair) first() *uop.UOp { return p.of[0] }

// Between is the graph that cases are cases of, with room for the last; nil where there is none.
func Between(cases ...Case) *Graph {
	for _, c := range cases[1:] {
		if len(c.Ins) != len(cases[0].Ins) || len(c.Roots) != len(cases[0].Roots) || c.Codes != cases[0].Codes {
			return nil
		}
	}
	vectors, ok := differing(cases)
	if !ok {
		return nil
	}
	s, ok := variables(cases, vectors)
	if ok {
		if g := s.graph(cases); g != nil {
			return g
		}
	}
	parts := parts(cases)
	if s, ok = s.with(parts); ok {
		if g := s.graph(cases); g != nil {
			return g
		}
	}
	if len(cases) <= few {
		return nil
	}
	for _, list := range [][][]int{vectors, slices.Concat(vectors, parts)} {
		if s, ok := independent(cases, list); ok {
			if g := s.graph(cases); g != nil {
				return g
			}
		}
	}
	return nil
}

// graph is the graph for what variables are in cases, or for parts of them.
func (s samples) graph(cases []Case) *Graph {
	for ok := true; ok; {
		needs := [uop.MaxVars]int{}
		if g := newGraph(cases); g.compare(cases, s, &needs) {
			return s.roomy(cases, g)
		}
		s, ok = s.scaled(needs)
	}
	return nil
}

func newGraph(cases []Case) *Graph {
	return &Graph{by: &rules, numbers: &numbers{}, codes: cases[0].Codes}
}

// roomy is the graph that g is to be, which says what cases have in common. It has room for the most of any case, if that is cheap and not far too much
// for the last one.
func (s samples) roomy(cases []Case, g *Graph) *Graph {
	last := s[len(s)-1]
	most := last
	g.least = cases[len(cases)-1].leastRoom(last)
	for _, n := range s {
		for i := range most {
			if !g.dear(i) {
				most[i] = max(most[i], n[i])
			}
		}
	}
	if most != last {
		if g.bounds(most) && g.build() && g.instance(cases[len(cases)-1]) != nil {
			return g
		}
		least := g.least
		if g = newGraph(cases); !g.compare(cases, s, &[uop.MaxVars]int{}) {
			return nil
		}
		g.least = least
	}
	if g.bounds(last) && g.build() {
		return g
	}
	return nil
}

// The shortest axes that vary have room for so many elements: few where each takes much arithmetic beside what is read for all of them, as the
// pictures of a convolutional network do. Of a token's products with weights the weights are what takes time, for one token or for sixteen.
const (
	leastRoom = 16
	dearRoom  = 2
	dearRow   = 16      // terms of sums that an element adds, for each number that all of them share,
	muchRow   = 1 << 20 // and at least, below which compiling once more costs more
)

// leastRoom is what the axes have room for at least whose elements a case has n of.
func (c Case) leastRoom(n Values) (least Values) {
	w := workOf(c.Roots)
	for i := range least {
		row := w.terms / max(1, n[i])
		if least[i] = leastRoom; row >= muchRow && row/dearRow > w.shared {
			least[i] = dearRoom
		}
	}
	return least
}

// Constants that are computed from sizes are not larger: what is said of positions stays within 32 bits, as a sum of a few does. Of others the
// number itself has to, which may be one of those that tell what an index is outside of (uop.OutsideCode).
const (
	mostPlace  = 1 << 28
	mostNumber = 1<<30 + mostPlace
)

// bounds sets those of the variables: sizes are not negative between them, and up to a power of two, or three quarters of it.
func (g *Graph) bounds(n Values) bool {
	var lo, hi Values
	for i := range uop.MaxVars {
		most, used := 0, false // what is added to the variable
		g.forms(func(f form) {
			used = used || f.K[i] != 0
			if f.K[i] == 1 {
				most = max(most, f.C)
			}
		})
		if !used {
			continue
		}
		room := g.least[i]
		for room < n[i]+most {
			room *= 2
		}
		if less := room * 3 / 4; g.dear(i) && less >= max(n[i]+most, dearRoom) {
			room = less
		}
		lo[i], hi[i] = min(1, n[i]), room-most
		g.forms(func(f form) {
			alone := f
			alone.C, alone.K[i] = 0, 0
			switch k := f.K[i]; {
			case alone.varies(): // see below
			case k > 0:
				lo[i] = max(lo[i], ceilDiv(-f.C, k))
			case k < 0:
				hi[i] = min(hi[i], f.C/-k)
			}
		})
		if n[i] < lo[i] || hi[i] < n[i] || lo[i] >= hi[i] {
			return false
		}
	}
	for i := range uop.MaxVars {
		if hi[i] > 0 {
			if len(g.Vars) < i {
				return false // nothing is of the size before
			}
			g.Vars = append(g.Vars, uop.VarArg{Name: names[i], Lo: lo[i], Hi: hi[i]})
		}
	}
	ok := true
	g.forms(func(f form) {
		least, _ := g.size(f).Bounds()
		ok = ok && least >= 0
	})
	g.each(func(p *pair) {
		if p.how == linear {
			limit := mostNumber
			if p.first().DType() == dtype.Index {
				limit = mostPlace
			}
			least, most := g.size(p.number).Bounds()
			ok = ok && -limit <= least && most <= limit
		}
	})
	return ok && len(g.Vars) > 0
}

// names are those of the variables, in their order.
var names = [uop.MaxVars]string{"size", "size b", "size c", "size d", "size e", "size f", "size g", "size h"}

// dear says that room takes much time: elements take much arithmetic, or loops have a step for each.
func (g *Graph) dear(i int) (yes bool) {
	g.each(func(p *pair) { yes = yes || p.step != nil && p.size[0][0].K[i] != 0 })
	return yes || g.least[i] == dearRoom
}

// forms calls f for each size.
func (g *Graph) forms(f func(form)) {
	for _, fs := range g.ins { // also of those that nothing is made of
		for _, x := range fs {
			f(x)
		}
	}
	g.each(func(p *pair) {
		for _, factors := range p.size {
			for _, x := range factors {
				f(x)
			}
		}
		for _, c := range p.cuts {
			if c.done && c.from == nil {
				f(c.lo)
				f(c.hi)
			}
		}
	})
}

// each calls f for each node, also of steps of loops.
func (g *Graph) each(f func(p *pair)) {
	for _, p := range g.nodes {
		f(p)
	}
	for _, s := range g.steps {
		s.each(f)
	}
}

func ceilDiv(a, b int) int {
	if a <= 0 {
		return -(-a / b)
	}
	return (a + b - 1) / b
}

// size is a form as a size.
func (g *Graph) size(f form) uop.Size {
	s := uop.Fixed(f.C)
	for i, v := range g.Vars {
		s, _ = s.Add(uop.SizeOf(v), f.K[i])
	}
	return s
}

// room is the most that a form can be.
func (g *Graph) room(f form) int {
	_, most := g.size(f).Bounds()
	return most
}

func (g *Graph) rooms(fs []form) uop.Shape {
	out := make(uop.Shape, len(fs))
	for i, f := range fs {
		out[i] = g.room(f)
	}
	return out
}

// In is how many elements of each axis of input i count, and the room that there is.
func (g *Graph) In(i int, n Values) (count, room uop.Shape) { return g.counts(g.ins[i], n) }

// Out says the same of root i, whose axes may be more than the case's: together they have as many elements, in the same order.
func (g *Graph) Out(i int, n Values) (count, room uop.Shape) {
	return g.counts(g.roots[i].flat(), n)
}

func (g *Graph) counts(fs []form, n Values) (count, room uop.Shape) {
	for _, f := range fs {
		count = append(count, f.at(n))
	}
	return count, g.rooms(fs)
}

// Types are those of the numbers, an input of the graph each.
func (g *Graph) Types() []dtype.DType { return g.numbers.types }

// Bound gives variables their values, see engine.Bindings.
func (g *Graph) Bound(n Values) func(v uop.VarArg) (int, bool) {
	return func(v uop.VarArg) (int, bool) {
		i := slices.Index(g.Vars, v)
		if i < 0 {
			return 0, false
		}
		return n[i], true
	}
}
