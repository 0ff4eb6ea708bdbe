package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-ml/weft/tests/gallerytest"
)

// Poles stand several times as long as at first.
func TestCartpole(t *testing.T) {
	gallerytest.Each(t, run, func(t *testing.T, stood []float64, printed string) {
		last := 0.
		for _, n := range stood[len(stood)-10:] {
			last += n / 10
		}
		assert.Less(t, stood[0], 50., printed)
		assert.Greater(t, last, 120., printed)
	})
}
