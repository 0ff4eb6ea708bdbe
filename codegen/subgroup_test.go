package codegen_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/codegen/model"
	"github.com/weft-ml/weft/codegen/wgsl"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime/webgpu"
	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/uop"
)

// adapter is the one that is here, whose kernels may be written as if it were another.
type adapter struct {
	*webgpu.Device
	target *codegen.Target
}

func openAdapter(t *testing.T) adapter {
	dev, target := gridDevice(t)
	return adapter{dev, target}
}

// play runs a Spec as on an adapter that offers some features, and gives its first array.
func (a adapter) play(t *testing.T, data []array, s *codegen.Spec, software bool, f plan.Features) (array, *bench) {
	if !a.target.Features.Has(f) {
		need.Device(t, "WEBGPU", fmt.Errorf("this adapter has no %v", f))
	}
	as := *a.target
	as.CPUBacked, as.Features = software, f|a.target.Features&plan.Untold
	raw := make([][]byte, len(data))
	for i, a := range data {
		raw[i] = pack(s.Params[i].DType, a)
	}
	b := prepareGrid(t, a.Device, &as, s, raw)
	b.play(t)
	return unpack(s.Params[0].DType, b.read(t, 0)), b
}

// reduced is the reduction of each row of an array, all parts of it side by side.
func reduced(m uop.Monoid, d dtype.DType, rows, n int) *kit {
	k := newKit()
	parts := map[uop.Monoid]int{uop.ArgMax: 2, uop.SumExp: 2, uop.Moments: 3}[m]
	o, x := k.param(d, true, rows, max(1, parts)), k.param(d, false, rows, n)
	a := k.rngs(rows, n)
	v := k.load(x, a...)
	elements := map[uop.Monoid][]*uop.UOp{uop.SumExp: {v, v.Int(1)}, uop.Moments: {v.Int(1), v, v.Int(0)}}[m]
	switch {
	case m == uop.ArgMax:
		elements = []*uop.UOp{v, a[1].Cast(dtype.I32)}
	case elements == nil:
		elements = []*uop.UOp{v}
	}
	r := k.ReduceRanges(m, elements, a[1:])
	if parts == 0 {
		k.s.Outs = append(k.s.Outs, codegen.Out{Param: o, Axes: a[:1], Index: []*uop.UOp{a[0], k.Index(0)}, Value: r})
	}
	for i := range parts {
		k.s.Outs = append(k.s.Outs, codegen.Out{Param: o, Axes: a[:1], Index: []*uop.UOp{a[0], k.Index(i)}, Value: r.Part(i).Cast(d)})
	}
	return k
}

// What subgroups merge is what the definition says, whatever the monoid, the type, and how the rows divide; so are rows
// with NaN, infinities, zeros of both signs, and equal values.
func TestSubgroups(t *testing.T) {
	dev, rnd := openAdapter(t), rand.New(rand.NewPCG(21, 22))
	for _, m := range []uop.Monoid{uop.Sum, uop.Prod, uop.MaxOf, uop.ArgMax, uop.SumExp, uop.Moments} {
		for _, d := range []dtype.DType{dtype.F32, dtype.I32, dtype.U32} {
			if !d.IsFloat() && (m == uop.SumExp || m == uop.Moments) {
				continue
			}
			t.Run(fmt.Sprintf("%v %v", m, d), func(t *testing.T) {
				for _, n := range []int{64, 100, 257, 700, 2048} {
					k := reduced(m, d, 7, n)
					data := k.random(rnd)
					if m == uop.Prod && d.IsFloat() {
						for i := range data[1] {
							data[1][i] = uop.ValueOf(d, 1+rnd.Float64()/64-rnd.Float64()/64)
						}
					}
					if m == uop.Moments { // a mean of infinities depends on the order
						data[1][rnd.IntN(n)] = uop.ValueOf(d, math.NaN())
					} else if d.IsFloat() && m != uop.Prod {
						for row, special := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1)} {
							data[1][row*n+rnd.IntN(n)] = uop.ValueOf(d, special)
						}
						for i := range n {
							data[1][4*n+i] = uop.ValueOf(d, math.Inf(-1))
						}
					}
					want := clone(data)
					define(t, k.s, want)
					got, b := dev.play(t, data, k.s, false, plan.Subgroups)
					require.Contains(t, b.k.Source, "= subgroup")
					tol := 1e-5
					if m.Info().Exact {
						tol = 0
					}
					require.Empty(t, differ(d, got, want[0], tol), "%d elements a row, %s\n%s", n, b.k.Directives, b.k.Source)
				}
			})
		}
	}
}

// Long sums keep at least the digits that they have through memory.
func TestSubgroupAccuracy(t *testing.T) {
	const n = 100_000
	dev, k := openAdapter(t), reduced(uop.Sum, dtype.F32, 3, n)
	data := k.random(rand.New(rand.NewPCG(23, 24)))
	exact := make([]float64, 3)
	for i := range data[1] {
		data[1][i] = uop.ValueOf(dtype.F32, 0.1+float64(i%7))
		exact[i/n] += data[1][i].Float()
	}
	worst := func(f plan.Features) (e float64) {
		got, _ := dev.play(t, data, k.s, false, f)
		for i := range exact {
			e = max(e, math.Abs(got[i].Float()-exact[i])/exact[i])
		}
		return e
	}
	within, through := worst(plan.Subgroups), worst(0)
	t.Logf("off by %.2g within subgroups, %.2g through memory", within, through)
	assert.LessOrEqual(t, within, through+0x1p-24)
}

// Where not all invocations of the workgroup reduce, or a type cannot be merged, reductions go through memory.
func TestSubgroupsWhereTheyServe(t *testing.T) {
	offered := wgsl.Target(wgsl.Machine{Features: plan.Subgroups})
	for _, c := range []struct {
		name string
		k    *kit
		want bool
	}{
		{"row", reduced(uop.Sum, dtype.F32, 64, 4096), true},
		{"64-bit integers", reduced(uop.Sum, dtype.I64, 64, 4096), false},
		{"rows of two lengths", func() *kit {
			k := newKit()
			o, x, y := k.param(dtype.F32, true, 9), k.param(dtype.F32, false, 9, 100), k.param(dtype.F32, false, 9, 600)
			a := k.rngs(9, 100, 600)
			k.out(o, a[:1], k.sum(k.load(x, a[0], a[1]), a[1]).Mul(k.sum(k.load(y, a[0], a[2]), a[2])))
			return k
		}(), true},
	} {
		p, err := lower.Lower(c.k.s, model.Choose(c.k.s, offered), offered)
		require.NoError(t, err, c.name)
		r, err := wgsl.Render(p)
		require.NoError(t, err, c.name)
		r = r.Spelled()
		assert.Equal(t, c.want, r.Needs.Has(plan.Subgroups), "%s\n%s", c.name, r.Source)
		if c.want {
			assert.Contains(t, r.Source, "enable subgroups;\n@group", c.name)
		}
	}
}

// Workgroup memory holds one value for each element of a stage, and a value is staged there once or not at all.
func TestStagesInWorkgroups(t *testing.T) {
	target := wgsl.Target(wgsl.Machine{})
	for text, k := range map[string]*kit{
		"stage r0 at root by ranges layout a0 workgroup":                                                 reduced(uop.SumExp, dtype.F32, 64, 100),
		"stage r0 at root by ranges layout a0; stage r0 at root by ranges layout a0 workgroup":           reduced(uop.Sum, dtype.F32, 64, 100),
		"stage r0 at root by ranges layout a0 workgroup; stage r0 at root by ranges layout a0 workgroup": reduced(uop.Sum, dtype.F32, 64, 100),
	} {
		directives, err := codegen.ParseDirectives(text)
		require.NoError(t, err)
		assert.ErrorContains(t, lower.Legal(k.s, directives, target), "workgroup memory", text)
	}
}
