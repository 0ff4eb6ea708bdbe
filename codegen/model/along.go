package model

import (
	"github.com/weft-ml/weft/codegen"
)

// alongDirectives are for lanes along the reduction.
func (p *arranger) alongDirectives() []codegen.Directive {
	n, name := p.steps(p.t.v), p.name(p.t.v)
	block, lane := p.t.lanes*p.t.u, name
	if block > n { // words are fewer than steps
		block = codegen.Pow2(n)
	}
	if block < n {
		p.out = append(p.out, codegen.Directive{Verb: codegen.Split, Name: name, N: block, Tail: codegen.Peel})
		lane = name + ".1"
		if _, lanes := p.restSteps(n % block); lanes {
			p.out = append(p.out, codegen.Directive{Verb: codegen.Vectors, Name: name + ".t"})
		}
	}
	p.out = append(p.out, codegen.Directive{Verb: codegen.Vectors, Name: lane})
	for _, l := range p.summed() {
		p.sumFactor(&p.out, p.t.r, l)
	}
	order, sizes := names(p.serial), map[string]int{}
	for _, l := range p.serial {
		sizes[l.name] = l.n
	}
	if p.t.r.work > threadWork {
		order = p.spread(&p.out, order, sizes, len(order))
	}
	if len(p.inner) > 0 {
		p.out = append(p.out, codegen.Directive{Verb: codegen.Order, Axes: append(order, p.inner...)})
	}
	return p.out
}
