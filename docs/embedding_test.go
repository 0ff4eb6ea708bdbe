package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	need "github.com/weft-ml/weft/tests/require"
)

// Every fixture that the table of embedding names is a test, and every test of the bundlers stands in it.
func TestFixtures(t *testing.T) {
	raw, err := os.ReadFile("embedding.md")
	require.NoError(t, err)
	_, table, ok := strings.Cut(string(raw), "<!-- fixtures -->\n")
	require.True(t, ok, "the table of fixtures is missing")
	table, _, _ = strings.Cut(table, "\n\n")
	tests := func(folder string) (names []string) {
		files, err := filepath.Glob(filepath.Join(need.Root(t), folder, "*_test.go"))
		require.NoError(t, err)
		require.NotEmpty(t, files, folder)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`).FindAllStringSubmatch(string(text), -1) {
				names = append(names, m[1])
			}
		}
		return names
	}
	var bundlers []string
	for _, line := range strings.Split(table, "\n")[2:] {
		cells := strings.Split(line, " | ")
		require.Len(t, cells, 3, line)
		var names []string
		for _, q := range quoted.FindAllStringSubmatch(cells[2], -1) {
			names = append(names, q[1])
		}
		require.GreaterOrEqual(t, len(names), 2, line)
		assert.Subset(t, tests(names[0]), names[1:], line)
		if names[0] == "tests/bundlers" {
			bundlers = append(bundlers, names[1:]...)
		}
	}
	assert.ElementsMatch(t, tests("tests/bundlers"), bundlers)
}
