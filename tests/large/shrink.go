package large

import (
	"slices"
)

// shrink makes a program smaller for as long as it fails.
func shrink(p *program, fails func(*program) bool) *program {
	for again := true; again; {
		again = false
		for _, try := range smaller(p) {
			if fails(try) {
				p, again = try, true
				break
			}
		}
	}
	return p
}

// smaller are the programs that are one step smaller, those that are much smaller first.
func smaller(p *program) []*program {
	var out []*program
	with := func(f func(q *program) bool) {
		q := *p
		q.steps, q.roots = slices.Clone(p.steps), slices.Clone(p.roots)
		if f(&q) {
			out = append(out, &q)
		}
	}
	if len(p.roots) > 1 {
		for i := range p.roots {
			with(func(q *program) bool { q.roots = []int{p.roots[i]}; return true })
		}
	}
	last := 0
	for _, r := range p.roots {
		last = max(last, r)
	}
	with(func(q *program) bool { // what stands after the results
		q.steps = slices.DeleteFunc(q.steps, func(s step) bool { return s.id > last })
		return len(q.steps) < len(p.steps)
	})
	for i := range p.steps {
		with(func(q *program) bool {
			gone := q.steps[i]
			if len(q.steps) == 1 {
				return false
			}
			q.steps = slices.Delete(q.steps, i, i+1)
			for k, r := range q.roots {
				if r == gone.id {
					q.roots[k] = gone.args[0]
				}
			}
			q.roots = slices.DeleteFunc(q.roots, func(r int) bool { return r < 0 })
			return len(q.roots) > 0
		})
	}
	for _, n := range []int{4, 8, 16, 33, 64, 130, 600} {
		if n < p.limit {
			with(func(q *program) bool { q.limit = n; return true })
		}
	}
	if p.way != 0 {
		with(func(q *program) bool { q.way = 0; return true })
	}
	return out
}
