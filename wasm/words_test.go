package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
)

func TestErrorsInWordsOfAPage(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"matmul", &tensor.ShapeError{Op: "MatMul", Shapes: []uop.Shape{{2, 3}, {4, 5}}, Reason: "inner sizes 3 and 4 differ", At: "ops.go:31"}, "matmul: [2, 3] and [4, 5]: inner sizes 3 and 4 differ"},
		{"linear", &tensor.ShapeError{Op: "MatMul", Shapes: []uop.Shape{{}, {4, 5}}, Reason: "needs at least one axis each"}, "linear: [] and [4, 5]: needs at least one axis each"},
		{"permute", &tensor.ShapeError{Op: "Permute", Shapes: []uop.Shape{{2}}, Reason: fmt.Sprintf("order %v does not name each axis once", []int{0, -1})}, "permute: [2]: order [0, -1] does not name each axis once"},
		{"neg", &tensor.TypeError{Op: "Neg", Types: []dtype.DType{dtype.Bool}, Reason: "bools have no negative; use LogicalNot"}, "neg: bool: bools have no negative; use not()"},
		{"assign", &tensor.TypeError{Op: "Assign", Types: []dtype.DType{dtype.F32, dtype.I32}, Reason: "the types differ; use To"}, "assign: f32 and i32: the types differ; use to()"},
		{"grad", &tensor.ShapeError{Op: "Grad", Shapes: []uop.Shape{{3}}, Reason: "3 elements, not one; use GradWith"}, "grad: [3]: 3 elements, not one; make it one number first: x.sum().grad([w])"},
		{"rand", &tensor.DeviceError{Op: "Rand", Err: errors.New("engine: no memory"), At: "a.go:1"}, "rand: no memory"},
		{"", errors.New("tensor: Capture: another function is being captured"), "another function is being captured"},
		{"", fmt.Errorf("weft: realize: %w", &tensor.ArgumentError{Op: "add", Reason: "no", At: "b.go:7"}), "realize: add: no"},
		{"", errors.New("this expression was built on a tensor, float32 [2 3], before it was assigned at ops_more.go:236 (version 1, now 2); realize it"), "this expression was built on a tensor, f32 [2, 3], before it was assigned (version 1, now 2); realize it"},
		{"export", errors.New(`export: function "main" has 1 inputs, and 2 names are given for them`), `export: function "main" has 1 inputs, and 2 names are given for them`},
		{"onnx", errors.New("onnx: model.onnx: there is no graph in it"), "onnx: model.onnx: there is no graph in it"},
		{"", errors.New("llm: tokenizer: t.json: version"), "t.json: version"},
		{"", errors.New("the server answers 404 Not Found (x.go)"), "the server answers 404 Not Found (x.go)"},
		{"", errors.New("float32 is int32_t [1 2]"), "f32 is int32_t [1, 2]"},
	} {
		err := tell(c.name, c.err)
		assert.Equal(t, c.want, err.Error())
		assert.Equal(t, err, tell("other", err), "what was told stays")
	}
}

// Each text that package tensor gives an error has, in a page, no name that only Go's callers know.
func TestNoErrorNamesGo(t *testing.T) {
	files, err := filepath.Glob("../tensor/*.go")
	require.NoError(t, err)
	exported := map[string]bool{} // names of package tensor
	var texts []string
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		source, err := os.ReadFile(f)
		require.NoError(t, err)
		file, err := parser.ParseFile(gotoken.NewFileSet(), f, source, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Name.IsExported() {
					exported[n.Name.Name] = true
				}
			case *ast.TypeSpec:
				if n.Name.IsExported() {
					exported[n.Name.Name] = true
				}
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.Ident); !ok || !strings.HasPrefix(f.Name, "fail") {
					return true
				}
				for _, a := range n.Args {
					if lit, ok := a.(*ast.BasicLit); ok && lit.Kind == gotoken.STRING {
						text, err := strconv.Unquote(lit.Value)
						require.NoError(t, err)
						if strings.Contains(text, " ") { // else it is the name of the operation
							texts = append(texts, text)
						}
					}
				}
			}
			return true
		})
	}
	require.Greater(t, len(texts), 100)
	word := regexp.MustCompile(`\*?\b[A-Z]\w*`)
	for _, text := range texts {
		assert.NotContains(t, translate(text), "*")
		for _, w := range word.FindAllString(translate(text), -1) {
			assert.False(t, exported[strings.TrimPrefix(w, "*")], "in a page %q becomes %q, which names %s", text, translate(text), w)
		}
	}
}
