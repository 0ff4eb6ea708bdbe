package llm

import (
	"container/heap"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Sampler chooses the tokens of one text. The zero value takes the likeliest, of equal ones the first.
type Sampler struct {
	Temperature float64 // logits are divided by it; 0: always the likeliest
	TopK        int     // of the k likeliest; 0: of all
	TopP        float64 // of the likeliest that together have this probability (Holtzman and others, 2019); 0: of all
	MinP        float64 // of those at least so likely, as a share of the likeliest; 0: of all
	Repetition  float64 // logits of tokens that were there lately are divided by it, negative ones multiplied (Keskar and others, 2019); 0 or 1: not
	Seed        uint64
	// Allow says whether a token may be chosen; nil: all may.
	Allow func(token int) bool

	random *rand.Rand
	seeded uint64
	lately []int
}

// memory is how many tokens count as being there lately.
const memory = 64

// Seen tells of tokens that are there without having been chosen, as those of a prompt.
func (s *Sampler) Seen(tokens ...int) {
	s.lately = append(s.lately, tokens...)
	s.lately = slices.Delete(s.lately, 0, max(0, len(s.lately)-memory))
}

// Next chooses a token by its logits.
func (s *Sampler) Next(logits []float32) (int, error) {
	if len(logits) == 0 {
		return 0, errors.New("llm: no logits to choose from")
	}
	if err := s.Check(); err != nil {
		return 0, err
	}
	token, err := s.choose(s.penalised(logits))
	if err == nil {
		s.Seen(token)
	}
	return token, err
}

// Check says which of the numbers make no sense.
func (s *Sampler) Check() error {
	switch {
	case !(s.Temperature >= 0) || math.IsInf(s.Temperature, 0) || s.TopK < 0:
		return fmt.Errorf("llm: temperature %v, top k %d: they are from 0 on", s.Temperature, s.TopK)
	case !(s.TopP >= 0 && s.TopP <= 1) || !(s.MinP >= 0 && s.MinP <= 1):
		return fmt.Errorf("llm: top p %v, min p %v: they are from 0 to 1", s.TopP, s.MinP)
	case !(s.Repetition >= 0) || math.IsInf(s.Repetition, 0):
		return fmt.Errorf("llm: a repetition of %v: it is from 0 on", s.Repetition)
	}
	return nil
}

// penalised are logits, smaller for tokens that were there lately.
func (s *Sampler) penalised(logits []float32) []float32 {
	if s.Repetition == 0 || s.Repetition == 1 {
		return logits
	}
	logits = slices.Clone(logits)
	done := map[int]bool{}
	for _, t := range s.lately {
		if t < 0 || t >= len(logits) || done[t] {
			continue
		}
		done[t] = true
		logits[t] = weakened(logits[t], s.Repetition)
	}
	return logits
}

// weakened is a logit by a penalty. A finite one stays finite, however large or small the penalty is.
func weakened(logit float32, by float64) float32 {
	x := float64(logit)
	if math.IsInf(x, 0) {
		return logit
	}
	if x > 0 {
		x /= by
	} else {
		x *= by
	}
	return float32(max(-math.MaxFloat32, min(x, math.MaxFloat32)))
}

func (s *Sampler) choose(logits []float32) (int, error) {
	best := -1
	for i, x := range logits {
		if x != x || math.IsInf(float64(x), 1) {
			return 0, fmt.Errorf("llm: the logit of token %d is %v: the model's weights or its input are broken", i, x)
		}
		if (best < 0 || x > logits[best]) && !math.IsInf(float64(x), -1) && (s.Allow == nil || s.Allow(i)) {
			best = i
		}
	}
	switch {
	case best < 0 && s.Allow != nil:
		return 0, errors.New("llm: no token is allowed here")
	case best < 0:
		return 0, errors.New("llm: all logits are -Inf")
	case s.Temperature == 0 || s.TopK == 1:
		return best, nil
	}
	from := s.candidates(logits, float64(logits[best]))
	if len(from) == 0 { // Allow says no to what it allowed: a time is over
		return best, nil
	}
	return s.draw(from), nil
}

type candidate struct {
	token  int
	weight float64
}

// byWeight is a heap with the likeliest at the top; of equal ones, the first token.
type byWeight []candidate

func (h byWeight) Len() int      { return len(h) }
func (h byWeight) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h byWeight) Less(i, j int) bool {
	return h[i].weight > h[j].weight || h[i].weight == h[j].weight && h[i].token < h[j].token
}
func (h *byWeight) Push(any) {}
func (h *byWeight) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// candidates are the tokens that may be chosen, the likeliest first, with weights that are their probabilities but for a factor: that of most is 1. Of a large
// vocabulary few are likely, so that they are taken from a heap until there are enough.
func (s *Sampler) candidates(logits []float32, most float64) []candidate {
	h := make(byWeight, 0, len(logits))
	for i, x := range logits {
		if w := math.Exp((float64(x) - most) / s.Temperature); w > 0 {
			h = append(h, candidate{i, w})
		}
	}
	heap.Init(&h)
	var out []candidate
	sum := 0.0
	for len(h) > 0 && (s.TopK == 0 || len(out) < s.TopK) {
		c := heap.Pop(&h).(candidate)
		if s.Allow != nil && !s.Allow(c.token) {
			continue
		}
		if len(out) > 0 && c.weight < s.MinP*out[0].weight {
			break
		}
		out = append(out, c)
		sum += c.weight
	}
	if s.TopP > 0 {
		have := 0.0
		for i := range out {
			if have += out[i].weight; have >= s.TopP*sum {
				return out[:i+1]
			}
		}
	}
	return out
}

func (s *Sampler) draw(from []candidate) int {
	if s.random == nil || s.seeded != s.Seed {
		s.random, s.seeded = rand.New(rand.NewPCG(s.Seed, 0)), s.Seed
	}
	sum := 0.0
	for _, c := range from {
		sum += c.weight
	}
	at := s.random.Float64() * sum
	for _, c := range from {
		if at -= c.weight; at < 0 {
			return c.token
		}
	}
	return from[0].token // of rounding
}
