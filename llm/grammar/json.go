package grammar

import "fmt"

// JSON are the objects of JSON, with little space between their parts.
func JSON() *Grammar {
	b := &builder{common: map[string]int{}}
	g, err := b.grammar(b.named("object"))
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return g
}

// named are the rules of JSON itself, made when they are needed.
func (b *builder) named(name string) int {
	if r, ok := b.common[name]; ok {
		return r
	}
	r := b.reserve()
	b.common[name] = r
	digit, hex, more := span('0', '9'), span('0', '9', 'a', 'f', 'A', 'F'), span(0x80, 0xbf)
	switch name {
	case "space": // as much as writes JSON nicely, so that no text is nothing but space
		b.define(r, nil, seq(" "), seq("\n", b.times(seq(" "), seq(" "), 0, 16)))
	case "char":
		b.define(r, seq(span(' ', '!', '#', '[', ']', 0x7f)), // UTF-8, without what has to be written as an escape
			seq(span(0xc2, 0xdf), more), seq(span(0xe0, 0xe0), span(0xa0, 0xbf), more), seq(span(0xe1, 0xec, 0xee, 0xef), more, more),
			seq(span(0xed, 0xed), span(0x80, 0x9f), more), seq(span(0xf0, 0xf0), span(0x90, 0xbf), more, more),
			seq(span(0xf1, 0xf3), more, more, more), seq(span(0xf4, 0xf4), span(0x80, 0x8f), more, more),
			seq(`\`, span('"', '"', '\\', '\\', '/', '/', 'b', 'b', 'f', 'f', 'n', 'n', 'r', 'r', 't', 't')),
			seq(`\u`, span('0', '9', 'a', 'c', 'e', 'f', 'A', 'C', 'E', 'F'), hex, hex, hex), seq(`\u`, span('d', 'd', 'D', 'D'), span('0', '7'), hex, hex))
	case "string":
		b.define(r, seq(`"`, b.times(seq(b.named("char")), seq(b.named("char")), 0, -1), `"`))
	case "natural": // exact as a float64
		b.define(r, seq("0"), seq(span('1', '9'), b.times(seq(digit), seq(digit), 0, 14)))
	case "integer":
		b.define(r, seq(b.named("natural")), seq("-", b.named("natural")))
	case "rest": // of a number
		exponent := b.rule(seq(b.rule(nil, seq("+"), seq("-")), digit), seq(b.rule(nil, seq("+"), seq("-")), digit, digit))
		fraction := b.rule(nil, seq(".", b.times(seq(digit), seq(digit), 1, 15)))
		b.define(r, seq(fraction), seq(fraction, span('e', 'e', 'E', 'E'), exponent))
	case "number":
		b.define(r, seq(b.named("integer"), b.named("rest")))
	case "positive": // from 0 on
		b.define(r, seq(b.named("natural"), b.named("rest")))
	case "boolean":
		b.define(r, seq("true"), seq("false"))
	case "null":
		b.define(r, seq("null"))
	case "value":
		b.define(r, seq(b.named("object")), seq(b.named("array")), seq(b.named("string")), seq(b.named("number")), seq(b.named("boolean")), seq(b.named("null")))
	case "object":
		b.define(r, b.mapOf(b.named("value")))
	case "array":
		b.define(r, b.arrayOf(nil, b.named("value"), 0, -1))
	default:
		panic(fmt.Sprintf("BUG: no rule %q", name))
	}
	return r
}

// mapOf are objects whose values are of a rule.
func (b *builder) mapOf(value int) sequence {
	sp := b.named("space")
	pair := seq(sp, b.named("string"), ":", sp, value)
	return seq("{", b.times(pair, seq(",", pair), 0, -1), sp, "}")
}

// arrayOf are arrays whose first elements are of some rules, and others of one.
func (b *builder) arrayOf(first []int, rest int, least, most int) sequence {
	sp := b.named("space")
	if len(first) == 0 {
		return seq("[", b.times(seq(sp, rest), seq(",", sp, rest), least, most), sp, "]")
	}
	tail := b.rule(nil)
	if rest >= 0 {
		tail = b.times(seq(",", sp, rest), seq(",", sp, rest), max(0, least-len(first)), max(-1, most-len(first)))
		if most >= 0 && most <= len(first) {
			tail = b.rule(nil)
		}
	}
	for i := len(first) - 1; i >= 0; i-- {
		s := seq(sp, first[i], tail)
		if i > 0 {
			s = seq(",", s)
		}
		switch {
		case most >= 0 && i >= most:
			tail = b.rule(nil)
		case i >= least:
			tail = b.rule(nil, s)
		default:
			tail = b.rule(s)
		}
	}
	return seq("[", tail, sp, "]")
}
