package devicetest

import (
	"fmt"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/uop"
)

// Plan writes the plans of all cases for a device and computes nothing: see gets each of them, a batch of cases or one
// case. It gives the number of cases that have a plan, and that of those whose element types the device has not.
func Plan(e *engine.Engine, see func(*engine.View)) (cases, notYet int, err error) {
	for _, g := range groups {
		s := newSuite(1)
		g.cases(s)
		for list := s.cases; len(list) > 0; {
			n := min(batch, len(list))
			planned, err := planCases(e, list[:n], see)
			if err != nil {
				return 0, 0, fmt.Errorf("%s: %w", g.name, err)
			}
			cases, notYet = cases+planned, notYet+n-planned
			list = list[n:]
		}
	}
	return cases, notYet, nil
}

// unlike leaves the cases whose plans two devices do not have alike; one that neither can plan they have.
func unlike(a, b *engine.Engine, cases []Case) (out []Case) {
	for _, c := range cases {
		p, errA := a.Plan(c.Build(newInputs(a, c.seed))...)
		q, errB := b.Plan(c.Build(newInputs(b, c.seed))...)
		if errA != nil && errB != nil {
			continue
		}
		if errA != nil || errB != nil || p.String() != q.String() {
			out = append(out, c)
		}
	}
	return out
}

// planCases gives how many of the cases have one.
func planCases(e *engine.Engine, cases []Case, see func(*engine.View)) (planned int, err error) {
	_, all, err := build(e, cases)
	if err != nil {
		return 0, err
	}
	view, err := e.Plan(all...)
	if err == nil {
		see(view)
		return len(cases), nil
	}
	if !lacks(err) {
		return 0, err
	}
	if len(cases) == 1 {
		return 0, nil
	}
	for i := range cases {
		n, err := planCases(e, cases[i:i+1], see)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", cases[i].Name, err)
		}
		planned += n
	}
	return planned, nil
}

// build makes the graphs of cases on a device: the roots of each, and all.
func build(e *engine.Engine, cases []Case) (built [][]*uop.UOp, all []*uop.UOp, err error) {
	built = make([][]*uop.UOp, len(cases))
	for i, c := range cases {
		built[i] = c.Build(newInputs(e, c.seed))
		for k, u := range built[i] {
			if built[i][k], err = own(e, u); err != nil {
				return nil, nil, err
			}
		}
		all = append(all, built[i]...)
	}
	return built, all, nil
}
