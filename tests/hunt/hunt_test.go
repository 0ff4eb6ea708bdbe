package main

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tensor"
)

// What is drawn is the same each time, and a program that can be scheduled.
func TestPrograms(t *testing.T) {
	draw := func(i uint64) *program { return drawNetwork(rand.New(rand.NewPCG(1, i)), types[i], i%2 > 0) }
	for i := range uint64(6) {
		p := draw(i)
		assert.Equal(t, p.String(), draw(i).String())
		scheduled(t, p)
	}
	r := rand.New(rand.NewPCG(1, 2))
	n := 0
	for _, o := range ops {
		if p := drawOperation(r, o); p != nil {
			scheduled(t, p)
			n++
		}
	}
	require.Greater(t, n, len(ops)/2)
}

func scheduled(t *testing.T, p *program) {
	err := tensor.Try(func() {
		if !p.ready() {
			return
		}
		_, err := tensor.Schedule(p.graph(p.in...)...)
		assert.NoError(t, err, "%v", p)
	})
	assert.NoError(t, err, "%v", p)
}
