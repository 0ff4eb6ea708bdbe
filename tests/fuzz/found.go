package fuzz

import (
	"context"
	"fmt"
	"slices"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
)

// Pasted is a program as the shrinker prints it: it makes leaves on the default device, realizes what it likes, and gives
// what is to be compared.
type Pasted struct {
	Name    string
	Build   func(ctx context.Context) []T
	Numbers bool // constants are arguments of plans
}

// Pastes are the programs that workers know by number. A test binary, which is its own worker, sets them.
var Pastes []Pasted

// runPasted runs a pasted program on a device and compares it with what is right.
func runPasted(device string, p Pasted) (what What, text string) {
	defer func() {
		if r := recover(); r != nil {
			what, text = Panics, fmt.Sprintf("%v\n%s", r, stack())
		}
	}()
	graphs()
	e := newEvaluator(1 << 40)
	ref, err := engine.Use("REF")
	if err != nil {
		return Fails, err.Error()
	}
	var want []result
	for _, t := range p.Build(background) {
		u := t.Node()
		for _, n := range uop.Topo(u) {
			if n.Op() == uop.Buffer {
				b := make([]byte, n.Shape().Numel()*n.DType().Size())
				if err := ref.Read(background, n, b); err != nil {
					return Fails, err.Error()
				}
				e.set(n, decode(n.DType(), b))
			}
		}
		want = append(want, result{t.DType(), t.Shape(), e.of(u), e.faults(u)})
	}
	options := Options{Numbers: p.Numbers}
	name, err := register(device, options)
	if err != nil {
		return Fails, err.Error()
	}
	configure(options, name)
	s := &started{name, [][]T{p.Build(background)}}
	if err := tensor.Realize(background, s.runs[0]...); err != nil {
		return failure(err)
	}
	return s.compare([][]result{want})
}

// Selfcheck says where the reference itself leaves the bounds of a seed's program: then the bounds are wrong. It
// gives the number of elements compared.
func Selfcheck(seed uint64) (n int, wrong string) {
	graphs()
	g := Generate(seed)
	if g.Program.Runs > 0 { // nothing can be captured on REF
		g.Program.Inputs, g.Program.Runs = nil, 0
		g, _ = Expect(g.Program)
	}
	graphs()
	values := make([]T, 0, len(g.Program.Ops))
	for i := range g.Program.Ops {
		var err error
		if values, err = play(&g.Program.Ops[i], values, 0); err != nil {
			return n, fmt.Sprintf("op %d, %s: %v", i, g.Program.Ops[i].Name, err)
		}
	}
	for _, part := range g.Program.Parts {
		if err := tensor.Realize(background, these(values, part)...); err != nil {
			return n, err.Error()
		}
	}
	for i, v := range g.Program.roots() {
		w := g.Want[0][i]
		n += len(w.bounds)
		if _, why := w.read(values[v]); why != "" {
			return n, fmt.Sprintf("root %d: %s\n%s", i, why, g.Program.Source())
		}
	}
	return n, ""
}

// Families counts the ops of programs: how many of them move elements, and which ops there are.
func Families(seeds ...uint64) (moving, all int, names []string) {
	graphs()
	seen := map[string]bool{}
	for _, s := range seeds {
		for _, o := range Generate(s).Program.Ops {
			if o.Name == leafOp || o.Name == realizeOp {
				continue
			}
			all++
			if slices.Contains(movement, o.Name) {
				moving++
			}
			seen[o.Name] = true
		}
	}
	for n := range seen {
		names = append(names, n)
	}
	slices.Sort(names)
	return moving, all, names
}

var movement = []string{"Permute", "Flip", "Reshape", "Expand", "Pad", "PadWith", "PadMode", "Shrink", "Narrow", "At", "Roll", "Repeat",
	"RepeatInterleave", "Unfold", "Unsqueeze", "Squeeze", "Tril", "Triu", "Diagonal", "DiagEmbed", "MoveAxis", "Transpose", "Flatten",
	"Rot90", "Select", "Chunk", "Split", "PixelShuffle", "PixelUnshuffle", "Im2Col", "Cat", "Stack", "ExpandAs", "Broadcast",
	"SplitEvenly", "SplitEvery", "SplitAt", "Unbind", "Unflatten", "AtLeast", "Diag", "DiagMatrix", "DiagonalOf", "T", "HStack", "VStack",
	"DStack", "Meshgrid", "CartesianProduct", "BlockDiag", "ChannelShuffle", "FFTShift", "IFFTShift", "Fold", "Complex"}
