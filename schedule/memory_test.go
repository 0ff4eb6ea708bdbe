package schedule_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/schedule"
)

// What the backward pass of a long chain reads is alive all at once: each array gets a place of its own, soon.
func TestManyArraysAlive(t *testing.T) {
	const n = 20_000
	var r schedule.Result
	for b := range n {
		r.Bufs = append(r.Bufs, schedule.Buf{Kind: schedule.TempBuf, DType: dtype.U8, N: 1 + b*7%900})
	}
	for i := range 2 * n {
		r.Steps = append(r.Steps, schedule.Step{Bufs: []int{min(i, 2*n-1-i)}})
	}
	start := time.Now()
	places, arenas := r.Memory(0)
	t.Logf("%d arrays: %v", n, time.Since(start))
	sum, seen := int64(0), map[int64]bool{}
	for _, p := range places {
		assert.False(t, seen[p.Offset])
		seen[p.Offset] = true
		sum += p.Bytes
	}
	assert.Equal(t, []int64{sum}, arenas)
}

// Where memories have at most so many bytes, arrays are spread over several: none is larger, no array lies outside of one,
// none overlaps another that is alive with it. Without a limit, or with one that is kept, there is one arena as ever.
func TestArenasHaveAtMost(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var r schedule.Result
		n := 2 + rng.IntN(12)
		largest := int64(0)
		for range n {
			b := schedule.Buf{Kind: schedule.TempBuf, DType: dtype.U8, N: 1 + rng.IntN(3000)}
			r.Bufs = append(r.Bufs, b)
			largest = max(largest, b.Bytes())
		}
		first, last := make([]int, n), make([]int, n)
		for b := range n {
			first[b] = b
			last[b] = b + rng.IntN(4)
		}
		for i := range n + 4 {
			var st schedule.Step
			for b := range n {
				if i == first[b] || i == last[b] {
					st.Bufs = append(st.Bufs, b)
				}
			}
			r.Steps = append(r.Steps, st)
		}
		whole, one := r.Memory(0)
		require.Len(t, one, 1)
		same, also := r.Memory(one[0])
		assert.Equal(t, whole, same)
		assert.Equal(t, one, also)

		most := largest + int64(rng.IntN(500))
		places, arenas := r.Memory(most)
		for a := range n {
			p := places[a]
			require.Zero(t, p.Offset%schedule.Align)
			require.LessOrEqual(t, p.Offset+r.Bufs[a].Bytes(), arenas[p.Arena])
			for b := range a {
				q := places[b]
				if p.Arena == q.Arena && first[a] <= last[b] && first[b] <= last[a] {
					require.True(t, p.Offset+p.Bytes <= q.Offset || q.Offset+q.Bytes <= p.Offset)
				}
			}
		}
		for _, size := range arenas {
			require.LessOrEqual(t, size, most)
		}
	}
}
