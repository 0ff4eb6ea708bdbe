package browser_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Large arrays and Blobs go to the engine as pieces of their own: in order, as they were at the call, and only the part
// that a view shows.
func TestLargeArraysAndBlobs(t *testing.T) {
	p := open(t)
	var got struct {
		Sums  []float64
		Shape []int
		Last  float64
	}
	require.NoError(t, p.Run(`
		const w = await weft.open({device: 'wasm'})
		const big = new Float32Array(300000).fill(1)
		const part = w.tensor(big.subarray(100000, 200000)), small = w.tensor([5])
		big.fill(9)
		const blob = new Blob([new Uint8Array(70000).fill(2), new Uint8Array(10).fill(1)])
		const b = w.tensor(blob, [7001, 10])
		const sums = await Promise.all([part.sum().item(), small.sum().item(), b.to('f32').sum().item(), w.tensor(new Blob([Uint8Array.of(3, 4)])).to('f32').sum().item()])
		const shape = await b.shape
		const last = await b.at(-1, -1).item()
		w.close()
		return {sums, shape, last}`, &got))
	assert.Equal(t, []float64{100000, 5, 140010, 7}, got.Sums)
	assert.Equal(t, []int{7001, 10}, got.Shape)
	assert.Equal(t, 1., got.Last)
}
