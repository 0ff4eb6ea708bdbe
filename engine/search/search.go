// Package search finds directives for one kernel by the clock: it compiles candidates (package codegen/tune) side by side, times them on
// arrays of its own, in turns with the best, and gives what was fastest, if that beats the model's choice by a margin and leaves
// the same results.
//
//	r, err := machine.Search(ctx, search.Task{Spec: spec, Model: model.Choose(spec, target), Width: 4})
//
// It is a beam search: of the lists that are known the Width fastest are changed a little, as long as that brings anything. It
// refuses to know graphs, plans of more than one kernel, and where results are kept.
package search

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/tune"
	"github.com/weft-ml/weft/plan"
)

// Margin is what a choice must gain over the model's to be taken: less may be the machine's doing.
const Margin = 0.05

const (
	firstLists  = 6 // candidates of the first round for each of Width
	nextLists   = 8 // neighbours of each of the best, of a later one
	mostRounds  = 8 // of neighbours
	gain        = 0.02
	sampleTime  = 2e-3 // seconds that a sample of the model's kernel takes at least
	shortSample = 2e-5 // the same where time does not count
	mostTimes   = 1000 // runs of a sample
	tooSlow     = 1.5  // times the best: abandoned after one sample
	samples     = 4
	pairs       = 12 // samples that decide in the end, of each of two
	mostPairs   = 3  // of them that may speak for the model's
	longSample  = 0.3
)

// Task is a kernel to search for.
type Task struct {
	Spec  *codegen.Spec
	Model []codegen.Directive
	// Known are lists that are worth a try: what an earlier search found that did not end.
	Known [][]codegen.Directive
	Width int
	// Time bounds the search. A kernel that is running is waited for.
	Time time.Duration
	// Clock measures; nil: the time of day.
	Clock func() time.Duration
	// All has every candidate's results checked, not only those that are fast, measures shortly, and takes the fastest by any margin
	// (tests).
	All bool
	// Progress, if set, hears of each candidate that was timed: the time of the best by that of the model's.
	Progress func(tried int, best float64)
}

// Result is what a search found.
type Result struct {
	Kernel      plan.Kernel // the model's
	Model, Best []codegen.Directive
	// Seconds of one run, measured side by side.
	ModelSeconds, BestSeconds float64
	Tried                     int      // candidates that were timed
	Faults                    []string // candidates whose results were wrong, and defects of the compiler
	Complete                  bool     // it ended by itself
}

// run is a search under way.
type run struct {
	*Machine
	task  Task
	out   Result
	s     *scratch
	times int // runs of a sample
	model *candidate
	// anchor is what candidates are timed in turns with: the fastest whose time was measured well. Ranking them by each other would
	// add up the luck of one winner after the other.
	anchor *candidate
	beam   []*candidate // the fastest, best first
	seen   map[string]bool
	until  time.Time
}

// Search searches. What it gives holds even where there is an error: the context's, a lost device's, or what the model's own
// directives fail with.
func (m *Machine) Search(ctx context.Context, task Task) (Result, error) {
	if start := time.Now(); task.Clock == nil {
		task.Clock = func() time.Duration { return time.Since(start) }
	}
	r := &run{Machine: m, task: task, seen: map[string]bool{}, until: time.Now().Add(task.Time)}
	r.out.Model, r.out.Best = task.Model, task.Model
	err := r.search(ctx)
	if r.s != nil {
		r.s.free()
	}
	r.out.Complete = err == nil
	return r.out, err
}

func (r *run) search(ctx context.Context) error {
	if len(r.task.Spec.Vars) > 0 {
		return nil // its extents are known at run time only
	}
	if err := r.begin(ctx); err != nil {
		return err
	}
	defer func() {
		for _, c := range r.beam {
			r.drop(c)
		}
		r.drop(r.model)
		r.drop(r.anchor)
	}()
	first := slices.Concat(r.task.Known, tune.Candidates(r.task.Spec, r.Target, firstLists*r.task.Width+1))
	if err := r.round(ctx, first); err != nil {
		return err
	}
	for range mostRounds {
		before := r.beam[0].seconds
		var next [][]codegen.Directive
		for _, c := range r.beam {
			next = append(next, tune.Neighbours(r.task.Spec, r.Target, c.directives, nextLists*2)...)
		}
		next = slices.DeleteFunc(next, func(l []codegen.Directive) bool { return r.seen[codegen.DirectivesString(l)] })
		if len(next) == 0 || time.Now().After(r.until) {
			break
		}
		if err := r.round(ctx, next[:min(len(next), nextLists*r.task.Width)]); err != nil {
			return err
		}
		if r.beam[0].seconds > before*(1-gain) {
			break
		}
	}
	return nil
}

// begin compiles the model's kernel and learns what it computes and how long it takes.
func (r *run) begin(ctx context.Context) error {
	k, err := r.Prepare(r.task.Spec, r.task.Model)
	if err != nil {
		return err
	}
	r.out.Kernel = k
	r.model = &candidate{directives: r.task.Model, kernel: k, plan: r.planOf(r.task.Spec, k), checked: true}
	r.seen[codegen.DirectivesString(r.task.Model)] = true
	r.seen[text(&k)] = true
	if _, err := r.load(ctx, []*candidate{r.model}, func(_ *candidate, failed error) { err = failed }); err != nil {
		return err
	}
	if err != nil {
		return err
	}
	if r.s, err = newScratch(r.Device, r.task.Spec, &k); err != nil {
		return err
	}
	r.s.clock = r.task.Clock
	if r.s.want, err = r.s.results(ctx, r.model); err != nil {
		return err
	}
	least := sampleTime
	if r.task.All {
		least = shortSample
	}
	for r.times = 1; ; r.times *= 2 {
		t, err := r.s.run(ctx, r.model, r.times)
		if err != nil {
			return err
		}
		if r.model.seconds = t / float64(r.times); t >= least || 2*r.times > mostTimes {
			break
		}
	}
	r.out.ModelSeconds, r.out.BestSeconds = r.model.seconds, r.model.seconds
	r.anchor, r.beam = r.model, []*candidate{r.model}
	return nil
}

// text is what makes two kernels the same.
func text(k *plan.Kernel) string {
	s := k.Spelled()
	return s.Entry + "\n" + s.Source + string(s.Code)
}

// round times candidates and keeps the fastest. Then the best one so far, if it is not the model's, stands before the model's
// again: what holds is known from here on, whatever ends the search.
func (r *run) round(ctx context.Context, lists [][]codegen.Directive) error {
	var fresh []*candidate
	for _, directives := range lists {
		if name := codegen.DirectivesString(directives); !r.seen[name] {
			r.seen[name] = true
			if c := r.prepare(directives); c != nil {
				fresh = append(fresh, c)
			}
		}
	}
	fresh, err := r.load(ctx, fresh, func(c *candidate, err error) {
		r.fault("directives %q cannot be compiled: %v", codegen.DirectivesString(c.directives), err)
	})
	for i, c := range fresh {
		if err == nil && time.Now().Before(r.until) {
			err = r.try(ctx, c)
		}
		if err != nil {
			for _, c := range fresh[i:] {
				r.leave(c)
			}
			return err
		}
		r.leave(c)
	}
	if err != nil {
		return err
	}
	return r.decide(ctx)
}

func (r *run) prepare(directives []codegen.Directive) *candidate {
	if err := tune.Allowed(r.task.Spec, r.Target, directives); err != nil {
		return nil
	}
	k, err := r.Prepare(r.task.Spec, directives)
	if err != nil {
		if bug := err.Error(); len(bug) > 4 && bug[:4] == "BUG:" {
			r.fault("%v", err)
		}
		return nil
	}
	if Within(&k, &r.model.kernel) != nil || r.seen[text(&k)] {
		return nil
	}
	r.seen[text(&k)] = true
	return &candidate{directives: directives, kernel: k, plan: r.planOf(r.task.Spec, k)}
}

func (r *run) fault(format string, args ...any) {
	r.out.Faults = append(r.out.Faults, fmt.Sprintf(format, args...))
}

func (r *run) drop(c *candidate) {
	if c.loaded != nil {
		c.loaded.Free()
		c.loaded = nil
	}
}

// leave drops a candidate unless it is among the fastest, or others are measured by it.
func (r *run) leave(c *candidate) {
	if c != r.model && c != r.anchor && !slices.Contains(r.beam, c) {
		r.drop(c)
	}
}

// try times a candidate in turns with the anchor, and gives it a place among the fastest if its results are right.
func (r *run) try(ctx context.Context, c *candidate) error {
	r.out.Tried++
	if r.task.All {
		if err := r.check(ctx, c); err != nil || !c.checked {
			return err
		}
	}
	few := max(1, r.times/8)
	t, err := r.s.run(ctx, c, few) // also warms it
	if err != nil {
		return err
	}
	if t/float64(few) > 2*tooSlow*r.anchor.seconds && t > sampleTime/4 {
		return nil
	}
	mine, its, _, err := r.turns(ctx, c, r.anchor, samples, 1, tooSlow)
	if err != nil {
		return err
	}
	c.seconds = r.anchor.seconds * mine / its
	if len(r.beam) == r.task.Width && c.seconds >= r.beam[len(r.beam)-1].seconds {
		return nil
	}
	if err := r.check(ctx, c); err != nil || !c.checked {
		return err
	}
	r.beam = append([]*candidate{c}, r.beam...)
	r.rank()
	if len(r.beam) > r.task.Width {
		last := r.beam[len(r.beam)-1]
		r.beam = r.beam[:len(r.beam)-1]
		r.leave(last)
	}
	if r.task.Progress != nil {
		r.task.Progress(r.out.Tried, r.beam[0].seconds/r.model.seconds)
	}
	return nil
}

// check compares the results of a candidate with the model's.
func (r *run) check(ctx context.Context, c *candidate) error {
	if c.checked {
		return nil
	}
	got, err := r.s.results(ctx, c)
	if err != nil {
		if ends(ctx, err) {
			return err
		}
		r.fault("directives %q: %v", codegen.DirectivesString(c.directives), err)
		return nil
	}
	if why := r.s.differs(got); why != "" {
		r.fault("directives %q, where the model's are %q: %s", codegen.DirectivesString(c.directives), codegen.DirectivesString(r.task.Model), why)
		return nil
	}
	c.checked = true
	return nil
}

// decide has those that seem fastest stand before the model's, until one is first that did so.
func (r *run) decide(ctx context.Context) error {
	for r.beam[0] != r.model && !r.beam[0].measured {
		if err := r.stand(ctx, r.beam[0]); err != nil {
			return err
		}
		r.rank()
	}
	return nil
}

// turns times two candidates in turns, n times, and gives the least time of each and how often the first was not the faster one. It ends sooner
// where samples are long, after a few, and where the first takes so many times as long.
func (r *run) turns(ctx context.Context, c, other *candidate, n, few int, slow float64) (a, b float64, lost int, err error) {
	a, b = math.Inf(1), math.Inf(1)
	for i := range n {
		x, err := r.s.run(ctx, c, r.times)
		if err != nil {
			return a, b, lost, err
		}
		y, err := r.s.run(ctx, other, r.times)
		if err != nil {
			return a, b, lost, err
		}
		if a, b = min(a, x), min(b, y); x >= y {
			lost++
		}
		if a > slow*b || i >= few && x+y > longSample {
			break
		}
	}
	return a, b, lost, nil
}

// rank puts the fastest first.
func (r *run) rank() {
	slices.SortStableFunc(r.beam, func(x, y *candidate) int { return cmp.Compare(x.seconds, y.seconds) })
}

// stand measures a candidate in turns with the model's. It is taken if it is faster by the margin, and most of the times, and not
// slower than what was taken before.
func (r *run) stand(ctx context.Context, c *candidate) error {
	a, b, lost, err := r.turns(ctx, c, r.model, pairs, pairs/2, math.Inf(1))
	if err != nil {
		return err
	}
	c.measured, c.seconds = true, r.model.seconds*a/b
	if taken := lost <= mostPairs && a <= (1-Margin)*b || r.task.All && a < b; taken && c.seconds <= r.anchor.seconds {
		old := r.anchor
		r.anchor = c
		r.leave(old)
		r.out.Best, r.out.BestSeconds, r.out.ModelSeconds = c.directives, c.seconds, r.model.seconds
	}
	return nil
}
