package schedule

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
)

// sorted runs sort on kernels that name buffers, each of which is written by the first that names it; edges go from there to the others.
func sortedKernels(temps int, bufs [][]int) [][]int {
	s := &scheduler{}
	written := map[int]int{}
	after := make([][]int, len(bufs))
	for i, list := range bufs {
		s.kernels = append(s.kernels, &kernel{bufs: list})
		for _, b := range list {
			for len(s.bufs) <= b {
				kind := TempBuf
				if len(s.bufs) >= temps {
					kind = OutputBuf
				}
				s.bufs = append(s.bufs, Buf{Kind: kind, DType: dtype.F32, N: 10})
			}
			if w, ok := written[b]; !ok {
				written[b] = i
			} else if w != i {
				after[w] = append(after[w], i)
			}
		}
	}
	s.sort(after)
	var out [][]int
	for _, k := range s.kernels {
		out = append(out, k.bufs)
	}
	return out
}

// Kernels that only use up memory do not wait for the end, where they were.
func TestWhatFreesRunsSoon(t *testing.T) {
	chain := [][]int{{0}, {1, 0}, {2, 1}, {3, 2}, {10, 0}, {11, 1}, {12, 2}, {13, 3}}
	assert.Equal(t, [][]int{{0}, {1, 0}, {10, 0}, {2, 1}, {11, 1}, {3, 2}, {12, 2}, {13, 3}}, sortedKernels(4, chain))
	// Where nothing is freed the order stays.
	still := [][]int{{0}, {1}, {10, 0, 1}, {11, 0, 1}}
	assert.Equal(t, still, sortedKernels(2, still))
}

// Many kernels are sorted in a time that grows with their number, whether they hang together or not: with its square it would be a minute or more,
// and is less than a second.
func TestSortingManyKernels(t *testing.T) {
	const n = 60_000
	var chain, apart [][]int
	for i := range n {
		chain = append(chain, []int{i, max(i-1, 0)})
		apart = append(apart, []int{n + i})
	}
	for _, bufs := range [][][]int{chain, apart} {
		start := time.Now()
		require.Len(t, sortedKernels(n, bufs), n)
		assert.Less(t, time.Since(start), time.Minute)
	}
}
