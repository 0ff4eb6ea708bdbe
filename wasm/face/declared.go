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
	exportedName = regexp.MustCompile(`^export (?:class|interface|type|function|const) (\w+)`)
	memberLine   = regexp.MustCompile(`^  (?:readonly )?(\w+[(<?:].*)$`)
)

// declarations are the exports of a file of types by name, in order, with what is said of them.
func declarations(text string) (names []string, of map[string]string) {
	of = map[string]string{}
	lines := strings.Split(text, "\n")
	said := -1 // where the comment before the next declaration begins
	for i := 0; i < len(lines); i++ {
		m := exportedName.FindStringSubmatch(lines[i])
		switch {
		case strings.HasPrefix(lines[i], "/**"):
			said = i
		case m != nil:
			begin := i
			if said >= 0 {
				begin = said
			}
			for i+1 < len(lines) && (strings.HasPrefix(lines[i+1], " ") || lines[i+1] == "" && of[m[1]] == "" && open(lines[begin:i+1]) || lines[i+1] == "}") {
				i++
			}
			names, of[m[1]], said = append(names, m[1]), strings.Join(lines[begin:i+1], "\n"), -1
		case !strings.HasPrefix(lines[i], " "):
			said = -1
		}
	}
	return names, of
}

// open says whether a brace is open after these lines of a declaration.
func open(lines []string) bool {
	first := lines[len(lines)-1] != "}" // which ends it
	for _, l := range lines {
		if first && !strings.HasPrefix(l, " ") && strings.HasSuffix(l, "{") {
			return true
		}
		if first && strings.HasPrefix(l, "  ") && strings.HasSuffix(l, "> {") {
			return true
		}
	}
	return false
}

// comment is what a comment of a declaration says.
func comment(text string) string {
	text = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(text), "/**"), "*/")
	return strings.TrimSpace(regexp.MustCompile(`\s*\n\s*\*\s*`).ReplaceAllString(text, " "))
}

// membersByHand are those of a class that are declared by hand.
func membersByHand(on, declaration string) string {
	var b strings.Builder
	hand, rest, _ := strings.Cut(declaration, "\n  // Made of the table: ")
	_, rest, _ = strings.Cut(rest, "\n  // End.")
	hand += rest
	var said []string
	inside := false // a comment
	for _, l := range strings.Split(hand, "\n") {
		m := memberLine.FindStringSubmatch(l)
		switch {
		case strings.HasPrefix(l, "  /**"):
			said, inside = []string{l}, !strings.HasSuffix(l, "*/")
		case inside:
			said, inside = append(said, l), !strings.HasSuffix(l, "*/")
		case m != nil:
			fmt.Fprintf(&b, "- `%s.%s`", on, m[1])
			if len(said) > 0 {
				b.WriteString(": " + comment(strings.Join(said, "\n")))
			}
			b.WriteString("\n")
			said = nil
		}
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
