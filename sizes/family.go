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
	ownSmall   = 16 // those of graphs that are a few kernels
	fewKernels = 4
	ownShare   = 8   // a size that is one in so many runs, or more, has a plan of its own later,
	mostGraphs = 16  // graphs that are kept,
	mostSizes  = 512 // and counts
	spareRoom  = 4   // how many times as many elements as there are an axis has room for at most,
	spareDear  = 2   // and one that is dear
)

// Instance finds the graph that a case is to be computed by, or makes it; nil: the case is to have a plan of its own. The key tells its sizes apart from
// others.
func (f *Family) Instance(key string, c Case) *Instance {
	if f.runs == nil || len(f.runs) >= mostSizes {
		f.runs, f.all = map[string]int{}, 0
	}
	if f.runs[key] == 0 {
		f.sizes++
		f.last = append(f.last[max(0, len(f.last)-ownPlans):], c)
	}
	if again := f.Again(key); again || f.sizes <= ownPlans || !f.Early && f.sizes <= ownSmall && workOf(c.Roots).kernels <= fewKernels {
		return nil
	}
	for _, g := range f.graphs {
		if x := g.instance(c); x != nil {
			return f.worth(x, c)
		}
	}
	// What the last three agree on is likely to hold for the next. Two of them may be alike where the first of a program is another one: a prompt,
	// and then a token at a time.
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
	room := 1.0
	for i, v := range x.Vars {
		room *= float64(v.Hi) / float64(max(1, x.N[i]))
	}
	w := workOf(c.Roots)
	if f.Compiling > 0 && !f.Early && (room-1)*float64(w.terms) > float64(w.kernels*f.Compiling) {
		return nil
	}
	return x
}

// work is about what a graph takes.
type work struct {
	kernels int // one for each reduction and its like, and more than a few for a loop
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
		case uop.Scan, uop.ArgSort, uop.Scatter, uop.Contiguous:
			w.kernels++
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
		f.graphs = nil
	}
	f.graphs = append(f.graphs, g)
	slices.SortStableFunc(f.graphs, func(a, b *Graph) int { return cmp.Compare(a.Vars[0].Hi, b.Vars[0].Hi) })
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

// instance is a case of a graph that has not far too much room for it; nil: it is none.
func (g *Graph) instance(c Case) *Instance {
	n, numbers, ok := g.Of(c)
	if !ok {
		return nil
	}
	for i, v := range g.Vars {
		most := spareRoom * n[i]
		if g.dear(i) {
			most = spareDear * n[i]
		}
		if v.Hi > g.least[i] && v.Hi > most {
			return nil
		}
	}
	return &Instance{g, n, numbers}
}
