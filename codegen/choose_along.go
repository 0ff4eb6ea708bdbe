package codegen

// alongDirectives are for lanes along the reduction.
func (p *arranger) alongDirectives() []Directive {
	n, name := p.steps(p.t.v), p.name(p.t.v)
	block, lane := p.t.lanes*p.t.u, name
	if block > n { // words are fewer than steps
		block = pow2(n)
	}
	if block < n {
		p.out = append(p.out, Directive{Verb: Split, Name: name, N: block, Tail: Peel})
		lane = name + ".1"
		if _, lanes := p.restSteps(n % block); lanes {
			p.out = append(p.out, Directive{Verb: Vectors, Name: name + ".t"})
		}
	}
	p.out = append(p.out, Directive{Verb: Vectors, Name: lane})
	for _, l := range p.summed() {
		p.sumLanes(l)
	}
	order, sizes := names(p.serial)
	if len(order) > 0 && p.t.r.work > threadWork {
		order = p.spread(&p.out, order, sizes, len(order))
	}
	if len(p.inner) > 0 {
		p.out = append(p.out, Directive{Verb: Order, Axes: append(order, p.inner...)})
	}
	return p.out
}
