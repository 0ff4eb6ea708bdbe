package main

import (
	"math/rand/v2"

	"github.com/weft-ml/weft/data"
)

// stream gives batches of a split without end: each picture once in a random order, then each
// once in another. A batch may be larger than the split.
type stream struct {
	split data.Split
	rng   *rand.PCG
	order []int
	at    int
}

func newStream(split data.Split, seed uint64) *stream {
	s := &stream{split: split, rng: rand.NewPCG(seed, 0xda7a), order: make([]int, split.N)}
	for i := range s.order {
		s.order[i] = i
	}
	s.at = len(s.order)
	return s
}

// next fills images and labels with the next len(labels) pictures.
func (s *stream) next(images, labels []byte) {
	size := s.split.H * s.split.W
	for i := range labels {
		if s.at == len(s.order) {
			rand.New(s.rng).Shuffle(len(s.order), func(a, b int) { s.order[a], s.order[b] = s.order[b], s.order[a] })
			s.at = 0
		}
		n := s.order[s.at]
		s.at++
		copy(images[i*size:(i+1)*size], s.split.Image(n))
		labels[i] = s.split.Labels[n]
	}
}
