package main

import (
	"fmt"
	"strings"
)

// script is wasm/js/table.js: the table without what only Go needs.
func (t *table) script() []byte {
	var b strings.Builder
	b.WriteString("// Made by wasm/face from methods.txt: what every method takes, in the form that methods.js explains.\n\nexport const table = `\n")
	class := ""
	for _, s := range t.sections {
		if s.class != class {
			class = s.class
			b.WriteString(class + "\n")
		}
		for _, r := range s.rows {
			fmt.Fprintf(&b, "%s %s |%s", r.gives, strings.Join(r.names, " "), brief(r.params))
			if r.rule != "" {
				b.WriteString(" | " + r.rule)
			}
			b.WriteString("\n")
		}
	}
	b.WriteString("Options\n")
	for _, name := range t.order {
		fmt.Fprintf(&b, "%s |%s\n", name, brief(t.sets[name].params))
	}
	b.WriteString("Words\n")
	for _, name := range t.kinds {
		fmt.Fprintf(&b, "%s | %s\n", name, strings.Join(t.words[name].list, " "))
	}
	b.WriteString("`\n")
	return []byte(b.String())
}

// brief are parameters without defaults; in options all may be missing anyway.
func brief(params []param) string {
	var out []string
	for i, p := range params {
		s := p.name + ":" + p.kind
		if p.set {
			s = "..." + p.kind
		}
		if p.bounds != "" {
			s += "(" + p.bounds + ")"
		}
		switch {
		case p.mark == "~" || p.mark == "*":
			s += p.mark
		case p.optional() && !p.named:
			s += "?"
		}
		if p.named && (i == 0 || !params[i-1].named) {
			s = "{" + s
		}
		if p.named && i == len(params)-1 {
			s += "}"
		}
		out = append(out, " "+s)
	}
	return strings.Join(out, "")
}
