package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-ml/weft/tests/gallerytest"
)

// The energy stays, and what began with the symmetry of a square keeps it.
func TestWave(t *testing.T) {
	gallerytest.Each(t, run, func(t *testing.T, r seen, printed string) {
		for _, e := range r.Energy {
			assert.InEpsilon(t, r.Energy[0], e, 1e-3)
		}
		assert.Greater(t, r.Energy[0], 0.1)
		for y := range side {
			for x := range side {
				h := r.Height[y*side+x]
				assert.InDelta(t, h, r.Height[x*side+y], 1e-4)
				assert.InDelta(t, h, r.Height[(side-1-y)*side+x], 1e-4)
			}
		}
		assert.Contains(t, printed, "energy")
	})
}
