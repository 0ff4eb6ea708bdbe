package model

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
)

// fewPasses is from how many passes over the lanes' operand on it is worth having in the first cache.
const fewPasses = 4

// waiting is from which part of its arithmetic on that lines take time.
const waiting = 0.6

// lineTime is what a step's lines of an operand take from the second cache, in parts of the time of its multiply-adds.
func (p *arranger) lineTime(l *access) float64 {
	vectors, all := p.t.u*p.t.held(p.along(l)), p.t.u*p.t.held(every)
	return p.Target.LineCycles * float64(vectors*p.t.lanes*l.bytes) / 64 / (float64(all) / 2)
}

// cached divides the steps of a reduction so that what a block of lanes reads of its operand in one part of them stays in a cache for all
// blocks of results that use it: in the first one where lines come slowly from the second, else in the second. Results are carried from
// part to part.
func (p *arranger) cached(order []loop) (out, carried []loop) {
	if p.fixed || p.words != nil || len(p.reds) != 1 || len(p.Groups) != 1 || len(p.shares) > 0 {
		return order, nil
	}
	x := p.t.r.ranges[0]
	var lanes *access
	for _, l := range p.t.r.loads {
		if p.depends(l, p.t.v) {
			if lanes != nil || !l.plain || !p.depends(l, x) {
				return order, nil
			}
			lanes = l
		}
	}
	if lanes == nil {
		return order, nil
	}
	level := p.packLevel(lanes, order)
	passes := 1
	for _, o := range order[level:] {
		passes *= o.n
	}
	bytes, most := p.packBytes(lanes, order), 0
	switch {
	case p.Target.LineCycles > 0 && passes >= fewPasses && bytes > p.Target.L1 && p.lineTime(lanes) >= waiting:
		most = p.Target.L1 / 2
	case passes > 1 && bytes > p.Target.L2/2 && !slices.Contains(p.packs, lanes):
		most = p.Target.L2 / 4
	default:
		return order, nil
	}
	n := codegen.Extent(x) / max(1, codegen.CeilDiv(bytes, most))
	if n < 8 {
		return order, nil
	}
	tail := codegen.Guard
	if d := divisor(codegen.Extent(x), n); 2*d >= n {
		n, tail = d, codegen.Exact
	}
	part, _ := p.cutLoop(loop{p.name(x), codegen.Extent(x), x, 1, nil}, n, tail)
	return slices.Insert(slices.Clone(order), level, part), []loop{part}
}

// divisor is the greatest divisor of n up to most.
func divisor(n, most int) int {
	d := min(n, most)
	for n%d > 0 {
		d--
	}
	return d
}
