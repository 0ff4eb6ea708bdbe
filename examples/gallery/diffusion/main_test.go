package main

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-ml/weft/tests/gallerytest"
)

// The network learns, and what it draws is ink in the middle of paper, about as much as in the data.
func TestDiffusion(t *testing.T) {
	steps = 300
	gallerytest.Each(t, run, func(t *testing.T, r result, printed string) {
		assert.Less(t, r.Last, 0.15*r.First, printed)
		mean, edge := 0., -1.
		for i, p := range r.Pictures {
			mean += float64(p) / float64(len(r.Pictures))
			if x, y := i%side, i/side%side; x == 0 || y == 0 || x == side-1 || y == side-1 {
				edge = max(edge, float64(p))
			}
		}
		assert.InDelta(t, r.Ink, mean, 0.25, printed)
		assert.Less(t, edge, -0.6, printed)
		for n := range drawn {
			assert.Greater(t, slices.Max(r.Pictures[n*pixels:(n+1)*pixels]), float32(-0.3), printed)
		}
	})
}
