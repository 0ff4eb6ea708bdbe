// Package tune proposes lists of directives for a kernel: the model's own choice first, then the others that the model weighed, then those
// that are a step away from a list.
//
//	for _, directives := range tune.Candidates(spec, target, 16) { … }
//	for _, directives := range tune.Neighbours(spec, target, directives, 16) { … }
//
// Every list is legal, none comes twice, and the same Spec and target give the same lists. Targets differ by what stands in
// their Target only. It refuses to know the clock: which list is fast, and whether its results are right, is for package
// engine/search to find out. Of codegen it asks what is exported: Facts, Choose, Legal and the directives.
package tune

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/codegen/model"
)

// Limits of lists, whoever wrote them: more makes kernels of any size.
const (
	MostDirectives = 48      // of a list
	mostPeels      = 4       // splits with a rest of its own, each of which doubles what lies inside
	mostText       = 4 << 10 // bytes of a list
	mostCode       = 1024    // copies of a nest's body: results in registers, times vectors of each
)

// Candidates gives at most so many lists for a Spec, at least one. The first is what model.Choose gives.
func Candidates(spec *codegen.Spec, target *codegen.Target, most int) [][]codegen.Directive {
	first := model.Choose(spec, target)
	c := collector{spec: spec, target: target, most: most, seen: map[string]bool{}, threads: shares(first)}
	c.out = append(c.out, first)
	c.seen[codegen.DirectivesString(first)] = true
	for _, l := range model.Alternatives(spec, target) {
		if c.full() {
			break
		}
		c.add(l)
	}
	return c.out
}

// Neighbours gives at most so many lists that are one step from another, a few of each kind of step.
func Neighbours(spec *codegen.Spec, target *codegen.Target, directives []codegen.Directive, most int) [][]codegen.Directive {
	c := collector{spec: spec, target: target, most: most, seen: map[string]bool{codegen.DirectivesString(directives): true}, threads: shares(directives)}
	nest := only(spec, target)
	if nest == nil {
		nest = &model.NestFacts{}
	}
	if target.Grid && nest.Narrow {
		return nil // elements that share a word of memory belong to one invocation, which a factor may undo
	}
	l := read(nest, directives)
	var lists [][][]codegen.Directive
	for _, s := range steps {
		if s.any || l.known && len(nest.Axes) > 0 && !target.Grid {
			lists = append(lists, s.do(l, target))
		}
	}
	for i, left := 0, true; left && !c.full(); i++ {
		left = false
		for _, list := range lists {
			if i < len(list) && !c.full() {
				left = true
				c.add(list[i])
			}
		}
	}
	return c.out
}

// only is the nest of a kernel that has one.
func only(spec *codegen.Spec, target *codegen.Target) *model.NestFacts {
	if nests := model.Facts(spec, target); len(nests) == 1 {
		return &nests[0]
	}
	return nil
}

// collector keeps lists that are legal and new.
type collector struct {
	spec   *codegen.Spec
	target *codegen.Target
	most   int
	seen   map[string]bool
	out    [][]codegen.Directive
	// threads is set where the first list shares its work among threads. Then so do all: a list is for any number of threads,
	// and whoever measures may have one.
	threads bool
}

func shares(directives []codegen.Directive) bool {
	return slices.ContainsFunc(directives, func(m codegen.Directive) bool {
		return m.Verb == codegen.Threads || m.Verb == codegen.Grids || m.Verb == codegen.Lanes
	})
}

func (c *collector) full() bool { return len(c.out) >= c.most }

func (c *collector) add(directives []codegen.Directive) {
	text := codegen.DirectivesString(directives)
	if !c.seen[text] && (!c.threads || shares(directives)) && Allowed(c.spec, c.target, directives) == nil {
		c.out = append(c.out, directives)
	}
	c.seen[text] = true
}

// Allowed says why a list is not to be used for a Spec, or nil: what lower.Legal says, and that it is not of a size that makes
// kernels nobody can compile. It is the door for lists from outside.
func Allowed(spec *codegen.Spec, target *codegen.Target, directives []codegen.Directive) (err error) {
	defer func() { // whatever a list from outside says
		if r := recover(); r != nil {
			err = fmt.Errorf("BUG: directives %q: %v", codegen.DirectivesString(directives), r)
		}
	}()
	if len(directives) > MostDirectives {
		return fmt.Errorf("a list of %d directives is longer than %d", len(directives), MostDirectives)
	}
	peels, carries := 0, 0
	for _, m := range directives {
		switch {
		case m.Verb == codegen.Split && m.Tail == codegen.Peel:
			peels++
		case m.Verb == codegen.Carry:
			carries++
		}
	}
	if peels > mostPeels {
		return fmt.Errorf("%d peeled splits are more than %d", peels, mostPeels)
	}
	if n := copies(model.Facts(spec, target), directives); n > mostCode {
		return fmt.Errorf("%d copies of a loop's body are more than %d", n, mostCode)
	}
	return lower.Legal(spec, directives, target)
}

// copies is how often at most the body of a loop stands in the code.
func copies(nests []model.NestFacts, directives []codegen.Directive) int {
	all := model.NestFacts{}
	for _, n := range nests {
		all.Axes, all.Sums, all.Lanes = append(all.Axes, n.Axes...), append(all.Sums, n.Sums...), n.Lanes
	}
	total := 1
	for _, a := range read(&all, directives).axes {
		switch {
		case a.kind == codegen.Tiles:
			total *= max(a.n, 1)
		case a.kind == codegen.Vectors && all.Lanes > 0:
			total *= max(1, (a.n+all.Lanes-1)/all.Lanes)
		}
		total = min(total, 1<<30)
	}
	return total
}

// Parse reads the text of a list from outside.
func Parse(text string) ([]codegen.Directive, error) {
	if len(text) > mostText {
		return nil, fmt.Errorf("%d bytes of directives are more than %d", len(text), mostText)
	}
	directives, err := codegen.ParseDirectives(text)
	if err == nil && len(directives) > MostDirectives {
		err = fmt.Errorf("a list of %d directives is longer than %d", len(directives), MostDirectives)
	}
	return directives, err
}
