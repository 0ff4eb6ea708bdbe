package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-ml/weft/tests/gallerytest"
)

// What it writes are words of the rhyme.
func TestWriter(t *testing.T) {
	gallerytest.Each(t, run, func(t *testing.T, r written, printed string) {
		assert.Less(t, r.Loss, 0.5, printed)
		words := strings.Fields(r.Text)
		words = words[:len(words)-1] // the last one is cut
		known := 0
		for _, w := range words {
			if strings.Contains(text, w) {
				known++
			}
		}
		assert.GreaterOrEqual(t, known*10, len(words)*8, r.Text)
	})
}
