package data

import (
	"hash/fnv"
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func hash(parts ...[]byte) uint64 {
	h := fnv.New64a()
	for _, p := range parts {
		h.Write(p)
	}
	return h.Sum64()
}

func TestSyntheticIsDeterministic(t *testing.T) {
	a := Synthetic(7, 600, 300)
	before := runtime.GOMAXPROCS(1)
	b := Synthetic(7, 600, 300)
	runtime.GOMAXPROCS(before)
	assert.Equal(t, a, b, "the number of processors must not matter")
	assert.Equal(t, a.Train.Images[:28*28*100], Synthetic(7, 100, 0).Train.Images, "nor how many pictures follow")
	assert.NotEqual(t, a.Train.Images, Synthetic(8, 600, 300).Train.Images)
	// The bytes are fixed for every platform; a change here changes every recorded accuracy.
	assert.Equal(t, uint64(0x249c0eade7b7b66a), hash(a.Train.Images, a.Train.Labels, a.Test.Images, a.Test.Labels))
}

func TestSyntheticForm(t *testing.T) {
	s := Synthetic(1, 5000, 1000)
	for _, split := range []Split{s.Train, s.Test} {
		require.Len(t, split.Images, split.N*split.H*split.W)
		require.Len(t, split.Labels, split.N)
		count := [Classes]int{}
		for _, l := range split.Labels {
			count[l]++
		}
		for d, n := range count {
			assert.InDelta(t, 0.1, float64(n)/float64(split.N), 0.03, "share of digit %d", d)
		}
		sum := 0.0
		for _, p := range split.Images {
			sum += float64(p) / 255
		}
		assert.InDelta(t, 0.13, sum/float64(len(split.Images)), 0.04, "about as much ink as MNIST (0.1307)")
	}
	assert.Empty(t, Synthetic(1, 0, 0).Train.Images)
	assert.Panics(t, func() { Synthetic(1, -1, 0) })
}

func TestHeldBackFaces(t *testing.T) {
	names := map[string]bool{}
	for _, f := range TrainFaces {
		names[f.Name] = true
	}
	for _, f := range TestFaces {
		assert.NotContains(t, names, f.Name)
	}
	// Not only other names but other drawings.
	for i, test := range testAlphabets() {
		for j, train := range trainAlphabets() {
			for d := range Classes {
				assert.NotEqual(t, train[d].field, test[d].field, "digit %d of %s and %s", d, TestFaces[i].Name, TrainFaces[j].Name)
			}
		}
	}
}

// The pictures must be what their labels say: the nearest of few training pictures has to carry
// the label of nearly every test picture.
func TestSyntheticIsLearnable(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector")
	}
	s := Synthetic(3, 2000, 100)
	right := 0
	for i := range s.Test.N {
		best, label := math.MaxInt, byte(0)
		for j := range s.Train.N {
			d := 0
			b := s.Train.Image(j)
			for k, p := range s.Test.Image(i) {
				d += (int(p) - int(b[k])) * (int(p) - int(b[k]))
			}
			if d < best {
				best, label = d, s.Train.Labels[j]
			}
		}
		if label == s.Test.Labels[i] {
			right++
		}
	}
	t.Logf("nearest neighbour: %d of %d", right, s.Test.N)
	assert.GreaterOrEqual(t, right, 90)
}

func BenchmarkSynthetic(b *testing.B) {
	for b.Loop() {
		Synthetic(1, 60_000, 10_000)
	}
}
