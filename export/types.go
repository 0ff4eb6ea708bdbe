package export

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/saved"
	"github.com/weft-ml/weft/uop"
)

// array is the type of JavaScript that holds elements: of those that it has no type for, their bits.
func array(d dtype.DType) string {
	w := d.Word()
	switch bits := 8 * d.Size(); {
	case w == dtype.Bool:
		return "Uint8Array"
	case w.IsFloat():
		return fmt.Sprintf("Float%dArray", bits)
	case bits == 64:
		return "Big" + signedness(w) + "64Array"
	default:
		return fmt.Sprintf("%s%dArray", signedness(w), bits)
	}
}

func signedness(d dtype.DType) string {
	if d.IsUnsigned() {
		return "Uint"
	}
	return "Int"
}

// anyFunction begins what the player's types have of functions that nobody knows, in js/model.d.ts; a folder has its own there.
const anyFunction = "  /** Runs a function"

// typesHead are the player's types without the functions.
func typesHead() string {
	text, err := scripts.ReadFile("js/model.d.ts")
	head, _, ok := strings.Cut(string(text), anyFunction)
	if err != nil || !ok {
		panic("BUG: js/model.d.ts has no functions")
	}
	_, rest, _ := strings.Cut(head, "\n")
	return "// Types of the functions in this folder, for model.js.\n" + rest
}

// types declares what a folder's functions take and give.
func types(p *saved.Program) []byte {
	var b strings.Builder
	b.WriteString(typesHead())
	for i := range p.Functions {
		f := &p.Functions[i]
		var in, out, names []string
		for _, x := range f.Inputs {
			in = append(in, fmt.Sprintf("/** %v %v */ %s: %s | Nested", x.DType, x.Shape, quote(x.Name), array(x.DType)))
		}
		for _, x := range f.Results {
			out = append(out, fmt.Sprintf("/** %v %v */ %s: Result<%s>", x.DType, x.Shape, quote(x.Name), array(x.DType)))
			names = append(names, quote(x.Name))
		}
		if len(names) == 0 {
			names = []string{"never"}
		}
		fmt.Fprintf(&b, "  run(name: %s, inputs%s: { %s }, options?: { vars?: %s; read?: (%s)[] }): Promise<{ %s }>\n",
			quote(f.Name), optional(len(in) == 0), strings.Join(in, "; "), variables(f), strings.Join(names, " | "), strings.Join(out, "; "))
	}
	b.WriteString("}\n")
	return []byte(b.String())
}

func optional(yes bool) string {
	if yes {
		return "?"
	}
	return ""
}

// variables is the type of the values of a function's variables.
func variables(f *saved.Function) string {
	var list []string
	seen := map[string]bool{}
	for _, t := range f.Targets {
		for _, u := range uop.Topo(t.Value) {
			if v, ok := u.Arg().(uop.VarArg); ok && !seen[v.Name] {
				seen[v.Name] = true
				list = append(list, fmt.Sprintf("/** %d … %d */ %s?: number", v.Lo, v.Hi, quote(v.Name)))
			}
		}
	}
	return "{ " + strings.Join(list, "; ") + " }"
}

// quote is a text as JavaScript and JSON have it.
func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return string(b)
}
