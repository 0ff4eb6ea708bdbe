package chat

import (
	"fmt"
	"strings"
	"time"
)

// machine runs a template.
type machine struct {
	name        string
	steps, size int
	depth       int
	now         time.Time
}

// fail ends the run; run recovers it.
func (m *machine) fail(line int, format string, args ...any) {
	panic(&Error{Name: m.name, Line: line, Cause: fmt.Sprintf(format, args...)})
}

func (m *machine) step(line int) {
	if m.steps++; m.steps > maxSteps {
		m.fail(line, "more than %d steps", maxSteps)
	}
}

// made counts bytes that were made, and elements of lists.
func (m *machine) made(line, n int) {
	if m.size += n; n < 0 || m.size > maxOutput {
		m.fail(line, "more than %d bytes of text are made", maxOutput)
	}
}

func (m *machine) deeper(line int) {
	if m.depth++; m.depth > maxDepth {
		m.fail(line, "macros call each other, or values stand in each other, deeper than %d", maxDepth)
	}
}

// scope are the names of a loop's turn, a macro or the template.
type scope struct {
	names  map[string]any
	parent *scope
}

func (s *scope) find(name string) any {
	for ; s != nil; s = s.parent {
		if v, ok := s.names[name]; ok {
			return v
		}
	}
	if f, ok := functions[name]; ok {
		return f
	}
	return undefined{name}
}

func (s *scope) inner() *scope { return &scope{names: map[string]any{}, parent: s} }

func (t *Template) run(vars map[string]any, now time.Time) (out string, err error) {
	m := &machine{name: t.name, now: now}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *Error:
			out, err = "", r
		default:
			panic(r)
		}
	}()
	var b strings.Builder
	m.all(t.body, (&scope{names: vars}).inner(), &b)
	return b.String(), nil
}

// statement is a part of a template. leave is "break" or "continue" where a loop is to be left.
type statement interface {
	run(m *machine, s *scope, out *strings.Builder) (leave string)
}

func (m *machine) all(body []statement, s *scope, out *strings.Builder) (leave string) {
	for _, x := range body {
		m.step(0)
		if leave := x.run(m, s, out); leave != "" {
			return leave
		}
	}
	return ""
}

type (
	textStatement  string
	printStatement struct{ e expression }
	ifStatement    struct {
		when            expression
		then, otherwise []statement
	}
	forStatement struct {
		line       int
		names      []string
		over, only expression
		body, none []statement
	}
	setStatement struct {
		line  int
		names []string
		field string // of a namespace
		value expression
		body  []statement // whose text is the value, where there is none
	}
	macroStatement struct {
		name  string
		names []string
		usual []expression
		body  []statement
	}
	leaveStatement string
	groupStatement struct{ body []statement }
)

func (t textStatement) run(m *machine, s *scope, out *strings.Builder) string {
	m.made(0, len(t))
	out.WriteString(string(t))
	return ""
}

func (p *printStatement) run(m *machine, s *scope, out *strings.Builder) string {
	text := m.text(0, p.e.eval(m, s))
	m.made(0, len(text))
	out.WriteString(text)
	return ""
}

func (i *ifStatement) run(m *machine, s *scope, out *strings.Builder) string {
	if truth(i.when.eval(m, s)) {
		return m.all(i.then, s, out)
	}
	return m.all(i.otherwise, s, out)
}

func (g *groupStatement) run(m *machine, s *scope, out *strings.Builder) string {
	return m.all(g.body, s, out)
}

func (l leaveStatement) run(*machine, *scope, *strings.Builder) string { return string(l) }

func (f *forStatement) run(m *machine, s *scope, out *strings.Builder) string {
	var items []any
	for _, v := range m.elements(f.line, f.over.eval(m, s)) {
		m.step(f.line)
		if f.only != nil {
			turn := s.inner()
			m.bind(f.line, turn, f.names, v)
			if !truth(f.only.eval(m, turn)) {
				continue
			}
		}
		items = append(items, v)
	}
	none := true // no turn came to its end, which is when Jinja takes the other branch
	for i, v := range items {
		m.step(f.line)
		turn := s.inner()
		m.bind(f.line, turn, f.names, v)
		turn.names["loop"] = loopOf(items, i)
		leave := m.all(f.body, turn, out)
		if leave == "break" {
			break
		}
		none = none && leave != ""
	}
	if none {
		return m.all(f.none, s, out)
	}
	return ""
}

// loopOf tells of a turn of a loop.
func loopOf(items []any, i int) *dict {
	n := len(items)
	d := newDict()
	for _, x := range []struct {
		name  string
		value any
	}{{"index", int64(i + 1)}, {"index0", int64(i)}, {"revindex", int64(n - i)}, {"revindex0", int64(n - i - 1)}, {"first", i == 0}, {"last", i == n-1}, {"length", int64(n)}} {
		d.set(x.name, x.value)
	}
	if i > 0 {
		d.set("previtem", items[i-1])
	}
	if i < n-1 {
		d.set("nextitem", items[i+1])
	}
	return d
}

// bind gives names to a value, or to the elements of a list.
func (m *machine) bind(line int, s *scope, names []string, v any) {
	if len(names) == 1 {
		s.names[names[0]] = v
		return
	}
	items := m.elements(line, v)
	if len(items) != len(names) {
		m.fail(line, "%d names for %d values", len(names), len(items))
	}
	for i, n := range names {
		s.names[n] = items[i]
	}
}

// elements are those of a list, the keys of a mapping, the characters of a text.
func (m *machine) elements(line int, v any) []any {
	switch v := v.(type) {
	case *list:
		return v.items
	case *dict:
		out := make([]any, len(v.keys))
		for i, k := range v.keys {
			out[i] = k
		}
		m.made(line, 16*len(out))
		return out
	case string:
		var out []any
		m.made(line, 16*len(v))
		for _, r := range v {
			out = append(out, string(r))
		}
		return out
	case undefined:
		return nil
	}
	m.fail(line, "%s has no elements", kind(v))
	return nil
}

func (x *setStatement) run(m *machine, s *scope, out *strings.Builder) string {
	var v any
	if x.value != nil {
		v = x.value.eval(m, s)
	} else {
		var b strings.Builder
		if leave := m.all(x.body, s.inner(), &b); leave != "" {
			return leave
		}
		v = b.String()
	}
	if x.field == "" {
		m.bind(x.line, s, x.names, v)
		return ""
	}
	target, ok := s.find(x.names[0]).(*space)
	if !ok {
		m.fail(x.line, "%s is no namespace, and nothing else can be changed", x.names[0])
	}
	target.fields.set(x.field, v)
	return ""
}

func (x *macroStatement) run(m *machine, s *scope, out *strings.Builder) string {
	s.names[x.name] = &callable{x.name, func(m *machine, line int, a given) any {
		m.deeper(line)
		defer func() { m.depth-- }()
		inner := s.inner()
		if len(a.places) > len(x.names) {
			m.fail(line, "%s takes %d arguments, not %d", x.name, len(x.names), len(a.places))
		}
		for i, n := range x.names {
			v, named := a.named[n]
			switch {
			case i < len(a.places):
				v = a.places[i]
			case named:
			case x.usual[i] != nil:
				v = x.usual[i].eval(m, inner)
			default:
				v = undefined{n}
			}
			delete(a.named, n)
			inner.names[n] = v
		}
		for n := range a.named {
			m.fail(line, "%s has no argument %s", x.name, n)
		}
		var b strings.Builder
		m.all(x.body, inner, &b)
		return b.String()
	}}
	return ""
}
