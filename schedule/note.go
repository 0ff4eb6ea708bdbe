package schedule

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/rewrite"
	"github.com/weft-ml/weft/uop"
)

// How a kernel's expression came about is a chain of laws about elements: an element of a sum is a sum of elements, an element of what was
// moved is one of what it was moved from. An element is spelled as a load of the node, which no kernel holds: kernels load parameters.

// Laws of lowering that are about more than an op, or about what came of it.
var (
	storedLaw = rewrite.Named("what is stored is loaded")
	zeroLaw   = rewrite.Named("a sum of zeros is zero")
	unitLaw   = rewrite.Named("a range of one value is that value")
)

var (
	elementwiseLaw = rewrite.Named("an element of a function is the function of elements")
	partLaw        = rewrite.Named("an element of a result is that of the element")
	sameLaw        = rewrite.Named("an element of a copy is the element")
	leafLaw        = rewrite.Named("an element of an input is loaded")
)

// lawOf is the law about elements of a node.
func lawOf(u *uop.UOp) *rewrite.Rule {
	switch {
	case u.Op() == uop.Reduce:
		return reduceLaw
	case u.Op() == uop.Scan:
		return scanOfLaw
	case u.Op() == uop.Gather:
		return gatherLaw
	case u.Op() == uop.Part:
		return partLaw
	case u.Op() == uop.Contiguous || u.Op() == uop.Detach:
		return sameLaw
	case u.Op() == uop.Reshape && u.At(0).Op() == uop.Param, len(u.Src()) == 0:
		return leafLaw
	case u.Op().IsMovement():
		return movedLaw
	}
	return elementwiseLaw
}

// CompactLaw leaves parameters out that nothing loads.
var CompactLaw = rewrite.Named("parameters that nothing loads are left out")

// Laws lists the laws that a schedule applies, which no pattern can say.
func Laws() []*rewrite.Rule {
	return []*rewrite.Rule{
		chunkLaw, streamLaw, mergeLaw, splitLaw, productsLaw, scanLaw, sortLaw, lowerLaw, CompactLaw, groupLaw, orderLaw, nestLaw, cropLaw, cutLaw, numberLaw, storedLaw, zeroLaw, oneHotLaw,
		combLaw, unitLaw, movedLaw, elementwiseLaw, reduceLaw, scanOfLaw, gatherLaw, partLaw, sameLaw, leafLaw,
	}
}

// PhaseLaw is what a phase from Lower on does to a kernel, where it does more than laws that are noted.
func PhaseLaw(p Phase) *rewrite.Rule {
	switch p {
	case Group:
		return groupLaw
	case Order:
		return orderLaw
	case Nest:
		return nestLaw
	case Crop:
		return cropLaw
	case Cut:
		return cutLaw
	case Number:
		return numberLaw
	}
	return lowerLaw
}

// element is the element of u at an index, where gate holds. It is nil where nothing is noted.
func (l *lowering) element(u *uop.UOp, idx []*uop.UOp, gate *uop.UOp) *uop.UOp {
	if !l.s.watch {
		return nil
	}
	if gate == nil {
		gate = l.s.t.True()
	}
	return l.s.t.Load(u, gate, idx...)
}

func (l *lowering) noted(law *rewrite.Rule, before, after *uop.UOp) {
	if l.s.watch && !l.outline && before != after {
		l.k.events = append(l.k.events, rewrite.Event{Rule: law, Before: before, After: after})
	}
}

// computed is compute, and notes what it does in one step: it is done once more with elements of operands left as they are.
func (l *lowering) computed(u *uop.UOp, idx []*uop.UOp, gate *uop.UOp) *uop.UOp {
	if !l.s.watch || l.outline {
		return l.compute(u, idx, gate)
	}
	from := l.next
	v := l.compute(u, idx, gate)
	to := l.next
	l.next = from
	l.stepped(u, idx, gate)
	l.next = to
	return v
}

// stepped notes what compute does with a node when elements of operands are left as they are.
func (l *lowering) stepped(u *uop.UOp, idx []*uop.UOp, gate *uop.UOp) {
	outline := l.outline
	l.outline = true
	step := l.compute(u, idx, gate)
	l.outline = outline
	l.noted(lawOf(u), l.element(u, idx, gate), step)
}

// known is an element that says where another one is.
func (l *lowering) known(u *uop.UOp, idx []*uop.UOp, gate *uop.UOp) *uop.UOp {
	outline := l.outline
	l.outline = false
	defer func() { l.outline = outline }()
	return l.simplify(l.value(u, idx, gate).Cast(dtype.Index))
}

// reduced notes what became of a reduction of parts over ranges, and gives it.
func (l *lowering) reduced(law *rewrite.Rule, m uop.Monoid, parts, ranges []*uop.UOp, v *uop.UOp) *uop.UOp {
	if l.s.watch {
		l.noted(law, l.s.t.ReduceRanges(m, parts, ranges), v)
	}
	return v
}

// started notes what a kernel computes before its elements are found: those of the values of its outputs.
func (l *lowering) started(elements ...*uop.UOp) {
	if !l.s.watch {
		return
	}
	l.k.start, l.k.found = copied(l.k.spec), copied(l.k.spec)
	for i, e := range elements {
		l.k.start.Outs[i].Value = e
	}
}

// Derivation is how a kernel came about: of members, which phases then made one.
type Derivation struct {
	Members []Member
	After   [numPhases]*codegen.Spec // from Group on; the last is the schedule's
}

// Spec is what the schedule has.
func (d *Derivation) Spec() *codegen.Spec { return d.After[numPhases-1] }

// Member is a kernel before phases joined it with others.
type Member struct {
	Node   *uop.UOp // of the graph
	Start  *codegen.Spec
	Events []rewrite.Event
	Found  *codegen.Spec // Start with elements and Laws in their place
	Spec   *codegen.Spec // without parameters that are not used
}

// History is how a schedule came about. Nodes are the arena's: Events of phases on graphs, and Laws on expressions, hold wherever their left
// side is met.
type History struct {
	Phases  [Decide]Graphs
	Laws    []rewrite.Event
	Kernels []Derivation // by step of the schedule; copies come after
	Table   *uop.Table
	Full    bool // there were more laws than are kept, and kernels are without members
}

// Graphs are the values of the roots before and after a phase.
type Graphs struct {
	Before, After []*uop.UOp
	Events        []rewrite.Event
}

// Recorded is New, and notes how the schedule came about, up to so many laws.
func Recorded(g *Graph, c Config, most int) (*Result, *History) {
	h := &History{Table: g.Table}
	s, _ := begin(g, c, nil)
	s.watch = true
	stop := rewrite.Also(g.Table, func(e rewrite.Event) {
		if len(h.Laws) < most {
			h.Laws = append(h.Laws, e)
		} else {
			h.Full, s.watch = true, false
		}
	})
	defer stop()
	made := map[*kernel]*Member{}
	first := map[*kernel]*Derivation{}
	for p := Chunk; p < numPhases; p++ {
		before := s.values
		s.run(p)
		if p < Decide {
			h.Phases[p], s.events = Graphs{before, s.values, s.events}, nil
			continue
		}
		for _, k := range s.kernels {
			if p < Lower {
				break
			}
			if p == Lower {
				made[k] = &Member{k.node, k.start, k.events, k.found, copied(k.spec)}
				continue
			}
			d := first[k]
			if d == nil {
				d = &Derivation{}
				first[k] = d
			}
			d.After[p] = copied(k.spec)
		}
	}
	for _, k := range s.kernels {
		if k.loop != nil {
			h.Kernels = append(h.Kernels, k.loop.derived()...)
			continue
		}
		d := first[k]
		for _, m := range append([]*kernel{k}, k.joined...) {
			if of := made[m]; of != nil && of.Start != nil && !h.Full {
				d.Members = append(d.Members, *of)
			}
		}
		h.Kernels = append(h.Kernels, *d)
	}
	return s.result(), h
}

func copied(s *codegen.Spec) *codegen.Spec {
	c := *s
	c.Outs = slices.Clone(s.Outs)
	return &c
}
