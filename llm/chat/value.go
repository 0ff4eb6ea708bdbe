package chat

import (
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A value is nil (none), undefined, a bool, an int64, a float64, a string, a *list, a *dict, a *space, or a callable.
type (
	// undefined is what a name or a field has that is not there: it prints as nothing, is false, and has no fields itself.
	undefined struct{ name string }
	list      struct {
		items []any
		tuple bool
	}
	// dict keeps its keys in order.
	dict struct {
		keys   []string
		values map[string]any
	}
	// space is a namespace: the one value that a template may change.
	space struct{ fields *dict }
	// callable is a function, a method or a macro.
	callable struct {
		name string
		call func(m *machine, line int, a given) any
	}
)

func newDict() *dict { return &dict{values: map[string]any{}} }

func (d *dict) set(key string, v any) {
	if _, ok := d.values[key]; !ok {
		d.keys = append(d.keys, key)
	}
	d.values[key] = v
}

// kind is what a value is, in words.
func kind(v any) string {
	switch v := v.(type) {
	case nil:
		return "none"
	case undefined:
		return "undefined (" + v.name + ")"
	case bool:
		return "a truth value"
	case int64, float64:
		return "a number"
	case string:
		return "a text"
	case *list:
		return "a list"
	case *dict:
		return "a mapping"
	case *space:
		return "a namespace"
	}
	return "a function"
}

func truth(v any) bool {
	switch v := v.(type) {
	case nil, undefined:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	case string:
		return v != ""
	case *list:
		return len(v.items) > 0
	case *dict:
		return len(v.keys) > 0
	}
	return true
}

// number is a value as a number; truth values are 0 and 1, as in Python.
func number(v any) (i int64, f float64, whole, ok bool) {
	switch v := v.(type) {
	case bool:
		if v {
			i = 1
		}
		return i, float64(i), true, true
	case int64:
		return v, float64(v), true, true
	case float64:
		return 0, v, false, true
	}
	return 0, 0, false, false
}

// equal compares as Python does: numbers by their values, lists and mappings by what they hold.
func (m *machine) equal(line int, a, b any) bool {
	m.step(line)
	m.deeper(line)
	defer func() { m.depth-- }()
	if i, f, whole, ok := number(a); ok {
		j, g, alsoWhole, ok := number(b)
		if whole && alsoWhole {
			return ok && i == j
		}
		return ok && f == g
	}
	switch a := a.(type) {
	case nil:
		return b == nil
	case undefined:
		_, ok := b.(undefined)
		return ok
	case string:
		t, ok := b.(string)
		return ok && a == t
	case *list:
		t, ok := b.(*list)
		if !ok || len(a.items) != len(t.items) || a.tuple != t.tuple {
			return false
		}
		for i := range a.items {
			if !m.equal(line, a.items[i], t.items[i]) {
				return false
			}
		}
		return true
	case *dict:
		t, ok := b.(*dict)
		if !ok || len(a.keys) != len(t.keys) {
			return false
		}
		for k, v := range a.values {
			w, ok := t.values[k]
			if !ok || !m.equal(line, v, w) {
				return false
			}
		}
		return true
	}
	return a == b
}

// less orders numbers and texts.
func (m *machine) less(line int, a, b any) bool {
	if i, f, whole, ok := number(a); ok {
		if j, g, alsoWhole, ok := number(b); ok {
			if whole && alsoWhole {
				return i < j
			}
			return f < g
		}
	}
	x, ok := a.(string)
	y, also := b.(string)
	if !ok || !also {
		m.fail(line, "%s and %s have no order", kind(a), kind(b))
	}
	return x < y
}

// text is a value as it is printed.
func (m *machine) text(line int, v any) string {
	switch v := v.(type) {
	case string:
		return v
	case undefined:
		return ""
	}
	var b strings.Builder
	m.write(line, &b, v, python, "", 0)
	return b.String()
}

// spelling is how values are written: as Python's repr or as JSON.
type spelling struct {
	none, yes, no string
	quote         func(string) string
	tuples        bool // have round brackets
	indent        int  // −1: all on one line
	item, pair    string
}

var python = spelling{none: "None", yes: "True", no: "False", quote: pythonQuote, tuples: true, indent: -1, item: ", ", pair: ": "}

// write spells a value.
func (m *machine) write(line int, b *strings.Builder, v any, s spelling, before string, depth int) {
	m.step(line)
	if depth > maxDepth {
		m.fail(line, "values stand in each other deeper than %d", maxDepth)
	}
	begin := b.Len()
	switch v := v.(type) {
	case nil:
		b.WriteString(s.none)
	case bool:
		if v {
			b.WriteString(s.yes)
		} else {
			b.WriteString(s.no)
		}
	case int64:
		b.WriteString(strconv.FormatInt(v, 10))
	case float64:
		b.WriteString(m.float(line, v, s.tuples))
	case string:
		b.WriteString(s.quote(v))
	case undefined:
		if !s.tuples {
			m.fail(line, "%s is undefined and has no form in JSON", v.name)
		}
		b.WriteString("Undefined")
	case *list:
		m.writeList(line, b, v, s, before, depth)
		return
	case *dict:
		m.writeDict(line, b, v, s, before, depth)
		return
	default:
		m.fail(line, "%s has no text", kind(v))
	}
	m.made(line, b.Len()-begin)
}

// breaks writes a line break before an item, where items stand on lines of their own.
func (s spelling) breaks(b *strings.Builder, before string) {
	if s.indent >= 0 {
		b.WriteString("\n" + before)
	}
}

func (m *machine) writeList(line int, b *strings.Builder, v *list, s spelling, before string, depth int) {
	open, end := "[", "]"
	if v.tuple && s.tuples {
		open, end = "(", ")"
		if len(v.items) == 1 {
			end = ",)"
		}
	}
	b.WriteString(open)
	deeper := before + strings.Repeat(" ", max(0, s.indent))
	m.made(line, len(deeper)*len(v.items))
	for i, x := range v.items {
		if i > 0 {
			b.WriteString(s.item)
		}
		s.breaks(b, deeper)
		m.write(line, b, x, s, deeper, depth+1)
	}
	if len(v.items) > 0 {
		s.breaks(b, before)
	}
	b.WriteString(end)
}

func (m *machine) writeDict(line int, b *strings.Builder, v *dict, s spelling, before string, depth int) {
	b.WriteString("{")
	deeper := before + strings.Repeat(" ", max(0, s.indent))
	m.made(line, len(deeper)*len(v.keys))
	for i, k := range v.keys {
		if i > 0 {
			b.WriteString(s.item)
		}
		s.breaks(b, deeper)
		m.write(line, b, k, s, deeper, depth+1)
		b.WriteString(s.pair)
		m.write(line, b, v.values[k], s, deeper, depth+1)
	}
	if len(v.keys) > 0 {
		s.breaks(b, before)
	}
	b.WriteString("}")
}

// float is a number as Python writes it: the shortest decimal that is it, with an exponent where it is very large or small.
func (m *machine) float(line int, f float64, repr bool) string {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		if !repr {
			return map[bool]string{true: "NaN", false: map[bool]string{true: "Infinity", false: "-Infinity"}[f > 0]}[f != f]
		}
		return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(f, 'g', -1, 64), "+"))
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// pythonQuote is a text as Python's repr writes it.
func pythonQuote(s string) string {
	quote := byte('\'')
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	var b strings.Builder
	b.WriteByte(quote)
	for _, r := range s {
		switch {
		case r == rune(quote) || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == ' ' || r < utf8.RuneSelf && r >= 0x20 && r != 0x7f || r >= utf8.RuneSelf && unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x100:
			b.WriteString(`\x` + hex(r, 2))
		case r < 0x10000:
			b.WriteString(`\u` + hex(r, 4))
		default:
			b.WriteString(`\U` + hex(r, 8))
		}
	}
	b.WriteByte(quote)
	return b.String()
}

func hex(r rune, digits int) string {
	s := strconv.FormatInt(int64(r), 16)
	return strings.Repeat("0", max(0, digits-len(s))) + s
}

// jsonQuote is a text as Python's json.dumps(ensure_ascii=False) writes it.
func jsonQuote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r >= 0x20:
			b.WriteRune(r)
		default:
			if i := strings.IndexRune("\n\t\r\b\f", r); i >= 0 {
				b.WriteString(`\` + "ntrbf"[i:i+1])
			} else {
				b.WriteString(`\u` + hex(r, 4))
			}
		}
	}
	b.WriteByte('"')
	return b.String()
}
