// Package schedule turns a graph of tensors into kernels: what is fused, what is stored, in
// which order, and where in memory.
//
// It knows shapes, ranges and costs. It refuses to know how a kernel is written (codegen) and where it runs.
// One direction:
//
//	loops     whose places are apart from each other become scans; of others a step is scheduled
//	chunk     sums over large products are computed for some rows at a time
//	stream    sums weighted by a softmax become one reduction, where the target computes weights in blocks
//	merge     sums of moved sums become one
//	windows   of narrow numbers are laid out, where the target multiplies matrices of these at once
//	split     reductions much larger than their result become two, long scans scans of blocks, sorts counts and moves
//	decide    every node is stored or computed where it is used, with a reason
//	arrange   the order of a temporary's axes in memory
//	lower     (of what is stacked along short axes, piece by piece) ranges are pushed from each stored node down to the loads
//	group     kernels over the same axes become one with several outputs
//	order     by data; reads of a buffer before it is overwritten
//	nest      kernels that one thread does alone become nests of one
//	crop      kernels get the rows of an array that they read, so that those that differ only in where are one
//	cut       nests whose elements are selected by where they stand become one for each part of an axis
//	number    the ranges of each kernel, in order of use
//	lookup    functions of one byte become tables of their values, which plans bring
//	constants of kernels that are alike but for them become elements of arrays, so that these kernels are one
//	memory    lives that do not overlap share the arena
package schedule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/rewrite"
	"github.com/weft-ml/weft/uop"
)

// Graph is what to compute, in canonical form: all nodes in one arena, buffers replaced by Params.
type Graph struct {
	Table  *uop.Table
	Inputs []Input // by slot
	Roots  []Root
	Vars   []*uop.UOp // that nodes speak of, by their numbers in the plan

	// Uniform is how many of the last inputs hold numbers that the whole graph shares, as constants are: an index made of
	// them follows from ranges alone.
	Uniform int
}

// Apart is a copy whose nodes lie in a table of their own: it can be kept without what a schedule made in that of g.
func (g *Graph) Apart() *Graph {
	t := uop.NewArena()
	nodes := slices.Clone(g.Vars)
	for _, r := range g.Roots {
		nodes = append(nodes, r.Value)
	}
	nodes = uop.Substitute(t, nil, nodes...)
	out := &Graph{Table: t, Inputs: g.Inputs, Roots: slices.Clone(g.Roots), Vars: nodes[:len(g.Vars)], Uniform: g.Uniform}
	for i := range out.Roots {
		out.Roots[i].Value = nodes[len(g.Vars)+i]
	}
	return out
}

// Input is a buffer that exists: Param slot i of the graph.
type Input struct {
	DType dtype.DType
	N     int

	Walked bool // it lies in the order in which kernels walk it: what is moved of it is no reason to store it
}

// Root is a value to keep: in a fresh buffer (Dest −1), or in the memory of an input, which it replaces.
type Root struct {
	Value *uop.UOp
	Dest  int
}

// Config are the choices of a schedule.
type Config struct {
	StoreAll    bool   // no fusion: every node that computes is stored (tests compare both)
	MaxBindings int    // buffers that a kernel may read and write; 0: any number
	Align       int    // at which multiples, in bytes, a part of an array may begin that a kernel gets instead of the array
	Language    string // name of the target, for kernels that are text already
	Streams     bool   // the target computes the weights of a sum in blocks, where they are used
	WholeRows   int    // threads that share a matrix of so many bytes read whole rows of it; 0: they share columns
	Large       int    // bytes of which caches keep nothing until it is read, and from which on arrays are computed in chunks; 0: codegen.PastCaches, and some times that
	Nests       codegen.NestLimits
	Matrix      *codegen.MatrixUnit // or nil: the matrices that the target multiplies at once
	Tables      bool                // a thread has room for a number for each of some hundred keys, and reads and writes it fast
	Steps       int                 // of a loop that one kernel should do at most, where launches take long; 0: they take little
	Alike       int                 // kernels that differ in constants only are one, where so many nodes at least need not be compiled then; 0: never
	Lookup      int                 // operations, beyond which a function of one byte is looked up in a table; 0: none is
	Parallel    int                 // invocations that keep the processor busy, for which reductions and scans are cut; 0: as far as threads need it
}

// BufKind says whose a buffer is.
type BufKind uint8

const (
	InputBuf    BufKind = iota // inputs[Index]
	OutputBuf                  // roots[Index]
	TempBuf                    // the plan's own
	ConstantBuf                // Result.Constants[Index]
)

// Buf is an array that kernels read and write.
type Buf struct {
	Kind  BufKind
	Index int
	DType dtype.DType
	N     int
}

// Bytes is the size of the array.
func (b Buf) Bytes() int64 { return int64(b.N) * int64(b.DType.Size()) }

// Step is a kernel on buffers, or (Spec nil) a copy of Bufs[1] to Bufs[0].
type Step struct {
	Spec *codegen.Spec
	Bufs []int         // by Param of the Spec
	From []int         // the element of the buffer that the Param's first is
	Made []*uop.Origin // of the nodes that it computes, where programs say so; operands first
}

// Result is a schedule.
type Result struct {
	Bufs    []Buf
	Steps   []Step
	Roots   []int // the buffer of each root
	Reasons []Reason

	Constants [][]uop.Value // what buffers hold that kernels get constants from
}

// Reason is one decision: which node, what was decided, why.
type Reason struct {
	Node   string
	Stored bool
	Why    string
}

// String prints the schedule, a line a step and a decision.
func (r *Result) String() string {
	var b strings.Builder
	for i, s := range r.Steps {
		if s.Spec == nil {
			fmt.Fprintf(&b, "%3d copy %s <- %s\n", i, r.bufName(s.Bufs[0]), r.bufName(s.Bufs[1]))
			continue
		}
		fmt.Fprintf(&b, "%3d kernel", i)
		for p, buf := range s.Bufs {
			mark := ""
			if s.Spec.Params[p].Write {
				mark = "="
			}
			fmt.Fprintf(&b, " %s%s%v", mark, r.bufName(buf), s.Spec.Params[p].Dims)
			if s.From[p] > 0 {
				fmt.Fprintf(&b, " from %d", s.From[p])
			}
		}
		b.WriteByte('\n')
		if len(s.Made) > 0 {
			fmt.Fprintf(&b, "    of %s\n", MadeString(s.Made))
		}
	}
	for _, d := range r.Reasons {
		verb := "inline"
		if d.Stored {
			verb = "store "
		}
		fmt.Fprintf(&b, "    %s %s: %s\n", verb, d.Node, d.Why)
	}
	return b.String()
}

func (r *Result) bufName(i int) string {
	b := r.Bufs[i]
	kind := [...]string{"in", "out", "tmp", "const"}[b.Kind]
	if b.Kind == TempBuf {
		return fmt.Sprintf("%s%d.%s", kind, i, b.DType.Short())
	}
	return fmt.Sprintf("%s%d.%s", kind, b.Index, b.DType.Short())
}

// New schedules a graph.
func New(g *Graph, c Config) *Result {
	r, _ := Checked(g, c, nil)
	return r
}

// begin has loops scheduled, and the graph around them ready.
func begin(g *Graph, c Config, check Check) (*scheduler, error) {
	s := &scheduler{check: check, graph: g, config: c, t: g.Table, table: newKeys(), stored: map[*uop.UOp]string{}, bufOf: map[*uop.UOp]int{}, origins: map[*uop.UOp]origin{}}
	for _, r := range g.Roots {
		s.values = append(s.values, r.Value)
	}
	if foreignKernels != nil {
		s.values = foreignKernels.begin(s, s.values)
	}
	err := s.loops()
	return s, err
}

// Phase is one step of scheduling. It leaves what the roots are worth as it was.
type Phase uint8

// The phases, in their order; the package's comment says what they do.
const (
	Chunk Phase = iota
	Stream
	Rest
	Merge
	Windows
	Split
	Decide
	Arrange
	Lower
	Group
	Order
	Nest
	Crop
	Cut
	Number
	Lookup
	Constants
	numPhases
)

func (s *scheduler) run(p Phase) {
	switch p {
	case Chunk:
		s.values = s.chunk(s.values, false)
	case Stream:
		s.values = s.stream(s.values)
	case Rest:
		s.values = s.chunk(s.values, true)
	case Merge:
		s.values = s.merge(s.values)
	case Windows:
		s.values = s.windows(s.values)
	case Split:
		s.values = s.split(s.values)
	case Decide:
		s.decide()
	case Arrange:
		s.arrange()
	case Lower:
		s.lower()
	case Group:
		s.group()
	case Order:
		s.order()
	case Nest:
		switch {
		case s.config.StoreAll:
		case s.config.Nests.Most > 1:
			s.nest()
		default:
			s.mergeRows()
		}
	case Crop:
		s.crop()
	case Cut:
		if s.config.Nests.Most > 1 && !s.config.StoreAll {
			s.cut()
		}
	case Number:
		s.number()
	case Lookup:
		s.lookup()
	default:
		s.constants()
	}
}

// scheduler carries one schedule from phase to phase.
type scheduler struct {
	graph  *Graph
	config Config
	t      *uop.Table
	table  *keys

	values    []*uop.UOp            // of the roots, as the graph is rewritten
	chunked   bool                  // some sums are computed in chunks
	masked    map[*uop.UOp]*uop.UOp // see masks
	ranked    map[*uop.UOp]bool     // reductions that are compared with themselves
	origins   map[*uop.UOp]origin   // of index arrays
	blocked   map[*uop.UOp]bool     // computed in blocks inside the sum that they weigh
	selecting map[*uop.UOp]bool     // see selects
	looped    map[*uop.LoopBody]*loop

	check   Check                 // or nil
	roots   []*uop.UOp            // the stored node of each root; nil where it has no elements
	topo    []*uop.UOp            // everything the roots need, operands first
	stored  map[*uop.UOp]string   // nodes with memory of their own, and why
	before  map[*uop.UOp]string   // those of the round before, see decide,
	first   bool                  // of which there is none
	behind  map[*uop.UOp]*uop.UOp // see epilogues
	reasons []Reason
	layout  map[*uop.UOp][]int          // stored nodes whose axes lie in another order
	plans   map[*uop.UOp]*plannedKernel // by stored node

	bufs    []Buf
	fixed   [][]uop.Value    // what those hold that are constants
	bufOf   map[*uop.UOp]int // stored node or Param → buffer
	fresh   map[int]int      // buffer that will replace an input: buffer → input slot
	told    *bool            // somebody said where nodes were made; nil: not looked yet
	kernels []*kernel
	copies  []Step // after all kernels

	watch  bool            // laws that are applied are noted, see Recorded
	events []rewrite.Event // on graphs
}

// kernel is a Spec in the making.
type kernel struct {
	node *uop.UOp // the stored node
	spec *codegen.Spec
	loop *loop // or nil
	bufs []int // by Param
	from []int // by Param: the element at which it begins, after crop
	made []*uop.Origin

	recurs []*uop.Recurrence // that it goes through: known when kernels are joined

	start  *codegen.Spec   // where laws are noted: the kernel before its elements were found,
	found  *codegen.Spec   // with them, and
	events []rewrite.Event // how they were found
	joined []*kernel       // those that became part of it
}

// noted keeps that a law was applied to a graph, where somebody wants to know.
func (s *scheduler) noted(law *rewrite.Rule, before, after *uop.UOp) {
	if s.watch && before != after {
		s.events = append(s.events, rewrite.Event{Rule: law, Before: before, After: after})
	}
}

// rebuilt gives roots with every node of order, operands first, in the place of what it was: f is told of a node and of the same of rebuilt
// operands, which it gives, or something else. became says what became of a node before.
func (s *scheduler) rebuilt(order, roots []*uop.UOp, f func(u, v *uop.UOp, became func(*uop.UOp) *uop.UOp) *uop.UOp) []*uop.UOp {
	done := make(map[*uop.UOp]*uop.UOp, len(order))
	became := func(u *uop.UOp) *uop.UOp { return done[u] }
	for _, u := range order {
		done[u] = f(u, u.WithSrc(s.t, became), became)
	}
	out := make([]*uop.UOp, len(roots))
	for i, r := range roots {
		out[i] = done[r]
	}
	return out
}

// prepare finds the node to store for each root.
func (s *scheduler) prepare() {
	s.roots = make([]*uop.UOp, len(s.values))
	seen := map[*uop.UOp]bool{}
	for i, v := range s.values {
		for v.Op() == uop.Reshape {
			v = v.At(0)
		}
		if v.Op() == uop.Param {
			v = v.Contiguous()
		}
		s.roots[i] = v
		if !seen[v] {
			seen[v] = true
			s.stored[v] = "output"
		}
	}
	s.topo = uop.Topo(s.roots...)
	for _, u := range s.topo {
		switch u.Op() {
		case uop.Foreign:
			foreignKernels.keep(s, u)
		case uop.Loop:
			s.keepWith(u, "a result of a loop", "a loop reads it")
		case uop.Copy:
			panic("BUG: a copy between devices reached the scheduler")
		case uop.After, uop.Store, uop.Buffer:
			panic("BUG: an effect reached the scheduler")
		}
	}
}

// result assembles the schedule after order, with the buffers that are in use: the inputs, the roots' and the temporaries
// that a step touches.
func (s *scheduler) result() *Result {
	r := &Result{Reasons: s.reasons, Constants: s.fixed}
	var steps []Step
	for _, k := range s.kernels {
		steps = append(steps, s.steps(k)...)
	}
	steps = append(steps, s.copies...)
	used := make([]bool, len(s.bufs))
	for _, st := range steps {
		for _, b := range st.Bufs {
			used[b] = true
		}
	}
	number := make([]int, len(s.bufs))
	for i, b := range s.bufs {
		if used[i] || b.Kind != TempBuf {
			number[i] = len(r.Bufs)
			r.Bufs = append(r.Bufs, b)
		}
	}
	for _, st := range steps {
		bufs := make([]int, len(st.Bufs))
		for i, b := range st.Bufs {
			bufs[i] = number[b]
		}
		r.Steps = append(r.Steps, Step{st.Spec, bufs, st.From, st.Made})
	}
	for _, b := range s.rootBufs() {
		r.Roots = append(r.Roots, number[b])
	}
	return r
}

// rootBufs are the buffers of the roots.
func (s *scheduler) rootBufs() []int {
	inputs, outputs := map[int]int{}, map[int]int{} // by Index, of which each kind has its own
	for b := len(s.bufs) - 1; b >= 0; b-- {         // the first of equal ones stays
		switch buf := s.bufs[b]; buf.Kind {
		case InputBuf:
			inputs[buf.Index] = b
		case OutputBuf:
			outputs[buf.Index] = b
		}
	}
	out := make([]int, len(s.graph.Roots))
	for i, root := range s.graph.Roots {
		b, ok := outputs[i]
		if root.Dest >= 0 {
			b, ok = inputs[root.Dest]
		}
		if !ok {
			panic("BUG: root without buffer")
		}
		out[i] = b
	}
	return out
}
