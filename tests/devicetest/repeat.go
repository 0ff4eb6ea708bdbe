package devicetest

import (
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
	dev, err := engine.Open(device, engine.Options{Poison: true})
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
		first, err := compute(dev, part)
		require.NoError(t, err)
		for k := range n - 1 {
			again, err := compute(dev, part)
			require.NoError(t, err)
			for i := range part {
				require.True(t, same(first[i], again[i]), "%s: %s is different the %dth time", device, part[i].Name, k+2)
			}
		}
	}
}

func narrow(u *uop.UOp) bool { return u.DType().Size() < 4 }

// same compares bits.
func same(a, b []result) bool {
	return slices.EqualFunc(a, b, func(x, y result) bool { return x.dtype == y.dtype && slices.Equal(x.values, y.values) })
}
