package llm

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What is drawn has the probabilities that temperature, top k and top p leave.
func TestSampler(t *testing.T) {
	logits := []float32{0, 2, 1, -1, 2}
	for _, c := range []struct {
		s    Sampler
		want []float64
	}{
		{Sampler{Temperature: 1}, []float64{0.0530, 0.3916, 0.1441, 0.0195, 0.3916}},
		{Sampler{Temperature: 0.5}, []float64{0.00837, 0.4567, 0.0618, 0.0011, 0.4567}},
		{Sampler{Temperature: 1, TopK: 3}, []float64{0, 0.4223, 0.1554, 0, 0.4223}},
		{Sampler{Temperature: 1, TopP: 0.7}, []float64{0, 0.5, 0, 0, 0.5}},
		{Sampler{Temperature: 1, TopP: 0.1}, []float64{0, 1, 0, 0, 0}},
		{Sampler{Temperature: 1, MinP: 0.3}, []float64{0, 0.4223, 0.1554, 0, 0.4223}},
		{Sampler{Temperature: 1, MinP: 0.3, TopP: 0.8}, []float64{0, 0.5, 0, 0, 0.5}},
		{Sampler{}, []float64{0, 1, 0, 0, 0}}, {Sampler{Temperature: 9, TopK: 1}, []float64{0, 1, 0, 0, 0}},
	} {
		count := make([]float64, len(logits))
		const n = 40_000
		for range n {
			token, err := c.s.Next(logits)
			require.NoError(t, err)
			count[token]++
		}
		for i, w := range c.want {
			assert.InDelta(t, w, count[i]/n, 4*math.Sqrt(w*(1-w)/n)+1e-4, "%+v: token %d", c.s, i)
		}
	}
	again := &Sampler{Repetition: 2.5}
	again.Seen(3)
	for _, want := range []int{1, 4, 2, 1} {
		token, err := again.Next(logits)
		require.NoError(t, err)
		require.Equal(t, want, token)
	}
	assert.Equal(t, float32(2), logits[1], "logits are the caller's")
	for i := range 100 {
		again.Seen(i)
	}
	assert.Len(t, again.lately, memory)
	for _, most := range []float64{1e-300, 1e300, math.MaxFloat64} { // a penalty makes neither infinities nor NaN of what is none
		s := &Sampler{Temperature: 1, Repetition: most}
		s.Seen(0, 1, 2, 3, 4)
		for range 10 {
			_, err := s.Next(logits)
			require.NoError(t, err, "%v", most)
		}
	}
	a, b := &Sampler{Temperature: 1, Seed: 5}, &Sampler{Temperature: 1, Seed: 5}
	for range 100 {
		x, _ := a.Next(logits)
		y, _ := b.Next(logits)
		require.Equal(t, x, y, "a seed gives a sequence")
	}
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, c := range []struct {
		s      Sampler
		logits []float32
		want   string
	}{
		{Sampler{}, nil, "no logits"}, {Sampler{}, []float32{0, nan}, "the logit of token 1 is NaN"}, {Sampler{}, []float32{inf}, "is +Inf"},
		{Sampler{}, []float32{-inf, -inf}, "all logits are -Inf"}, {Sampler{Temperature: -1}, logits, "temperature -1"},
		{Sampler{Temperature: math.NaN()}, logits, "temperature NaN"}, {Sampler{TopP: 2}, logits, "top p 2"}, {Sampler{TopK: -1}, logits, "top k -1"},
		{Sampler{MinP: -1}, logits, "min p -1"}, {Sampler{Repetition: math.NaN()}, logits, "a repetition of NaN"},
	} {
		_, err := c.s.Next(c.logits)
		assert.ErrorContains(t, err, c.want)
	}
	token, err := (&Sampler{Temperature: 1}).Next([]float32{-inf, 0, -inf})
	require.NoError(t, err)
	assert.Equal(t, 1, token)
}

func TestStops(t *testing.T) {
	for _, c := range []struct {
		stops []string
		parts []string
		want  []string
		done  bool
	}{
		{[]string{"END"}, []string{"a", "E", "N", "x", "EN", "D", "b"}, []string{"a", "", "", "ENx", "", ""}, true},
		{[]string{"ab", "b"}, []string{"x", "ab"}, []string{"x", ""}, true},
		{[]string{"aab"}, []string{"aa", "ab!"}, []string{"", "a"}, true},
		{nil, []string{"a", "b"}, []string{"a", "b"}, false}, {[]string{""}, []string{"a"}, []string{"a"}, false},
	} {
		s := &stopper{stops: c.stops}
		var got []string
		done := false
		for _, p := range c.parts {
			var out string
			out, done = s.next(p)
			got = append(got, out)
			if done {
				break
			}
		}
		assert.Equal(t, c.want, got)
		assert.Equal(t, c.done, done)
	}
}

// Tokens that may be chosen are drawn by their probabilities among themselves, however unlikely all of them are; and what allows nothing
// any more, when a time is over, is no crash.
func TestAllowedAreUnlikely(t *testing.T) {
	s := &Sampler{Temperature: 0.5, Seed: 1, Allow: func(token int) bool { return token > 0 }}
	count := map[int]int{}
	for range 400 {
		token, err := s.Next([]float32{1000, 0, 0.1, -1e4})
		require.NoError(t, err)
		count[token]++
	}
	assert.Greater(t, count[1], 100)
	assert.Greater(t, count[2], 100)
	assert.Equal(t, 400, count[1]+count[2])
	asked := 0
	s.Allow = func(token int) bool { asked++; return asked == 1 }
	token, err := s.Next([]float32{3, 2})
	require.NoError(t, err)
	assert.Equal(t, 0, token)
}
