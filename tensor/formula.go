package tensor

import (
	"slices"
	"strconv"
	"unicode/utf8"
)

// Formulas that name axes, "b (h w) c -> b c h w", in the notation of einops (Rogozhnikov, "Einops: clear and reliable tensor
// manipulations with Einstein-like notation", 2022): names of axes with spaces between them, several in parentheses are one axis of
// the tensor, the last of them running fastest, 1 and () are axes of size 1, and … (written "...") stands for all axes that are not named.

// mostFormula is the most characters of a formula.
const mostFormula = 1 << 12

// formula is a parsed one.
type formula struct {
	op, text string
	left     side
	right    side
	sizes    map[string]int // of names
	known    []name         // of the axes of the tensor as it is split
}

// side is a list of axes of a tensor, each made of those that the formula names, or none.
type side struct {
	axes   [][]name
	dotted int  // the place of … among axes, −1: there is none
	merged bool // … stands in parentheses
}

// name is an axis that the formula names.
type name struct {
	text string
	at   int // where in the formula, counted in characters from 1
	size int // of a number, which is an axis of that size without a name; else 0
}

// unnamed is the name of the axes that are not named, before they are known.
const unnamed = "..."

// bad fails at a place of the formula.
func (f *formula) bad(at int, format string, a ...any) {
	failArg(f.op, "%q, character %d: "+format, append([]any{f.text, at}, a...)...)
}

func parseFormula(op, text string) *formula {
	f := &formula{op: op, text: text}
	if len(text) > mostFormula {
		failArg(op, "a formula of %d characters, more than %d", len(text), mostFormula)
	}
	arrow := -1
	for i := range text {
		if text[i] == '-' && i+1 < len(text) && text[i+1] == '>' {
			if arrow >= 0 {
				f.bad(i+1, "a second ->")
			}
			arrow = i
		}
	}
	if arrow < 0 {
		failArg(op, "%q has no ->", text)
	}
	f.left, f.right = f.side(0, arrow), f.side(arrow+2, len(text))
	return f
}

// side reads the characters from … to of the formula.
func (f *formula) side(from, to int) side {
	s := side{dotted: -1}
	seen := map[string]bool{}
	open, opened := false, 0
	put := func(n ...name) {
		if open {
			s.axes[len(s.axes)-1] = append(s.axes[len(s.axes)-1], n...)
			return
		}
		s.axes = append(s.axes, n)
	}
	for i := from; i < to; {
		c := f.text[i]
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
		case c == '(':
			if open {
				f.bad(i+1, "a parenthesis in parentheses")
			}
			put()
			open, opened, i = true, i, i+1
		case c == ')':
			if !open {
				f.bad(i+1, "a parenthesis that was not opened")
			}
			open, i = false, i+1
		case c == '.':
			if i+len(unnamed) > to || f.text[i:i+len(unnamed)] != unnamed {
				f.bad(i+1, "a dot; the axes that are not named are ...")
			}
			if seen[unnamed] {
				f.bad(i+1, "a second ...")
			}
			if open && from == 0 {
				f.bad(i+1, "... in parentheses on the left, where they have no sizes to divide")
			}
			seen[unnamed] = true
			put(name{text: unnamed, at: i + 1})
			s.dotted, s.merged = len(s.axes)-1, open
			i += len(unnamed)
		case letter(c) || c >= '0' && c <= '9':
			end := i + 1
			for end < to && (letter(f.text[end]) || f.text[end] >= '0' && f.text[end] <= '9') {
				end++
			}
			put(f.word(i, end, seen)...)
			i = end
		default:
			r, _ := utf8.DecodeRuneInString(f.text[i:])
			f.bad(i+1, "%q is no part of a formula", r)
		}
	}
	if open {
		f.bad(opened+1, "a parenthesis that is not closed")
	}
	return s
}

func letter(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// word reads a name or a number; the number 1 names nothing.
func (f *formula) word(from, to int, seen map[string]bool) []name {
	w := f.text[from:to]
	if !letter(w[0]) {
		n, err := strconv.Atoi(w)
		if err != nil || n < 1 {
			f.bad(from+1, "%q is neither a name nor a size", w)
		}
		if n == 1 {
			return nil
		}
		return []name{{text: w + "@" + strconv.Itoa(from), at: from + 1, size: n}}
	}
	if seen[w] {
		f.bad(from+1, "axis %s is named twice on a side", w)
	}
	seen[w] = true
	return []name{{text: w, at: from + 1}}
}

// names are all names of a side, in order.
func (s side) names() []name { return slices.Concat(s.axes...) }

func (s side) has(text string) bool {
	return slices.ContainsFunc(s.names(), func(n name) bool { return n.text == text })
}

// spread puts names for n axes in the place of ….
func (s *side) spread(n int) {
	if s.dotted < 0 {
		return
	}
	var list []name
	for i := range n {
		list = append(list, name{text: unnamed + strconv.Itoa(i), at: s.axes[s.dotted][0].at})
	}
	if !s.merged {
		axes := append([][]name{}, s.axes[:s.dotted]...)
		for i := range list {
			axes = append(axes, list[i:i+1])
		}
		s.axes = append(axes, s.axes[s.dotted+1:]...)
		return
	}
	group := s.axes[s.dotted]
	at := slices.IndexFunc(group, func(n name) bool { return n.text == unnamed })
	s.axes[s.dotted] = slices.Concat(group[:at], list, group[at+1:])
}
