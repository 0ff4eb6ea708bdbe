package main

import (
	"fmt"
	"regexp"
	"strings"
)

// typeScript are the types of kinds; what is not here is a type of its own, of the same name.
var typeScript = map[string]string{
	"tensor": "Tensor", "operand": "Operand", "scalar": "number | boolean", "real": "number", "number": "number", "int": "number", "size": "number",
	"list": "readonly number[]", "parts": "readonly number[]", "sizes": "readonly number[]", "lengths": "readonly (number | Size)[]", "reals": "readonly number[]", "fractions": "number | readonly number[]",
	"ints": "number | readonly number[]", "flag": "boolean", "text": "string", "texts": "readonly string[]", "results": "readonly UnsafeResult[]", "dtype": "DType", "tensors": "readonly Tensor[]", "operands": "readonly Operand[]",
	"position": "number | Size", "stop": "number | Size", "place": "number | boolean | Size", "input": "Tensor | Size",
	"named": "Record<string, number>", "index": "Index", "url": "string | URL", "signal": "AbortSignal", "targets": "readonly ('wgsl' | 'c')[]",
}

// gives are the types of results.
var gives = map[string]string{"1": "Tensor", "2": "[Tensor, Tensor]", "3": "[Tensor, Tensor, Tensor]", "n": "Tensor[]", "0": "this"}

// byHand are methods whose types say more than the table knows.
var byHand = map[string]bool{"tensor": true, "arange": true}

func (t *table) typeOf(p param) string {
	if w := t.words[p.kind]; w.list != nil {
		return "'" + strings.Join(w.list, "' | '") + "'"
	}
	if s := typeScript[p.kind]; s != "" {
		return s
	}
	return p.kind
}

// object is the type of parameters that are given by name.
func (t *table) object(params []param) string {
	var fields, sets []string
	for _, p := range params {
		switch {
		case t.isSet(p):
			sets = append(sets, p.kind)
		case p.mark == "~":
			fields = append(fields, p.name+"?: "+t.typeOf(p)+" | null")
		default:
			fields = append(fields, p.name+"?: "+t.typeOf(p))
		}
	}
	if len(fields) > 0 {
		sets = append(sets, "{ "+strings.Join(fields, "; ")+" }")
	}
	return strings.Join(sets, " & ")
}

// plainer is a signature as documents have it: without what only compilers ask for.
func plainer(signature string) string { return strings.ReplaceAll(signature, "readonly ", "") }

// signatures are the ways in which a method may be called.
func (t *table) signatures(r row) (out []string) {
	var list []string
	first := -1 // of what may be given by name besides
	for i, p := range r.params {
		if p.named {
			list = append(list, "options?: "+t.object(r.params[i:]))
			break
		}
		if first < 0 && p.optional() && !t.isSet(p) {
			first = i
		}
		switch {
		case p.mark == "*":
			of := t.typeOf(p)
			if strings.Contains(of, " | ") {
				of = "(" + of + ")"
			}
			list = append(list, "..."+p.name+": "+of+"[]")
		case p.mark == "~":
			list = append(list, p.name+"?: "+t.typeOf(p)+" | null")
		case p.optional():
			list = append(list, p.name+"?: "+t.typeOf(p))
		default:
			list = append(list, p.name+": "+t.typeOf(p))
		}
	}
	out = append(out, strings.Join(list, ", "))
	if first >= 0 {
		named := append(append([]string{}, list[:first]...), "options: "+t.object(r.params[first:]))
		out = append(out, strings.Join(named, ", "))
	}
	return out
}

// members are the methods of a class as its declaration has them; those that are written by hand are left out.
func (t *table) members(class string, s *goSource) string {
	var b strings.Builder
	for _, sec := range t.sections {
		if sec.class != class || !sec.made() {
			continue
		}
		fmt.Fprintf(&b, "\n  // %s\n\n", sec.title)
		for _, r := range sec.rows {
			for _, name := range r.names {
				if gives[r.gives] == "" || byHand[name] {
					continue
				}
				if doc := t.doc(class, name, r, s); doc != "" {
					fmt.Fprintf(&b, "  /** %s */\n", doc)
				}
				for _, sig := range t.signatures(r) {
					fmt.Fprintf(&b, "  %s(%s): %s\n", name, sig, gives[r.gives])
				}
			}
		}
	}
	return b.String()
}

// made says whether a section has methods that are not written by hand.
func (s section) made() bool {
	for _, r := range s.rows {
		if gives[r.gives] != "" {
			return true
		}
	}
	return false
}

// short are sets that may be given by their first field alone.
var short = map[string]bool{"Axes": true, "Axis": true, "Sums": true, "Spread": true}

// options are the types of sets of options that the engine takes.
func (t *table) options(s *goSource) string {
	var b strings.Builder
	for _, name := range t.order {
		set := t.sets[name]
		if set.call == "" && !short[name] {
			continue // by hand
		}
		if short[name] {
			what := "What a reduction goes over: an axis or several, or options; nothing is all axes."
			if set.params[0].kind == "int" {
				what = "The axis that a method goes along, or options."
			}
			fmt.Fprintf(&b, "/** %s%s */\nexport type %s = %s | %s\n\n", what, t.defaults(set.params), name, t.typeOf(set.params[0]), t.object(set.params))
			continue
		}
		fmt.Fprintf(&b, "export interface %s {\n", name)
		for _, p := range set.params {
			if doc := t.fieldDoc(name, p, s); doc != "" {
				fmt.Fprintf(&b, "  /** %s */\n", doc)
			}
			fmt.Fprintf(&b, "  %s?: %s\n", p.name, t.typeOf(p))
		}
		b.WriteString("}\n\n")
	}
	return b.String()
}

// types puts what is made into weft.d.ts, between lines that say so.
func (t *table) types(old []byte, s *goSource) ([]byte, error) {
	out := string(old)
	for mark, text := range map[string]string{"options": t.options(s), "methods of a tensor": t.members("Tensor", s), "methods of the engine": t.members("Weft", s)} {
		region := regexp.MustCompile(`(?s)( *// Made of the table: ` + mark + `\.\n).*?( *// End\.\n)`)
		if len(region.FindAllString(out, -1)) != 1 {
			return nil, fmt.Errorf("weft.d.ts has no place for the %s", mark)
		}
		out = region.ReplaceAllStringFunc(out, func(all string) string {
			m := region.FindStringSubmatch(all)
			return m[1] + text + m[2]
		})
	}
	return []byte(out), nil
}
