package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
)

// Errors of the engine name what Go's callers know: operations of package tensor, its types and lines. A page knows the
// methods of weft.js. Here, and nowhere else, the one becomes the other.

// told is an error in the words of a page. Its text does not name the method that failed: name does, or is empty where the
// page knows better, as for a value that it asked for.
type told struct {
	name string
	text string
	err  error // as the engine gave it
}

func (e *told) Error() string {
	if e.name == "" {
		return e.text
	}
	return e.name + ": " + e.text
}

func (e *told) Unwrap() error { return e.err }

// mistake is an expression that cannot be read, and where.
type mistake struct {
	text string
	at   int
	why  string
}

func (m *mistake) Error() string { return fmt.Sprintf("%s (at %d)", m.why, m.at+1) }

// tell puts an error of the method of that name into a page's words. What is in such words already stays.
func tell(name string, err error) error {
	if err == nil {
		return nil
	}
	var t *told
	var m *mistake
	var f *failure
	switch {
	case errors.As(err, &m):
		return err
	case errors.As(err, &f):
		return f
	case errors.As(err, &t):
		return t
	}
	var v *tensor.ValueError
	if errors.As(err, &v) && methodOf(v.Op) != "" { // the value was wrong in an earlier call than the one that reads
		return &told{methodOf(v.Op), reason(v), err}
	}
	return &told{name, reason(err), err}
}

// reason is what an error says without the name of the operation.
func reason(err error) string {
	switch e := err.(type) {
	case *tensor.ShapeError:
		return operands(e.Shapes) + translate(e.Reason)
	case *tensor.TypeError:
		types := make([]string, len(e.Types))
		for i, d := range e.Types {
			types[i] = typeName(d)
		}
		if len(types) > 0 {
			return strings.Join(types, " and ") + ": " + translate(e.Reason)
		}
		return translate(e.Reason)
	case *tensor.ArgumentError:
		if _, option, ok := strings.Cut(e.Op, " "); ok { // as of options.at
			return option + ": " + translate(e.Reason)
		}
		return translate(e.Reason)
	case *tensor.ValueError:
		return translate(e.Reason)
	case *tensor.DeviceError:
		return reason(e.Err)
	}
	return plain(err.Error())
}

func operands(shapes []uop.Shape) string {
	if len(shapes) == 0 {
		return ""
	}
	list := make([]string, len(shapes))
	for i, s := range shapes {
		list[i] = written(s)
	}
	return strings.Join(list, " and ") + ": "
}

// written is a shape as a page writes it.
func written(shape []int) string { return strings.ReplaceAll(fmt.Sprint(shape), " ", ", ") }

// remedies are what Go's callers are told to do and a page does in another way.
var remedies = [][2]string{
	{"use MaskedSelect, Where or NonZero", "use where()"},
	{"use GradWith", "make it one number first: x.sum().grad([w])"},
	{"a *Tensor, a bool, an integer or a float", "a tensor or a number"},
	{"given and Same", "given and same"},
	{"; move one with On", ""},
	{"; move it with On", ""},
}

// packages are those whose errors begin with their name, of which a page knows nothing: it says the method that failed.
var packages = []string{"weft", "engine", "grad", "schedule", "export", "saved", "onnx", "llm", "tokenizer", "weights", "gguf", "safetensors"}

// plain gives the text of an error that is not of package tensor, or not only, such as a device's: without names of packages
// before it, and without lines of Go. What it speaks of otherwise stays.
func plain(text string) string {
	rest, ours := strings.CutPrefix(text, "tensor: ")
	if op, why, ok := strings.Cut(rest, ": "); ok && op != "" && op[0] >= 'A' && op[0] <= 'Z' && methodOf(op) != "" {
		return translate(why)
	}
	if ours {
		return translate(rest)
	}
	for _, p := range packages {
		text = strings.TrimPrefix(text, p+": ")
	}
	return words(placeless(strings.ReplaceAll(text, ": tensor: ", ": ")), typeWord)
}

// placeless leaves out lines of Go, " (model.go:31)" and " at model.go:31".
func placeless(text string) string {
	for i := 0; i < len(text); i++ {
		rest := text[i:]
		if strings.HasPrefix(rest, " (") && line(rest[2:], ")") > 0 {
			text = text[:i] + rest[2+line(rest[2:], ")"):]
		} else if strings.HasPrefix(rest, " at ") && line(rest[4:], "") > 0 {
			text = text[:i] + rest[4+line(rest[4:], ""):]
		}
	}
	return text
}

// translate gives a text of package tensor with the names, shapes and element types of a page.
func translate(text string) string {
	for _, r := range remedies {
		text = strings.ReplaceAll(text, r[0], r[1])
	}
	return words(placeless(text), func(w string) string {
		if name := methodOf(w); name != "" && w[0] >= 'A' && w[0] <= 'Z' {
			return name + "()"
		}
		return typeWord(w)
	})
}

// words gives a text with lists written as a page writes them, and each word by f.
func words(text string, f func(word string) string) string {
	var out strings.Builder
	for i := 0; i < len(text); {
		switch n := 0; {
		case text[i] == '[':
			n = list(text[i:])
			if n > 0 {
				out.WriteString(strings.ReplaceAll(text[i:i+n], " ", ", "))
			} else {
				n = 1
				out.WriteByte('[')
			}
			i += n
		case letter(text[i]) && (i == 0 || !letter(text[i-1]) && !digit(text[i-1])):
			for n = i; n < len(text) && (letter(text[n]) || digit(text[n])); n++ {
			}
			out.WriteString(f(text[i:n]))
			i = n
		default:
			out.WriteByte(text[i])
			i++
		}
	}
	return out.String()
}

func letter(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }
func digit(c byte) bool  { return c >= '0' && c <= '9' }

// list is the length of a list of numbers as Go prints it, [2 3], that text begins with, or 0.
func list(text string) int {
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == ']':
			return i + 1
		case !digit(c) && c != ' ' && c != '-':
			return 0
		}
	}
	return 0
}

// line is the length of a place in Go, "model.go:31" and what follows it, that text begins with, or 0.
func line(text, then string) int {
	at := strings.Index(text, ".go:")
	if at < 0 || strings.Contains(text[:at], " ") || strings.Contains(text[:at], "(") {
		return 0
	}
	n := at + len(".go:")
	for n < len(text) && digit(text[n]) {
		n++
	}
	if !strings.HasPrefix(text[n:], then) {
		return 0
	}
	return n + len(then)
}

// typeWord is the page's name of an element type for Go's, or the same word.
func typeWord(w string) string {
	if d, ok := dtype.Parse(w); ok && digit(w[len(w)-1]) {
		return typeName(d)
	}
	return w
}

// otherNames are the names in Go that differ from the page's by more than the case of their letters.
var otherNames = map[string]string{
	"LogicalNot": "not", "ConvTranspose": "convTranspose2d", "MaxPool": "maxPool2d", "AvgPool": "avgPool2d", "ScaledDotProduct": "attention",
	"Of": "tensor", "From": "tensor", "FromBytes": "tensor", "Realize": "realize", "Capture": "capture", "Run": "run", "Item": "item", "Seed": "seed",
}

// methodOf is the page's name of an operation of package tensor, or nothing.
func methodOf(op string) string {
	if name := otherNames[op]; name != "" {
		return name
	}
	op = strings.ToLower(op)
	for name := range operations {
		if strings.ToLower(name) == op {
			return name
		}
	}
	return ""
}
