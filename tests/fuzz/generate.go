package fuzz

import (
	"github.com/weft-ml/weft/dtype"
)

// Generated is a program with what every value may be.
type Generated struct {
	Program *Program
	Want    [][]result // of each run, of each root
	Unknown int        // elements of the roots that may be anything
	Fixed   int        // elements that must be one number
	Total   int
	Broken  *Finding // an op that panicked while it was built
}

// result is what is known of a root, in each run.
type result struct {
	dtype  dtype.DType
	shape  []int
	bounds []bound
	faults []fault
}

// generator makes a program op by op. Each op is carried out on graphs at once, which says its shape, and its bounds are
// computed, which says whether it is worth going on with.
type generator struct {
	*Rand
	prog    *Program
	state   *state
	info    []info
	exact   bool // prefer ops whose results are exact
	kinds   []dtype.DType
	flow    bool // assignments happen
	risky   bool // indices lie outside now and then
	large   bool // a few ops on many elements
	sparse  bool // values without elements, of one, and without axes are common
	eager   bool // ops read values while the graph is built
	inMotif bool // inexact results are taken
	broken  *Finding
}

// info is what the generator knows of a value.
type info struct {
	dead    bool // not to be used any more
	none    bool // no value: realizeOp
	known   bool // no element is unknown
	fixed   bool // every element is one number
	most    float64
	leaf    bool
	index   bool         // a leaf of indices
	reach   map[int]bool // values that gradients can be asked for
	cut     map[int]bool // values behind something that was realized since
	reads   map[int]int  // mutable values that it depends on, and their versions
	version int          // of a mutable value
	real    bool         // was realized
	faults  []fault      // errors that reading it gives
}

// Size limits of values and programs.
const (
	maxElements = 3000
	maxRank     = 6
	maxLarge    = 20_000 // of programs of few ops
	maxOps      = 30
	effort      = 3_000_000 // elements that bounds are computed of, in all
)

// Generate makes the program of a seed. The default engine must be one that evaluates nothing while graphs are built.
func Generate(seed uint64) *Generated {
	g := &generator{Rand: newRand(seed), prog: &Program{Seed: seed, Options: OptionsOf(seed)}, state: newState(effort)}
	g.Uint64()
	g.settings()
	for range g.In(1, 3) {
		g.newLeaf(g.shape())
	}
	n := g.length()
	for tries := 0; g.ops() < n && tries < 12*n; tries++ {
		if g.state.eval.spent > effort/2 {
			break
		}
		g.step()
	}
	g.finish()
	return g.result()
}

// settings draws what holds for the whole program.
func (g *generator) settings() {
	g.exact = g.N(5) < 2
	switch g.N(10) {
	case 0, 1, 2, 3, 4:
		g.kinds = []dtype.DType{dtype.F32}
	case 5:
		g.kinds = []dtype.DType{dtype.F32, dtype.I32, dtype.Bool}
	case 6:
		g.kinds = []dtype.DType{dtype.I32, dtype.U32, dtype.U8, dtype.F32}
	case 7:
		g.kinds = []dtype.DType{dtype.F16, dtype.BF16, dtype.F32}
	case 8:
		g.kinds = []dtype.DType{dtype.F64, dtype.I64, dtype.F32}
	default:
		g.kinds = dtype.All
	}
	g.flow = g.One(6)
	g.risky = g.One(8)
	g.sparse = g.One(12)
	g.large = !g.sparse && g.One(25)
	g.eager = !g.flow && g.One(8)
}

// OptionsOf are the options of a seed's program. Programs of the same options run in one process: an engine leaves its mark
// on nodes that read nothing, which all engines share.
func OptionsOf(seed uint64) (o Options) {
	r := newRand(seed ^ 0x6f7074696f6e73)
	switch r.N(12) {
	case 0:
		o.NoOpt = true
	case 1:
		o.StoreAll = true
	case 2:
		o.Directives = 1 + uint64(r.N(2))
	case 3:
		o.Check = true
	case 4:
		o.Numbers = true
	case 5:
		o.Known = true
	case 6:
		o.Known, o.Others = true, true
	}
	return o
}

// length is how many ops the program is to have.
func (g *generator) length() int {
	if g.large {
		return g.In(2, 5)
	}
	switch g.N(10) {
	case 0, 1:
		return g.In(2, 5)
	case 2, 3:
		return g.In(4, 9)
	case 4, 5, 6:
		return g.In(8, 16)
	}
	return g.In(14, maxOps-4)
}

// ops counts the values that are no leaves.
func (g *generator) ops() int {
	n := 0
	for _, o := range g.prog.Ops {
		if o.Name != leafOp {
			n++
		}
	}
	return n
}

// t is the tensor of a value.
func (g *generator) t(v int) T { return g.state.values[v] }

func (g *generator) rank(v int) int         { return g.t(v).Rank() }
func (g *generator) dim(v, a int) int       { return g.t(v).Dim(a) }
func (g *generator) kind(v int) dtype.DType { return g.t(v).DType() }
func (g *generator) numel(v int) int        { return g.t(v).Numel() }

// axis is a random axis, sometimes counted from the end. Only values with axes are asked.
func (g *generator) axis(v int) int {
	a := g.N(g.rank(v))
	if g.One(4) {
		a -= g.rank(v)
	}
	return a
}

// size is a random size of an axis.
func (g *generator) size() int {
	if g.sparse && g.One(3) {
		return pick(g.Rand, 0, 1, 1)
	}
	if g.One(25) || g.large && g.One(2) {
		return pick(g.Rand, 31, 32, 33, 64, 65, 100, 127)
	}
	if g.One(60) {
		return 0
	}
	return pick(g.Rand, 1, 2, 2, 3, 3, 4, 5, 5, 7, 8, 9, 16, 17)
}

// shape is a random shape.
func (g *generator) shape() []int {
	s := make([]int, pick(g.Rand, 0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 4))
	if g.sparse && g.One(3) {
		s = nil
	}
	n, most := 1, 600
	if g.large {
		most = maxLarge / 2
	}
	for i := range s {
		s[i] = g.size()
		for n*s[i] > most {
			s[i] = 1 + g.N(4)
		}
		n *= max(1, s[i])
	}
	return s
}

// fill is a random fill for leaves of a type.
func (g *generator) fill() Fill {
	if g.exact {
		return pick(g.Rand, Quarters, Quarters, Small, Signs, Halves, Counted, Small)
	}
	return pick(g.Rand, Smooth, Smooth, Smooth, Positive, Positive, Quarters)
}

// newLeaf adds a leaf of a random type.
func (g *generator) newLeaf(shape []int) int { return g.typedLeaf(pick(g.Rand, g.kinds...), shape) }

func (g *generator) typedLeaf(d dtype.DType, shape []int) int {
	f := g.fill()
	if g.One(40) {
		f = Edges
	}
	return g.leaf(&Leaf{Type: d, Shape: shape, Fill: f})
}

// places is a leaf of indices into n places.
func (g *generator) places(n int, shape ...int) int {
	f := Places
	if g.risky && g.One(3) {
		f = Astray
	}
	v := g.leaf(&Leaf{Type: pick(g.Rand, dtype.I32, dtype.I32, dtype.I64), Shape: shape, Fill: f, Top: n})
	g.info[v].index = true
	return v
}

func (g *generator) leaf(l *Leaf) int {
	l.Seed = g.Uint64() >> 32
	g.prog.Ops = append(g.prog.Ops, Op{Name: leafOp, Leaf: l})
	v := len(g.prog.Ops) - 1
	g.state.leaf(l, 0, true)
	g.info = append(g.info, info{})
	g.learn(v)
	g.info[v].leaf = true
	g.info[v].reach = map[int]bool{v: true}
	return v
}

// choose is an operand: most often a late one, so that ops stand one upon the other, often one that is used already.
func (g *generator) choose() int {
	for {
		n := len(g.prog.Ops)
		v := 0
		switch g.N(8) {
		case 0, 1, 2, 3:
			v = n - 1
		case 4, 5:
			v = n - 1 - g.N(min(n, 4))
		default:
			v = g.N(n)
		}
		for v >= 0 && !g.usable(v) {
			v--
		}
		if v >= 0 {
			return v
		}
		g.newLeaf(g.shape())
	}
}

func (g *generator) usable(v int) bool {
	i := &g.info[v]
	return !i.dead && !i.none && (!i.index || g.One(6)) && (len(i.faults) == 0 || g.One(3))
}
