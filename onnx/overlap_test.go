package onnx

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// overlapOf is the area of two boxes' intersection over that of their union.
func overlapOf(a, b [4]float64) float64 {
	h, w := min(a[2], b[2])-max(a[0], b[0]), min(a[3], b[3])-max(a[1], b[1])
	if h <= 0 || w <= 0 {
		return 0
	}
	area := func(v [4]float64) float64 { return float64((v[2] - v[0]) * (v[3] - v[1])) }
	both := float64(h * w)
	return both / (area(a) + area(b) - both)
}

func TestKeptBoxesAreThoseOfThePlainLoop(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 7))
	odd := []float64{0, math.Copysign(0, -1), 1, -1, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64, 5e-324, 1e-300}
	kinds := map[string]func(i int) [4]float64{
		"alike": func(int) [4]float64 {
			y, x := r.Float64()*400, r.Float64()*600
			return [4]float64{y, x, y + 10 + r.Float64()*40, x + 10 + r.Float64()*40}
		},
		"of all sizes": func(int) [4]float64 {
			y, x, size := r.Float64(), r.Float64(), math.Exp(-8*r.Float64())
			return [4]float64{y, x, y + size*(.5+r.Float64()), x + size*(.5+r.Float64())}
		},
		"classes apart": func(int) [4]float64 {
			y, x, apart := r.Float64()*400, r.Float64()*600, float64(r.IntN(80))*601
			return [4]float64{y + apart, x + apart, y + 80*r.Float64() + apart, x + 80*r.Float64() + apart}
		},
		"on a lattice": func(int) [4]float64 {
			v := func() float64 { return float64(r.IntN(9)) }
			return [4]float64{v(), v(), v(), v()}
		},
		"odd": func(int) [4]float64 {
			v := func() float64 { return odd[r.IntN(len(odd))] }
			return [4]float64{v(), v(), v(), v()}
		},
		"some odd": func(i int) [4]float64 {
			y, x := r.Float64()*40, r.Float64()*60
			b := [4]float64{y, x, y + r.Float64()*9, x + r.Float64()*9}
			if i%5 == 0 {
				b[r.IntN(4)] = odd[r.IntN(len(odd))]
			}
			return b
		},
		"one over all":  func(i int) [4]float64 { return [4]float64{0, 0, 1 + float64(i), 1 + float64(i)} },
		"one of no end": func(i int) [4]float64 { return [4]float64{-1e308 * float64(i%2), -1, 1e308, float64(i)} },
	}
	for name, kind := range kinds {
		for _, most := range []float64{0, .3, .5, .9, 1, 2, -.5, math.NaN(), math.Inf(1), math.Inf(-1)} {
			for _, n := range []int{0, 1, 2, 17, 700} {
				boxes := make([]box, n)
				var want, got []int
				var there [][4]float64
				for i := range boxes {
					v := kind(i)
					boxes[i] = boxOf(v[0], v[1], v[2], v[3])
					overlap := false
					for _, k := range there {
						overlap = overlap || overlapOf(k, v) > most
					}
					if !overlap {
						there, want = append(there, v), append(want, i)
					}
				}
				k := keeping(boxes, most)
				for i := range boxes {
					if k.keep(&boxes[i]) {
						got = append(got, i)
					}
				}
				require.Equal(t, want, got, "%s, %d boxes, overlapping %v", name, n, most)
			}
		}
	}
}

func BenchmarkKeptBoxes(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 7))
	boxes := make([]box, 27000)
	for i := range boxes {
		y, x, apart := r.Float64()*800, r.Float64()*1200, float64(r.IntN(80))*1201
		boxes[i] = boxOf(y+apart, x+apart, y+80*r.Float64()+apart, x+80*r.Float64()+apart)
	}
	for b.Loop() {
		k := keeping(boxes, .5)
		for i := range boxes {
			k.keep(&boxes[i])
		}
	}
}
