package sizes

import (
	"cmp"
	"slices"

	"github.com/weft-ml/weft/uop"
)

// Family are the cases of a program that are alike but for their sizes, as far as it has met them. It decides which of them have plans of their own: the
// first ones, because most programs have one or two sizes, and those that come again and again, because a plan for one size may be the faster one.
type Family struct {
	Compiling int  // multiply-adds in the time that it takes to compile a kernel, about; 0: unknown
	Early     bool // (tests) cases of few kernels have no more plans of their own than others, and mistakes are not caught

	graphs []*Graph       // the least room first
	last   []Case         // of other sizes each, the newest last
	sizes  int            // how many cases of other sizes it has met
	runs   map[string]int // how often, by sizes
	all    int            // of runs
	own    map[string]bool
}

// Instance is a case of a graph.
type Instance struct {
	*Graph
	N       Values        // of the variables
	Numbers [][]uop.Value // by type, see Types
}

const (
	ownPlans   = 2  // cases that have plans of their own,
	ownNew     = 5  // those of a few kernels,
	ownSmall   = 16 // and of so many of a few kernels those
	oftenSmall = 3  // that come so often
	fewKernels = 4
	lastCases  = 6       // cases that are compared
	ownShare   = 8       // a size that is one in so many runs, or more, has a plan of its own later,
	mostGraphs = 16      // graphs that are kept,
	mostSizes  = 512     // and counts
	spareRoom  = 4       // how many times as many elements as there are an axis has room for at most,
	spareDear  = 2       // and one that is dear,
	cheapRoom  = 1 << 18 // but where no more elements are computed, however few count: to compile takes longer
)

// Instance finds the graph that a case is to be computed by, or makes it; nil: the case is to have a plan of its own. The key tells its sizes apart from
// others.
func (f *Family) Instance(key string, c Case) *Instance {
	if f.runs == nil || len(f.runs) >= mostSizes {
		f.runs, f.all = map[string]int{}, 0
	}
	anew := f.runs[key] == 0
	if anew {
		f.sizes++
		f.met(c)
	}
	if f.Again(key) || f.sizes <= ownPlans || !f.Early && f.few(key) && workOf(c.Roots).kernels <= fewKernels {
		return nil
	}
	for _, g := range f.graphs {
		if x := g.instance(c); x != nil {
			g.used = f.all
			return f.worth(x, c)
		}
	}
	if !anew { // its graph is not kept any more
		f.met(c)
	}
	// What the last cases agree on is likely to hold for the next, the more so the more they are. Only the last two may be alike, where the first of a
	// program is another one: a prompt, and then a token at a time.
	for from := range len(f.last) - 1 {
		g := f.between(f.last[from:])
		if g == nil {
			continue
		}
		if x := g.instance(c); x != nil {
			f.keep(g)
			return f.worth(x, c)
		}
	}
	return nil
}

// met keeps a case, and as many before it.
func (f *Family) met(c Case) { f.last = append(f.last[max(0, len(f.last)-lastCases+1):], c) }

// few says that a case is one of a few, or of some that come again and again.
func (f *Family) few(key string) bool {
	return f.sizes <= ownNew || f.sizes <= ownSmall && f.runs[key] >= oftenSmall
}

// between is Between, and nil where a rule has a mistake: the cases have plans of their own, and no program ends. Tests want to know of it.
func (f *Family) between(cases []Case) (g *Graph) {
	if !f.Early {
		defer func() {
			if recover() != nil {
				g = nil
			}
		}()
	}
	return Between(cases...)
}

// worth is an instance, or nil where to compute what there is room for takes longer than to compile a plan without.
func (f *Family) worth(x *Instance, c Case) *Instance {
	if f.Compiling > 0 && !f.Early {
		if w := workOf(c.Roots); x.most().terms-w.terms > w.kernels*f.Compiling {
			return nil
		}
	}
	return x
}

// work is about what a graph takes.
type work struct {
	kernels int // one for each reduction and its like, a few for an order, and more for a loop
	terms   int // of sums
	shared  int // elements of arrays
}

func workOf(roots []*uop.UOp) (w work) {
	bodies := map[*uop.LoopBody]bool{}
	for _, u := range uop.Topo(roots...) {
		switch u.Op() {
		case uop.Reduce:
			w.kernels++
			w.terms += u.At(0).Shape().Numel()
		case uop.Scan, uop.Scatter, uop.Contiguous:
			w.kernels++
		case uop.ArgSort: // by a digit at a time
			w.kernels += fewKernels
		case uop.Loop:
			if a := u.Arg().(uop.LoopArg); !bodies[a.LoopBody] {
				bodies[a.LoopBody] = true
				step := workOf(a.Pure)
				w.kernels += fewKernels + step.kernels
				w.terms += a.Steps * step.terms
			}
		case uop.Buffer, uop.Param:
			w.shared += u.Shape().Numel()
		}
	}
	w.kernels = max(w.kernels, 1)
	return w
}

func (f *Family) keep(g *Graph) {
	if len(f.graphs) == mostGraphs {
		oldest := slices.MinFunc(f.graphs, func(a, b *Graph) int { return cmp.Compare(a.used, b.used) })
		f.graphs = slices.DeleteFunc(f.graphs, func(x *Graph) bool { return x == oldest })
	}
	g.used = f.all
	f.graphs = append(f.graphs, g)
	slices.SortStableFunc(f.graphs, func(a, b *Graph) int { return cmp.Compare(a.all(), b.all()) })
}

// Again counts a use of these sizes, and says that there were so many that they are to have a plan of their own: more than there are other sizes, and a good
// part of all. Where many sizes come in turns none is worth compiling for.
func (f *Family) Again(key string) bool {
	f.runs[key]++
	f.all++
	if f.runs[key] > f.sizes && ownShare*f.runs[key] > f.all {
		if f.own == nil {
			f.own = map[string]bool{}
		}
		f.own[key] = true
	}
	return f.own[key]
}

// all is how many combinations of elements there is room for.
func (g *Graph) all() float64 {
	n := 1.0
	for _, v := range g.Vars {
		n *= float64(v.Hi)
	}
	return n
}

// most is what the graph takes with all that there is room for.
func (g *Graph) most() work {
	if g.work == nil {
		w := workOf(g.Roots)
		g.work = &w
	}
	return *g.work
}

// elements are how many are computed if sizes are what is said of their forms.
func (g *Graph) elements(size func(f form) int) (sum int) {
	g.each(func(p *pair) {
		if p.leaf || p.row || p.input > 0 || p.first().Op().IsMovement() {
			return
		}
		n := 1
		for _, factors := range p.size {
			for _, f := range factors {
				n *= size(f)
			}
		}
		sum += n
	})
	return sum
}

// instance is a case of a graph that has not far too much room for it, in each variable or in all; nil: it is none.
func (g *Graph) instance(c Case) *Instance {
	n, numbers, ok := g.Of(c)
	if !ok {
		return nil
	}
	far, spare := false, spareRoom
	for i, v := range g.Vars {
		own := spareRoom
		if g.dear(i) {
			own, spare = spareDear, spareDear
		}
		far = far || v.Hi > g.least[i] && v.Hi > own*n[i]
	}
	if all := g.elements(g.room); far && all > cheapRoom && all > spare*g.elements(func(f form) int { return f.at(n) }) {
		return nil
	}
	return &Instance{g, n, numbers}
}
