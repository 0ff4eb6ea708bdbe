package tune_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/c"
	"github.com/weft-ml/weft/codegen/interp"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/codegen/model"
	"github.com/weft-ml/weft/codegen/tune"
	"github.com/weft-ml/weft/codegen/wasm"
	"github.com/weft-ml/weft/codegen/wgsl"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/uop"
)

// product is the product of m×k and k×n numbers.
func product(m, k, n int) *codegen.Spec {
	t := uop.NewArena()
	d := dtype.F32
	s := &codegen.Spec{Home: t, Params: []codegen.Param{{DType: d, Dims: []int{m, n}, Write: true}, {DType: d, Dims: []int{m, k}}, {DType: d, Dims: []int{k, n}}}}
	i, j, x := t.Range(0, m, ""), t.Range(1, n, ""), t.Range(2, k, "")
	a := t.Load(t.Param(1, m*k, d), t.True(), i, x)
	b := t.Load(t.Param(2, k*n, d), t.True(), x, j)
	s.Outs = []codegen.Out{{Param: 0, Axes: []*uop.UOp{i, j}, Index: []*uop.UOp{i, j}, Value: t.ReduceRanges(uop.Sum, []*uop.UOp{a.Mul(b)}, []*uop.UOp{x})}}
	return s
}

var targets = map[string]func() *codegen.Target{
	"C":      func() *codegen.Target { return c.Target(c.Machine{VectorBytes: 64, L1: 48 << 10, L2: 1 << 20}) },
	"WASM":   func() *codegen.Target { return wasm.Target(wasm.Machine{Wazero: true}) },
	"INTERP": func() *codegen.Target { return interp.Target(false) },
	"WGSL": func() *codegen.Target {
		return wgsl.Target(wgsl.Machine{Limits: plan.Limits{Invocations: 256, Shared: 16 << 10, Groups: 65535}, Tile: 16})
	},
}

func texts(lists [][]codegen.Directive) (out []string) {
	for _, l := range lists {
		out = append(out, codegen.DirectivesString(l))
	}
	return out
}

// Lists for every target: the model's first, all of them legal, none twice, the same again, and of many kinds.
func TestCandidates(t *testing.T) {
	for name, target := range targets {
		t.Run(name, func(t *testing.T) {
			s, to := product(100, 70, 130), target()
			model := model.Choose(s, to)
			first := tune.Candidates(s, to, 30)
			next := tune.Neighbours(s, to, model, 60)
			all := append(texts(first), texts(next)...)
			assert.Equal(t, codegen.DirectivesString(model), all[0])
			assert.Equal(t, all, append(texts(tune.Candidates(product(100, 70, 130), target(), 30)), texts(tune.Neighbours(product(100, 70, 130), target(), model, 60))...))
			seen := map[string]int{}
			kinds := map[string]bool{}
			for _, text := range all {
				seen[text]++
				directives, err := tune.Parse(text)
				require.NoError(t, err, text)
				if text != all[0] {
					require.NoError(t, tune.Allowed(s, to, directives), text)
				}
				_, err = lower.Lower(s, directives, to)
				require.NoError(t, err, text)
				for _, m := range directives {
					kinds[m.Verb.String()] = true
				}
			}
			for _, list := range [][]string{texts(first), texts(next)} {
				unique := map[string]bool{}
				for _, text := range list {
					assert.False(t, unique[text], text)
					unique[text] = true
				}
			}
			assert.NotEmpty(t, next)
			if !to.Grid {
				assert.GreaterOrEqual(t, len(all), 15)
				for _, k := range []string{"split", "vector", "tile", "order", "stage", "thread"} {
					assert.True(t, kinds[k], k)
				}
			}
		})
	}
}

// productOf is the product of rows of k numbers of a type with as many others, whose elements lie together along k or along the columns, in f32.
func productOf(d dtype.DType, m, k, n int, along bool) *codegen.Spec {
	t := uop.NewArena()
	s := &codegen.Spec{Home: t, Params: []codegen.Param{{DType: dtype.F32, Dims: []int{m, n}, Write: true}, {DType: d, Dims: []int{m, k}}, {DType: d, Dims: []int{k, n}}}}
	i, j, x := t.Range(0, m, ""), t.Range(1, n, ""), t.Range(2, k, "")
	a, at := t.Load(t.Param(1, m*k, d), t.True(), i, x), []*uop.UOp{x, j}
	if along {
		s.Params[2].Dims, at = []int{n, k}, []*uop.UOp{j, x}
	}
	b := t.Load(t.Param(2, k*n, d), t.True(), at...)
	s.Outs = []codegen.Out{{Param: 0, Axes: []*uop.UOp{i, j}, Index: []*uop.UOp{i, j}, Value: t.ReduceRanges(uop.Sum, []*uop.UOp{a.Cast(dtype.F32).Mul(b.Cast(dtype.F32))}, []*uop.UOp{x})}}
	return s
}

// No product takes long to compile, whatever divides its sizes: what is copied is copied in loops.
func TestTextsOfProductsAreShort(t *testing.T) {
	machines := map[string]c.Machine{
		"AVX-512": {VectorBytes: 64, L1: 48 << 10, L2: 1 << 20, Dot4: true, DotBF16: true},
		"AVX2":    {VectorBytes: 32},
	}
	for name, m := range machines {
		to := c.Target(m)
		for _, d := range []dtype.DType{dtype.F32, dtype.BF16, dtype.I8} {
			for _, k := range []int{961, 4099, 9973, 12540, 12544, 25088} {
				for _, rows := range []int{1, 30, 1000} {
					for _, along := range []bool{false, true} {
						s := productOf(d, rows, k, 1030, along)
						list := model.Choose(s, to)
						p, err := lower.Lower(s, list, to)
						require.NoError(t, err)
						kernel, err := c.Render(p)
						require.NoError(t, err)
						assert.Less(t, strings.Count(kernel.Source, "\n"), 4000, "%s %v %dx%d, along %v: %s", name, d, rows, k, along, codegen.DirectivesString(list))
					}
				}
			}
		}
	}
}

// Lists from outside that would make kernels of any size are refused before anything is lowered.
func TestAllowed(t *testing.T) {
	s, to := product(1000, 700, 1300), targets["C"]()
	for text, says := range map[string]string{
		"split a0 64 shift; tile a0.1; split a1 1024 shift; vector a1.1":         "copies",
		"split a0 3 peel; split a1 3 peel; split r0.a 3 peel; split a0.1 2 peel": "part of a peeled split",
		strings.Repeat("split a0 3 peel;", 5):                                    "5 peeled splits",
		"split a0 2147483648 shift":                                              "1000 iterations",
		"split nothing 2":                                                        "there is no axis nothing",
		"stage p7 at root by box":                                                "there is no value p7",
		"fuse a0 a0; fuse a0+a0 a0":                                              "cannot become one",
		"order":                                                                  "cannot read",
	} {
		directives, err := tune.Parse(text)
		if err == nil {
			err = tune.Allowed(s, to, directives)
		}
		assert.ErrorContains(t, err, says, text)
	}
	_, err := tune.Parse(strings.Repeat("tile a0;", 1000))
	require.ErrorContains(t, err, "bytes of directives")
	require.ErrorContains(t, tune.Allowed(s, to, make([]codegen.Directive, 49)), "longer than 48")
}
