package chat

import (
	"math"
	"strings"
	"unicode/utf8"
)

// expression is a part of a template that has a value.
type expression interface {
	eval(m *machine, s *scope) any
}

type (
	constExpression struct{ value any }
	nameExpression  struct {
		line int
		name string
	}
	listExpression struct {
		items []expression
		tuple bool
	}
	dictExpression struct {
		line         int
		keys, values []expression
	}
	choiceExpression struct{ when, then, otherwise expression }
	logicExpression  struct {
		a, b expression
		or   bool
	}
	notExpression     struct{ of expression }
	compareExpression struct {
		line   int
		first  expression
		ops    []string
		others []expression
	}
	twoExpression struct {
		line int
		op   string
		a, b expression
	}
	negateExpression struct {
		line int
		of   expression
	}
	itemExpression struct {
		line    int
		of, key expression
		field   bool // a.b, which finds methods first
	}
	sliceExpression struct {
		line  int
		of    expression
		parts [3]expression
	}
	callExpression struct {
		line      int
		what      expression
		arguments arguments
	}
	filterExpression struct {
		line      int
		name      string
		of        expression
		arguments arguments
	}
	testExpression struct {
		line      int
		name      string
		of        expression
		not       bool
		arguments arguments
	}
)

// given are the values of arguments.
type given struct {
	places []any
	named  map[string]any
}

func (a arguments) eval(m *machine, s *scope) given {
	out := given{named: map[string]any{}}
	for _, e := range a.places {
		out.places = append(out.places, e.eval(m, s))
	}
	for i, n := range a.names {
		out.named[n] = a.named[i].eval(m, s)
	}
	return out
}

func (c *constExpression) eval(m *machine, s *scope) any { return c.value }
func (n *nameExpression) eval(m *machine, s *scope) any  { m.step(n.line); return s.find(n.name) }
func (n *notExpression) eval(m *machine, s *scope) any   { return !truth(n.of.eval(m, s)) }

func (l *listExpression) eval(m *machine, s *scope) any {
	out := &list{tuple: l.tuple}
	for _, e := range l.items {
		out.items = append(out.items, e.eval(m, s))
	}
	m.made(0, 16*len(out.items))
	return out
}

func (d *dictExpression) eval(m *machine, s *scope) any {
	out := newDict()
	for i, e := range d.keys {
		k, ok := e.eval(m, s).(string)
		if !ok {
			m.fail(d.line, "the keys of a mapping are texts")
		}
		out.set(k, d.values[i].eval(m, s))
	}
	m.made(d.line, 64*len(out.keys))
	return out
}

func (c *choiceExpression) eval(m *machine, s *scope) any {
	switch {
	case truth(c.when.eval(m, s)):
		return c.then.eval(m, s)
	case c.otherwise != nil:
		return c.otherwise.eval(m, s)
	}
	return undefined{"the other branch of an if"}
}

func (l *logicExpression) eval(m *machine, s *scope) any {
	a := l.a.eval(m, s)
	if truth(a) == l.or {
		return a
	}
	return l.b.eval(m, s)
}

func (c *compareExpression) eval(m *machine, s *scope) any {
	a := c.first.eval(m, s)
	for i, op := range c.ops {
		m.step(c.line)
		b := c.others[i].eval(m, s)
		if !m.compare(c.line, op, a, b) {
			return false
		}
		a = b
	}
	return true
}

func (m *machine) compare(line int, op string, a, b any) bool {
	switch op {
	case "==":
		return m.equal(line, a, b)
	case "!=":
		return !m.equal(line, a, b)
	case "in":
		return m.in(line, a, b)
	case "not in":
		return !m.in(line, a, b)
	case "<":
		return m.less(line, a, b)
	case ">":
		return m.less(line, b, a)
	}
	if op == ">=" {
		a, b = b, a
	}
	return m.less(line, a, b) || m.equal(line, a, b) // NaN is neither
}

func (m *machine) in(line int, a, b any) bool {
	switch b := b.(type) {
	case string:
		t, ok := a.(string)
		if !ok {
			m.fail(line, "%s is not in a text: only a text can be", kind(a))
		}
		return strings.Contains(b, t)
	case *dict:
		k, ok := a.(string)
		_, has := b.values[k]
		return ok && has
	}
	for _, x := range m.elements(line, b) {
		if m.equal(line, a, x) {
			return true
		}
	}
	return false
}

func (t *twoExpression) eval(m *machine, s *scope) any {
	a, b := t.a.eval(m, s), t.b.eval(m, s)
	m.step(t.line)
	if t.op == "~" {
		x, y := m.text(t.line, a), m.text(t.line, b)
		m.made(t.line, len(x)+len(y))
		return x + y
	}
	if v, ok := m.joined(t, a, b); ok {
		return v
	}
	i, f, whole, ok := number(a)
	j, g, alsoWhole, also := number(b)
	if !ok || !also {
		m.fail(t.line, "%s %s %s has no meaning", kind(a), t.op, kind(b))
	}
	if whole && alsoWhole && t.op != "/" && !(t.op == "**" && j < 0) {
		return m.integers(t.line, t.op, i, j)
	}
	return m.floats(t.line, t.op, f, g)
}

// joined adds texts and lists, and repeats them.
func (m *machine) joined(t *twoExpression, a, b any) (any, bool) {
	switch t.op {
	case "+":
		switch x := a.(type) {
		case string:
			if y, ok := b.(string); ok {
				m.made(t.line, len(x)+len(y))
				return x + y, true
			}
		case *list:
			if y, ok := b.(*list); ok && x.tuple == y.tuple {
				m.made(t.line, 16*(len(x.items)+len(y.items)))
				return &list{append(append([]any(nil), x.items...), y.items...), x.tuple}, true
			}
		}
	case "*":
		text, ok := a.(string)
		n, _, whole, _ := number(b)
		if ok && whole {
			n = max(0, n)
			if len(text) > 0 && n > maxOutput/int64(len(text)) {
				n = maxOutput + 1
				text = "x"
			}
			m.made(t.line, int(n)*len(text))
			return strings.Repeat(text, int(n)), true
		}
	}
	return nil, false
}

func (m *machine) integers(line int, op string, a, b int64) any {
	overflow := func() { m.fail(line, "%d %s %d does not fit 64 bits", a, op, b) }
	switch op {
	case "+":
		c := a + b
		if (c > a) != (b > 0) && b != 0 {
			overflow()
		}
		return c
	case "-":
		c := a - b
		if (c < a) != (b > 0) && b != 0 {
			overflow()
		}
		return c
	case "*":
		c := a * b
		if a != 0 && (c/a != b || a == -1 && b == math.MinInt64) {
			overflow()
		}
		return c
	case "**":
		c := int64(1)
		for range b {
			m.step(line)
			next := c * a
			if a != 0 && (next/a != c || a == -1 && c == math.MinInt64) {
				overflow()
			}
			if c = next; c == 0 || c == 1 && a == 1 {
				break
			}
		}
		return c
	}
	if b == 0 {
		m.fail(line, "division by zero")
	}
	if a == math.MinInt64 && b == -1 {
		overflow()
	}
	q, r := a/b, a%b
	if r != 0 && (r < 0) != (b < 0) { // Python rounds down
		q, r = q-1, r+b
	}
	if op == "//" {
		return q
	}
	return r
}

func (m *machine) floats(line int, op string, a, b float64) any {
	switch op {
	case "+":
		return a + b
	case "-":
		return a - b
	case "*":
		return a * b
	case "**":
		return math.Pow(a, b)
	}
	if b == 0 {
		m.fail(line, "division by zero")
	}
	switch op {
	case "/":
		return a / b
	case "//":
		return math.Floor(a / b)
	}
	r := math.Mod(a, b)
	if r != 0 && (r < 0) != (b < 0) {
		r += b
	}
	return r
}

func (n *negateExpression) eval(m *machine, s *scope) any {
	v := n.of.eval(m, s)
	i, f, whole, ok := number(v)
	if !ok {
		m.fail(n.line, "%s has no negative", kind(v))
	}
	if whole {
		return m.integers(n.line, "-", 0, i)
	}
	return -f
}

func (x *itemExpression) eval(m *machine, s *scope) any {
	m.step(x.line)
	of, key := x.of.eval(m, s), x.key.eval(m, s)
	name, named := key.(string)
	switch v := of.(type) {
	case undefined:
		m.fail(x.line, "%s is undefined, so it has no %v", v.name, key)
	case *space:
		if f, ok := v.fields.values[name]; ok && named {
			return f
		}
	case *dict:
		if x.field {
			if f := methodOf(of, name); f != nil {
				return f
			}
		}
		if f, ok := v.values[name]; ok && named {
			return f
		}
	case *list, string:
		if i, _, whole, _ := number(key); whole {
			return m.element(x.line, v, i)
		}
	}
	if named {
		if f := methodOf(of, name); f != nil {
			return f
		}
		return undefined{name}
	}
	return undefined{m.text(x.line, key)}
}

// element is the i-th of a list or text, from the end where i is negative.
func (m *machine) element(line int, of any, i int64) any {
	var items []any
	if l, ok := of.(*list); ok {
		items = l.items
	} else {
		items = m.elements(line, of)
	}
	if i < 0 {
		i += int64(len(items))
	}
	if i < 0 || i >= int64(len(items)) {
		return undefined{"an element behind the end"}
	}
	return items[i]
}

func (x *sliceExpression) eval(m *machine, s *scope) any {
	of := x.of.eval(m, s)
	_, text := of.(string)
	if l, ok := of.(*list); !ok && !text {
		m.fail(x.line, "%s has no slices", kind(of))
	} else if ok {
		m.made(x.line, 16*len(l.items))
	}
	items := m.elements(x.line, of)
	n := int64(len(items))
	var at [3]int64
	var is [3]bool
	for i, e := range x.parts {
		if e == nil {
			continue
		}
		v := e.eval(m, s)
		if v == nil {
			continue
		}
		whole := false
		if at[i], _, whole, _ = number(v); !whole {
			m.fail(x.line, "a slice is made by integers, not %s", kind(v))
		}
		is[i] = true
	}
	step := int64(1)
	if is[2] {
		step = at[2]
	}
	if step == 0 || step == math.MinInt64 {
		m.fail(x.line, "a slice with the step %d", step)
	}
	low, high := int64(0), n
	if step < 0 {
		low, high = -1, n-1
	}
	bound := func(i int, usual int64) int64 {
		if !is[i] {
			return usual
		}
		v := at[i]
		if v < 0 {
			v += n
		}
		return max(low, min(high, v))
	}
	from, to := bound(0, low), bound(1, high)
	if step < 0 {
		from, to = bound(0, high), bound(1, low)
	}
	var out []any
	for i := from; step > 0 && i < to || step < 0 && i > to; i += step {
		if out = append(out, items[i]); step > n || step < -n {
			break
		}
	}
	if !text {
		return &list{items: out, tuple: of.(*list).tuple}
	}
	var b strings.Builder
	for _, c := range out {
		b.WriteString(c.(string))
	}
	return b.String()
}

func (c *callExpression) eval(m *machine, s *scope) any {
	m.step(c.line)
	v := c.what.eval(m, s)
	f, ok := v.(*callable)
	if !ok {
		m.fail(c.line, "%s is not a function that is known here", describe(c.what, v))
	}
	return f.call(m, c.line, c.arguments.eval(m, s))
}

// describe names what was to be called.
func describe(e expression, v any) string {
	if i, ok := e.(*itemExpression); ok {
		if k, ok := i.key.(*constExpression); ok {
			if name, ok := k.value.(string); ok {
				return name
			}
		}
	}
	if u, ok := v.(undefined); ok {
		return u.name
	}
	return kind(v)
}

func (f *filterExpression) eval(m *machine, s *scope) any {
	m.step(f.line)
	of := f.of.eval(m, s)
	return filters[f.name](m, f.line, of, f.arguments.eval(m, s))
}

func (t *testExpression) eval(m *machine, s *scope) any {
	m.step(t.line)
	of := t.of.eval(m, s)
	return tests[t.name](m, t.line, of, t.arguments.eval(m, s)) != t.not
}

// length is how many elements a value has.
func (m *machine) length(line int, v any) int64 {
	if s, ok := v.(string); ok {
		return int64(utf8.RuneCountInString(s))
	}
	if d, ok := v.(*dict); ok {
		return int64(len(d.keys))
	}
	return int64(len(m.elements(line, v)))
}
