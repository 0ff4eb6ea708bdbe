package docs

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/onnx"
)

// The table of operators is that of the package.
func TestONNXOperators(t *testing.T) {
	const file, begin, end = "onnx.md", "<!-- operators -->\n", "<!-- end -->"
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(b), begin)
	require.True(t, ok)
	was, after, ok := strings.Cut(rest, end)
	require.True(t, ok)
	ops := onnx.Operators()
	domains := []string{}
	for d := range ops {
		domains = append(domains, d)
	}
	slices.Sort(domains)
	var want strings.Builder
	want.WriteString("| domain | operators |\n|---|---|\n")
	for _, d := range domains {
		name := d
		if d == "" {
			name = "ai.onnx"
		}
		fmt.Fprintf(&want, "| `%s` (%d) | %s |\n", name, len(ops[d]), strings.Join(ops[d], ", "))
	}
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(before+begin+want.String()+end+after), 0o666))
		return
	}
	require.Equal(t, want.String(), was, "go test ./docs -run ONNX -update")
}
