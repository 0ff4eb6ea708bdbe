package browser_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	need "github.com/weft-ml/weft/tests/require"
)

// The program for pages in the README runs, and prints what it says.
func TestReadmeProgram(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(need.Root(t), "README.md"))
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(text), "```js\nimport { open } from './weft.js'\n")
	require.True(t, found)
	program, _, _ := strings.Cut(rest, "```")
	p := open(t)
	var said [][]any
	require.NoError(t, p.Run(`
		const { open } = weft, said = []
		const console = { log: (...words) => said.push(words) }
		`+program+`
		return said`, &said))
	matrix := func(rows ...[]any) any {
		var out []any
		for _, r := range rows {
			out = append(out, r)
		}
		return out
	}
	assert.Equal(t, [][]any{
		{matrix([]any{2., 3., 0.}, []any{4., 5., 0.}), matrix([]any{4., 4., 0.}, []any{6., 6., 0.})},
		{matrix([]any{-1., -2., 3.}, []any{-3., -4., 7.})},
	}, said)
}
