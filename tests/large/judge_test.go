package large

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An element that is a little off is seen, in nearly every program.
func TestJudgeSees(t *testing.T) {
	ctx := context.Background()
	j := open(t, "INTERP")
	seen, n := 0, 0
	for seed := uint64(500); n < 12; seed++ {
		p := generate(seed)
		p.elements, p.limit, p.way = 500, 129, 0
		got, roots, err := j.tested(ctx, p)
		require.NoError(t, err)
		if len(got[0]) == 0 {
			continue
		}
		require.Empty(t, j.check(ctx, p), "%v", p)
		n++
		k := len(got[0]) - 1
		got[0][k] += 1e-3 * (1 + math.Abs(got[0][k]))
		if p.exact && !roots[0].IsFloat() {
			got[0][k] = math.Round(got[0][k] + 1)
		}
		fault, err := j.against(ctx, p, got, roots)
		require.NoError(t, err)
		if fault != "" {
			seen++
		}
	}
	assert.GreaterOrEqual(t, seen, n-1)
}
