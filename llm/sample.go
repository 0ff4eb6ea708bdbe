package llm

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Sampler chooses tokens. The zero value takes the likeliest, of equal ones the first.
type Sampler struct {
	Temperature float64 // logits are divided by it; 0: always the likeliest
	TopK        int     // of the k likeliest; 0: of all
	TopP        float64 // of the likeliest that together have this probability (Holtzman and others, 2019); 0: of all
	Seed        uint64

	random *rand.Rand
	seeded uint64
}

// Next chooses a token by its logits.
func (s *Sampler) Next(logits []float32) (int, error) {
	if len(logits) == 0 {
		return 0, errors.New("llm: no logits to choose from")
	}
	if !(s.Temperature >= 0) || math.IsInf(s.Temperature, 0) || s.TopK < 0 || !(s.TopP >= 0 && s.TopP <= 1) {
		return 0, fmt.Errorf("llm: temperature %v, top k %d, top p %v: the first two are from 0 on, the last from 0 to 1", s.Temperature, s.TopK, s.TopP)
	}
	best := 0
	for i, x := range logits {
		if x != x || math.IsInf(float64(x), 1) {
			return 0, fmt.Errorf("llm: the logit of token %d is %v: the model's weights or its input are broken", i, x)
		}
		if x > logits[best] {
			best = i
		}
	}
	if math.IsInf(float64(logits[best]), -1) {
		return 0, errors.New("llm: all logits are -Inf")
	}
	if s.Temperature == 0 || s.TopK == 1 {
		return best, nil
	}
	return s.draw(s.candidates(logits)), nil
}

type candidate struct {
	token  int
	weight float64
}

// candidates are the tokens that may be chosen, the likeliest first, with weights that are their probabilities but for a factor.
func (s *Sampler) candidates(logits []float32) []candidate {
	order := make([]candidate, len(logits))
	for i, x := range logits {
		order[i] = candidate{i, float64(x)}
	}
	slices.SortStableFunc(order, func(a, b candidate) int { return cmp.Compare(b.weight, a.weight) })
	if s.TopK > 0 && s.TopK < len(order) {
		order = order[:s.TopK]
	}
	most, sum := order[0].weight, 0.0
	for i := range order {
		order[i].weight = math.Exp((order[i].weight - most) / s.Temperature)
		sum += order[i].weight
	}
	if s.TopP > 0 {
		have := 0.0
		for i := range order {
			if have += order[i].weight; have >= s.TopP*sum {
				return order[:i+1]
			}
		}
	}
	return order
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
