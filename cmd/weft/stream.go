package main

import "math/rand/v2"

// stream gives batches of n pictures without end: each once in a random order, then each once in another.
// A batch may be larger than n.
type stream struct {
	rng   *rand.PCG
	order []int32
	at    int
}

func newStream(n int, seed uint64) *stream {
	s := &stream{rng: rand.NewPCG(seed, 0xda7a), order: make([]int32, n)}
	for i := range s.order {
		s.order[i] = int32(i)
	}
	s.at = len(s.order)
	return s
}

// next fills batch with the numbers of the next pictures.
func (s *stream) next(batch []int32) {
	for i := range batch {
		if s.at == len(s.order) {
			rand.New(s.rng).Shuffle(len(s.order), func(a, b int) { s.order[a], s.order[b] = s.order[b], s.order[a] })
			s.at = 0
		}
		batch[i] = s.order[s.at]
		s.at++
	}
}
