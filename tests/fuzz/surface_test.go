package fuzz

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tensor"
)

// left are the exported names of package tensor that give a tensor and that no maker draws, with the reason.
var left = map[string]string{
	"AttentionWeights": "the first half of ScaledDotProduct",
	"Of":               "leaves are made by FromBytes, which it calls", "From": "leaves are made by FromBytes, which it calls",
	"FromBytes": "makes leaves", "FromNode": "not for users", "Full": "drawn as FullLike, Ones and Zeros",
	"Fill": "takes a device's memory", "Empty": "has no values", "EmptyLike": "has no values",
	"Backward": "stores what Grad gives", "Gradient": "stores what Grad gives", "Detach": "what a realized value is made by",
	"On": "needs two devices", "Own": "what Assign begins with", "RequireGrad": "a mark", "Freeze": "a mark",
	"JVP": "drawn as Pushed", "Checkpoint": "drawn as Checkpointed", "Custom": "drawn as Smeared", "Scan": "drawn as Scanned", "CustomUnsafe": "kernels in the language of one target: tests/foreign",
	"Load": "in kernels of one's own", "Range": "in kernels of one's own", "VJP": "drawn as Pulled",
	"ReshapeTo": "of sizes that vary, which vary makes none of", "ExpandTo": "of sizes that vary, which vary makes none of",
	"Replace": "no op of its own", "GradReached": "Grad, which says more", "MoveTo": "needs two devices", "States": "of a captured function", "Adopt": "of a captured function",
	"Shard": "leaves lie so on the devices 2 INTERP and 3 INTERP", "ShardTo": "as Shard", "ShardLike": "as Shard", "Tensor": "of a variable, which Narrow and At use, or of a file", "Bytes": "reads a file",
}

// exported lists what package tensor exports that gives a tensor.
func exported(t *testing.T) []string {
	var names []string
	files, err := filepath.Glob("../../tensor/*.go")
	require.NoError(t, err)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || !fn.Name.IsExported() || fn.Type.Results == nil {
				continue
			}
			switch x := fn.Type.Results.List[0].Type.(type) {
			case *ast.StarExpr:
				if id, ok := x.X.(*ast.Ident); ok && id.Name == "Tensor" {
					names = append(names, fn.Name.Name)
				}
			case *ast.ArrayType:
				if s, ok := x.Elt.(*ast.StarExpr); ok {
					if id, ok := s.X.(*ast.Ident); ok && id.Name == "Tensor" && fn.Name.Name != "Run" && fn.Name.Name != "RunInto" {
						names = append(names, fn.Name.Name)
					}
				}
			case *ast.Ident:
				if x.Name == "Uniques" {
					names = append(names, fn.Name.Name)
				}
			}
		}
	}
	return names
}

// Every op of package tensor is drawn, or it is said why not.
func TestSurface(t *testing.T) {
	drawn := map[string]bool{}
	var want []string
	for _, n := range exported(t) {
		if _, ok := left[n]; !ok {
			want = append(want, n)
		}
	}
	require.Greater(t, len(want), 300)
	rounds := uint64(0)
	graphs()
	for round := uint64(0); round < 400 && len(want) > 0; round++ {
		for i, f := range append(families, family{1, reading}) {
			for k, m := range f.makers {
				for _, o := range tried(round<<16|uint64(i)<<8|uint64(k), m) {
					drawn[o.Name] = true
				}
			}
		}
		want = slices.DeleteFunc(want, func(n string) bool { return drawn[n] })
		rounds = round
	}
	t.Logf("%d rounds", rounds)
	require.Empty(t, want, "no maker draws these")
}

// tried are the ops of a program of a few leaves to which a maker adds.
func tried(seed uint64, m maker) []Op {
	g := &generator{Rand: newRand(seed), prog: &Program{Seed: seed}, state: newState(effort)}
	g.settings()
	g.large, g.eager, g.flow = false, seed&(1<<16) != 0, seed&(1<<16) == 0
	for range 2 {
		g.newLeaf(g.shape())
	}
	_ = tensor.Try(func() {
		if seed&(1<<17) != 0 { // something that a gradient goes through
			g.add(Op{Name: "Square", Args: []Arg{val(0)}})
		}
		if o, ok := m(g, g.choose()); ok {
			g.try(o)
		}
	})
	return g.prog.Ops
}
