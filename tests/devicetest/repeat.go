package devicetest

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/uop"
)

// RunRepeated computes the cases in which several invocations could write to one word, those with results of one or two
// bytes and scatters, a part of them as RunPart has it, n times over: each time must give the bits of the first. That these are right is Run's to say.
func RunRepeated(t *testing.T, device string, n, part int) {
	dev, err := engine.Open(device, engine.Options{Poison: true, Unfolded: true})
	need.Device(t, device, err)
	t.Cleanup(func() { require.NoError(t, dev.Close()) })
	var cases []Case
	left, all := 0, 0
	for _, g := range groups {
		s := newSuite(1)
		g.cases(s)
		some := s.matching("", each(part))
		left, all = left+len(some), all+len(s.cases)
		for _, c := range some {
			if roots := c.Build(newInputs(dev, c.seed)); slices.ContainsFunc(roots, narrow) || strings.Contains(strings.ToLower(c.Name), "scatter") {
				if _, err := dev.Plan(roots...); !lacks(err) {
					cases = append(cases, c)
				}
			}
		}
	}
	t.Logf("%s: %d sub-word and scatter cases, %d times each, of %s", device, len(cases), n, need.PartOf(left, all))
	require.NotEmpty(t, cases)
	for some := range slices.Chunk(cases, batch) {
		repeated(t, dev, some, n)
	}
}

// repeated captures cases and runs them n times.
func repeated(t *testing.T, dev *engine.Engine, cases []Case, n int) {
	ctx := context.Background() // which a device waits for without asking again and again
	built, all, err := build(dev, cases)
	require.NoError(t, err)
	f, err := dev.Capture(ctx, nil, func() ([]*uop.UOp, error) { return all, nil })
	require.NoError(t, err)
	var names []string
	for i, roots := range built {
		for range roots {
			names = append(names, cases[i].Name)
		}
	}
	first := make([][]byte, len(all))
	for k := range n {
		outs, err := f.Run(ctx)
		require.NoError(t, err)
		for i, u := range outs {
			raw := make([]byte, u.Shape().Numel()*u.DType().Size())
			require.NoError(t, dev.Read(ctx, u, raw))
			if k == 0 {
				first[i] = raw
			}
			require.True(t, bytes.Equal(first[i], raw), "%s: %s is different the %dth time", dev.Name(), names[i], k+1)
		}
	}
}

func narrow(u *uop.UOp) bool { return u.DType().Size() < 4 }
