package main

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// What a method does is said by the comment of its function in Go, in a page's words.

// goNames give the names of a page for those of package tensor: one for each function.
func (t *table) goNames(s *goSource) map[string]string {
	if t.pages != nil {
		return t.pages
	}
	out := map[string]string{}
	for _, sec := range t.sections {
		for _, r := range sec.rows {
			for _, name := range r.names {
				for _, g := range t.covers(sec.class, name, r, s) {
					if _, ok := out[g]; !ok || strings.EqualFold(g, name) {
						out[g] = name
					}
				}
			}
		}
	}
	t.pages = out
	return out
}

// covers are the functions in Go that a method is, with what it does by options.
func (t *table) covers(class, name string, r row, s *goSource) (out []string) {
	if special, ok := strings.CutPrefix(r.call, "@"); ok {
		if f := strings.Fields(special); len(f) > 1 {
			return f[1:]
		}
	} else if r.call != "" {
		return []string{strings.Split(r.call, "(")[0]}
	}
	if f := s.find(class, name); f != nil {
		out = append(out, f.name)
		if keep := s.find(class, f.name+"Keep"); keep != nil {
			out = append(out, keep.name)
		}
	}
	return out
}

var (
	sentence = regexp.MustCompile(`^.*?\.(?: |$)`)
	word     = regexp.MustCompile(`\*?[A-Za-z][A-Za-z0-9]*`)
	kinds    = map[string]string{
		"int8": "i8", "uint8": "u8", "int16": "i16", "uint16": "u16", "int32": "i32", "uint32": "u32", "int64": "i64", "uint64": "u64", "float16": "f16",
		"bfloat16": "bf16", "float32": "f32", "float64": "f64", "nil": "null", "*ValueError": "error", "*ArgumentError": "error", "*ShapeError": "error",
	}
)

const longest = 260 // characters of what is said of a method

// page is a comment of Go in a page's words: its first sentences.
func (t *table) page(doc string, names map[string]string) string {
	out := ""
	for doc != "" {
		m := sentence.FindString(doc)
		if m == "" || out != "" && len(out)+len(m) > longest {
			break
		}
		out, doc = out+m, strings.TrimPrefix(doc, m)
	}
	return strings.TrimSpace(word.ReplaceAllStringFunc(out, func(w string) string {
		if k := kinds[w]; k != "" {
			return k
		}
		if n := names[w]; n != "" && unicode.IsUpper(rune(w[0])) && len(w) > 1 {
			return n
		}
		return w
	}))
}

func (t *table) doc(class, name string, r row, s *goSource) string {
	doc := t.docs[name]
	if doc == "" {
		if covers := t.covers(class, name, r, s); len(covers) > 0 {
			if f := s.find(class, covers[0]); f != nil {
				doc = t.page(f.doc, t.goNames(s))
			}
		}
	}
	return strings.TrimSpace(doc + t.defaults(r.params))
}

// defaults says what stands for options that are not given.
func (t *table) defaults(params []param) string {
	var out []string
	for _, p := range params {
		if p.otherwise != "" && p.otherwise != "false" && p.kind != "dtype" { // a flag is false unless it is said
			out = append(out, p.name+" "+p.otherwise)
		}
	}
	if len(out) == 0 {
		return ""
	}
	return " Unless given: " + strings.Join(out, ", ") + "."
}

func (t *table) fieldDoc(set string, p param, s *goSource) string {
	doc := t.docs[set+"."+p.name]
	if doc == "" {
		doc = s.fields[t.sets[set].call][strings.ToUpper(p.name[:1])+p.name[1:]]
		doc = t.page(doc+".", t.goNames(s))
		doc = strings.TrimSuffix(doc, ".")
		if doc != "" {
			doc = strings.ToUpper(doc[:1]) + doc[1:] + "."
		}
	}
	if p.otherwise != "" && p.kind != "flag" {
		doc += " " + p.otherwise + " unless given."
	}
	return strings.TrimSpace(doc)
}

// document is docs/javascript.md.
func (t *table) document(s *goSource) []byte {
	var b bytes.Buffer
	b.WriteString(`# What a page can call

Every method of a tensor and of the engine, as ` + "`weft.d.ts`" + ` declares them. Operations are recorded at once and give tensors; what is a promise is
awaited. Optional arguments may also be given as one object by their names: ` + "`x.topK(3, {axis: 0})`" + `. In what is said of methods t is
the tensor that they are called on, and v an operand. What gives no tensors, layers, optimisers and all types follow as they are declared; [README.md](../README.md#use-it-in-a-page) tells how they are used.

This page is made of wasm/face/methods.txt, the comments of package tensor and the declarations in wasm/js (` + "`go generate ./wasm/face`" + `).
`)
	for _, sec := range t.sections {
		if sec.title == "" || !sec.made() {
			continue
		}
		on := "x"
		if sec.class == "Weft" {
			on = "w"
		}
		fmt.Fprintf(&b, "\n## %s\n\n", sec.title)
		for _, r := range sec.rows {
			for _, name := range r.names {
				if gives[r.gives] == "" {
					continue
				}
				fmt.Fprintf(&b, "- `%s.%s(%s)`", on, name, plainer(t.signatures(r)[0]))
				if result := gives[r.gives]; result != "Tensor" {
					fmt.Fprintf(&b, " gives `%s`", result)
				}
				if doc := t.doc(sec.class, name, r, s); doc != "" {
					b.WriteString(": " + doc)
				}
				b.WriteString("\n")
			}
		}
	}
	b.WriteString("\n## Options\n\n```ts\n" + strings.TrimSpace(t.options(s)) + "\n```\n")
	return b.Bytes()
}
