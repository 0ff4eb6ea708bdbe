package model

import "slices"

// What is not staged comes from wherever it lies: which loop is outside decides how often the operands pass through the caches.

// reordered puts loops into the order in which the operands come from beyond the second cache least often, where that is half as
// often or less.
func (p *arranger) reordered(loops []loop) []loop {
	const most = 5 // 120 orders
	now := p.traffic(loops)
	if len(loops) > most || now == 0 {
		return loops
	}
	best, least := loops, now
	var try func(order, rest []loop)
	try = func(order, rest []loop) {
		if len(rest) == 0 {
			if t := p.traffic(order); t < least {
				best, least = order, t
			}
		}
		for i, l := range rest {
			try(append(slices.Clip(order), l), slices.Delete(slices.Clone(rest), i, i+1))
		}
	}
	if try(nil, loops); 2*least > now {
		return loops
	}
	return best
}

// traffic is how many bytes of operands come from beyond the second cache, apart from what has to come once.
func (p *arranger) traffic(order []loop) (bytes float64) {
	level := len(order) // the outermost loop inside which all operands fit
	for ; level > 0; level-- {
		all := 0
		for _, l := range p.t.r.loads {
			all += p.packBytes(l, order[:level-1])
		}
		if all > p.Target.L2/2 {
			break
		}
	}
	for _, l := range p.t.r.loads {
		times, gone := 1, false
		for _, o := range slices.Backward(order[:level]) {
			gone = gone || p.depends(l, o.r)
			if gone && !p.depends(l, o.r) { // others have taken its place
				times *= o.n
			}
		}
		bytes += float64(times-1) * float64(p.packBytes(l, nil))
	}
	return bytes
}
