// Package readme runs the program in the README.
package readme

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/weft-ml/weft/backends"
	"github.com/weft-ml/weft/tensor"
)

func Example() {
	// README
	ctx := context.Background()
	x := tensor.From([][]float32{{1, 2}, {3, 4}})
	w := tensor.From([][]float32{{1, 0, -1}, {0, 1, -1}})
	y := x.MatMul(w).Add(1).ReLU()                    // a graph: nothing is computed
	g := y.Sum().Grad(w)[0]                           // its gradient: also a graph
	if err := tensor.Realize(ctx, y, g); err != nil { // scheduled, compiled, run
		panic(err)
	}
	values, _ := y.ToList(ctx)
	slopes, _ := g.ToList(ctx)
	fmt.Println(values, slopes)
	// Output: [[2 3 0] [4 5 0]] [[4 4 0] [6 6 0]]
}

func TestReadmeShowsTheExample(t *testing.T) {
	self, err := os.ReadFile("readme_test.go")
	require.NoError(t, err)
	_, code, _ := strings.Cut(string(self), "// README\n")
	code, _, _ = strings.Cut(code, "\t// Output")
	var want strings.Builder
	for line := range strings.Lines(code) {
		want.WriteString(strings.TrimPrefix(line, "\t"))
	}
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	require.Contains(t, string(readme), "```go\n"+want.String()+"```\n")
}
