package plan

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Parts are every workgroup once, in order, none longer than a dimension may be, and about as many as the prediction asks
// for.
func TestCut(t *testing.T) {
	for _, c := range []struct {
		grid    [3]uint32
		seconds float64
		least   int
	}{
		{[3]uint32{1, 1, 1}, 100, 0},
		{[3]uint32{0, 0, 0}, 100, 0},
		{[3]uint32{100, 1, 1}, 0.5, 0},
		{[3]uint32{100, 1, 1}, 0.51, 2},
		{[3]uint32{100, 1, 1}, 2, 4},
		{[3]uint32{7, 1, 1}, 100, 7},
		{[3]uint32{65535, 1, 1}, 1e9, mostParts},
		{[3]uint32{40000, 3, 1}, 0.6, 2},
		{[3]uint32{40000, 3, 1}, 1.5, 3},
		{[3]uint32{40000, 3, 1}, 5, 10},
		{[3]uint32{65000, 1000, 1}, 20, 40},
	} {
		k := Kernel{Grid: c.grid, Flops: int64(c.seconds * 1000)}
		parts := k.Cut(Limits{Flops: 1000})
		if c.least == 0 {
			assert.Nil(t, parts, "%+v", c)
			continue
		}
		assert.GreaterOrEqual(t, len(parts), c.least, "%+v", c)
		assert.LessOrEqual(t, len(parts), 2*c.least, "%+v", c)
		next := uint32(0)
		for _, p := range parts {
			require.Equal(t, next, p.First, "%+v", c)
			require.Positive(t, p.Grid[0]*p.Grid[1]*p.Grid[2])
			require.LessOrEqual(t, p.Grid[0], c.grid[0])
			require.True(t, p.Grid[1] == 1 || p.Grid[0] == c.grid[0], "rows as long as the whole's: %+v", p)
			next += p.Grid[0] * p.Grid[1]
		}
		assert.Equal(t, c.grid[0]*c.grid[1], next, "%+v", c)
	}
	slow := Kernel{Grid: [3]uint32{8, 1, 1}, Flops: 1, Bytes: 1000}
	assert.Nil(t, slow.Cut(Limits{}), "nothing is known of the device")
	assert.Len(t, slow.Cut(Limits{Flops: 1000, Moves: 1000}), 2, "memory counts too")
}

func TestFirsts(t *testing.T) {
	p := Plan{Vars: make([]Var, 5), Kernels: []Kernel{{}, {Parts: []Part{{}, {First: 7}, {First: 14}}}, {Parts: []Part{{}, {First: 7}}}}}
	assert.Equal(t, []uint32{0, 7, 14}, p.Firsts())
	assert.Equal(t, 12, p.FirstWord(), "after four constants and two fours of variables")
}
