// Package lower makes the statements of a kernel: from a Spec and a list of directives, through the visible list of passes in
// this file. It refuses to know which directives are good ones, and what a language is.
package lower

import (
	"errors"
	"fmt"
	"strings"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/codegen/legal"
	"github.com/weft-ml/weft/codegen/nest"
)

// pass is one step of lowering. Its comment says what it expects and what it leaves; leaves is checked.
type pass struct {
	name   string
	run    func(b *builder) error
	only   func(t *codegen.Target) bool
	leaves promise
}

// passes is the whole lowering, top to bottom. What follows, spelling the tree, is a language's.
var passes = []pass{
	// The Spec's normal form: no axes of size 0 or 1, neighbouring axes merged where every access agrees.
	{"canonical", func(b *builder) error { b.Prepare(); return nil }, nil, 0},
	// Splits with their tails, merge laws, kinds, orders: expressions and axes as the directives want them.
	{"directives", func(b *builder) error { return b.Apply(b.directives) }, nil, 0},
	// Statements from order and places: stages with their copies, accumulators, guards of tails. No reduction is left.
	{"tree", func(b *builder) error { b.body = b.tree(); return nil }, nil, noReductions},
	// Only ops that the target has, on scalar expressions, while there is one copy of each.
	{"legalise", func(b *builder) error { b.body = b.legalise(b.body); return nil }, nil, noReductions | targetOps},
	// No Tile loops; Vector loops of machine width. Targets with vectors of any length keep both.
	{"expand", func(b *builder) error { b.body = b.expand(b.body); return nil }, codegen.MachineVectors, noReductions | targetOps | noTiles},
	// Inner loops of sums with registers of their own.
	{"partial", func(b *builder) error { b.body = b.partial(b.body, false); return nil }, func(t *codegen.Target) bool { return t.Grid }, noReductions | targetOps | noTiles},
	// Long sums in blocks.
	{"chains", func(b *builder) error { b.body = b.chains(b.body); return nil }, nil, noReductions | targetOps},
	// Short loops written out in which loads of lanes are masked depending on the step, where masks take time.
	{"gated", func(b *builder) error { b.body = b.gated(b.body, affine.RangeSet{}); return nil }, func(t *codegen.Target) bool { return codegen.MachineVectors(t) && !t.Masks }, noReductions | targetOps},
	// One linear offset an access, its terms ordered from the outermost loop to the innermost.
	{"index", func(b *builder) error { b.body = b.linearise(b.body); return nil }, nil, noReductions | targetOps | oneIndex},
	// A condition for every load and store that is not proven to lie within its buffer.
	{"guard", func(b *builder) error { b.body = b.guard(b.body); return nil }, nil, noReductions | targetOps | oneIndex},
	// Loops over rows that ask for the next row while they compute.
	{"prefetch", func(b *builder) error { b.body = b.prefetch(b.body); return nil }, func(t *codegen.Target) bool { return t.Prefetch }, noReductions | targetOps | oneIndex},
	// Values computed in the outermost block that defines what they need; names for what is used twice.
	{"place", func(b *builder) error { b.body = b.placeAll(b.body); return nil }, nil, noReductions | targetOps | oneIndex},
	// Neighbours of an array that nothing writes loaded by four, where the target wants that.
	{"fours", func(b *builder) error { b.body = b.fours(b.body); return nil }, func(t *codegen.Target) bool { return t.Fours != nil }, noReductions | targetOps | oneIndex},
	// How many copies of a loop's body are written one after the other, where neither a compiler nor an engine does it.
	{"unroll", func(b *builder) error { b.body = b.unroll(b.body); return nil }, func(t *codegen.Target) bool { return t.Unroll.Copies > 0 }, noReductions | targetOps | oneIndex},
	// What vectors are computed with and does not differ between lanes said to be so, where the target repeats it by instructions.
	{"splats", func(b *builder) error { b.body = b.splats(b.body); return nil }, func(t *codegen.Target) bool { return t.Splats }, noReductions | targetOps | oneIndex},
}

// passOrder says why passes stand in this order; a test checks it.
var passOrder = []struct{ first, then, why string }{
	{"canonical", "directives", "directives speak of merged axes"},
	{"directives", "tree", "the tree is built from split axes and rewritten reductions"},
	{"tree", "legalise", "merges of reductions bring ops of their own"},
	{"legalise", "expand", "legalising one copy of a body is cheaper than legalising all"},
	{"expand", "partial", "the registers of unrolled loops are counted"},
	{"partial", "chains", "what has registers of its own already is no long sum"},
	{"chains", "gated", "blocks are made of loops"},
	{"gated", "index", "the constant of a step joins the offset"},
	{"chains", "index", "the ranges of blocks are in the offset"},
	{"expand", "index", "constants of unrolled axes join the offset"},
	{"index", "guard", "an offset is what lies within a buffer or not"},
	{"guard", "place", "conditions are computed outside of loops like everything else"},
	{"index", "prefetch", "rows are seen in linear offsets"},
	{"prefetch", "place", "addresses share what is computed outside of loops"},
	{"index", "place", "what is computed outside is the outer part of an offset"},
	{"place", "fours", "what is used in several blocks is loaded by itself, once"},
	{"place", "unroll", "a body weighs less without what is computed outside of it"},
	{"place", "splats", "scalars have names where they are computed"},
}

// Lower makes a kernel's tree of statements. The directives are those that Choose or a search gave, or none.
func Lower(spec *codegen.Spec, directives []codegen.Directive, target *codegen.Target) (p *codegen.Program, err error) {
	if spec.Foreign != nil {
		return foreignProgram(spec), nil
	}
	b, err := lowerTo(spec, directives, target, len(passes))
	if err != nil {
		return nil, err
	}
	if err := verifyAccesses(b.Table, b.body); err != nil {
		return nil, fmt.Errorf("BUG: codegen: kernel %s is refused: %w\n%s", describe(spec), err, codegen.DumpBody(b.body))
	}
	p = b.program(b.body, directives)
	if err := checkIterations(p, target); err != nil {
		return nil, err
	}
	if err := checkLoops(p, target); err != nil {
		return nil, err
	}
	return p, nil
}

// Legal says why directives cannot be applied to a Spec, or nil. It has no effect.
func Legal(spec *codegen.Spec, directives []codegen.Directive, target *codegen.Target) error {
	_, err := lowerTo(spec, directives, target, treePasses)
	return err
}

// treePasses is how many passes end in a tree of loops.
const treePasses = 3

// lowerTo runs the first n passes.
func lowerTo(spec *codegen.Spec, directives []codegen.Directive, target *codegen.Target, n int) (b *builder, err error) {
	at := ""
	defer func() {
		if r := recover(); r != nil {
			err = failure(r, at, spec)
		}
	}()
	b = &builder{Kernel: nest.Bare(spec, target), directives: directives}
	var check func(codegen.Lowering) error
	if target.Check != nil && n == len(passes) {
		check = target.Check(spec)
	}
	for _, ps := range passes[:n] {
		if ps.only != nil && !ps.only(target) {
			continue
		}
		at = ps.name
		if err := ps.run(b); err != nil {
			return nil, err
		}
		if err := verify(b.body, ps.leaves, target); err != nil {
			panic(fmt.Sprintf("BUG: %v\n%s", err, codegen.DumpBody(b.body)))
		}
		if check != nil {
			if err := check(lowering{b, ps.name}); err != nil {
				return nil, fmt.Errorf("codegen: kernel %s, after pass %q, directives %q: %w", describe(spec), ps.name, codegen.DirectivesString(directives), err)
			}
		}
	}
	return b, nil
}

// ErrLoops is wrapped where a kernel has more loops than are told apart.
var ErrLoops = errors.New("the kernel is too large")

// failure makes an error of what a target cannot do, and re-raises everything else with its place.
func failure(r any, at string, spec *codegen.Spec) error {
	switch r := r.(type) {
	case affine.TooManyLoops:
		return fmt.Errorf("codegen: %w: more than %d loops; store more of its intermediate values", ErrLoops, affine.MaxRanges)
	case illegal:
		return errors.New("codegen: " + r.why)
	case *legal.Unsupported:
		return r
	case error:
		panic(fmt.Errorf("codegen: pass %q, kernel %s: %w", at, describe(spec), r))
	}
	panic(fmt.Errorf("codegen: pass %q, kernel %s: %v", at, describe(spec), r))
}

// describe names a Spec by what it writes.
func describe(s *codegen.Spec) string {
	var out []string
	for _, o := range s.Outs {
		if o.Param < len(s.Params) {
			out = append(out, fmt.Sprintf("p%d%v", o.Param, s.Params[o.Param].Dims))
		}
	}
	return "of " + strings.Join(out, ", ")
}

func (b *builder) legalise(stmts []codegen.Stmt) []codegen.Stmt {
	return codegen.MapStmts(b.roundSums(stmts), legal.NewLegalizer(b.Table, b.Target).Do)
}
