// Package grammar says which bytes may follow in a text that has to be JSON, JSON of a schema, or of a grammar in llama.cpp's notation: a
// pushdown automaton over bytes, whose state is a set of stacks.
//
// It knows bytes and refuses to know tokens and models. Schemas and grammars are not trusted: their size, the automaton's and the depth of what it lets
// through are bounded, and a keyword that it does not hold to is an error.
//
//	g, err := grammar.Schema([]byte(`{"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}`))
//	s := g.Start()
//	s, ok := s.Next([]byte(`{"age": 4`))
//	s.Whole() // false: the bracket is missing
package grammar

import (
	"encoding/binary"
	"fmt"
	"slices"
)

const (
	maxElements = 1 << 16 // of a grammar
	maxStacks   = 1 << 9  // of a state: what goes on in more ways at once goes on in these
	maxWays     = 400     // in which a rule may begin
	maxDepth    = 200     // of a stack
	maxExpand   = 1 << 14 // steps from one byte to the next
	maxStates   = 1 << 12 // of a text that are remembered, and
	maxNodes    = 1 << 18 // stacks
)

// element of a sequence: a set of bytes, a rule, or the end of the sequence.
type element struct {
	kind kind
	rule int
	set  [4]uint64
}

type kind byte

const (
	end kind = iota
	bytes
	rule
)

func (e *element) has(b byte) bool { return e.set[b>>6]>>(b&63)&1 != 0 }

// Grammar is a language of texts. It is not changed after it was made, and may be used from several goroutines.
type Grammar struct {
	elements []element
	needs    []int   // of each element, how many stacks above its own what it begins takes at least
	rules    [][]int // of each rule, where its alternatives begin
	root     int
}

// node is a stack: what is to come, and what after it.
type node struct {
	key
	depth  int
	mark   uint64 // the last expansion that came by
	number uint64 // in the keys of states
}

// key is what makes a stack the one that it is.
type key struct {
	at   int
	next *node
}

// State is how far a text is. Next does not change it; what follows on what is remembered, so that a state and those that come of it are for
// one goroutine at a time.
type State struct {
	t      *table
	epoch  int
	stacks []*node // each with bytes to come
	whole  bool
	next   *[256]*State // by the byte that follows; nil: not asked yet
	first  *[256]bool
}

// table has the stacks and states of a text once each. A state within a string, say, comes back to itself with most bytes, so that asking of a
// whole vocabulary what may follow takes few states.
type table struct {
	g      *Grammar
	epoch  int // tables that have become too large are begun anew
	nodes  map[key]*node
	states map[string]*State
	number uint64 // of the last node
	mark   uint64 // of the last expansion
}

// Start is the state before a text.
func (g *Grammar) Start() *State {
	t := &table{g: g}
	t.clear()
	e := t.expansion()
	for _, at := range g.rules[g.root] {
		e.expand(t.node(at, nil))
	}
	return e.state()
}

func (t *table) clear() {
	t.epoch++
	t.nodes, t.states = map[key]*node{}, map[string]*State{}
}

// node is the one stack of its kind.
func (t *table) node(at int, next *node) *node {
	k := key{at, next}
	if have := t.nodes[k]; have != nil {
		return have
	}
	t.number++
	n := &node{key: k, depth: 1, number: t.number}
	if next != nil {
		n.depth = next.depth + 1
	}
	t.nodes[k] = n
	return n
}

func (t *table) expansion() expansion {
	t.mark++
	return expansion{t: t, mark: t.mark}
}

// expansion finds the bytes that stacks begin with.
type expansion struct {
	t     *table
	mark  uint64
	out   []*node
	whole bool
	steps int
}

// state is the one state of what was found.
func (e *expansion) state() *State {
	t := e.t
	key := []byte{0}
	if e.whole {
		key[0] = 1
	}
	for _, n := range e.out {
		key = binary.AppendUvarint(key, n.number)
	}
	if have := t.states[string(key)]; have != nil {
		return have
	}
	if len(t.states) >= maxStates || len(t.nodes) >= maxNodes {
		t.clear()
		return &State{t: t, epoch: t.epoch, stacks: e.out, whole: e.whole}
	}
	s := &State{t: t, epoch: t.epoch, stacks: e.out, whole: e.whole}
	t.states[string(key)] = s
	return s
}

func (e *expansion) expand(n *node) {
	if n == nil {
		e.whole = true
		return
	}
	if e.steps++; n.mark == e.mark || n.depth+e.t.g.needs[n.at] > maxDepth || e.steps > maxExpand || len(e.out) >= maxStacks {
		return
	}
	n.mark = e.mark
	g := e.t.g
	switch x := &g.elements[n.at]; x.kind {
	case bytes:
		e.out = append(e.out, n)
	case end:
		e.expand(n.next)
	case rule:
		next := n.next
		if g.elements[n.at+1].kind != end { // a rule at the end leaves nothing to come back to
			next = e.t.node(n.at+1, n.next)
		}
		for _, at := range g.rules[x.rule] {
			e.expand(e.t.node(at, next))
		}
	}
}

// Next is the state after some more bytes; ok is false where no text of the grammar goes on like this.
func (s *State) Next(text []byte) (next *State, ok bool) {
	for _, b := range text {
		if s = s.step(b); len(s.stacks) == 0 && !s.whole {
			return s, false
		}
	}
	return s, true
}

func (s *State) step(b byte) *State {
	if s.epoch != s.t.epoch || s.next == nil { // what is remembered of a table that is gone keeps it
		s.epoch, s.next = s.t.epoch, new([256]*State)
	}
	if s.next[b] != nil {
		return s.next[b]
	}
	e := s.t.expansion()
	for _, n := range s.stacks {
		if s.t.g.elements[n.at].has(b) {
			e.expand(s.t.node(n.at+1, n.next))
		}
	}
	next := e.state()
	if s.epoch == s.t.epoch {
		s.next[b] = next
	}
	return next
}

// First says of each byte whether it may follow.
func (s *State) First() [256]bool {
	if s.first == nil {
		var all element
		for _, n := range s.stacks {
			for i, word := range s.t.g.elements[n.at].set {
				all.set[i] |= word
			}
		}
		s.first = new([256]bool)
		for b := range s.first {
			s.first[b] = all.has(byte(b))
		}
	}
	return *s.first
}

// Whole says whether the text may end here.
func (s *State) Whole() bool { return s.whole }

// Ended says that nothing may follow.
func (s *State) Ended() bool { return len(s.stacks) == 0 }

// builder makes a grammar.
type builder struct {
	g       Grammar
	common  map[string]int
	failure error
}

func (b *builder) fail(format string, args ...any) {
	if b.failure == nil {
		b.failure = fmt.Errorf("grammar: "+format, args...)
	}
}

// sequence is what a rule's alternative is made of.
type sequence []element

func ref(r int) element { return element{kind: rule, rule: r} }

// text are the bytes of a text, one after the other.
func text(s string) (out sequence) {
	for i := range len(s) {
		out = append(out, span(s[i], s[i]))
	}
	return out
}

// span is a set of bytes of ranges: lowest and highest of each.
func span(edges ...byte) element {
	e := element{kind: bytes}
	for ; len(edges) > 1; edges = edges[2:] {
		for c := int(edges[0]); c <= int(edges[1]); c++ {
			e.set[c>>6] |= 1 << (c & 63)
		}
	}
	return e
}

func seq(parts ...any) (out sequence) {
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			out = append(out, ref(p))
		case element:
			out = append(out, p)
		case sequence:
			out = append(out, p...)
		case string:
			out = append(out, text(p)...)
		}
	}
	return out
}

// rule makes a rule of alternatives.
func (b *builder) rule(alternatives ...sequence) int {
	r := b.reserve()
	b.define(r, alternatives...)
	return r
}

// reserve makes a rule that is defined later.
func (b *builder) reserve() int {
	b.g.rules = append(b.g.rules, nil)
	return len(b.g.rules) - 1
}

func (b *builder) define(r int, alternatives ...sequence) {
	for _, s := range alternatives {
		if len(b.g.elements)+len(s) >= maxElements {
			b.fail("it takes more than %d elements: names, lengths or counts are too many", maxElements)
			return
		}
		b.g.rules[r] = append(b.g.rules[r], len(b.g.elements))
		b.g.elements = append(append(b.g.elements, s...), element{})
	}
}

// times is a rule some times, from least to most, after the first of which each has another before it; most < 0: any number.
func (b *builder) times(first, more sequence, least, most int) int {
	switch {
	case b.failure != nil || most == 0:
		return b.rule(nil)
	case most < 0:
		again := b.reserve()
		b.define(again, nil, seq(more, again))
		out := again
		for range least - 1 {
			out = b.rule(seq(more, out))
		}
		if least > 0 {
			return b.rule(seq(first, out))
		}
		return b.rule(nil, seq(first, out))
	}
	out := b.rule(nil)
	for i := most; i >= 1; i-- {
		s := seq(more, out)
		if i == 1 {
			s = seq(first, out)
		}
		if i > least {
			out = b.rule(nil, s)
		} else {
			out = b.rule(s)
		}
	}
	return out
}

// grammar is what was built. A rule that no text ends, as that of an object that has to hold itself, is an error; so is one that begins in more ways
// than a state has.
func (b *builder) grammar(root int) (*Grammar, error) {
	if b.failure != nil {
		return nil, b.failure
	}
	g := b.g
	g.root = root
	least := g.measure()
	if least[root] > maxDepth {
		return nil, fmt.Errorf("grammar: no text can end: something has to hold itself, or is nested too deeply")
	}
	for r := range g.rules { // alternatives that no text ends are none
		g.rules[r] = slices.DeleteFunc(slices.Clone(g.rules[r]), func(at int) bool { return g.needs[at] > maxDepth })
	}
	w := newWays(&g)
	for r := range g.rules {
		if w.rule(r) > maxWays {
			return nil, fmt.Errorf("grammar: a text may go on in more than %d ways at once: names that may be left out, or values, are too many", maxWays)
		}
	}
	return &g, nil
}

// measure finds how deep the stacks at least become that come of each element and what follows it in its sequence, and of each rule; more than
// maxDepth: no text ends it.
func (g *Grammar) measure() (least []int) {
	const never = maxDepth + 1
	least = slices.Repeat([]int{never}, len(g.rules))
	g.needs = make([]int, len(g.elements))
	for changed := true; changed; {
		changed = false
		for r, all := range g.rules {
			for _, from := range all {
				at := from
				for g.elements[at].kind != end {
					at++
				}
				for at--; at >= from; at-- {
					g.needs[at] = g.needs[at+1]
					if x := &g.elements[at]; x.kind == rule {
						n := least[x.rule]
						if g.elements[at+1].kind != end { // see expand
							n++
						}
						g.needs[at] = min(never, max(n, g.needs[at]))
					}
				}
				if g.needs[from] < least[r] {
					least[r], changed = g.needs[from], true
				}
			}
		}
	}
	return least
}
