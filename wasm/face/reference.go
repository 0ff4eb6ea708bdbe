package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

//go:embed examples.txt
var exampleSource string

// exampleInputs are the names that examples may use: those of site/reference/inputs.js.
var exampleInputs = []string{"x", "y", "a", "m", "b", "s", "n", "z", "i", "j", "ids", "one", "classes", "sign", "img", "times", "recurrentWeights"}

// plain takes texts and names of options out of a call, so that what is left are variables and methods.
var (
	texts  = regexp.MustCompile(`'[^']*'`)
	member = regexp.MustCompile(`\.\w+|\w+:`)
	names  = regexp.MustCompile(`[A-Za-z]\w*`)
)

// parseExamples reads calls by the name of their method.
func parseExamples(text string) (map[string]string, error) {
	out := map[string]string{}
	for k, line := range strings.Split(text, "\n") {
		if line == "" || strings.HasPrefix(line, "//") {
			continue
		}
		name, call, ok := strings.Cut(line, " | ")
		if !ok || out[name] != "" {
			return nil, fmt.Errorf("examples.txt:%d: a line is a name that no other has, |, and a call", k+1)
		}
		out[name] = call
	}
	return out, nil
}

// uses are the inputs of an example.
func uses(call string) (out []string) {
	for _, n := range names.FindAllString(member.ReplaceAllString(texts.ReplaceAllString(call, ""), " "), -1) {
		if slices.Contains(exampleInputs, n) && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// id is a group's name in an address.
func id(title string) string {
	return strings.Trim(regexp.MustCompile(`[^a-z]+`).ReplaceAllString(strings.ToLower(title), "-"), "-")
}

// reference gives the files of the site's reference: a group of methods each, and the list of groups.
func (t *table) reference(root string, s *goSource) (map[string][]byte, error) {
	examples, err := parseExamples(exampleSource)
	if err != nil {
		return nil, err
	}
	const made = "// Made of wasm/face/methods.txt, the comments of package tensor, and wasm/face/examples.txt: go generate ./wasm/face\n\n"
	var list bytes.Buffer
	list.WriteString(made + "export const groups = [\n")
	files := map[string][]byte{}
	used := map[string]bool{}
	for _, sec := range t.sections {
		if sec.title == "" || (sec.class != "Tensor" && sec.class != "Weft") {
			continue
		}
		var group bytes.Buffer
		var methods []string
		group.WriteString(made + "export const methods = [\n")
		for _, r := range sec.rows {
			for _, name := range r.names {
				if gives[r.gives] == "" && r.gives != "a" {
					continue
				}
				methods = append(methods, strconv.Quote(name))
				t.referenceMethod(&group, sec.class, name, r, s, examples[name])
				used[name] = true
			}
		}
		if len(methods) == 0 {
			continue
		}
		group.WriteString("]\n")
		files[filepath.Join(root, "site/reference/groups", id(sec.title)+".js")] = group.Bytes()
		fmt.Fprintf(&list, "  { id: %q, title: %q, names: [%s] },\n", id(sec.title), sec.title, strings.Join(methods, ", "))
	}
	list.WriteString("]\n")
	files[filepath.Join(root, "site/reference/groups.js")] = list.Bytes()
	for name := range examples {
		if !used[name] {
			return nil, fmt.Errorf("examples.txt: there is no method %s", name)
		}
	}
	return files, nil
}

func (t *table) referenceMethod(b *bytes.Buffer, class, name string, r row, s *goSource, call string) {
	on := "x"
	if class == "Weft" {
		on = "w"
	}
	form := fmt.Sprintf("%s.%s", on, name)
	result := gives[r.gives]
	if result == "" {
		result = "a promise"
	}
	if signatures := t.signatures(r); len(signatures) > 0 {
		form += "(" + plainer(signatures[0]) + ")"
	}
	fmt.Fprintf(b, "  {\n    name: %q, form: %q, gives: %q,\n    says: %q,\n", name, form, result, t.doc(class, name, r, s))
	if call != "" {
		inputs := uses(call)
		fmt.Fprintf(b, "    uses: %s,\n    run: ({ %s }) => %s,\n", strings.ReplaceAll(fmt.Sprintf("%q", inputs), " ", ", "), strings.Join(append([]string{"w"}, inputs...), ", "), call)
	}
	b.WriteString("  },\n")
}
