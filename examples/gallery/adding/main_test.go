package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-ml/weft/tests/gallerytest"
)

// The network remembers and adds.
func TestAdding(t *testing.T) {
	gallerytest.Each(t, run, func(t *testing.T, loss float64, printed string) {
		assert.Less(t, loss, 1./6/8, printed)
	})
}
