package main

import (
	_ "embed"
	"fmt"
	"regexp"
	"strings"
)

//go:embed methods.txt
var source string

// table is methods.txt as it is read.
type table struct {
	sections []section         // the methods, in the order of the file
	sets     map[string]*row   // options by the name of their set
	order    []string          // names of sets
	words    map[string]words  // kinds that are words
	kinds    []string          // their names
	docs     map[string]string // what is said of a method or Set.field instead of Go's comment
	pages    map[string]string // see goNames
}

// section is some methods of a class.
type section struct {
	class, title string
	rows         []row
}

// row is a line: methods that take the same.
type row struct {
	gives  string
	names  []string
	params []param
	call   string
	rule   string // by which a page knows shapes and types
}

// param is a parameter, or ...Set.
type param struct {
	name, kind, bounds, otherwise string
	mark                          string // ? ~ * or none
	named                         bool   // in braces
	set                           bool   // all of a set
}

func (p param) optional() bool { return p.named || p.mark == "?" || p.mark == "~" || p.otherwise != "" }

// words are what a kind may be, and the type in Go whose constants they are, in order.
type words struct {
	list []string
	goes string
}

var form = regexp.MustCompile(`^(\w+):(\w+)(?:\(([^)]*\.\.[^)]*)\))?(?:=(\S+)|([?~*]))?$`)

func parse(text string) (t *table, err error) {
	t = &table{sets: map[string]*row{}, words: map[string]words{}, docs: map[string]string{}}
	class := ""
	for i, line := range strings.Split(text, "\n") {
		switch {
		case line == "" || strings.HasPrefix(line, "//"):
			continue
		case strings.HasPrefix(line, "= ") && !strings.Contains(line, "|"):
			class = line[2:]
			if class == "Captured" || class == "Size" {
				t.sections = append(t.sections, section{class: class})
			}
			continue
		case strings.HasPrefix(line, "# "):
			t.sections = append(t.sections, section{class: class, title: line[2:]})
			continue
		}
		if err := t.line(class, line); err != nil {
			return nil, fmt.Errorf("methods.txt:%d: %w", i+1, err)
		}
	}
	return t, nil
}

func (t *table) line(class, line string) error {
	cells := strings.Split(line, "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	name := cells[0]
	switch class {
	case "Options":
		params, err := parameters(cells[1])
		if len(cells) < 3 {
			cells = append(cells, "")
		}
		t.sets[name], t.order = &row{names: []string{name}, params: params, call: cells[2]}, append(t.order, name)
		return err
	case "Words":
		t.words[name], t.kinds = words{strings.Fields(cells[1]), cells[2]}, append(t.kinds, name)
		return nil
	case "Docs":
		t.docs[name] = cells[1]
		return nil
	}
	if len(cells) == 3 {
		cells = append(cells, "")
	}
	if len(cells) != 4 {
		return fmt.Errorf("%d columns, not three or four", len(cells))
	}
	names := strings.Fields(name)
	params, err := parameters(cells[1])
	s := &t.sections[len(t.sections)-1]
	s.rows = append(s.rows, row{names[0], names[1:], params, cells[2], cells[3]})
	return err
}

func parameters(text string) (out []param, err error) {
	named := false
	for _, word := range strings.Fields(text) {
		if strings.HasPrefix(word, "{") {
			named, word = true, word[1:]
		}
		end := strings.HasSuffix(word, "}")
		word = strings.TrimSuffix(word, "}")
		if set, ok := strings.CutPrefix(word, "..."); ok {
			out = append(out, param{name: strings.ToLower(set[:1]) + set[1:], kind: set, named: named, set: true})
		} else {
			m := form.FindStringSubmatch(word)
			if m == nil {
				return nil, fmt.Errorf("%q is no parameter", word)
			}
			out = append(out, param{name: m[1], kind: m[2], bounds: m[3], otherwise: m[4], mark: m[5], named: named})
		}
		if end {
			named = false
		}
	}
	return out, nil
}

// isSet says whether a parameter is an object of options.
func (t *table) isSet(p param) bool { return t.sets[p.kind] != nil }

// flat are parameters with the fields of sets in their place.
func (t *table) flat(params []param) (out []param) {
	for _, p := range params {
		if set := t.sets[p.kind]; set != nil {
			out = append(out, t.flat(set.params)...)
			continue
		}
		out = append(out, p)
	}
	return out
}
