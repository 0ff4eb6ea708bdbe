// Package tune proposes lists of moves for a kernel: the model's own choice first, then others made from the facts of its Spec
// (what each axis is for, how far apart neighbours lie, what is used again), then those that are a step away from a list.
//
//	for _, moves := range tune.Candidates(spec, target, 16) { … }
//	for _, moves := range tune.Neighbours(spec, target, moves, 16) { … }
//
// Every list is legal, none comes twice, and the same Spec and target give the same lists. Targets differ by what stands in
// their Target only. It refuses to know the clock: which list is fast, and whether its results are right, is for package
// engine/search to find out. Of codegen it asks what is exported: Facts, Choose, Legal and the moves.
package tune

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/codegen"
)

// Limits of lists, whoever wrote them: more makes kernels of any size.
const (
	MostMoves = 48      // of a list
	mostPeels = 4       // splits with a rest of its own, each of which doubles what lies inside
	mostText  = 4 << 10 // bytes of a list
	mostCode  = 1024    // copies of a nest's body: results in registers, times vectors of each
)

// Candidates gives at most so many lists for a Spec, at least one. The first is what codegen.Choose gives.
func Candidates(spec *codegen.Spec, target *codegen.Target, most int) [][]codegen.Move {
	model := codegen.Choose(spec, target)
	c := collector{spec: spec, target: target, most: most, seen: map[string]bool{}, threads: shares(model)}
	c.out = append(c.out, model)
	c.seen[codegen.MovesString(model)] = true
	if nest := only(spec, target); nest != nil && !target.Grid {
		all := forms(nest, c.threads)
		for _, i := range spreadOut(len(all)) {
			if c.full() {
				break
			}
			c.add(all[i].write(nest))
		}
	}
	return c.out
}

// Neighbours gives at most so many lists that are one step from another, a few of each kind of step.
func Neighbours(spec *codegen.Spec, target *codegen.Target, moves []codegen.Move, most int) [][]codegen.Move {
	c := collector{spec: spec, target: target, most: most, seen: map[string]bool{codegen.MovesString(moves): true}, threads: shares(moves)}
	nest := only(spec, target)
	if nest == nil {
		nest = &codegen.NestFacts{}
	}
	if target.Grid && slices.ContainsFunc(nest.Writes, func(w codegen.AccessFacts) bool { return w.Bytes < 4 }) {
		return nil // elements that share a word of memory belong to one invocation, which a factor may undo
	}
	l := read(nest, moves)
	var lists [][][]codegen.Move
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
func only(spec *codegen.Spec, target *codegen.Target) *codegen.NestFacts {
	if nests := codegen.Facts(spec, target); len(nests) == 1 {
		return &nests[0]
	}
	return nil
}

// spreadOut is an order of n things in which the first few are likely ones and from everywhere: likely ones come first in n, but
// neighbours are alike.
func spreadOut(n int) []int {
	var out []int
	for stride := 1; stride < n; stride *= 2 {
		for i := stride - 1; i < n; i += stride*2 + 1 {
			if !slices.Contains(out, i) {
				out = append(out, i)
			}
		}
	}
	for i := range n {
		if !slices.Contains(out, i) {
			out = append(out, i)
		}
	}
	return out
}

// collector keeps lists that are legal and new.
type collector struct {
	spec   *codegen.Spec
	target *codegen.Target
	most   int
	seen   map[string]bool
	out    [][]codegen.Move
	// threads is set where the first list shares its work among threads. Then so do all: a list is for any number of threads,
	// and whoever measures may have one.
	threads bool
}

func shares(moves []codegen.Move) bool {
	return slices.ContainsFunc(moves, func(m codegen.Move) bool { return m.Verb == codegen.Threads })
}

func (c *collector) full() bool { return len(c.out) >= c.most }

func (c *collector) add(moves []codegen.Move) {
	text := codegen.MovesString(moves)
	if !c.seen[text] && (!c.threads || shares(moves)) && Allowed(c.spec, c.target, moves) == nil {
		c.out = append(c.out, moves)
	}
	c.seen[text] = true
}

// Allowed says why a list is not to be used for a Spec, or nil: what codegen.Legal says, and that it is not of a size that makes
// kernels nobody can compile. It is the door for lists from outside.
func Allowed(spec *codegen.Spec, target *codegen.Target, moves []codegen.Move) (err error) {
	defer func() { // whatever a list from outside says
		if r := recover(); r != nil {
			err = fmt.Errorf("BUG: moves %q: %v", codegen.MovesString(moves), r)
		}
	}()
	if len(moves) > MostMoves {
		return fmt.Errorf("a list of %d moves is longer than %d", len(moves), MostMoves)
	}
	peels, carries := 0, 0
	for _, m := range moves {
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
	if n := copies(codegen.Facts(spec, target), moves); n > mostCode {
		return fmt.Errorf("%d copies of a loop's body are more than %d", n, mostCode)
	}
	return codegen.Legal(spec, moves, target)
}

// copies is how often at most the body of a loop stands in the code.
func copies(nests []codegen.NestFacts, moves []codegen.Move) int {
	all := codegen.NestFacts{}
	for _, n := range nests {
		all.Axes, all.Sums, all.Lanes = append(all.Axes, n.Axes...), append(all.Sums, n.Sums...), n.Lanes
	}
	total := 1
	for _, a := range read(&all, moves).axes {
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
func Parse(text string) ([]codegen.Move, error) {
	if len(text) > mostText {
		return nil, fmt.Errorf("%d bytes of moves are more than %d", len(text), mostText)
	}
	moves, err := codegen.ParseMoves(text)
	if err == nil && len(moves) > MostMoves {
		err = fmt.Errorf("a list of %d moves is longer than %d", len(moves), MostMoves)
	}
	return moves, err
}
