package model

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/codegen/nest"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Which steps of a sum of products go together in words, and where the sums of factors are kept.

// leastSteps make words worth their while.
const leastSteps = 8

// dottable is the range along which a reduction's steps go in words, or nil, and what becomes of the sum.
func (c *tiler) dottable(t *tiling) (steps *uop.UOp, d *nest.Dotted) {
	if c.Target.Has(uop.Dot4, dtype.I32) {
		d = c.Dotted(t.r.u, 4)
	}
	if d == nil && c.Target.Has(uop.Dot2, dtype.I32) {
		d = c.Dotted(t.r.u, 2)
	}
	if d == nil {
		return nil, nil
	}
	var best *uop.UOp
	waste := 0.0
	for _, x := range t.r.ranges {
		n := codegen.Extent(x)
		w := float64(codegen.CeilDiv(n, d.N)*d.N) / float64(n)
		if n < leastSteps && n != d.N || c.Owners(x) != 1 || !c.wordsAlong(t, d, x) {
			continue
		}
		if best == nil || w < waste || w == waste && n > codegen.Extent(best) {
			best, waste = x, w
		}
	}
	return best, d
}

// wordsAlong says that words of steps along x can be made of both factors: as they are staged, or as they lie in memory.
func (c *tiler) wordsAlong(t *tiling, d *nest.Dotted, x *uop.UOp) bool {
	for _, l := range t.r.loads {
		if d.Factors[0].Load() != l.u && d.Factors[1].Load() != l.u {
			continue
		}
		s, ok := c.stride(l, x)
		if l.wide == nil || !ok || t.along && (x != t.v || s != 1 || codegen.Extent(x)%d.N != 0) || l.gated && (t.along || !c.boxable(l)) {
			return false
		}
		if len(t.r.ranges) > 1 && !c.ownIndex(t.r, l, x, d.N) {
			return false
		}
	}
	return true
}

// ownIndex says that no other range of a reduction is in the index of a load in which x is but by whole words of n steps, so that a box has words along x.
func (c *tiler) ownIndex(r *reduction, l *access, x *uop.UOp, n int) bool {
	for _, i := range l.u.Src()[2:] {
		a := c.Facts.Form(i)
		if a.Coeff(x) != 0 && slices.ContainsFunc(a.Terms, func(t affine.Term) bool {
			return t.Node != x && slices.Contains(r.ranges, t.Node) && (codegen.Extent(x) != n || t.Coef%n != 0)
		}) {
			return false
		}
	}
	return true
}

// ofWords says that an operand lies as words of a sum's steps, one for each lane behind the other.
func (c *tiler) ofWords(t *tiling, l *access) bool {
	n := 4 / l.bytes
	if s, ok := c.stride(l, t.v); !ok || s != n || n < 2 || t.along || l.wide == nil || l.gated || !c.Target.WordLoads || !c.Target.Has(dotOf[n], dtype.I32) {
		return false
	}
	return slices.ContainsFunc(t.r.ranges, func(x *uop.UOp) bool { return codegen.Extent(x) == n && c.dense(l, x) })
}

// dotOf are the operations that multiply words of so many numbers.
var dotOf = map[int]uop.Op{2: uop.Dot2, 4: uop.Dot4}

// steps is how many iterations a range has once its steps are words.
func (p *arranger) steps(r *uop.UOp) int {
	if r == p.words {
		return codegen.CeilDiv(codegen.Extent(r), p.dots.N)
	}
	return codegen.Extent(r)
}

// summed are the factors whose sums are needed.
func (p *arranger) summed() (out []*access) {
	if p.words == nil {
		return nil
	}
	for _, l := range p.t.r.loads {
		for i, f := range p.dots.Factors {
			if f.Load() == l.u && p.dots.SumOf(i) {
				out = append(out, l)
			}
		}
	}
	return out
}

// sumDirectives stages sums of factors where nothing is summed up twice; lanes go along the results, or along the steps.
func (p *arranger) sumDirectives(order []loop, stages map[*access]int, carried []loop, at func(level int) string) {
	for _, l := range p.summed() {
		level := p.packLevel(l, order)
		if slices.Contains(p.packs, l) {
			level = min(level, stages[l])
		}
		for i, o := range order {
			if isIn(carried, o) {
				level = min(level, i)
			}
		}
		m := codegen.Directive{Verb: codegen.Stage, Name: l.name + nest.SumSuffix, At: at(level)}
		for _, name := range p.panel(l, order, level) {
			if !slices.ContainsFunc(p.t.r.ranges, func(x *uop.UOp) bool { return name == p.name(x) || name == p.name(x)+".0" || name == p.name(x)+".1" }) {
				m.Axes = append(m.Axes, name)
			}
		}
		if p.dense(l, p.t.v) {
			m.Vector = p.lane
		} else {
			p.sumFactor(&p.out, p.t.r, l)
		}
		if len(m.Axes) > 0 {
			p.out = append(p.out, m)
		}
	}
}

// sumFactor sums a factor up in lanes along the steps, if it lies densely along them.
func (c *tiler) sumFactor(out *[]codegen.Directive, r *reduction, l *access) {
	last := r.ranges[len(r.ranges)-1]
	if !c.dense(l, last) || l.gated {
		return
	}
	n := 1 // of the innermost axis of the sum, which is one for all ranges along which the factor lies densely
	joined := 0
	for i, x := range slices.Backward(r.ranges) {
		if s, ok := c.stride(l, x); !ok || s != n {
			joined = i + 1
			break
		}
		n *= codegen.Extent(x)
	}
	name := l.name + nest.SumSuffix + "." + nest.Letters(joined)
	if n >= c.width() {
		sumInLanes(out, name, n, min(4*c.width(), codegen.Pow2(n)))
	}
}
