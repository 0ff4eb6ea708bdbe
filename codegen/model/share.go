package model

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
)

// share puts an outer loop on threads, fused with the next one while that does not stage much more often.
func (p *arranger) share(order []loop, stages map[*access]int, carried []loop) []loop {
	i := slices.IndexFunc(order, func(l loop) bool { return !isIn(carried, l) })
	if i < 0 {
		return order
	}
	enough := 16
	if i > 0 {
		enough = 8
	}
	for order[i].n < enough && i+1 < len(order) && !isIn(carried, order[i+1]) && p.mayFuse(order, stages, i) {
		next, inside := order[i+1], []loop{}
		if c := codegen.CeilDiv(enough, order[i].n); next.n > 2*c && p.between(stages, i) { // a part of the next one is enough
			block := codegen.CeilDiv(next.n, c)
			if next.n%block != 0 && p.fixed {
				break
			}
			inside = append(inside, loop{})
			next, inside[0] = p.cutLoop(next, block, rest(next.n, block, codegen.Shift))
		}
		p.out = append(p.out, codegen.Directive{Verb: codegen.Fuse, Axes: []string{order[i].name, next.name}})
		fused := loop{order[i].name + "+" + next.name, order[i].n * next.n, order[i].r, order[i].block, append(slices.Clip(order[i].also), next)}
		order = slices.Replace(slices.Clone(order), i, i+2, append([]loop{fused}, inside...)...)
		for l, n := range stages {
			if n > i+1 {
				stages[l] = n - 1 + len(inside)
			}
		}
		if fused.n >= enough || len(carried) > 0 {
			break
		}
	}
	if j := p.longer(order, stages, carried, i); j > i {
		moved := order[j]
		order = slices.Insert(slices.Delete(slices.Clone(order), j, j+1), i, moved)
		for l, n := range stages {
			if n == i && p.dependsOn(l, moved) { // each call of threads stages what it needs
				stages[l] = i + 1
			}
		}
	}
	p.out = append(p.out, codegen.Directive{Verb: codegen.Threads, Name: order[i].name})
	return order
}

// fewShares are too few iterations for threads to share.
const fewShares = 4

// longer is a loop inside loop i that threads share instead, if that one has few iterations: with nothing staged between the two.
func (p *arranger) longer(order []loop, stages map[*access]int, carried []loop, i int) int {
	if order[i].n > fewShares || len(p.boxes) > 0 {
		return i
	}
	best := i
	for j := i + 1; j < len(order) && !isIn(carried, order[j]) && !p.between(stages, j-1); j++ {
		if order[j].n > order[best].n {
			best = j
		}
	}
	return best
}

// between says that something is staged just inside loop i.
func (p *arranger) between(stages map[*access]int, i int) bool {
	for _, n := range stages {
		if n == i+1 {
			return true
		}
	}
	return false
}

// mayFuse says whether loops i and i+1 can become one: nothing packed outside depends on them, and what is
// staged between them is little beside the work.
func (p *arranger) mayFuse(order []loop, stages map[*access]int, i int) bool {
	n := order[i].n * min(order[i+1].n, codegen.CeilDiv(16, order[i].n))
	work := float64(p.t.r.work) / float64(n) / float64(2*p.width())
	staging := 0.0
	for l, level := range stages {
		if level <= i && (p.dependsOn(l, order[i]) || p.dependsOn(l, order[i+1])) {
			return false
		}
		if level == i+1 {
			cost := 0.8
			if s, _ := p.stride(l, p.t.v); s != 1 && slices.Contains(p.packs, l) {
				cost = 1.6
			}
			staging += cost * float64(p.packBytes(l, order[:i+1])) / float64(l.held())
		}
	}
	return staging < 0.1*work
}
