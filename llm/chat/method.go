package chat

import (
	"slices"
	"strings"
)

// textMethods and dictMethods are those of texts and mappings, as Python has them.
var (
	textMethods map[string]func(m *machine, line int, s string, a given) any
	dictMethods map[string]func(m *machine, line int, d *dict, a given) any
)

// changing are methods of lists and mappings that change them, which a template may not.
var changing = []string{"append", "extend", "insert", "pop", "remove", "sort", "reverse", "clear", "update", "setdefault", "popitem"}

func init() {
	text := func(f func(string) string) func(*machine, int, string, given) any {
		return func(m *machine, line int, s string, a given) any {
			m.want(line, "the method", a, 0, 0)
			out := f(s)
			m.made(line, len(out))
			return out
		}
	}
	strip := func(f func(s, cut string) string) func(*machine, int, string, given) any {
		return func(m *machine, line int, s string, a given) any {
			m.want(line, "the method", a, 0, 1)
			if v := a.get(0, "", nil); v != nil {
				return f(s, m.string(line, v))
			}
			return f(s, blanks)
		}
	}
	one := func(f func(m *machine, line int, s, other string) any) func(*machine, int, string, given) any {
		return func(m *machine, line int, s string, a given) any {
			m.want(line, "the method", a, 1, 1)
			return f(m, line, s, m.string(line, a.places[0]))
		}
	}
	textMethods = map[string]func(*machine, int, string, given) any{
		"upper": text(strings.ToUpper), "lower": text(strings.ToLower), "title": text(titled), "capitalize": text(capitalised),
		"strip": strip(strings.Trim), "lstrip": strip(strings.TrimLeft), "rstrip": strip(strings.TrimRight),
		"startswith": affix(strings.HasPrefix), "endswith": affix(strings.HasSuffix), "split": splitMethod, "splitlines": linesMethod,
		"removeprefix": one(func(m *machine, line int, s, p string) any { return strings.TrimPrefix(s, p) }),
		"removesuffix": one(func(m *machine, line int, s, p string) any { return strings.TrimSuffix(s, p) }),
		"count":        one(func(m *machine, line int, s, p string) any { return int64(strings.Count(s, p)) }),
		"find": one(func(m *machine, line int, s, p string) any {
			at := strings.Index(s, p)
			if at < 0 {
				return int64(-1)
			}
			return m.length(line, s[:at])
		}),
		"replace": func(m *machine, line int, s string, a given) any {
			m.want(line, "replace", a, 2, 3)
			return m.replace(line, s, m.string(line, a.places[0]), m.string(line, a.places[1]), a.get(2, "", nil))
		},
		"join": func(m *machine, line int, s string, a given) any {
			m.want(line, "join", a, 1, 1)
			for _, v := range m.elements(line, a.places[0]) {
				m.string(line, v)
			}
			return joinFilter(m, line, a.places[0], given{places: []any{s}})
		},
	}
	dictMethods = map[string]func(*machine, int, *dict, given) any{
		"items": func(m *machine, line int, d *dict, a given) any { return itemsFilter(m, line, d, a) },
		"keys":  func(m *machine, line int, d *dict, a given) any { return &list{items: m.elements(line, d)} },
		"values": func(m *machine, line int, d *dict, a given) any {
			out := &list{}
			for _, k := range d.keys {
				out.items = append(out.items, d.values[k])
			}
			m.made(line, 16*len(out.items))
			return out
		},
		"get": func(m *machine, line int, d *dict, a given) any {
			m.want(line, "get", a, 1, 2)
			if k, ok := a.places[0].(string); ok {
				if v, ok := d.values[k]; ok {
					return v
				}
			}
			return a.get(1, "", nil)
		},
	}
}

// methodOf is a method of a value; nil where it has none of this name.
func methodOf(of any, name string) *callable {
	switch v := of.(type) {
	case string:
		if f, ok := textMethods[name]; ok {
			return &callable{name, func(m *machine, line int, a given) any { return f(m, line, v, a) }}
		}
	case *dict:
		if f, ok := dictMethods[name]; ok {
			return &callable{name, func(m *machine, line int, a given) any { return f(m, line, v, a) }}
		}
	}
	_, isList := of.(*list)
	_, isDict := of.(*dict)
	if (isList || isDict) && slices.Contains(changing, name) {
		if d, ok := of.(*dict); ok {
			if _, field := d.values[name]; field {
				return nil
			}
		}
		return &callable{name, func(m *machine, line int, a given) any {
			m.fail(line, "%s would change %s; a template changes nothing but the fields of a namespace", name, kind(of))
			return nil
		}}
	}
	return nil
}

func affix(f func(s, part string) bool) func(*machine, int, string, given) any {
	return func(m *machine, line int, s string, a given) any {
		m.want(line, "the method", a, 1, 1)
		if l, ok := a.places[0].(*list); ok && l.tuple {
			for _, v := range l.items {
				if f(s, m.string(line, v)) {
					return true
				}
			}
			return false
		}
		return f(s, m.string(line, a.places[0]))
	}
}

func splitMethod(m *machine, line int, s string, a given) any {
	m.want(line, "split", a, 0, 2, "sep", "maxsplit")
	n := -1
	if v := a.get(1, "maxsplit", nil); v != nil {
		if most := m.whole(line, v); most >= 0 {
			n = int(min(most, maxOutput)) + 1
		}
	}
	var parts []string
	if sep := a.get(0, "sep", nil); sep != nil {
		by := m.string(line, sep)
		if by == "" {
			m.fail(line, "split by an empty text")
		}
		parts = strings.SplitN(s, by, n)
	} else {
		for s = strings.TrimLeft(s, blanks); s != ""; s = strings.TrimLeft(s, blanks) {
			at := strings.IndexAny(s, blanks)
			if at < 0 || n >= 0 && len(parts) == n-1 {
				at = len(s)
			}
			parts, s = append(parts, s[:at]), s[at:]
		}
	}
	return m.texts(line, parts)
}

func (m *machine) texts(line int, parts []string) any {
	m.made(line, 32*len(parts))
	out := &list{}
	for _, p := range parts {
		out.items = append(out.items, p)
	}
	return out
}

func linesMethod(m *machine, line int, s string, a given) any {
	m.want(line, "splitlines", a, 0, 0)
	parts := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s), "\n")
	if parts[len(parts)-1] == "" {
		parts = parts[:len(parts)-1]
	}
	return m.texts(line, parts)
}
