package docs

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	need "github.com/weft-ml/weft/tests/require"
)

var (
	recipe = regexp.MustCompile(`(?s)<!-- recipe: ([a-z]+)(?: ([A-Za-z]+))? -->\n(.*?)\n\n`)
	row    = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (`.*?`) \\| .+ \\|$")
	quoted = regexp.MustCompile("`([^`]+)`")
)

// The files of the recipes exist, and what is to be looked at stands in them. Where a recipe names an identifier of its
// example, it lists every file that has it.
func TestRecipes(t *testing.T) {
	raw, err := os.ReadFile("extending.md")
	require.NoError(t, err)
	root, found := need.Root(t), []string{}
	for _, m := range recipe.FindAllStringSubmatch(string(raw)+"\n\n", -1) {
		name, example, table := m[1], m[2], m[3]
		found = append(found, name)
		rows, files := row.FindAllStringSubmatch(table, -1), map[string]bool{}
		assert.Len(t, rows, strings.Count(table, "\n")-1, "recipe %s: a row cannot be read", name)
		for _, r := range rows {
			files[r[1]] = true
			have, err := identifiers(filepath.Join(root, r[1]))
			require.NoError(t, err, "recipe %s", name)
			for _, q := range quoted.FindAllStringSubmatch(r[2], -1) {
				assert.True(t, has(have, q[1]), "recipe %s: there is no %s in %s", name, q[1], r[1])
			}
		}
		if example != "" {
			assert.Subset(t, keys(files), using(t, root, example), "recipe %s leaves out a file that has %s", name, example)
		}
	}
	assert.Equal(t, []string{"op", "type", "directive", "pass", "language", "device"}, found)
}

// An elementwise op that every target composes of others is known to the files of its recipe and to no others, but to those that bound what floats
// come to, for tests.
func TestAnElementwiseOpTouchesFewFiles(t *testing.T) {
	files := recipeOf(t, "op")
	require.LessOrEqual(t, len(files), 8)
	found := naming(t, regexp.MustCompile(`\buop\.Log2\b`), "schedule/evaluate/rounding.go", "tests/fuzz/bounds_float.go")
	assert.Subset(t, files, found, "files that know uop.Log2")
	assert.Contains(t, found, "grad/laws.go")
}

// An element type is known to the files of its recipe and to no others, but to tests and to the pages that show it.
func TestAnElementTypeTouchesFewFiles(t *testing.T) {
	files := recipeOf(t, "type")
	require.LessOrEqual(t, len(files), 12)
	found := naming(t, regexp.MustCompile(`(?i)\b(dtype\.)?(F8E5M2|F8_E5M2|float8_?e5m2)\b`), "tests/", "site/", "wasm/testdata/")
	assert.ElementsMatch(t, files, found, "files that know float8_e5m2")
}

// recipeOf lists the files of a recipe.
func recipeOf(t *testing.T, name string) (files []string) {
	raw, err := os.ReadFile("extending.md")
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(raw), "<!-- recipe: "+name+" -->")
	require.True(t, ok)
	table, _, _ := strings.Cut(rest, "\n\n")
	for _, r := range row.FindAllStringSubmatch(table, -1) {
		files = append(files, r[1])
	}
	return files
}

// naming lists the files of Go, JavaScript and TypeScript in which a pattern stands, but for tests and for some places.
func naming(t *testing.T, pattern *regexp.Regexp, but ...string) (found []string) {
	root := need.Root(t)
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && slices.Contains([]string{"node_modules", "bin", ".git", "dist", "build"}, d.Name()) { // what is made
			return cmp.Or(err, fs.SkipDir)
		}
		rel, err := filepath.Rel(root, path)
		require.NoError(t, err)
		at := filepath.ToSlash(rel)
		if !slices.Contains([]string{".go", ".js", ".ts"}, filepath.Ext(path)) || strings.HasSuffix(path, "_test.go") ||
			slices.ContainsFunc(but, func(place string) bool { return strings.HasPrefix(at, place) }) {
			return nil
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		if pattern.Match(text) {
			found = append(found, at)
		}
		return nil
	}))
	return found
}

// identifiers are those of a Go file, and the words of another.
func identifiers(path string) (map[string]bool, error) {
	if filepath.Ext(path) != ".go" {
		text, err := os.ReadFile(path)
		out := map[string]bool{}
		for _, w := range regexp.MustCompile(`\w+`).FindAllString(string(text), -1) {
			out[w] = true
		}
		return out, err
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			out[id.Name] = true
		}
		return true
	})
	return out, nil
}

// has looks for a name; "Test" is the beginning of many.
func has(have map[string]bool, name string) bool {
	if name != "Test" {
		return have[name]
	}
	for n := range have {
		if strings.HasPrefix(n, name) {
			return true
		}
	}
	return false
}

// using lists the files of the code generator, tests left out, that have an identifier.
func using(t *testing.T, root, name string) (out []string) {
	require.NoError(t, filepath.WalkDir(filepath.Join(root, "codegen"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		have, err := identifiers(path)
		require.NoError(t, err)
		if have[name] {
			at, err := filepath.Rel(root, path)
			require.NoError(t, err)
			out = append(out, filepath.ToSlash(at))
		}
		return nil
	}))
	require.NotEmpty(t, out)
	return out
}

func keys(m map[string]bool) (out []string) {
	for k := range m {
		out = append(out, k)
	}
	return out
}
