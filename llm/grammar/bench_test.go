package grammar

import (
	"math/rand/v2"
	"testing"
)

// BenchmarkTokens asks of a vocabulary which tokens may follow within a string, and where any value may: what drawing from all tokens asks at each.
//
//	go test ./llm/grammar -run xxx -bench Tokens
func BenchmarkTokens(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	tokens := make([][]byte, 32000)
	for i := range tokens {
		for range 1 + r.IntN(7) {
			tokens[i] = append(tokens[i], byte(' '+r.IntN(95)))
		}
	}
	for name, at := range map[string]string{"string": `{"a":"wor`, "value": `{"a":`} {
		b.Run(name, func(b *testing.B) {
			s, ok := JSON().Start().Next([]byte(at))
			if !ok {
				b.Fatal(at)
			}
			for b.Loop() {
				first := s.First()
				for _, t := range tokens {
					if first[t[0]] {
						s.Next(t)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(tokens)), "ns/token")
		})
	}
}
