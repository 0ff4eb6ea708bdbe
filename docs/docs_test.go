// Package docs checks that what the documents show is what the program prints. go test ./docs -update writes it anew.
package docs

import (
	"context"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/weft-ml/weft/backends"
	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/c"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/codegen/model"
	"github.com/weft-ml/weft/codegen/wgsl"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/tensor"
	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/uop"
)

var update = flag.Bool("update", false, "write the dumps into the documents")

func TestMain(m *testing.M) {
	flag.Parse()
	engine.Configure(engine.Options{}, "INTERP")
	os.Exit(m.Run())
}

// block is a dump in a document: a comment that names it, and what follows in a fence.
var block = regexp.MustCompile("(?s)(<!-- dump: ([a-z ]+) -->\n```[a-z]*\n)(.*?)```\n")

func TestArchitectureShowsWhatHappens(t *testing.T) {
	const file = "architecture.md"
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	text, all := string(raw), dumps(t)
	shown := map[string]bool{}
	fresh := block.ReplaceAllStringFunc(text, func(old string) string {
		m := block.FindStringSubmatch(old)
		name, was := m[2], m[3]
		want, ok := all[name]
		require.True(t, ok, "%s shows %q, which no test produces", file, name)
		shown[name] = true
		assert.True(t, *update || want == was, "%s: %q has changed (go test ./docs -update):\n%s", file, name, want)
		return m[1] + want + "```\n"
	})
	for name := range all {
		assert.True(t, shown[name], "no document shows %q", name)
	}
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(fresh), 0o666))
	}
}

// program is the text that the document follows; it is also what runs below.
const program = `x := tensor.Of([]float32{1, 2, 3, 6, 5, 4, 9, 9}, 2, 4)
y := x.Sub(x.MeanKeep(1)).ReLU()
`

func dumps(t *testing.T) map[string]string {
	x := tensor.Of([]float32{1, 2, 3, 6, 5, 4, 9, 9}, 2, 4)
	y := x.Sub(x.MeanKeep(1)).ReLU()
	view, err := y.Schedule()
	require.NoError(t, err)
	require.Len(t, view.Launches(), 1)
	spec := view.Schedule.Steps[0].Spec
	out := map[string]string{
		"program":        program,
		"graph":          anonymous(uop.Print(y.Node())),
		"simplification": simplification(),
		"schedule":       view.Schedule.String(),
		"spec":           uop.Print(spec.Outs[0].Value),
		"plan":           planText(view),
	}
	lowered := func(directives string) (tree, source string) {
		list, err := codegen.ParseDirectives(directives)
		require.NoError(t, err)
		prog, err := lower.Lower(spec, list, c.Target(c.Machine{VectorBytes: 16}))
		require.NoError(t, err)
		k, err := c.Render(prog)
		require.NoError(t, err)
		return codegen.Dump(prog), k.Source[strings.Index(k.Source, "void k_"):]
	}
	out["statements"], out["plain code"] = lowered("")
	out["moved statements"], out["moved code"] = lowered("thread a0; vector a1")
	out["shader"] = shader(t, spec)
	out["plain code"], out["moved code"] = nameless(out["plain code"]), nameless(out["moved code"])
	list, err := y.ToList(context.Background())
	require.NoError(t, err)
	out["result"] = fmt.Sprintln(list)
	out["passes"] = passes(t)
	return out
}

// shader is the kernel in WGSL, as a software adapter gets it, without its bindings and helpers.
func shader(t *testing.T, spec *codegen.Spec) string {
	target := wgsl.Target(wgsl.Machine{CPUBacked: true})
	prog, err := lower.Lower(spec, model.Choose(spec, target), target)
	require.NoError(t, err)
	k, err := wgsl.Render(prog)
	require.NoError(t, err)
	source := k.Spelled().Source
	return nameless(source[strings.Index(source, "@compute"):])
}

// anonymous leaves out the numbers of buffers, which depend on what else a process did.
func anonymous(s string) string { return regexp.MustCompile(`#\d+`).ReplaceAllString(s, "#") }

// nameless leaves out the hash in a kernel's name.
func nameless(s string) string { return regexp.MustCompile(`k_[0-9a-f]+`).ReplaceAllString(s, "k") }

// simplification shows that a row's number comes out of a flat index again.
func simplification() string {
	t := uop.NewArena()
	i, j := t.Range(0, 2, "i"), t.Range(1, 4, "j")
	e := i.Mul(t.Index(4)).Add(j).IDiv(t.Index(4))
	return uop.Print(e) + "becomes\n" + uop.Print(symbolic.Simplify(t, e))
}

func planText(v *engine.View) string {
	var b strings.Builder
	p := v.Plan
	for i, m := range p.Memory {
		fmt.Fprintf(&b, "memory %d: %v, %d bytes\n", i, m.Kind, m.Bytes)
	}
	for i, s := range p.Slots {
		fmt.Fprintf(&b, "slot %d: memory %d at %d, %v %v\n", i, s.Memory, s.Offset, s.DType, s.Dims)
	}
	for i, s := range p.Steps {
		k := p.Kernels[s.Kernel]
		fmt.Fprintf(&b, "step %d: launch kernel %d on slots %v, %d flops, %d bytes\n", i, s.Kernel, s.Slots, k.Flops, k.Bytes)
	}
	return b.String()
}

// passes lists the passes of the code generator as its source does.
func passes(t *testing.T) string {
	raw, err := os.ReadFile(need.Root(t) + "/codegen/lower/lower.go")
	require.NoError(t, err)
	_, list, ok := strings.Cut(string(raw), "var passes = []pass{\n")
	require.True(t, ok)
	list, _, _ = strings.Cut(list, "\n}\n")
	var b strings.Builder
	comment := ""
	for line := range strings.Lines(list) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "// "); ok {
			comment += " " + rest
			continue
		}
		if m := regexp.MustCompile(`^\{"([a-z ]+)"`).FindStringSubmatch(line); m != nil {
			fmt.Fprintf(&b, "%-10s%s\n", m[1], comment)
			comment = ""
		}
	}
	return b.String()
}

// Every file that the documents name exists.
func TestDocumentsNameFiles(t *testing.T) {
	for _, file := range []string{"architecture.md", "rationale.md", "extending.md"} {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile("`([a-z]+(?:/[a-z_0-9.]+)+)`").FindAllStringSubmatch(string(raw), -1) {
			_, err := os.Stat(need.Root(t) + "/" + m[1])
			assert.NoError(t, err, file)
		}
	}
}
