package fuzz

import "math/bits"

// Rand is SplitMix64: a generator of its own, so that a seed means the same program whatever becomes of others.
type Rand struct{ state uint64 }

func newRand(seed uint64) *Rand { return &Rand{seed} }

// Uint64 is the next number.
func (r *Rand) Uint64() uint64 {
	r.state += 0x9e3779b97f4a7c15
	z := r.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// N is a number from 0 to n−1; 0 where n is 0.
func (r *Rand) N(n int) int {
	if n <= 0 {
		return 0
	}
	hi, _ := bits.Mul64(r.Uint64(), uint64(n))
	return int(hi)
}

// In is a number from lo to hi.
func (r *Rand) In(lo, hi int) int { return lo + r.N(hi-lo+1) }

// One is true in one of n cases.
func (r *Rand) One(n int) bool { return r.N(n) == 0 }

// Float is a number from 0 to 1.
func (r *Rand) Float() float64 { return float64(r.Uint64()>>11) / (1 << 53) }

// Perm is a random order of 0 … n−1.
func (r *Rand) Perm(n int) []int {
	p := make([]int, n)
	for i := range p {
		j := r.N(i + 1)
		p[i] = p[j]
		p[j] = i
	}
	return p
}

// pick is one of several.
func pick[T any](r *Rand, from ...T) T { return from[r.N(len(from))] }
