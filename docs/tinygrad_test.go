package docs

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	need "github.com/weft-ml/weft/tests/require"
)

// A row of docs/from-tinygrad.md: a name, a line of Go, what it gives, and a remark. Where there is no line, the remark says why.
var nameRow = regexp.MustCompile("(?m)^\\| `([^`]+)`([^|\n]*) \\| (–|`[^`]+`) \\| (–|`[^`]*`) \\| ?(.*?) ?\\|$")

// linesProgram is what the lines are run in. What comes before the last "; " of a line are statements.
const linesProgram = `package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	_ "github.com/weft-ml/weft/backends"
	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/c"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/codegen/model"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/grad"
	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/rewrite"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
)

var ctx = context.Background()

func show(v any) string {
	switch v := v.(type) {
	case *tensor.Tensor:
		list, err := v.ToList(ctx)
		if err != nil {
			return err.Error()
		}
		return show(list)
	case []any:
		words := make([]string, len(v))
		for i, x := range v {
			words[i] = show(x)
		}
		return "[" + strings.Join(words, " ") + "]"
	case float64, float32:
		return fmt.Sprintf("%%.4g", v)
	}
	return fmt.Sprint(v)
}

func main() {
	engine.Configure(engine.Options{Origins: true}, os.Args[1])
	tensor.Seed(1)
	for _, f := range []func() any{
%s	} {
		fmt.Println(strings.ReplaceAll(show(value(f)), "\\n", " "))
	}
}

// value is what f gives, or what it panics with.
func value(f func() any) (v any) {
	defer func() {
		if p := recover(); p != nil {
			v = p
		}
	}()
	return f()
}
`

// seedRow is the number of a row of the first documents.
var seedRow = regexp.MustCompile("^[A-E][0-9]+[a-z]?$")

// kinds are what a row may be, by how its remark begins; the others have a line.
var kinds = []string{"retired there", "a statement", "not here", "hardware"}

// countRows is the document with its table of counts as its rows are.
func countRows(text string) string {
	type counts map[string]int
	names, seeds := counts{}, counts{}
	for _, r := range nameRow.FindAllStringSubmatch(text, -1) {
		c := names
		if seedRow.MatchString(r[1]) {
			c = seeds
		}
		kind := "line"
		if r[3] == "–" {
			kind = "unknown"
			for _, k := range kinds {
				if strings.HasPrefix(r[5], k) {
					kind = k
				}
			}
		}
		c["all"]++
		c[kind]++
	}
	for title, c := range map[string]counts{"names of the tensor": names, "rows of the first documents": seeds} {
		row := fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %d |", title, c["all"], c["line"], c["retired there"], c["hardware"], c["a statement"], c["not here"]+c["unknown"])
		text = regexp.MustCompile("(?m)^\\| "+title+" \\|.*$").ReplaceAllString(text, row)
	}
	return text
}

// Each line compiles and gives what the document says, on two devices.
func TestFromTinygrad(t *testing.T) {
	const file = "from-tinygrad.md"
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	start := regexp.MustCompile("(?s)```go\n(.*?)```").FindSubmatch(raw)
	require.NotNil(t, start)
	if counted := countRows(string(raw)); *update {
		raw = []byte(counted)
	} else {
		assert.Equal(t, counted, string(raw), "go test ./docs -update")
	}
	rows := nameRow.FindAllStringSubmatch(string(raw), -1)
	require.Len(t, rows, strings.Count(string(raw), "\n| `"), "a row cannot be read")
	var lines strings.Builder
	var want []string
	seen := map[string]bool{}
	for _, r := range rows {
		assert.False(t, seen[r[1]], "%s stands there twice", r[1])
		if seen[r[1]] = true; r[3] == "–" {
			assert.NotEmpty(t, r[5], "why is there no %s?", r[1])
			continue
		}
		code := strings.ReplaceAll(strings.Trim(r[3], "`"), "&#124;", "|")
		statements, value := "", code
		if at := strings.LastIndex(code, "; "); at >= 0 {
			statements, value = code[:at], code[at+2:]
		}
		fmt.Fprintf(&lines, "\t\tfunc() any {\n%s\n_, _, _, _, _ = x, m, i, p, q\n%s\nreturn %s\n},\n", start[1], strings.ReplaceAll(statements, "; ", "\n"), value)
		want = append(want, strings.Trim(r[4], "`"))
	}
	binary := built(t, fmt.Sprintf(linesProgram, lines.String()))
	for _, device := range []string{"INTERP", "WASM"} {
		out, err := exec.Command(binary, device).Output()
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Log(string(exit.Stderr))
		}
		require.NoError(t, err)
		got := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
		require.Len(t, got, len(want))
		if *update && device == "INTERP" {
			k := -1
			text := nameRow.ReplaceAllStringFunc(string(raw), func(s string) string {
				r := nameRow.FindStringSubmatch(s)
				if r[3] == "–" {
					return s
				}
				k++
				return strings.TrimRight(fmt.Sprintf("| `%s`%s | %s | `%s` | %s", r[1], r[2], r[3], got[k], r[5]), " ") + " |"
			})
			require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
			return
		}
		k := -1
		for _, r := range rows {
			if r[3] == "–" {
				continue
			}
			if k++; strings.Contains(r[3], "On(") || strings.Contains(r[3], "Device()") {
				continue // which says where it runs
			}
			assert.Equal(t, want[k], got[k], "%s on %s: %s (go test ./docs -update)", r[1], device, r[3])
		}
	}
}

// built builds a program in a module of its own beside the repository.
func built(t *testing.T, text string) string {
	root, dir := need.Root(t), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(text), 0o600))
	module := fmt.Sprintf("module example.com/lines\n\ngo 1.26\n\nrequire github.com/weft-ml/weft v0.0.0\n\nreplace github.com/weft-ml/weft => %q\n", filepath.ToSlash(root))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte(module), 0o600))
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o600))
	binary := filepath.Join(dir, "lines.exe")
	cmd := exec.Command("go", "build", "-o", binary, ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return binary
}
