package large

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// world is a few arrays that are assigned again and again, beside the same in Go.
type world struct {
	*rand.Rand
	n, m int
	t    []T
	v    [][]float64
}

// at is element i, k of a matrix.
func (w *world) at(v []float64, i, k int) float64 { return v[i*w.m+k] }

// each makes numbers of places.
func (w *world) each(f func(i, k int) float64) []float64 {
	out := make([]float64, w.n*w.m)
	for i := range w.n {
		for k := range w.m {
			out[i*w.m+k] = f(i, k)
		}
	}
	return out
}

func wrap(i, n int) int { return ((i % n) + n) % n }

// act assigns something to one of the arrays, often something that is made of itself at other places, and says what.
func (w *world) act() string {
	a, b := w.IntN(len(w.t)), w.IntN(len(w.t))
	act := acts[w.IntN(len(acts))]
	act.do(w, a, b, w.IntN(w.m), 1+w.IntN(w.n))
	return fmt.Sprint(a, " ", act.name, " ", b)
}

// acts change array a, perhaps by array b, a column and a row.
var acts = []struct {
	name string
	do   func(w *world, a, b, column, row int)
}{
	{"flipped", func(w *world, a, _, _, _ int) {
		v := w.v[a]
		w.t[a].Assign(w.t[a].Flip(1))
		w.v[a] = w.each(func(i, k int) float64 { return w.at(v, i, w.m-1-k) })
	}},
	{"is rolled", func(w *world, a, b, c, _ int) {
		u := w.v[b]
		w.t[a].Assign(w.t[b].Roll([]int{c}, []int{1}))
		w.v[a] = w.each(func(i, k int) float64 { return w.at(u, i, wrap(k-c, w.m)) })
	}},
	{"plus", func(w *world, a, b, _, _ int) {
		v, u := w.v[a], w.v[b]
		w.t[a].Assign(w.t[a].Add(w.t[b]).Clamp(-9, 9))
		w.v[a] = w.each(func(i, k int) float64 { return min(max(w.at(v, i, k)+w.at(u, i, k), -9), 9) })
	}},
	{"moved down over itself", func(w *world, a, _, _, r int) {
		v := w.v[a]
		w.t[a].SetAt(w.t[a].Narrow(0, 0, w.n-r), tensor.R(r, w.n))
		w.v[a] = w.each(func(i, k int) float64 {
			if i >= r {
				i -= r
			}
			return w.at(v, i, k)
		})
	}},
	{"has a column of", func(w *world, a, b, c, r int) {
		v, u, to := w.v[a], w.v[b], r%w.m
		w.t[a].SetAt(w.t[b].Select(1, c).Neg(), tensor.All, to)
		w.v[a] = w.each(func(i, k int) float64 {
			if k == to {
				return -w.at(u, i, c)
			}
			return w.at(v, i, k)
		})
	}},
	{"exchanged with", func(w *world, a, b, _, _ int) {
		p, q := w.t[a].Clone(), w.t[b].Clone()
		w.t[a].Assign(q)
		w.t[b].Assign(p)
		w.v[a], w.v[b] = w.v[b], w.v[a]
	}},
	{"summed", func(w *world, a, _, _, _ int) {
		v := w.v[a]
		w.t[a].Assign(w.t[a].CumSum(1).Mod(5))
		w.v[a] = w.each(func(i, k int) float64 {
			sum := 0.
			for q := range k + 1 {
				sum += w.at(v, i, q)
			}
			return sum - 5*math.Floor(sum/5)
		})
	}},
	{"less its largest", func(w *world, a, _, _, _ int) {
		v := w.v[a]
		w.t[a].Assign(w.t[a].Sub(w.t[a].MaxKeep(0)))
		w.v[a] = w.each(func(i, k int) float64 {
			best := math.Inf(-1)
			for q := range w.n {
				best = max(best, w.at(v, q, k))
			}
			return w.at(v, i, k) - best
		})
	}},
	{"less sums of", func(w *world, a, b, _, _ int) {
		v, u := w.v[a], w.v[b]
		w.t[a].Assign(w.t[a].Clamp(-3, 3).Mul(2).Sub(w.t[b].Sum(0).Mod(3)))
		w.v[a] = w.each(func(i, k int) float64 {
			sum := 0.
			for q := range w.n {
				sum += w.at(u, q, k)
			}
			return 2*min(max(w.at(v, i, k), -3), 3) - (sum - 3*math.Floor(sum/3))
		})
	}},
}

// Arrays that are assigned from themselves and from each other hold what the same would in Go, whenever they are realized.
func TestStates(t *testing.T) {
	ctx := context.Background()
	j := open(t, *devices)
	for seed := *first; seed < *first+uint64(count(8)); seed++ {
		w := &world{Rand: rand.New(rand.NewPCG(seed, 21))}
		b := &build{Rand: w.Rand, p: &program{limit: 300}}
		w.n, w.m = b.size(65), b.size(300)
		for i := range 3 {
			v := ints(seed*10+uint64(i), w.n*w.m)
			w.v = append(w.v, v)
			w.t = append(w.t, on(j.engine)(v, dtype.F32, []int{w.n, w.m}).Own())
		}
		require.NoError(t, tensor.Realize(ctx, w.t...))
		var log []string
		for range 12 {
			log = append(log, w.act())
			if w.IntN(3) == 0 {
				p := w.Perm(3) // together: what is pending may be built on any of them as it was
				log = append(log, fmt.Sprint("realize ", p))
				require.NoError(t, tensor.Realize(ctx, w.t[p[0]], w.t[p[1]], w.t[p[2]]), "seed %d: %v", seed, log)
			}
		}
		require.NoError(t, tensor.Realize(ctx, w.t[2], w.t[0], w.t[1]), "seed %d: %v", seed, log)
		for i, x := range w.t {
			got, err := read(ctx, []T{x})
			require.NoError(t, err)
			if !assert.Equal(t, w.v[i], got[0], "seed %d, array %d of %d×%d: %v", seed, i, w.n, w.m, log) {
				return
			}
		}
	}
}
