package rewrite

import (
	"fmt"
	"path/filepath"
	"runtime"
	"sync/atomic"

	"github.com/weft-ml/weft/uop"
)

// Cond says whether a matched rule may fire.
type Cond func(m *Match) bool

// Exact holds for integers, indices and bool: arithmetic without rounding, NaN or signed zeros.
func Exact(m *Match) bool { return !m.Root.DType().IsFloat() }

// Integer holds for integers and indices.
func Integer(m *Match) bool { return m.Root.DType().IsInt() }

// Rule is a named equation. Left is its pattern; Right is nil for steps.
type Rule struct {
	Name        string
	At          string // file:line of its definition
	Left, Right *Pattern
	cond        Cond
	step        func(m *Match) *uop.UOp
	fired       atomic.Int64
}

// Law is a rule whose two sides are patterns; lawtest checks it on values.
func Law(name string, left, right *Pattern) *Rule {
	return &Rule{Name: name, At: caller(), Left: left, Right: right}
}

// Step is a rule whose right side is computed; nil means that it does not apply.
func Step(name string, left *Pattern, f func(m *Match) *uop.UOp) *Rule {
	return &Rule{Name: name, At: caller(), Left: left, step: f}
}

func caller() string {
	_, file, line, _ := runtime.Caller(2)
	return fmt.Sprintf("%s/%s:%d", filepath.Base(filepath.Dir(file)), filepath.Base(file), line)
}

// If restricts a rule. Several conditions must all hold.
func (r *Rule) If(cond Cond) *Rule {
	if old := r.cond; old != nil {
		r.cond = func(m *Match) bool { return old(m) && cond(m) }
		return r
	}
	r.cond = cond
	return r
}

// Fired counts how often the rule was applied in this process.
func (r *Rule) Fired() int64 { return r.fired.Load() }

// RuleSet is a list of rules, tried in order, grouped by the op at their root.
type RuleSet struct {
	Name  string
	rules []*Rule
	byOp  [uop.NumOps][]*matcher
}

// Rules checks and collects rules: names must be unique, and every hole of a right side bound on the left.
// Commuted forms of each left side are added from the op table. It panics otherwise: rule sets are made at start-up.
func Rules(name string, rules ...*Rule) *RuleSet {
	s := &RuleSet{Name: name, rules: rules}
	names := map[string]bool{}
	for _, r := range rules {
		if names[r.Name] {
			panic(fmt.Sprintf("BUG: %s: two rules of %s are called %q", r.At, name, r.Name))
		}
		names[r.Name] = true
		check(r)
		for _, m := range compile(r) {
			for _, o := range m.roots() {
				s.byOp[o] = append(s.byOp[o], m)
			}
		}
	}
	return s
}

// Join is one set with the rules of several, in order.
func Join(name string, sets ...*RuleSet) *RuleSet {
	var all []*Rule
	for _, s := range sets {
		all = append(all, s.rules...)
	}
	return Rules(name, all...)
}

// All lists the rules.
func (s *RuleSet) All() []*Rule { return s.rules }

func check(r *Rule) {
	bad := func(why string) { panic(fmt.Sprintf("BUG: %s: rule %q: %s", r.At, r.Name, why)) }
	if r.Left.kind != apply && r.Left.kind != oneOf {
		bad("the left side must have an op at its root")
	}
	if r.Right == nil {
		return
	}
	if r.Left.kind == oneOf {
		bad("a law needs one op at its root")
	}
	nodes, types := r.Left.Holes()
	rightNodes, rightTypes := r.Right.Holes()
	for _, h := range rightNodes {
		if !contains(nodes, h) {
			bad("hole " + h.name + " is not bound on the left")
		}
	}
	for _, h := range rightTypes {
		if !contains(types, h) {
			bad("type " + h.name + " is not bound on the left")
		}
	}
}

func contains[T comparable](list []T, v T) bool {
	for _, x := range list {
		if x == v {
			return true
		}
	}
	return false
}
