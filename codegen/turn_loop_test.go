package codegen_test

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/c"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/codegen/model"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/runtime/native"
	need "github.com/weft-ml/weft/tests/require"
)

// Short rows of which each is a lane are turned before the loops along them, and what is stored to such rows behind them: no lane is loaded
// or stored by itself, and nothing is touched beside the arrays.
func TestShortRowsAreTurned(t *testing.T) {
	rnd := rand.New(rand.NewPCG(9, 23))
	var jobs []*job
	var want [][]array
	for _, d := range []dtype.DType{dtype.F32, dtype.F64, dtype.I32, dtype.I64} {
		lanes := 64 / d.Size()
		for _, n := range []int{lanes/2 + 1, lanes - 1, lanes, lanes + 3, 2*lanes + 1} {
			for _, stride := range []int{n, n + 2} {
				k := newKit()
				rows := 3*lanes + 5
				o, x := k.param(d, true, rows, n), k.param(d, false, rows, stride)
				a := k.rngs(rows, n, n)
				k.out(o, a[:2], k.load(x, a[0], a[1]).Sub(k.sum(k.load(x, a[0], a[2]), a[2])))
				directives, err := codegen.ParseDirectives("split a0 " + strconv.Itoa(lanes) + " shift; vector a0.1; order a0.0 a0.1 a1")
				require.NoError(t, err)
				p, err := lower.Lower(k.s, directives, target())
				require.NoError(t, err)
				text, err := c.Render(p)
				require.NoError(t, err)
				require.Contains(t, text.Source, "turn")
				for _, alone := range []string{"gt_", "st_"} {
					require.Equal(t, n > 32, strings.Contains(text.Source, alone), "%s rows of %d, %d apart", d, n, stride)
				}
				bufs := k.random(rnd)
				expected := clone(bufs)
				define(t, k.s, expected)
				jobs, want = append(jobs, &job{k.s, directives, bufs}), append(want, expected)
			}
		}
	}
	fenced(t, jobs, want)
}

// Channels of pixels are loaded and stored by whole vectors, the pixels in either order.
func TestPixelsOfThreeChannels(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 3))
	var jobs []*job
	var want [][]array
	for _, d := range []dtype.DType{dtype.U8, dtype.I16, dtype.F32} {
		for _, channels := range []int{2, 3, 4} {
			for _, back := range []bool{false, true} {
				const rows, n = 5, 70
				k := newKit()
				o, x := k.param(d, true, rows, n, channels), k.param(d, false, rows, n, channels)
				a := k.rngs(rows, n, channels)
				from := a[1]
				if back {
					from = a[1].Neg().Add(k.Index(n - 1))
				}
				k.out(o, a, k.load(x, a[0], from, a[2]).Neg())
				directives := model.Choose(k.s, target())
				_, text := lowered(t, k.s, directives)
				for _, alone := range []string{"gt_", "st_"} {
					require.NotContains(t, text.Source, alone, "%s, %d channels", d, channels)
				}
				bufs := k.random(rnd)
				expected := clone(bufs)
				define(t, k.s, expected)
				jobs, want = append(jobs, &job{k.s, directives, bufs}), append(want, expected)
			}
		}
	}
	fenced(t, jobs, want)
}

// fenced runs kernels between pages that they must not touch, and compares their first arrays.
func fenced(t *testing.T, jobs []*job, want [][]array) {
	dev, err := native.Open(native.Options{Prelude: c.Prelude, Threads: 1, Fence: true})
	need.Device(t, "CPU", err)
	t.Cleanup(func() { dev.Close() })
	run(t, dev, jobs)
	for i, j := range jobs {
		require.Empty(t, differ(j.spec.Params[0].DType, j.bufs[0], want[i][0], 1e-5), "%v", j.directives)
	}
}
