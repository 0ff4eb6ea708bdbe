package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// What is declared by hand is documented by its declaration: of the classes Tensor and Weft, whose other methods are made of the table, as a list; all
// else as the text is.

// declaredFiles are the files of types beside weft.d.ts, with what they declare.
var declaredFiles = []struct{ name, title string }{
	{"nn.d.ts", "Layers, w.nn"}, {"optim.d.ts", "Optimisers, w.optim"}, {"export.d.ts", "Functions as folders of files, export.js"},
}

var (
	madeOfTheTable = regexp.MustCompile(`(?ms)^  // Made of the table: .*\z`)
	exported       = regexp.MustCompile(`(?m)^(?:/\*\*(?:[^*]|\*[^/])*\*/\n)?export [^\n]*(?:\n(?: [^\n]*)?)*?(?:\n\}|$)`)
	exportedName   = regexp.MustCompile(`(?m)^export (?:class|interface|type|function|const) (\w+)`)
	memberLine     = regexp.MustCompile(`(?m)((?:^  /\*\*(?:[^*]|\*[^/])*\*/\n)?)^  (?:readonly )?((\w+)[(<?:][^\n]*)$`)
)

// declarations are the exports of a file of types by name, in order.
func declarations(text string) (names []string, of map[string]string) {
	of = map[string]string{}
	for _, d := range exported.FindAllString(text, -1) {
		m := exportedName.FindStringSubmatch(d)
		if m == nil || of[m[1]] != "" {
			continue
		}
		names, of[m[1]] = append(names, m[1]), d
	}
	return names, of
}

// comment is what a comment of a declaration says.
func comment(text string) string {
	text = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(text), "/**"), "*/")
	return strings.TrimSpace(regexp.MustCompile(`\s*\n\s*\*\s*`).ReplaceAllString(text, " "))
}

// members are those of a class that are declared by hand.
func membersByHand(on, declaration string) string {
	var b strings.Builder
	var said string
	for _, m := range memberLine.FindAllStringSubmatch(madeOfTheTable.ReplaceAllString(declaration, ""), -1) {
		if m[1] != "" {
			said = ": " + comment(m[1])
		}
		fmt.Fprintf(&b, "- `%s.%s`%s\n", on, m[2], said)
		said = ""
	}
	return b.String()
}

// byHandDocs is the part of docs/javascript.md that is made of declarations: types is weft.d.ts, and the others lie in a folder.
func (t *table) byHandDocs(types, folder string) (string, error) {
	var b strings.Builder
	names, of := declarations(types)
	for _, c := range []struct{ class, on, title string }{{"Tensor", "x", "Values, gradients and memory of a tensor"}, {"Weft", "w", "The engine"}} {
		fmt.Fprintf(&b, "\n## %s\n\n%s", c.title, membersByHand(c.on, of[c.class]))
	}
	b.WriteString("\n## Other declarations of weft.js\n\n```ts\n")
	for _, n := range names {
		if set := t.sets[n]; n == "Tensor" || n == "Weft" || set != nil && (set.call != "" || short[n]) {
			continue
		}
		b.WriteString(of[n] + "\n\n")
	}
	text := strings.TrimSpace(b.String()) + "\n```\n"
	for _, f := range declaredFiles {
		data, err := os.ReadFile(filepath.Join(folder, f.name))
		if err != nil {
			return "", err
		}
		text += "\n## " + f.title + "\n\n```ts\n" + strings.TrimSpace(string(data)) + "\n```\n"
	}
	return "\n" + text, nil
}
