package tests

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	need "github.com/weft-ml/weft/tests/require"
)

// takesApart are the files that may look into texts, and why: none of these texts is a kernel's that a compiler gets.
var takesApart = map[string]string{
	"codegen/directives.go":                   "reads directives",
	"codegen/tune/list.go":                    "reads directives",
	"codegen/wasm/opcodes.go":                 "a table of names",
	"runtime/webgpu/adapters.go":              "names of adapters",
	"runtime/webgpu/load.go":                  "a compiler's message, and lines numbered for people",
	"runtime/webgpu/wgpu/wgpu.go":             "a message",
	"runtime/webgpu/cogentcore/cogentcore.go": "a message",
	"runtime/webgpu/page/device_js.go":        "the player's answers",
	"runtime/webgpu/page/player_js.go":        "lines numbered for people",
}

// surgery are the beginnings of names of functions that find, cut or replace parts of texts.
var surgery = []string{"Replace", "NewReplacer", "Split", "Cut", "Index", "LastIndex", "Trim", "Fields", "HasPrefix", "HasSuffix", "Contains", "Lines", "Count"}

// A kernel is data until it is spelled, and then it stays as it is: no language and no device takes a text apart to
// change it.
func TestTextsAreNotTakenApart(t *testing.T) {
	root, seen := need.Root(t), map[string]bool{}
	for _, dir := range []string{"codegen", "runtime/webgpu"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			name, err := filepath.Rel(root, path)
			require.NoError(t, err)
			name = filepath.ToSlash(name)
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			require.NoError(t, err)
			ast.Inspect(file, func(n ast.Node) bool {
				if call, ok := n.(*ast.SelectorExpr); ok && takes(call) {
					seen[name] = true
					assert.Contains(t, takesApart, name, "%s takes texts apart with %v.%s", name, call.X, call.Sel.Name)
				}
				return true
			})
			return nil
		}))
	}
	for name := range takesApart {
		assert.True(t, seen[name], "%s takes no text apart any more: strike it from the list", name)
	}
}

func takes(call *ast.SelectorExpr) bool {
	pkg, ok := call.X.(*ast.Ident)
	if !ok || pkg.Name != "strings" && pkg.Name != "bytes" && pkg.Name != "regexp" {
		return false
	}
	return pkg.Name == "regexp" || slices.ContainsFunc(surgery, func(s string) bool { return strings.HasPrefix(call.Sel.Name, s) })
}
