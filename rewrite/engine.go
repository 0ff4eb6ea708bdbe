package rewrite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-ml/weft/uop"
)

// maxDepth is how many rules may fire in a row on what earlier ones made. Rules that settle need few; rules
// that do not are found out after this many.
const maxDepth = 1000

// Unsettled is the panic of a rewriting that does not end.
type Unsettled struct {
	Set   string
	Rules []string // the last that fired
	Node  *uop.UOp
}

func (e *Unsettled) Error() string {
	return fmt.Sprintf("BUG: the rules %s do not settle at %v; the last that fired: %s", e.Set, e.Node, strings.Join(e.Rules, ", "))
}

// Rewrite applies the rules to the graphs of roots, operands first, until nothing matches, and gives the new
// roots, made in table t. In an arena the results are remembered, so that rewriting again is almost free.
func (s *RuleSet) Rewrite(t *uop.Table, roots ...*uop.UOp) []*uop.UOp {
	w := t.Local(s, func() any { return newRewriter(s, t) }).(*rewriter)
	out := make([]*uop.UOp, len(roots))
	for i, r := range roots {
		out[i] = w.rewrite(r)
	}
	return out
}

// rewriter is one rule set at work in one table.
type rewriter struct {
	set   *RuleSet
	match Match
	done  uop.Map[*uop.UOp] // nil: in progress
	stack []frame
	trace func(Event)
	last  [16]*Rule // that fired, a ring
	count int
}

// frame is a node being rewritten: key in the graph, now what it has become.
type frame struct {
	key, now *uop.UOp
	next     int // the operand to visit
	depth    int // rules fired on the way here
}

func newRewriter(s *RuleSet, t *uop.Table) *rewriter {
	s.ready.Do(s.group)
	w := &rewriter{set: s}
	w.match.Table = t
	w.match.local = t.Local
	if !t.IsArena() {
		local := map[any]any{}
		w.match.local = func(key any, init func() any) any {
			v, ok := local[key]
			if !ok {
				v = init()
				local[key] = v
			}
			return v
		}
	}
	return w
}

func (w *rewriter) rewrite(root *uop.UOp) *uop.UOp {
	if v, ok := w.done.Get(root); ok && v != nil {
		return v
	}
	w.trace = tracer(w.match.Table)
	defer func() { // a panic in a step must not leave half-done marks
		if len(w.stack) > 0 {
			w.stack, w.done = nil, uop.Map[*uop.UOp]{}
		}
	}()
	w.push(root, 0)
	for len(w.stack) > 0 {
		w.advance()
	}
	v, _ := w.done.Get(root)
	return v
}

func (w *rewriter) push(u *uop.UOp, depth int) {
	w.done.Set(u, nil)
	w.stack = append(w.stack, frame{key: u, now: u, depth: depth})
}

// advance takes one step with the innermost frame: visit an operand, or apply a rule to the node.
func (w *rewriter) advance() {
	f := &w.stack[len(w.stack)-1]
	src := f.key.Src()
	for f.next < len(src) {
		s := src[f.next]
		v, seen := w.done.Get(s)
		if !seen {
			w.push(s, f.depth)
			return
		}
		if v == nil {
			w.unsettled(s)
		}
		f.next++
	}
	if f.next == len(src) { // operands are ready: rebuild
		f.next++
		f.now = w.rebuild(f.key)
		if v, seen := w.done.Get(f.now); seen && f.now != f.key {
			w.follow(f, v)
			return
		}
		if v := w.apply(f.now); v != nil {
			w.follow(f, v)
			return
		}
		w.finish(f.now)
		return
	}
	v, _ := w.done.Get(f.now) // what the rule gave has been rewritten
	w.finish(v)
}

// follow goes on with what a rule made of f.
func (w *rewriter) follow(f *frame, v *uop.UOp) {
	if v == nil {
		w.unsettled(f.key)
	}
	done, seen := w.done.Get(v)
	switch {
	case seen && done != nil:
		w.finish(done)
	case seen, f.depth >= maxDepth:
		w.unsettled(v)
	default:
		f.now = v
		w.push(v, f.depth+1)
	}
}

func (w *rewriter) finish(v *uop.UOp) {
	f := w.stack[len(w.stack)-1]
	w.stack = w.stack[:len(w.stack)-1]
	w.done.Set(f.key, v)
	if v != f.key {
		w.done.Set(v, v)
	}
}

// rebuild is u on its rewritten operands, in the rewriter's table.
func (w *rewriter) rebuild(u *uop.UOp) *uop.UOp {
	same := u.Home() == w.match.Table
	for _, s := range u.Src() {
		v, _ := w.done.Get(s)
		same = same && v == s
	}
	if same {
		return u
	}
	return u.WithSrc(w.match.Table, func(s *uop.UOp) *uop.UOp {
		v, _ := w.done.Get(s)
		return v
	})
}

// apply gives what the first rule that fires makes of u, or nil.
func (w *rewriter) apply(u *uop.UOp) *uop.UOp {
	for _, r := range w.set.byOp[u.Op()] {
		if !r.match(&w.match, u) {
			continue
		}
		v := w.match.apply()
		if v == nil || v == u {
			continue
		}
		if v.DType() != u.DType() {
			panic(fmt.Sprintf("BUG: rule %q (%s) makes %v of %v", r.rule.Name, r.rule.At(), v.DType(), u.DType()))
		}
		v = fit(v, u.Shape())
		if o := u.Origin(); o != nil {
			v.Mark(o)
		}
		r.rule.fired.Add(1)
		w.last[w.count%len(w.last)] = r.rule
		w.count++
		if w.trace != nil {
			w.trace(Event{Rule: r.rule, Before: u, After: v})
		}
		return v
	}
	return nil
}

// fit gives a scalar that replaces an array the array's shape.
func fit(v *uop.UOp, shape uop.Shape) *uop.UOp {
	if len(v.Shape()) == len(shape) {
		return v
	}
	unit := make([]int, len(shape))
	for i := range unit {
		unit[i] = 1
	}
	return v.Reshape(unit...).Expand(shape...)
}

func (w *rewriter) unsettled(u *uop.UOp) {
	e := &Unsettled{Set: w.set.Name, Node: u}
	for i := range min(w.count, len(w.last)) {
		name := w.last[(w.count-1-i)%len(w.last)].Name
		if !slices.Contains(e.Rules, name) {
			e.Rules = append(e.Rules, name)
		}
	}
	panic(e)
}
