package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-ml/weft/tests/gallerytest"
)

// The points of each blob are one group, and three blobs lie in a plane.
func TestClusters(t *testing.T) {
	gallerytest.Each(t, run, func(t *testing.T, r found, printed string) {
		wrong := 0
		for i, g := range r.Group {
			if g != r.Group[i/each*each+each/2] {
				wrong++
			}
		}
		assert.LessOrEqual(t, wrong, 3)
		assert.NotEqual(t, r.Group[each/2], r.Group[each+each/2])
		assert.NotEqual(t, r.Group[each+each/2], r.Group[2*each+each/2])
		assert.InDelta(t, dims, r.Distance, 1)
		assert.Greater(t, r.Share[0]+r.Share[1], 0.7)
		assert.Contains(t, printed, "of the variance")
	})
}
