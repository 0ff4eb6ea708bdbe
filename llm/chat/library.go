package chat

import (
	"strings"
	"unicode"
)

// functions are what a template may call by name.
var functions map[string]*callable

// filters are what may stand behind | and tests what may stand behind is.
var (
	filters map[string]func(m *machine, line int, of any, a given) any
	tests   map[string]func(m *machine, line int, of any, a given) bool
)

func known(filter string) bool { _, ok := filters[filter]; return ok }

func init() {
	functions = map[string]*callable{}
	for name, f := range map[string]func(*machine, int, given) any{"range": rangeFunction, "namespace": namespaceFunction, "dict": dictFunction,
		"raise_exception": raiseFunction, "strftime_now": timeFunction} {
		functions[name] = &callable{name, f}
	}
	filters = map[string]func(*machine, int, any, given) any{"trim": trimFilter, "tojson": jsonFilter, "length": lengthFilter, "count": lengthFilter, "join": joinFilter,
		"upper": textFilter(strings.ToUpper), "lower": textFilter(strings.ToLower), "title": textFilter(titled), "capitalize": textFilter(capitalised),
		"default": defaultFilter, "d": defaultFilter, "replace": replaceFilter, "first": firstFilter, "last": lastFilter, "items": itemsFilter, "list": listFilter,
		"string": stringFilter, "safe": stringFilter, "int": intFilter, "float": floatFilter, "abs": absFilter, "reverse": reverseFilter, "sort": sortFilter,
		"unique": uniqueFilter, "dictsort": dictsortFilter, "map": mapFilter, "select": selectFilter(true, false), "reject": selectFilter(false, false),
		"selectattr": selectFilter(true, true), "rejectattr": selectFilter(false, true), "sum": sumFilter, "min": extremeFilter(true), "max": extremeFilter(false),
		"indent": indentFilter}
	tests = map[string]func(*machine, int, any, given) bool{}
	for name, f := range map[string]func(any) bool{"defined": func(v any) bool { return !isUndefined(v) }, "undefined": isUndefined, "none": func(v any) bool { return v == nil },
		"true": func(v any) bool { return v == true }, "false": func(v any) bool { return v == false }, "string": isKind[string], "mapping": isKind[*dict],
		"boolean": isKind[bool], "integer": isKind[int64], "float": isKind[float64], "callable": isKind[*callable], "number": func(v any) bool { _, _, _, ok := number(v); return ok },
		"sequence": isSequence, "iterable": func(v any) bool { return isSequence(v) || isUndefined(v) }} {
		tests[name] = func(m *machine, line int, of any, a given) bool {
			m.want(line, "the test "+name, a, 0, 0)
			return f(of)
		}
	}
	for name, op := range map[string]string{"equalto": "==", "eq": "==", "ne": "!=", "in": "in", "lt": "<", "le": "<=", "gt": ">", "ge": ">="} {
		tests[name] = func(m *machine, line int, of any, a given) bool {
			m.want(line, "the test "+name, a, 1, 1)
			return m.compare(line, op, of, a.places[0])
		}
	}
	for name, rest := range map[string]int64{"even": 0, "odd": 1} {
		tests[name] = func(m *machine, line int, of any, a given) bool {
			return m.integers(line, "%", m.whole(line, of), 2) == rest
		}
	}
	tests["divisibleby"] = func(m *machine, line int, of any, a given) bool {
		m.want(line, "the test divisibleby", a, 1, 1)
		return m.integers(line, "%", m.whole(line, of), m.whole(line, a.places[0])) == int64(0)
	}
	cased := func(to func(string) string) func(*machine, int, any, given) bool {
		return func(m *machine, line int, of any, a given) bool {
			s := m.text(line, of)
			return s == to(s) && strings.ToLower(s) != strings.ToUpper(s)
		}
	}
	tests["lower"], tests["upper"] = cased(strings.ToLower), cased(strings.ToUpper)
}

func isKind[T any](v any) bool { _, ok := v.(T); return ok }
func isUndefined(v any) bool   { return isKind[undefined](v) }
func isSequence(v any) bool    { return isKind[string](v) || isKind[*list](v) || isKind[*dict](v) }

// want refuses a wrong number of arguments, and names that nothing took.
func (m *machine) want(line int, what string, a given, least, most int, names ...string) {
	if len(a.places) < least || len(a.places) > most {
		m.fail(line, "%s takes %d to %d arguments, not %d", what, least, most, len(a.places))
	}
next:
	for n := range a.named {
		for _, k := range names {
			if n == k {
				continue next
			}
		}
		m.fail(line, "%s has no argument %s", what, n)
	}
}

// get is an argument by place or by name; usual where it is not given.
func (a given) get(i int, name string, usual any) any {
	if i >= 0 && i < len(a.places) {
		return a.places[i]
	}
	if v, ok := a.named[name]; ok {
		return v
	}
	return usual
}

func (m *machine) whole(line int, v any) int64 {
	i, _, whole, _ := number(v)
	if !whole {
		m.fail(line, "an integer was expected, not %s", kind(v))
	}
	return i
}

func (m *machine) string(line int, v any) string {
	s, ok := v.(string)
	if !ok {
		m.fail(line, "a text was expected, not %s", kind(v))
	}
	return s
}

func rangeFunction(m *machine, line int, a given) any {
	m.want(line, "range", a, 1, 3)
	from, to, step := int64(0), m.whole(line, a.places[0]), int64(1)
	if len(a.places) > 1 {
		from, to = to, m.whole(line, a.places[1])
	}
	if len(a.places) > 2 {
		step = m.whole(line, a.places[2])
	}
	if step == 0 {
		m.fail(line, "range with the step 0")
	}
	out := &list{}
	for i := from; step > 0 && i < to || step < 0 && i > to; {
		m.step(line)
		m.made(line, 16)
		out.items = append(out.items, i)
		next := i + step
		if (next > i) != (step > 0) {
			break
		}
		i = next
	}
	return out
}

func fields(m *machine, line int, what string, a given) *dict {
	out := newDict()
	m.want(line, what, a, 0, 1, sortedKeys(a.named)...)
	if len(a.places) == 1 {
		d, ok := a.places[0].(*dict)
		if !ok {
			m.fail(line, "%s of %s", what, kind(a.places[0]))
		}
		for _, k := range d.keys {
			out.set(k, d.values[k])
		}
	}
	for _, k := range sortedKeys(a.named) {
		out.set(k, a.named[k])
	}
	m.made(line, 64*len(out.keys))
	return out
}

func namespaceFunction(m *machine, line int, a given) any {
	return &space{fields(m, line, "namespace", a)}
}

func dictFunction(m *machine, line int, a given) any { return fields(m, line, "dict", a) }

func raiseFunction(m *machine, line int, a given) any {
	m.want(line, "raise_exception", a, 1, 1)
	m.fail(line, "the template refuses the conversation: %s", m.text(line, a.places[0]))
	return nil
}

// clock is what strftime knows, as layouts of package time.
var clock = map[rune]string{'d': "02", 'm': "01", 'Y': "2006", 'y': "06", 'B': "January", 'b': "Jan", 'A': "Monday", 'a': "Mon", 'H': "15", 'I': "03", 'M': "04", 'S': "05",
	'p': "PM", 'j': "002", 'Z': "MST", 'z': "-0700"}

func timeFunction(m *machine, line int, a given) any {
	m.want(line, "strftime_now", a, 1, 1)
	var b strings.Builder
	percent := false
	for _, r := range m.string(line, a.places[0]) {
		layout, ok := clock[r]
		switch {
		case !percent && r == '%':
			percent = true
			continue
		case !percent, r == '%':
			b.WriteRune(r)
		case ok:
			b.WriteString(m.now.Format(layout))
		default:
			m.fail(line, "strftime_now does not know %%%c", r)
		}
		percent = false
	}
	m.made(line, b.Len())
	return b.String()
}

// titled has each word begin with a capital; what follows is small.
func titled(s string) string {
	inside := false
	return strings.Map(func(r rune) rune {
		begin := !inside
		inside = unicode.IsLetter(r) || unicode.IsDigit(r) || r == '\''
		if begin {
			return unicode.ToTitle(r)
		}
		return unicode.ToLower(r)
	}, s)
}

func capitalised(s string) string {
	for i, r := range s {
		return string(unicode.ToTitle(r)) + strings.ToLower(s[i+len(string(r)):])
	}
	return s
}
