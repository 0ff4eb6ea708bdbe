package schedule

import (
	"slices"

	"github.com/weft-ml/weft/uop"
)

// Check is told of a graph before it is scheduled, and what it gives is told of every phase.
type Check func(g *Graph) func(s Stage) error

// Checked is New, but every phase is shown to a check, whose error ends the schedule (tests: schedule/evaluate); nil: to none.
func Checked(g *Graph, c Config, check Check) (*Result, error) {
	var see func(s Stage) error
	if check != nil {
		see = check(g)
	}
	s, err := begin(g, c, check)
	if err != nil {
		return nil, err
	}
	for p := Chunk; p < numPhases; p++ {
		s.run(p)
		if see == nil {
			continue
		}
		if err := see(Stage{s, p}); err != nil {
			return nil, err
		}
	}
	return s.result(), nil
}

var phaseNames = [numPhases]string{"chunk", "stream", "chunk the rest", "merge", "windows", "split", "decide", "arrange", "lower", "group", "order", "nest", "crop", "cut", "number", "lookup", "constants"}

// String names the phase.
func (p Phase) String() string { return phaseNames[p] }

// Stage is a schedule in the making, after a phase.
type Stage struct {
	s     *scheduler
	Phase Phase
}

// Form is what a phase leaves.
type Form struct {
	Phase Phase
	Roots []*uop.UOp // their values as the graph is now
	// From lower on; before, Bufs is nil.
	Bufs    []Held
	Steps   []Step // kernels, then copies
	RootBuf []int  // of each root
	Ordered bool   // the steps may run one after the other, on the buffers that there are

	Constants [][]uop.Value // see Result
}

// Held is a buffer and what it holds until an assignment replaces it.
type Held struct {
	Buf
	Node  *uop.UOp // of the graph
	Order []int    // the node's axes as they lie in memory; nil: as they are
}

// Form is the schedule as it is now.
func (g Stage) Form() *Form {
	s := g.s
	f := &Form{Phase: g.Phase, Roots: slices.Clone(s.values), Constants: s.fixed}
	if s.bufs == nil {
		return f
	}
	f.Bufs = make([]Held, len(s.bufs))
	for i, b := range s.bufs {
		f.Bufs[i].Buf = b
		if b.Kind == InputBuf {
			f.Bufs[i].Node = s.t.Param(b.Index, b.N, b.DType)
		}
	}
	for u, b := range s.bufOf {
		if f.Bufs[b].Kind != InputBuf {
			f.Bufs[b].Node, f.Bufs[b].Order = u, s.layout[u]
		}
	}
	for _, k := range s.kernels {
		f.Steps = append(f.Steps, Step{k.spec, k.bufs, k.from, k.made})
	}
	f.Steps = append(f.Steps, s.copies...)
	f.Ordered = g.Phase >= Order
	if f.Ordered {
		f.RootBuf = s.rootBufs()
	}
	return f
}
