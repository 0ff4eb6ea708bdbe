package fuzz

import (
	"errors"
	"slices"

	"github.com/weft-ml/weft/engine"
)

// Count is how much was run.
type Count struct {
	Programs, Ops, Gradients, Skipped  int
	Elements, Fixed, Unknown, Captured int
	Errors                             int // results that must be errors
	Open                               int // findings of known defects
}

// Add adds another.
func (c *Count) Add(o Count) {
	c.Programs += o.Programs
	c.Ops += o.Ops
	c.Gradients += o.Gradients
	c.Skipped += o.Skipped
	c.Elements += o.Elements
	c.Fixed += o.Fixed
	c.Unknown += o.Unknown
	c.Captured += o.Captured
	c.Errors += o.Errors
	c.Open += o.Open
}

func (c *Count) program(g *Generated) {
	c.Programs++
	for _, o := range g.Program.Ops {
		switch o.Name {
		case leafOp, realizeOp:
			continue
		case gradOp, gradWith:
			c.Gradients++
		}
		c.Ops++
	}
	if g.Program.Runs > 0 {
		c.Captured++
	}
	for _, roots := range g.Want {
		for i := range roots {
			if slices.ContainsFunc(roots[i].faults, func(f fault) bool { return f.must }) {
				c.Errors++
			}
		}
	}
	c.Elements += g.Total
	c.Fixed += g.Fixed
	c.Unknown += g.Unknown
}

// graphs makes the default engine one that nothing is computed on, for generating.
func graphs() { engine.Configure(engine.Options{}, "REF") }

// runSeeds runs the programs of seeds together on a device, and what fails once more alone.
func runSeeds(device string, seeds []uint64, count *Count) []Finding {
	graphs()
	var list []*Generated
	var found []Finding
	for _, s := range seeds {
		g := Generate(s)
		if g.Broken != nil {
			found = append(found, *g.Broken)
		}
		list = append(list, g)
	}
	return append(found, runTogether(device, list, count)...)
}

func runTogether(device string, list []*Generated, count *Count) (found []Finding) {
	type one struct {
		g    *Generated
		s    *started
		what What
		text string
	}
	jobs := make([]one, len(list))
	for i, g := range list {
		jobs[i].g = g
		s, err := start(g.Program, device)
		if err != nil {
			jobs[i].what, jobs[i].text = g.failure(err)
			continue
		}
		jobs[i].s = s
	}
	for i := range jobs {
		j := &jobs[i]
		if j.s != nil {
			j.what, j.text = j.s.compare(j.g.Want)
		}
		if j.what != Right && len(list) > 1 {
			if what, text := runAlone(device, j.g); what != Right {
				j.what, j.text = what, text
			} else {
				j.text = "only together with others of its batch: " + j.text
			}
		}
		count.program(j.g)
		if j.what == Right {
			if j.text == unsupported {
				count.Skipped++
			}
			continue
		}
		found = append(found, Finding{j.g.Program.Seed, device, j.what, j.text, nil})
	}
	return found
}

// runAlone runs one program.
func runAlone(device string, g *Generated) (What, string) {
	s, err := start(g.Program, device)
	if err != nil {
		return g.failure(err)
	}
	return s.compare(g.Want)
}

// failure is that of realizing: an error that reading a root must give may come before.
func (g *Generated) failure(err error) (What, string) {
	if v := (*engine.ValueError)(nil); errors.As(err, &v) {
		for _, roots := range g.Want {
			for i := range roots {
				if slices.ContainsFunc(roots[i].faults, func(f fault) bool { return f.matches(v) }) {
					return Right, ""
				}
			}
		}
	}
	return failure(err)
}
