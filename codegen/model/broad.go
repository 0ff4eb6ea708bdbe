package model

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/uop"
)

// Where a machine repeats a number in all lanes only slowly (Target.Broad), operands that all lanes share are staged,
// and the staged copy may hold each element repeated. That pays where several blocks of lanes use the copy.

// repeated is how much larger a staged copy of an operand becomes.
func (p *arranger) repeated(l *access) int {
	if !p.Target.Broad || p.t.along || p.depends(l, p.t.v) {
		return 1
	}
	return max(1, p.Target.VectorLen(l.value().DType()))
}

// windowed says that lanes share an operand of which neighbouring results use overlapping parts: a box of it is
// smaller than what is read.
func (p *arranger) windowed(l *access) bool {
	return p.repeated(l) > 1 && slices.ContainsFunc(l.u.Src()[2:], func(x *uop.UOp) bool { return len(p.Facts.Form(x).Terms) > 1 })
}

// Blocks of lanes that use a copy.
const fewBlocks, manyBlocks = 4, 16

// broaden changes directives that tile one reduction with packed operands: the loop over blocks of lanes is split, its
// inner part moves inside the loops of the instances, and between them the operands that lanes share are
// staged.
func (p *arranger) broaden(directives []codegen.Directive) []codegen.Directive {
	t := p.t
	if !p.Target.Broad || t.along || len(p.reds) != 1 || len(p.boxes) > 0 || len(p.packs) == 0 {
		return directives
	}
	outer := p.ByRange[t.v].Name + ".0"
	order, at := -1, -1
	for i, m := range directives {
		switch {
		case m.Verb == codegen.Carry, m.Verb == codegen.Fuse, m.Verb == codegen.Finite, m.Verb == codegen.Stage && m.At != outer:
			return directives
		case m.Verb == codegen.Order:
			order, at = i, slices.Index(m.Axes, outer)
		}
	}
	if at < 0 || len(p.inner) == 0 {
		return directives
	}
	blocks := codegen.CeilDiv(codegen.Extent(t.v), t.lanes*t.u)
	n := 0
	for b := fewBlocks; b <= manyBlocks; b++ {
		if blocks%b == 0 && b*p.packsBytes() <= p.Target.L2 {
			n = b
		}
	}
	if n == 0 {
		return directives
	}
	out := p.splitLanes(directives, outer, order, at, n)
	axes := out[slices.IndexFunc(out, func(m codegen.Directive) bool { return m.Verb == codegen.Order })].Axes
	place := axes[slices.Index(axes, outer+".1")-1]
	for _, l := range t.r.loads {
		if p.depends(l, t.v) || !l.plain || l.gated {
			continue
		}
		m := codegen.Directive{Verb: codegen.Stage, Name: l.staged(), At: place, Axes: p.panel(l, nil, 0), Tile: p.inner[len(p.inner)-1]}
		if p.repeated(l)*p.packBytes(l, p.serial) > p.Target.L2/2 || !slices.Contains(m.Axes, m.Tile) {
			return directives
		}
		out = append(out, m)
	}
	if !p.legal(out) {
		return directives
	}
	return out
}

// packsBytes is the size of all packed operands for one block of lanes.
func (p *arranger) packsBytes() (bytes int) {
	for _, l := range p.packs {
		bytes += p.packBytes(l, []loop{{r: p.t.v, block: p.t.lanes * p.t.u}})
	}
	return bytes
}

// splitLanes splits the loop over blocks of lanes into groups of n, and moves its inner part behind the other loops.
func (p *arranger) splitLanes(directives []codegen.Directive, outer string, order, at, n int) []codegen.Directive {
	var out []codegen.Directive
	for i, m := range directives {
		switch {
		case i == order:
			out = append(out, codegen.Directive{Verb: codegen.Split, Name: outer, N: n, Tail: codegen.Exact})
			axes := slices.Clone(m.Axes)
			axes[at] = outer + ".0"
			m.Axes = slices.Insert(axes, len(axes)-len(p.inner)-1, outer+".1")
		case m.Verb == codegen.Threads && m.Name == outer:
			continue // behind the split, which follows
		case m.Verb == codegen.Stage:
			m.At = outer + ".0"
			m.Axes = append([]string{outer + ".1"}, m.Axes...)
		}
		out = append(out, m)
		if i == order && slices.ContainsFunc(directives, func(m codegen.Directive) bool { return m.Verb == codegen.Threads && m.Name == outer }) {
			out = append(out, codegen.Directive{Verb: codegen.Threads, Name: outer + ".0"})
		}
	}
	return out
}
