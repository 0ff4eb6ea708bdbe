package main

import (
	"bytes"
	"fmt"
	"go/format"
	"slices"
	"sort"
	"strings"
)

// The engine's side: a list of operations, each with the function of package tensor that it is, or one that takes its arguments
// and calls it; and one case for each type of function that several operations are of.

// takers take an argument of a kind from the call.
var takers = map[string]struct{ code, goes string }{
	"tensor": {"c.tensor()", "one"}, "operand": {"c.operand()", "any"}, "scalar": {"c.operand()", "any"}, "int": {"c.integer()", "int"},
	"size": {"c.integer()", "int"}, "position": {"c.position()", "any"}, "number": {"c.number()", "float64"}, "real": {"c.number()", "float64"}, "flag": {"c.truth()", "bool"},
	"text": {"c.text()", "string"}, "dtype": {"c.dtype()", "dtype.DType"}, "ints": {"c.integers()", "[]int"}, "list": {"c.integers()", "[]int"},
	"parts": {"c.integers()", "[]int"}, "sizes": {"c.integers()", "[]int"}, "lengths": {"c.integers()", "[]int"}, "reals": {"c.numbers()", "[]float64"},
	"tensors": {"c.tensors()", "some"}, "operands": {"c.operands()", "[]any"}, "named": {"c.sizes()", "map[string]int"},
}

// item is an argument of a function in Go.
type item struct{ name, code, goes string }

// items are the arguments that a row takes, one for each set.
func (t *table) items(params []param) (out []item, err error) {
	for i, p := range params {
		switch {
		case t.sets[p.kind] != nil:
			if p.kind == "Made" || p.kind == "Integers" {
				out = append(out, item{p.name, "c.dtype()", "dtype.DType"})
				continue
			}
			s := item{p.name, "c." + strings.ToLower(p.kind[:1]) + p.kind[1:] + "()", "tensor." + t.sets[p.kind].call}
			if p.kind == "Pool" && i > 0 && params[i-1].name == "size" { // the size is one of its fields
				out, s.name = out[:len(out)-1], "size"
			}
			out = append(out, s)
		case t.words[p.kind].goes != "":
			goes := "tensor." + t.words[p.kind].goes
			out = append(out, item{p.name, goes + "(c.word())", goes})
		case takers[p.kind].code != "":
			out = append(out, item{p.name, takers[p.kind].code, takers[p.kind].goes})
		default:
			return nil, fmt.Errorf("the engine cannot take a %s", p.kind)
		}
	}
	return out, nil
}

// spec is what the engine has to know of parameters: names, ? where one may be missing, and defaults.
func (t *table) spec(class string, params []param) string {
	var out []string
	for _, p := range t.flat(params) {
		s := p.name
		w := t.words[p.kind]
		switch {
		case w.list != nil:
			i := slices.Index(w.list, p.otherwise)
			s += fmt.Sprintf("=%d:%s", i, strings.Join(w.list, ":"))
		case p.otherwise != "":
			s += "=" + p.otherwise
		case p.optional() || p.mark == "*":
			s += "?"
		}
		out = append(out, s)
	}
	text := strings.Join(out, " ")
	if class != "Tensor" {
		text = strings.TrimSpace("- " + text)
	}
	return text
}

// entry is an operation in Go.
type entry struct {
	name, spec string
	f          string // what it is
	kind       string // the type of function that it is, where others may be of the same
	own        string // what it is if no other is
	code       string // how a function of that type is called
}

func (t *table) entry(class, name string, r row, s *goSource) (e entry, err error) {
	e = entry{name: name, spec: t.spec(class, r.params)}
	receiver := "one."
	if class != "Tensor" {
		receiver = "tensor."
	}
	if special, ok := strings.CutPrefix(r.call, "@"); ok {
		f, covers, _ := strings.Cut(special, " ")
		if covers != "" {
			e.f = "op" + strings.ToUpper(f[:1]) + f[1:]
			return e, nil
		}
		goes := s.find(class, name)
		if goes == nil {
			return e, fmt.Errorf("%s: package tensor has no such function", name)
		}
		e.f = f + "(" + receiver + goes.name + ")"
		return e, nil
	}
	items, err := t.items(r.params)
	if err != nil {
		return e, fmt.Errorf("%s: %w", name, err)
	}
	goName, call := r.call, ""
	if i := strings.Index(goName, "("); i > 0 {
		goName, call = goName[:i], goName[i:]
	}
	if goName == "" {
		goName = name
	}
	f := s.find(class, goName)
	if f == nil {
		return e, fmt.Errorf("%s: package tensor has no %s", name, goName)
	}
	return e, t.fill(&e, class, receiver, f, items, call)
}

// fill says how f is called with items.
func (t *table) fill(e *entry, class, receiver string, f *function, items []item, call string) error {
	var names, codes, args []string
	if class == "Tensor" {
		names, codes = append(names, "x"), append(codes, "c.tensor()")
	}
	types := f.params
	context := len(types) > 0 && types[0] == "context.Context"
	if context {
		args, types = append(args, "c.ctx"), types[1:]
	}
	if call == "" && len(types) != len(items) {
		return fmt.Errorf("%s: %s takes %d arguments, and the table has %d", e.name, f.name, len(types), len(items))
	}
	direct := call == "" && !context
	for i, it := range items {
		names, codes = append(names, it.name), append(codes, it.code)
		arg := it.name
		if call == "" && strings.HasPrefix(types[i], "...") && types[i] != "..."+it.goes {
			arg += "..."
		}
		args = append(args, arg)
	}
	if call == "" {
		call = "(" + strings.Join(args, ", ") + ")"
	} else if context {
		call = strings.Replace(call, "(", "(c.ctx, ", 1)
	}
	on := "tensor."
	if class == "Tensor" {
		on = "x."
	}
	result, ok := results[strings.Join(f.results, " ")]
	if !ok {
		return fmt.Errorf("%s: results %v", e.name, f.results)
	}
	value := fmt.Sprintf(result, on+f.name+call)
	back := map[string]string{"one": "one", "one error": "one", "one one": "(one, one)"}[strings.Join(f.results, " ")]
	if back == "" {
		back = "some"
	}
	if len(names) == 0 {
		e.own = fmt.Sprintf("func(c *call) %s { return %s }", back, value)
	} else {
		e.own = fmt.Sprintf("func(c *call) %s { %s := %s; return %s }", back, strings.Join(names, ", "), strings.Join(codes, ", "), value)
	}
	if direct {
		goTypes := append([]string{}, types...)
		if class == "Tensor" {
			goTypes = append([]string{"one"}, types...)
		}
		e.f = receiver + f.name
		back = strings.Join(f.results, ", ")
		if len(f.results) > 1 {
			back = "(" + back + ")"
		}
		e.kind = "func(" + strings.Join(goTypes, ", ") + ") " + back
		for i, code := range codes {
			if strings.HasPrefix(goTypes[i], "...") && goTypes[i] != "...tensor.Loss" {
				codes[i] = code + "..."
			}
		}
		e.code = map[string]string{"one": "x = ", "one, one": "x, y = ", "some": "return "}[strings.Join(f.results, ", ")] + "f(" + strings.Join(codes, ", ") + ")"
	}
	return nil
}

// results are how what a function gives becomes a list of tensors.
var results = map[string]string{
	"one": "%s", "some": "%s", "one one": "%s", "one one one": "three(%s)", "one error": "c.got(%s)",
}

// operations is wasm/operations.go.
func (t *table) operations(s *goSource) ([]byte, error) {
	var list []entry
	uses := map[string]int{}
	for _, sec := range t.sections {
		for _, r := range sec.rows {
			if gives[r.gives] == "" {
				continue
			}
			for _, name := range r.names {
				e, err := t.entry(sec.class, name, r, s)
				if err != nil {
					return nil, err
				}
				uses[e.kind]++
				list = append(list, e)
			}
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].name < list[j].name })
	var b bytes.Buffer
	b.WriteString("// Code generated by wasm/face from methods.txt; DO NOT EDIT.\n\npackage main\n\nimport (\n\t\"github.com/weft-ml/weft/dtype\"\n\t\"github.com/weft-ml/weft/tensor\"\n)\n\n" +
		"// table is what a page can do with tensors, by its name in JavaScript, with its parameters.\nvar table = []operation{\n")
	cases := map[string]string{}
	for _, e := range list {
		f := e.f
		if e.own != "" && uses[e.kind] < 2 || f == "" {
			f = e.own
		} else if e.kind != "" {
			cases[e.kind] = e.code
		}
		fmt.Fprintf(&b, "\t{%q, %q, %s},\n", e.name, e.spec, f)
	}
	b.WriteString("}\n\n// run takes the arguments of a function as its type says, and calls it.\nfunc run(c *call, f any) some {\n\tvar x, y one\n\tswitch f := f.(type) {\n")
	var kinds []string
	for k := range cases {
		kinds = append(kinds, k)
	}
	sort.Strings(kinds)
	for _, k := range kinds {
		fmt.Fprintf(&b, "\tcase %s:\n\t\t%s\n", k, cases[k])
	}
	b.WriteString("\tdefault:\n\t\treturn c.special(f)\n\t}\n\tif y != nil {\n\t\treturn some{x, y}\n\t}\n\treturn some{x}\n}\n")
	return format.Source(b.Bytes())
}
