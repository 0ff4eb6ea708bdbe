package large

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	need "github.com/weft-ml/weft/tests/require"
)

// Infinities, NaN and zeros of both signs stand among whole numbers: what comes out does not depend on any order.
func TestSpecials(t *testing.T) {
	ctx := context.Background()
	j := open(t, *devices)
	for seed := *first; seed < *first+uint64(count(10)); seed++ {
		p := generate(seed)
		if !p.exact || p.dtype != dtype.F32 {
			continue
		}
		p.fill, p.elements, p.limit = 1, 2000, 513
		fault := j.check(ctx, p)
		if fault == "" {
			continue
		}
		t.Logf("seed %d: %s", seed, fault)
		q := shrink(p, func(p *program) bool { return j.check(ctx, p) != "" })
		assert.Fail(t, "wrong", "%s\n%v\nmade smaller: %s\n%v", fault, p, j.check(ctx, q), q)
	}
}

// A program gives the same bits on any number of threads.
func TestThreads(t *testing.T) {
	ctx := context.Background()
	var js []*judge
	for _, n := range []int{1, 2, 3, 5} {
		e, err := opened("CPU", " THREADS "+string(rune('0'+n)), engine.Options{Threads: n, Poison: true})
		need.Device(t, "CPU", err)
		js = append(js, &judge{engine: e})
	}
	for seed := *first; seed < *first+uint64(count(4)); seed++ {
		p := generate(seed)
		p.elements, p.way, p.exact, p.dtype = most, 0, false, dtype.F32
		var want [][]float64
		for i, j := range js {
			got, _, err := j.tested(ctx, p)
			if !assert.NoError(t, err) {
				return
			}
			if i == 0 {
				want = got
				continue
			}
			for r := range want {
				for k := range want[r] {
					if math.Float64bits(want[r][k]) != math.Float64bits(got[r][k]) {
						assert.Fail(t, "other bits", "seed %d, root %d, element %d: %v and %v\n%v", seed, r, k, want[r][k], got[r][k], p)
						return
					}
				}
			}
		}
	}
}
