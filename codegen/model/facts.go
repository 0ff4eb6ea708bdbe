package model

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/codegen/nest"
	"github.com/weft-ml/weft/uop"
)

// What a choice of directives depends on, in words that know neither the kind of kernel nor the kind of target: which axes there
// are and what they are for, how far apart neighbours along them lie in each array, and how often what is read is used.
type (
	// NestFacts are those of one nest of outputs.
	NestFacts struct {
		Axes   []AxisFacts // of the outputs, outermost first
		Sums   []SumFacts
		Reads  []AccessFacts
		Writes []AccessFacts
		// Once is set where every element must be computed exactly once: outputs are read as well, or merged.
		Once   bool
		Finite []string // loads that are described with less than their gate: directives of that name, in this order, make it so
		Lanes  int      // elements of the nest's types that a machine vector holds; 0: vectors have any length
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
		Name    string
		Axes    []AxisFacts
		Over    []string // axes of the outputs that it depends on
		Updates int      // of all its results together
		Reads   []int    // of NestFacts.Reads
	}
	// AccessFacts are those of a load or a store.
	AccessFacts struct {
		Name    string // of a load
		Bytes   int    // of an element
		Count   int    // how many times it happens where nothing is computed twice
		Gated   bool   // it does not happen everywhere
		Plain   bool   // strides say all about where it is
		Strides map[string]int
		Along   map[string]bool // axes that it depends on; those without a stride have no steady one
	}
)

// Stride is how many elements apart neighbours along an axis lie: 0 where it does not depend on it. ok is false where that
// differs from place to place.
func (a *AccessFacts) Stride(axis string) (n int, ok bool) {
	n, ok = a.Strides[axis]
	return n, ok || !a.Along[axis]
}

// Facts describes the nests of a kernel, with axes and loads named as directives name them.
func Facts(spec *codegen.Spec, target *codegen.Target) []NestFacts {
	k := nest.New(spec, target)
	var out []NestFacts
	for _, g := range k.Groups {
		out = append(out, viewOf(k, g).described())
	}
	return out
}

func (c *view) described() NestFacts {
	f := NestFacts{Once: c.fixed}
	if !c.anyLength() {
		f.Lanes = c.width()
	}
	for _, l := range c.Finite {
		f.Finite = append(f.Finite, l.Name)
	}
	for _, a := range c.g.Axes {
		f.Axes = append(f.Axes, AxisFacts{a.Name, codegen.Extent(a.Range), c.mayVector(a.Range)})
	}
	for _, r := range c.reds {
		s := SumFacts{Name: r.name, Updates: r.work}
		for _, x := range r.ranges {
			s.Axes = append(s.Axes, AxisFacts{Name: c.name(x), N: codegen.Extent(x)})
		}
		c.axesOf(r, func(a *uop.UOp) { s.Over = append(s.Over, c.name(a)) })
		for _, l := range r.loads {
			s.Reads = append(s.Reads, slices.Index(c.loads, l))
		}
		f.Sums = append(f.Sums, s)
	}
	for _, l := range c.loads {
		f.Reads = append(f.Reads, c.accessFacts(l, l.free))
	}
	for i, a := range c.outs {
		f.Writes = append(f.Writes, c.accessFacts(a, c.Facts.Set(c.Kernel.Outs[c.g.Outs[i]].Axes...)))
	}
	return f
}

func (c *view) accessFacts(a *access, free affine.RangeSet) AccessFacts {
	f := AccessFacts{Name: a.name, Bytes: a.bytes, Count: c.count(free), Gated: a.gated, Plain: a.plain,
		Strides: map[string]int{}, Along: map[string]bool{}}
	for _, x := range c.Axes {
		if !c.depends(a, x.Range) {
			continue
		}
		f.Along[x.Name] = true
		if n, ok := c.stride(a, x.Range); ok {
			f.Strides[x.Name] = n
		}
	}
	return f
}
