package model

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/nest"
	"github.com/weft-ml/weft/uop"
)

// What other lists of directives depend on (package tune), in words that know neither the kind of kernel nor the kind of target: which axes
// there are and what they are for, how far apart neighbours along them lie in each array, and how often what is read is used.
type (
	// NestFacts are those of one nest of outputs.
	NestFacts struct {
		Axes  []AxisFacts // of the outputs, outermost first
		Sums  []SumFacts
		Reads []ReadFacts
		// Once is set where every element must be computed exactly once: outputs are read as well, or merged.
		Once   bool
		Narrow bool // elements of an output share a word of memory
		Lanes  int  // elements of the nest's types that a machine vector holds; 0: vectors have any length
	}
	// AxisFacts are those of a range.
	AxisFacts struct {
		Name string
		N    int
		// Own is set where each iteration writes elements of its own, in any order: threads, lanes and registers may share it.
		Own bool
	}
	// SumFacts are those of a reduction.
	SumFacts struct {
		Axes    []AxisFacts
		Updates int   // of all its results together
		Reads   []int // of NestFacts.Reads
	}
	// ReadFacts are those of a load.
	ReadFacts struct {
		Name    string
		Count   int            // how many times it happens where nothing is computed twice
		Strides map[string]int // how many elements apart neighbours lie along the axes that it depends on; 0: that differs from place to place
	}
)

// Facts describes the nests of a kernel, with axes and loads named as directives name them.
func Facts(spec *codegen.Spec, target *codegen.Target) (out []NestFacts) {
	k := nest.New(spec, target)
	for _, g := range k.Groups {
		out = append(out, viewOf(k, g).described())
	}
	return out
}

func (c *view) described() NestFacts {
	f := NestFacts{Once: c.fixed, Narrow: slices.ContainsFunc(c.outs, func(a *access) bool { return a.bytes < 4 })}
	if !c.anyLength() {
		f.Lanes = c.width()
	}
	axis := func(r *uop.UOp, own bool) AxisFacts { return AxisFacts{c.name(r), codegen.Extent(r), own} }
	for _, a := range c.g.Axes {
		f.Axes = append(f.Axes, axis(a.Range, c.mayVector(a.Range)))
	}
	for _, r := range c.reds {
		s := SumFacts{Updates: r.work}
		for _, x := range r.ranges {
			s.Axes = append(s.Axes, axis(x, false))
		}
		for _, l := range r.loads {
			s.Reads = append(s.Reads, slices.Index(c.loads, l))
		}
		f.Sums = append(f.Sums, s)
	}
	for _, l := range c.loads {
		strides := map[string]int{}
		for _, x := range c.Axes {
			if c.depends(l, x.Range) {
				strides[x.Name], _ = c.stride(l, x.Range)
			}
		}
		f.Reads = append(f.Reads, ReadFacts{l.name, c.count(l.free), strides})
	}
	return f
}
