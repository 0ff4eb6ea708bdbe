package chat

import (
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
)

func sortedKeys(of map[string]any) []string {
	var out []string
	for k := range of {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

func textFilter(f func(string) string) func(*machine, int, any, given) any {
	return func(m *machine, line int, of any, a given) any {
		m.want(line, "the filter", a, 0, 0)
		s := f(m.text(line, of))
		m.made(line, len(s))
		return s
	}
}

const blanks = " \t\n\r\f\v\u0085\u00a0\u2028\u2029\u3000\u1680\u202f\u205f\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\x1c\x1d\x1e\x1f"

func trimFilter(m *machine, line int, of any, a given) any {
	m.want(line, "trim", a, 0, 1, "chars")
	cut := blanks
	if c := a.get(0, "chars", nil); c != nil {
		cut = m.string(line, c)
	}
	return strings.Trim(m.text(line, of), cut)
}

func jsonFilter(m *machine, line int, of any, a given) any {
	m.want(line, "tojson", a, 0, 1, "indent", "ensure_ascii", "sort_keys", "separators")
	for _, n := range []string{"ensure_ascii", "sort_keys"} {
		if truth(a.get(-1, n, false)) {
			m.fail(line, "tojson with %s is not known", n)
		}
	}
	s := spelling{none: "null", yes: "true", no: "false", quote: jsonQuote, indent: -1, item: ", ", pair: ": "}
	indent := a.named["indent"]
	if len(a.places) == 1 { // the first place is ensure_ascii in some libraries and indent in others
		indent = a.places[0]
	}
	if indent != nil {
		s.item = ","
		if s.indent = int(max(-1, min(64, m.whole(line, indent)))); s.indent < 0 {
			s.indent = 0
		}
	}
	if pair, ok := a.named["separators"].(*list); ok && len(pair.items) == 2 {
		s.item, s.pair = m.string(line, pair.items[0]), m.string(line, pair.items[1])
	}
	var b strings.Builder
	m.write(line, &b, of, s, "", 0)
	return b.String()
}

func lengthFilter(m *machine, line int, of any, a given) any { return m.length(line, of) }

func joinFilter(m *machine, line int, of any, a given) any {
	m.want(line, "join", a, 0, 1, "d", "attribute")
	between := m.text(line, a.get(0, "d", ""))
	var b strings.Builder
	for i, v := range m.elements(line, of) {
		if name, ok := a.named["attribute"]; ok {
			v = m.path(line, v, m.text(line, name))
		}
		if i > 0 {
			b.WriteString(between)
		}
		text := m.text(line, v)
		m.made(line, len(between)+len(text))
		b.WriteString(text)
	}
	return b.String()
}

func defaultFilter(m *machine, line int, of any, a given) any {
	m.want(line, "default", a, 0, 2, "default_value", "boolean")
	if isUndefined(of) || truth(a.get(1, "boolean", false)) && !truth(of) {
		return a.get(0, "default_value", "")
	}
	return of
}

func replaceFilter(m *machine, line int, of any, a given) any {
	m.want(line, "replace", a, 0, 3, "old", "new", "count")
	return m.replace(line, m.text(line, of), m.text(line, a.get(0, "old", "")), m.text(line, a.get(1, "new", "")), a.get(2, "count", nil))
}

func (m *machine) replace(line int, text, old, with string, count any) string {
	n := -1
	if count != nil {
		n = int(max(-1, min(math.MaxInt32, m.whole(line, count))))
	}
	found := strings.Count(text, old)
	if n >= 0 {
		found = min(found, n)
	}
	if len(with) > 0 && found > maxOutput/len(with) {
		m.made(line, maxOutput+1)
	}
	m.made(line, len(text)+found*len(with))
	return strings.Replace(text, old, with, n)
}

func firstFilter(m *machine, line int, of any, a given) any {
	if items := m.elements(line, of); len(items) > 0 {
		return items[0]
	}
	return undefined{"the first of nothing"}
}

func lastFilter(m *machine, line int, of any, a given) any {
	if items := m.elements(line, of); len(items) > 0 {
		return items[len(items)-1]
	}
	return undefined{"the last of nothing"}
}

func itemsFilter(m *machine, line int, of any, a given) any {
	out := &list{}
	if isUndefined(of) {
		return out
	}
	d, ok := of.(*dict)
	if !ok {
		m.fail(line, "%s has no items", kind(of))
	}
	for _, k := range d.keys {
		out.items = append(out.items, &list{items: []any{k, d.values[k]}, tuple: true})
	}
	m.made(line, 64*len(out.items))
	return out
}

func listFilter(m *machine, line int, of any, a given) any {
	items := m.elements(line, of)
	m.made(line, 16*len(items))
	return &list{items: slices.Clone(items)}
}

func stringFilter(m *machine, line int, of any, a given) any { return m.text(line, of) }

func intFilter(m *machine, line int, of any, a given) any {
	m.want(line, "int", a, 0, 2, "default", "base")
	if a.get(1, "base", int64(10)) != int64(10) {
		m.fail(line, "int of another base than 10 is not known")
	}
	i, f, whole, ok := number(of)
	if s, text := of.(string); text {
		s = strings.TrimSpace(s)
		n, err := strconv.ParseInt(s, 10, 64)
		if err == nil {
			return n
		}
		f, err = strconv.ParseFloat(s, 64)
		ok = err == nil
	}
	switch {
	case whole:
		return i
	case ok && math.Abs(f) < 1<<62:
		return int64(f)
	}
	return a.get(0, "default", int64(0))
}

func floatFilter(m *machine, line int, of any, a given) any {
	m.want(line, "float", a, 0, 1, "default")
	_, f, _, ok := number(of)
	if s, text := of.(string); text {
		var err error
		f, err = strconv.ParseFloat(strings.TrimSpace(s), 64)
		ok = err == nil
	}
	if ok {
		return f
	}
	return a.get(0, "default", 0.0)
}

func absFilter(m *machine, line int, of any, a given) any {
	i, f, whole, ok := number(of)
	switch {
	case !ok:
		m.fail(line, "abs of %s", kind(of))
	case whole && i < 0:
		return m.integers(line, "-", 0, i)
	case whole:
		return i
	}
	return math.Abs(f)
}

func reverseFilter(m *machine, line int, of any, a given) any {
	items := slices.Clone(m.elements(line, of))
	m.made(line, 16*len(items))
	slices.Reverse(items)
	if _, ok := of.(string); !ok {
		return &list{items: items}
	}
	var b strings.Builder
	for _, c := range items {
		b.WriteString(c.(string))
	}
	return b.String()
}

// path is a field of a field ("function.name"); a number is an index.
func (m *machine) path(line int, v any, name string) any {
	for _, part := range strings.Split(name, ".") {
		m.step(line)
		switch of := v.(type) {
		case undefined:
			m.fail(line, "%s is undefined, so it has no %s", of.name, part)
		case *dict:
			f, ok := of.values[part]
			if v = f; !ok {
				v = undefined{part}
			}
			continue
		case *list, string:
			if i, err := strconv.ParseInt(part, 10, 64); err == nil {
				v = m.element(line, v, i)
				continue
			}
		}
		v = undefined{part}
	}
	return v
}

// sortKey is by what values are ordered: texts without regard to capitals, unless told.
func (m *machine) sortKey(line int, v any, a given, from int) any {
	if name := a.get(from+1, "attribute", nil); name != nil {
		v = m.path(line, v, m.text(line, name))
	}
	if s, ok := v.(string); ok && !truth(a.get(from, "case_sensitive", false)) {
		return strings.ToLower(s)
	}
	return v
}

func (m *machine) order(line int, items, keys []any, reverse bool) {
	index := make([]int, len(items))
	for i := range index {
		index[i] = i
	}
	sort.SliceStable(index, func(i, j int) bool {
		m.step(line)
		if reverse {
			i, j = j, i
		}
		return m.less(line, keys[index[i]], keys[index[j]])
	})
	before := slices.Clone(items)
	for i, at := range index {
		items[i] = before[at]
	}
}

func sortFilter(m *machine, line int, of any, a given) any {
	m.want(line, "sort", a, 0, 3, "reverse", "case_sensitive", "attribute")
	items := slices.Clone(m.elements(line, of))
	m.made(line, 64*len(items))
	keys := make([]any, len(items))
	for i, v := range items {
		keys[i] = m.sortKey(line, v, a, 1)
	}
	m.order(line, items, keys, truth(a.get(0, "reverse", false)))
	return &list{items: items}
}

func uniqueFilter(m *machine, line int, of any, a given) any {
	m.want(line, "unique", a, 0, 2, "case_sensitive", "attribute")
	out := &list{}
	var keys []any
next:
	for _, v := range m.elements(line, of) {
		key := m.sortKey(line, v, a, 0)
		for _, k := range keys {
			if m.equal(line, k, key) {
				continue next
			}
		}
		keys, out.items = append(keys, key), append(out.items, v)
	}
	m.made(line, 16*len(keys))
	return out
}

func dictsortFilter(m *machine, line int, of any, a given) any {
	m.want(line, "dictsort", a, 0, 3, "case_sensitive", "by", "reverse")
	out := itemsFilter(m, line, of, given{}).(*list)
	at := map[any]int{"key": 0, "value": 1}
	by, ok := at[a.get(1, "by", "key")]
	if !ok {
		m.fail(line, "dictsort is by key or by value")
	}
	keys := make([]any, len(out.items))
	for i, v := range out.items {
		keys[i] = m.sortKey(line, v.(*list).items[by], given{named: map[string]any{"case_sensitive": a.get(0, "case_sensitive", false)}}, 1)
	}
	m.order(line, out.items, keys, truth(a.get(2, "reverse", false)))
	return out
}

func mapFilter(m *machine, line int, of any, a given) any {
	out := &list{}
	name, attribute := a.named["attribute"]
	if !attribute && (len(a.places) == 0 || !known(m.text(line, a.places[0]))) {
		m.fail(line, "map wants attribute= or the name of a filter that is known")
	}
	for _, v := range m.elements(line, of) {
		m.step(line)
		if attribute {
			v = m.path(line, v, m.text(line, name))
			if usual, ok := a.named["default"]; ok && isUndefined(v) {
				v = usual
			}
		} else {
			v = filters[m.text(line, a.places[0])](m, line, v, given{a.places[1:], a.named})
		}
		out.items = append(out.items, v)
	}
	m.made(line, 16*len(out.items))
	return out
}

// selectFilter keeps the elements that pass a test, or do not; of themselves or of a field.
func selectFilter(keep, field bool) func(*machine, int, any, given) any {
	return func(m *machine, line int, of any, a given) any {
		out := &list{}
		rest := a.places
		name := ""
		if field {
			if len(rest) == 0 {
				m.fail(line, "the name of a field is missing")
			}
			name, rest = m.text(line, rest[0]), rest[1:]
		}
		test := func(m *machine, line int, of any, a given) bool { return truth(of) }
		if len(rest) > 0 {
			word := m.text(line, rest[0])
			if word == "==" || word == "equalto" {
				word = "eq"
			}
			var ok bool
			if test, ok = tests[word]; !ok {
				m.fail(line, "the test %.32q is not known", word)
			}
			rest = rest[1:]
		}
		for _, v := range m.elements(line, of) {
			m.step(line)
			x := v
			if field {
				x = m.path(line, v, name)
			}
			if test(m, line, x, given{places: rest}) == keep {
				out.items = append(out.items, v)
			}
		}
		m.made(line, 16*len(out.items))
		return out
	}
}

func sumFilter(m *machine, line int, of any, a given) any {
	m.want(line, "sum", a, 0, 2, "attribute", "start")
	sum := a.get(1, "start", int64(0))
	for _, v := range m.elements(line, of) {
		if name := a.get(0, "attribute", nil); name != nil {
			v = m.path(line, v, m.text(line, name))
		}
		sum = (&twoExpression{line, "+", &constExpression{sum}, &constExpression{v}}).eval(m, nil)
	}
	return sum
}

func extremeFilter(least bool) func(*machine, int, any, given) any {
	return func(m *machine, line int, of any, a given) any {
		m.want(line, "min and max", a, 0, 2, "case_sensitive", "attribute")
		var best, key any = undefined{"the greatest or least of nothing"}, nil
		for i, v := range m.elements(line, of) {
			k := m.sortKey(line, v, a, 0)
			if i == 0 || least && m.less(line, k, key) || !least && m.less(line, key, k) {
				best, key = v, k
			}
		}
		return best
	}
}

func indentFilter(m *machine, line int, of any, a given) any {
	m.want(line, "indent", a, 0, 3, "width", "first", "blank")
	before := ""
	switch w := a.get(0, "width", int64(4)).(type) {
	case string:
		before = w
	default:
		before = strings.Repeat(" ", int(max(0, min(1000, m.whole(line, w)))))
	}
	lines := strings.Split(m.text(line, of), "\n")
	m.made(line, len(lines)*(len(before)+17))
	for i, l := range lines {
		if i == 0 && !truth(a.get(1, "first", false)) || l == "" && i > 0 && !truth(a.get(2, "blank", false)) {
			continue
		}
		lines[i] = before + l
	}
	return strings.Join(lines, "\n")
}
