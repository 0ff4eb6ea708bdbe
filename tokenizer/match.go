package tokenizer

import "fmt"

// matching is one text that an expression is matched with.
type matching struct {
	text  []rune
	steps int // that are left
}

// stepsEach is how many steps a match may take for each character: expressions of tokenizers take few.
const stepsEach = 2000

func (c class) match(m *matching, at int, then func(int) bool) bool {
	m.steps--
	return at < len(m.text) && c(m.text[at]) && then(at+1)
}

func (s sequence) match(m *matching, at int, then func(int) bool) bool {
	if len(s) == 0 {
		return then(at)
	}
	if len(s) == 1 {
		return s[0].match(m, at, then)
	}
	return s[0].match(m, at, func(at int) bool { return s[1:].match(m, at, then) })
}

func (c choice) match(m *matching, at int, then func(int) bool) bool {
	for _, n := range c {
		if n.match(m, at, then) {
			return true
		}
		if m.steps < 0 {
			return false
		}
	}
	return false
}

func (r repeat) match(m *matching, at int, then func(int) bool) bool {
	if c, ok := r.of.(class); ok { // as far as it goes, and back
		n := 0
		for n < r.max && at+n < len(m.text) && c(m.text[at+n]) {
			n++
		}
		m.steps -= n + 1
		for ; n >= r.min && m.steps >= 0; n-- {
			if then(at + n) {
				return true
			}
			m.steps--
		}
		return false
	}
	return r.times(m, at, 0, then)
}

func (r repeat) times(m *matching, at, n int, then func(int) bool) bool {
	if m.steps--; m.steps < 0 {
		return false
	}
	if n == maxRepeat && n < r.max { // recursion goes no deeper
		m.steps = -1
		return false
	}
	if n < r.max && r.of.match(m, at, func(next int) bool {
		return (next > at || n < r.min) && r.times(m, next, n+1, then)
	}) {
		return true
	}
	return n >= r.min && m.steps >= 0 && then(at)
}

func (l look) match(m *matching, at int, then func(int) bool) bool {
	found := l.of.match(m, at, func(int) bool { return true })
	return m.steps >= 0 && found != l.not && then(at)
}

func (end) match(m *matching, at int, then func(int) bool) bool {
	return (at == len(m.text) || at == len(m.text)-1 && m.text[at] == '\n') && then(at)
}

// find calls f with each stretch of the text that matches, from left to right. Empty matches count for nothing.
func (p *pattern) find(text []rune, f func(from, to int)) error {
	m := &matching{text, stepsEach * (len(text) + 1)}
	for at := 0; at < len(text); {
		to := at
		if p.root.match(m, at, func(end int) bool { to = end; return true }) && to > at {
			f(at, to)
			at = to
		} else {
			at++
		}
		if m.steps < 0 {
			return fmt.Errorf("pattern %.200q takes more than %d steps for each of %d characters", p.source, stepsEach, len(text))
		}
	}
	return nil
}

// split cuts a text into stretches that match and those between, given by their bytes.
func (p *pattern) split(text string, f func(from, to int, matches bool)) error {
	runes := []rune(text)
	at, last := 0, 0 // bytes, characters
	cut := func(to int, matches bool) {
		from := at
		for ; last < to; last++ {
			at += runeLen(runes[last], text[at:])
		}
		if at > from {
			f(from, at, matches)
		}
	}
	err := p.find(runes, func(from, to int) {
		cut(from, false)
		cut(to, true)
	})
	cut(len(runes), false)
	return err
}
