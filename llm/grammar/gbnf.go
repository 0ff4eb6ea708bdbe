package grammar

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

const (
	maxSource = 1 << 16 // bytes of a grammar in GBNF
	maxRules  = 1 << 11 // with a name
)

// GBNF are the texts of a grammar in llama.cpp's notation, whose rule root is the whole text:
//
//	root   ::= "the answer: " ("yes" | "no") reason?   # a comment
//	reason ::= " (" [^()\n]{1,80} ")"
//
// A rule is its name (letters, digits, -), ::= and sequences between |; it ends at the end of its line, which within parentheses, after ::= and
// after | does not count. In a sequence stand literals, sets of characters ([a-z], [^a-z]; . is any), names of rules and groups in parentheses, each of
// which * + ? {m} {m,} {m,n} repeat. Characters may be written \n \r \t \\ \" \[ \] \xHH \uHHHH \UHHHHHHHH. What is wrong is told with its
// line and column; a rule that begins with itself is refused.
func GBNF(source []byte) (*Grammar, error) {
	if len(source) > maxSource {
		return nil, fmt.Errorf("grammar: %d bytes of GBNF; at most %d are read", len(source), maxSource)
	}
	p := &notation{builder: builder{common: map[string]int{}}, rest: string(source), at: place{1, 1}, names: map[string]*named{}}
	for p.space(true); p.failure == nil && p.rest != ""; p.space(true) {
		p.definition()
	}
	root := p.names["root"]
	switch {
	case p.failure != nil:
	case root == nil:
		p.fail("there is no rule root, which is the whole text")
	default:
		p.complete()
	}
	if p.failure != nil {
		return nil, p.failure
	}
	g, err := p.grammar(root.rule)
	if err == nil {
		switch s := g.Start(); {
		case len(s.stacks) == 0 && !s.whole:
			return nil, fmt.Errorf("grammar: rules begin with rules more than %d deep", maxDepth)
		case len(s.stacks) >= maxStacks:
			return nil, fmt.Errorf("grammar: a text may begin in more than %d ways", maxStacks)
		}
	}
	return g, err
}

// place is that of a character in the source.
type place struct{ line, column int }

// named is a rule with a name, and where it is first named and where defined.
type named struct {
	name         string
	rule         int
	used, define place
}

// notation reads GBNF.
type notation struct {
	builder
	rest  string
	at    place
	names map[string]*named
	order []*named
}

func (p *notation) wrong(at place, format string, args ...any) {
	p.fail("line %d, column %d: %s", at.line, at.column, fmt.Sprintf(format, args...))
}

// peek is the next character; 0 at the end.
func (p *notation) peek() rune {
	r, n := utf8.DecodeRuneInString(p.rest)
	switch {
	case n == 0:
		return 0
	case r == utf8.RuneError && n == 1:
		p.wrong(p.at, "the byte %#x is not UTF-8", p.rest[0])
		return 0
	case r == 0:
		p.wrong(p.at, "a zero byte")
	}
	return r
}

// take is the next character, which is passed.
func (p *notation) take() rune {
	r, n := utf8.DecodeRuneInString(p.rest)
	p.rest = p.rest[n:]
	if p.at.column++; r == '\n' {
		p.at = place{p.at.line + 1, 1}
	}
	return r
}

// passed passes a text if it is next.
func (p *notation) passed(text string) bool {
	if len(p.rest) < len(text) || p.rest[:len(text)] != text {
		return false
	}
	for range len(text) {
		p.take()
	}
	return true
}

// space passes spaces and comments, and the ends of lines where they do not count.
func (p *notation) space(lines bool) {
	for p.failure == nil {
		switch r := p.peek(); {
		case r == '#':
			for r := p.peek(); r != 0 && r != '\n'; r = p.peek() {
				p.take()
			}
		case r == ' ' || r == '\t' || r == '\r' || r == '\n' && lines:
			p.take()
		default:
			return
		}
	}
}

// next says in words what stands here.
func (p *notation) next() string {
	if p.rest == "" {
		return "the end"
	}
	r := p.peek()
	if r == '\n' {
		return "the end of the line"
	}
	return strconv.QuoteRune(r)
}

func isName(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-'
}

// name passes the name of a rule; nil: there is none.
func (p *notation) name() *named {
	at, n := p.at, 0
	for n < len(p.rest) && isName(rune(p.rest[n])) {
		n++
	}
	name := p.rest[:n]
	if n == 0 || !p.passed(name) {
		return nil
	}
	if have := p.names[name]; have != nil {
		return have
	}
	if len(p.order) >= maxRules {
		p.wrong(at, "more than %d rules", maxRules)
		return nil
	}
	r := &named{name: name, rule: p.reserve(), used: at}
	p.names[name], p.order = r, append(p.order, r)
	return r
}

// definition reads a rule.
func (p *notation) definition() {
	at := p.at
	r := p.name()
	if r == nil {
		p.wrong(at, "a rule begins with its name, of letters, digits and -; here is %s", p.next())
		return
	}
	if r.define != (place{}) {
		p.wrong(at, "the rule %.100s is defined in line %d already", r.name, r.define.line)
		return
	}
	r.define = at
	p.space(false)
	if !p.passed("::=") {
		p.wrong(p.at, "after the name of a rule stands ::=; here is %s", p.next())
		return
	}
	p.space(true)
	all := p.alternatives(0)
	if p.failure == nil && p.rest != "" && !p.passed("\n") {
		p.wrong(p.at, "neither a literal, a set, a name, a group nor the end of the rule: %s", p.next())
	}
	p.put(at, r.rule, all)
}

// put defines a rule; that there are too many elements is told with a place.
func (p *notation) put(at place, rule int, all []sequence) {
	if p.failure != nil {
		return
	}
	if p.define(rule, all...); p.failure != nil {
		p.failure = nil
		p.wrong(at, "up to here the grammar takes more than %d elements: literals, sets or counts are too many", maxElements)
	}
}

func (p *notation) alternatives(deep int) (all []sequence) {
	all = append(all, p.sequence(deep))
	for p.failure == nil && p.passed("|") {
		p.space(true)
		all = append(all, p.sequence(deep))
	}
	return all
}

// sequence reads what stands one after the other; in a group lines may end.
func (p *notation) sequence(deep int) (out sequence) {
	var last sequence // what a sign of repetition repeats
	begun := false
	for p.failure == nil {
		at := p.at
		r := p.peek()
		switch {
		case r == '*' || r == '+' || r == '?' || r == '{':
			if !begun {
				p.wrong(at, "%c repeats what stands before it, and nothing does", r)
				return nil
			}
			last = p.repeated(last)
		case r == '"' || r == '[' || r == '.' || r == '(' || isName(r):
			out, begun = append(out, last...), true
			last = p.item(deep)
			if len(out)+len(last) > maxElements {
				p.wrong(at, "a sequence of more than %d elements", maxElements)
			}
		case r == '<' || r == '!':
			p.wrong(at, "tokens (<…>, !<…>) are not known here; characters are")
		default:
			return append(out, last...)
		}
		p.space(deep > 0)
	}
	return nil
}

// item reads a literal, a set, a name or a group.
func (p *notation) item(deep int) sequence {
	at := p.at
	switch p.peek() {
	case '"':
		return p.literal()
	case '[':
		return p.class()
	case '.':
		p.take()
		return p.set([][2]rune{{0, utf8.MaxRune}})
	case '(':
		if deep >= maxNested {
			p.wrong(at, "groups are nested deeper than %d", maxNested)
			return nil
		}
		p.take()
		p.space(true)
		all := p.alternatives(deep + 1)
		if p.failure == nil && !p.passed(")") {
			p.wrong(p.at, "the group of line %d, column %d is not closed: here is %s", at.line, at.column, p.next())
		}
		group := p.reserve()
		p.put(at, group, all)
		return seq(group)
	}
	r := p.name()
	if r == nil {
		return nil
	}
	return seq(r.rule)
}

// repeated reads how often something stands there.
func (p *notation) repeated(what sequence) sequence {
	at := p.at
	least, most := 0, -1
	switch p.take() {
	case '+':
		least = 1
	case '?':
		most = 1
	case '{':
		least, most = p.counts(at)
	}
	if p.failure != nil {
		return nil
	}
	if len(what) != 1 {
		group := p.reserve()
		p.put(at, group, []sequence{what})
		what = seq(group)
	}
	if p.failure != nil {
		return nil
	}
	r := p.times(what, what, least, most)
	if p.failure != nil {
		p.failure = nil
		p.wrong(at, "up to here the grammar takes more than %d elements: literals, sets or counts are too many", maxElements)
	}
	return seq(r)
}

// counts reads {m}, {m,} or {m,n} behind the bracket.
func (p *notation) counts(at place) (least, most int) {
	number := func() int {
		p.space(false)
		n, digits := 0, 0
		for ; p.peek() >= '0' && p.peek() <= '9'; digits++ {
			n = min(10*n+int(p.take()-'0'), maxCount+1)
		}
		switch p.space(false); {
		case digits == 0:
			p.wrong(p.at, "a count is {m}, {m,} or {m,n}; here is %s", p.next())
		case n > maxCount:
			p.wrong(at, "a count is from 0 to %d", maxCount)
		}
		return n
	}
	least = number()
	most = least
	if p.failure == nil && p.passed(",") {
		most = -1
		if p.space(false); p.peek() != '}' {
			most = number()
		}
	}
	switch {
	case p.failure == nil && !p.passed("}"):
		p.wrong(p.at, "a count is {m}, {m,} or {m,n}; here is %s", p.next())
	case most >= 0 && least > most:
		p.wrong(at, "a count of at least %d and at most %d", least, most)
	}
	return least, most
}

func (p *notation) literal() (out sequence) {
	at := p.at
	p.take()
	var raw []byte
	for p.failure == nil {
		switch p.peek() {
		case '"':
			p.take()
			return text(string(raw))
		case 0:
			p.wrong(at, "the literal is not closed")
		default:
			raw = utf8.AppendRune(raw, p.char())
		}
	}
	return nil
}

// char reads a character as it is written in literals and sets.
func (p *notation) char() rune {
	at := p.at
	if r := p.take(); r != '\\' {
		return r
	}
	digits := 0
	switch r := p.peek(); r {
	case 'n', 'r', 't':
		p.take()
		return map[rune]rune{'n': '\n', 'r': '\r', 't': '\t'}[r]
	case '\\', '"', '[', ']':
		return p.take()
	case 'x':
		digits = 2
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	default:
		p.wrong(at, `\ stands before n, r, t, \, ", [, ], x, u or U; here is %s`, p.next())
		return 0
	}
	p.take()
	if len(p.rest) < digits {
		digits = len(p.rest)
	}
	n, err := strconv.ParseUint(p.rest[:digits], 16, 32)
	if err != nil || digits < 2 || digits%2 != 0 || !utf8.ValidRune(rune(n)) || n > utf8.MaxRune {
		p.wrong(at, `%q is no character: \xHH, \uHHHH and \UHHHHHHHH are, of hexadecimal digits, without surrogates`, p.rest[:digits])
		return 0
	}
	p.passed(p.rest[:digits])
	return rune(n)
}

// class reads a set of characters.
func (p *notation) class() sequence {
	at := p.at
	p.take()
	not := p.passed("^")
	var all [][2]rune
	for p.failure == nil && p.peek() != ']' {
		from := p.at
		if p.peek() == 0 {
			p.wrong(at, "the set is not closed")
			return nil
		}
		lo := p.char()
		hi := lo
		if len(p.rest) > 1 && p.rest[0] == '-' && p.rest[1] != ']' {
			p.take()
			if p.peek() == 0 {
				p.wrong(at, "the set is not closed")
				return nil
			}
			hi = p.char()
		}
		if lo > hi {
			p.wrong(from, "the range %q to %q is empty: they stand in the other order", lo, hi)
		}
		all = append(all, [2]rune{lo, hi})
	}
	if p.failure != nil {
		return nil
	}
	p.take()
	if len(all) == 0 {
		p.wrong(at, "the set is empty")
		return nil
	}
	all = merged(all)
	if not {
		if all = others(all); len(all) == 0 {
			p.wrong(at, "the set is empty: all characters are taken out")
			return nil
		}
	}
	return p.set(all)
}
