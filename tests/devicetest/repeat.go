package devicetest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/uop"
)

// RunRepeated computes the cases in which several invocations could write to one word, those with results of one or two
// bytes and scatters, n times over: each time must give the bits of the first. That these are right is Run's to say.
func RunRepeated(t *testing.T, device string, n int) {
	dev, err := engine.Open(device, engine.Options{Poison: true, Unfolded: true})
	need.Device(t, device, err)
	t.Cleanup(func() { require.NoError(t, dev.Close()) })
	var cases []Case
	for _, g := range groups {
		s := newSuite(1)
		g.cases(s)
		for _, c := range s.cases {
			if roots := c.Build(newInputs(dev, c.seed)); slices.ContainsFunc(roots, narrow) || strings.Contains(strings.ToLower(c.Name), "scatter") {
				if _, err := dev.Plan(roots...); !lacks(err) {
					cases = append(cases, c)
				}
			}
		}
	}
	fmt.Printf("%s: %d sub-word and scatter cases, %d times each\n", device, len(cases), n)
	for part := range slices.Chunk(cases, batch) {
		repeated(t, dev, part, n)
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
