package codegen_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// transposed is a transposed window of stride 2 over rows, whose even and odd results have other steps.
func transposed(window int) *kit {
	const rows, channels, out = 17, 24, 48
	k := newKit()
	taps := (window + 1) / 2
	o, x, w := k.param(dtype.F32, true, 2, rows, out), k.param(dtype.F32, false, rows, channels), k.param(dtype.F32, false, channels, window, out)
	a := k.rngs(2, rows, out, channels, taps)
	at, tap := a[1].Sub(a[4]), a[0].Add(a[4].Mul(k.Index(2)))
	gate := k.Index(-1).Less(at).And(tap.Less(k.Index(window)))
	k.out(o, a[:3], k.sum(k.loadIf(x, gate, at, a[3]).Mul(k.loadIf(w, gate, a[3], tap, a[2])), a[3], a[4]))
	return k
}

// Steps of a transposed window that its phase does not have are skipped, also where infinite numbers would meet the zeros there; where nearly all
// exist they are computed.
func TestAbsentStepsAreSkipped(t *testing.T) {
	var jobs []*job
	var want [][]array
	for window, skips := range map[int]bool{1: true, 2: false, 3: true, 5: true, 21: false} {
		for _, text := range []string{"vector a2; order a0 a1 a2", "split a1 4 shift; tile a1.1; vector a2; order a0 a1.0 a1.1 a2",
			"finite p2; split a1 4 shift; tile a1.1; vector a2; order a0 a1.0 a1.1 a2; stage p2 at a0 by ranges layout r0.a,r0.b,a2 vector a2",
			"vector a2; order a0 a1 a2; stage p1 at a0 by ranges layout a1,r0.b,r0.a"} {
			k := transposed(window)
			directives, err := codegen.ParseDirectives(text)
			require.NoError(t, err)
			if lower.Legal(k.s, directives, target()) != nil {
				continue
			}
			p, err := lower.Lower(k.s, directives, target())
			require.NoError(t, err)
			if !strings.Contains(text, "stage") { // which has a condition of its own
				found := false
				codegen.Visit(p.Body, func(s codegen.Stmt) {
					_, ok := s.(*codegen.If)
					found = found || ok
				})
				require.Equal(t, skips, found, "%d %s\n%s", window, text, codegen.Dump(p))
			}
			bufs := k.random(rand.New(rand.NewPCG(8, 9)))
			bufs[1][5], bufs[2][7] = uop.FloatValue(dtype.F32, math.Inf(1)), uop.FloatValue(dtype.F32, math.Inf(-1))
			w := clone(bufs)
			define(t, k.s, w)
			jobs, want = append(jobs, &job{k.s, directives, bufs}), append(want, w)
		}
	}
	check(t, "absent steps", jobs, want, 1e-4)
}

// A step that a window does not have is computed where another sum over the same steps has it.
func TestAbsentStepsOfOneSum(t *testing.T) {
	var jobs []*job
	var want [][]array
	for _, window := range []int{1, 3, 5} {
		k := transposed(window)
		z := k.param(dtype.F32, false, 2, 24, (window+1)/2, 48)
		o := &k.s.Outs[0]
		_, ranges := codegen.ReduceParts(o.Value)
		o.Value = o.Value.Add(k.sum(k.load(z, o.Axes[0], ranges[0], ranges[1], o.Axes[2]), ranges...))
		directives, err := codegen.ParseDirectives("vector a2; order a0 a1 a2")
		require.NoError(t, err)
		bufs := k.random(rand.New(rand.NewPCG(18, 9)))
		w := clone(bufs)
		define(t, k.s, w)
		jobs, want = append(jobs, &job{k.s, directives, bufs}), append(want, w)
	}
	check(t, "absent steps of one sum", jobs, want, 1e-4)
}
