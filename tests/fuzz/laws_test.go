package fuzz

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
)

// windows is a program whose compilation needs laws of divisions, in two parts.
func windows() *Program {
	leaf := &Leaf{Type: dtype.F32, Shape: []int{3, 4}, Seed: 1}
	return &Program{Ops: []Op{
		{Name: leafOp, Leaf: leaf},
		{Name: "Permute", Args: []Arg{val(0), list(1, 0)}},
		{Name: "Reshape", Args: []Arg{val(1), list(2, 6)}},
		{Name: "Exp", Args: []Arg{val(2)}},
		{Name: "Sum", Args: []Arg{val(3), list(1)}},
	}, Parts: [][]int{{3}, {4}}}
}

// What a finding tells of its program: the schedule with its reasons, the statements, and the laws that fired with counts, by
// layer from the first phase to the last pass and the language behind it. It is the same each time, and whatever was compiled before.
func TestExplained(t *testing.T) {
	w := worker(t)
	for _, device := range []string{"INTERP", "WASM"} {
		text := w.Explain(device, windows())
		if strings.HasPrefix(text, "no schedule") {
			need(t, device, &NoDevice{device, text})
		}
		require.Contains(t, text, "kernel =out")
		require.Regexp(t, `loop r\d`, text)
		_, laws, ok := strings.Cut(text, "/*\nlaws that fired:\n")
		require.True(t, ok, text)
		var layers []string
		rules := 0
		for _, l := range strings.Split(strings.TrimSuffix(laws, "*/\n"), "\n") {
			switch {
			case regexp.MustCompile(`^ +[1-9]\d* × .+ \(symbolic/[a-z]+\.go:\d+\)$`).MatchString(l):
				require.NotEmpty(t, layers, laws)
				rules++
			case l != "":
				require.Regexp(t, `^  (schedule: |codegen: |`+afterPasses+`$)`, l, laws)
				layers = append(layers, strings.TrimSpace(l))
			}
		}
		assert.Greater(t, rules, 5, laws)
		assert.Contains(t, layers, "schedule: lower", laws)
		order := []string{"schedule: merge", "schedule: split", "schedule: decide", "schedule: arrange", "schedule: lower", "schedule: group",
			"schedule: order", "schedule: nest", "schedule: crop", "schedule: number", "codegen: the choice of directives", "codegen: canonical", "codegen: directives", "codegen: tree",
			"codegen: legalise", "codegen: expand", "codegen: partial", "codegen: index", "codegen: guard", "codegen: place", afterPasses}
		require.Subset(t, order, layers)
		require.IsIncreasing(t, indices(order, layers), laws)
		require.Equal(t, text, w.Explain(device, windows()))
	}
}

func indices(order, list []string) (out []int) {
	for _, x := range list {
		for i, y := range order {
			if x == y {
				out = append(out, i)
			}
		}
	}
	return out
}

// A report names the laws that fired for the program that was left after shrinking.
func TestReportsNameLaws(t *testing.T) {
	w := worker(t)
	r := &Runner{}
	text := r.shrunk(w, &Finding{Seed: 3, Device: "INTERP", What: Wrong, Text: "something", Program: windows()})
	require.Contains(t, text, "seed 3 on INTERP: wrong")
	require.Contains(t, text, "laws that fired:\n  schedule: ")
	require.Regexp(t, ` \d+ × .+ \(symbolic/`, text)
}

// A program of which compiling fails still tells what fired until then.
func TestLawsOfFailures(t *testing.T) {
	p := windows()
	p.Ops = append(p.Ops, Op{Name: "Reshape", Args: []Arg{val(3), list(5)}})
	p.Parts = [][]int{{3}, {5}}
	text := worker(t).Explain("INTERP", p)
	require.Contains(t, text, "laws that fired:\n")
	require.Contains(t, text, "and then: op 5, Reshape")
}
