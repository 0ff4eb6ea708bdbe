package data

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"sync"
)

// SyntheticSize is the height and width of synthetic pictures, as of MNIST's.
const SyntheticSize = 28

// Synthetic draws digits from the Go fonts: white on black, 28×28, in the form of MNIST but not
// MNIST, nor written by a hand. Each picture is a digit of a random face under random rotation,
// shear, scale, shift and stroke thickness, with random softness, brightness and noise. The test
// half is held back: its faces (TestFaces) are not among those of the training half (TrainFaces)
// and its random numbers come from other seeds. Equal arguments give equal bytes, on every platform
// with 64-bit integers (js/wasm too) and for any number of processors. It panics for a negative count.
func Synthetic(seed uint64, train, test int) *Set {
	if train < 0 || test < 0 {
		panic(fmt.Sprintf("data: Synthetic: counts %d and %d must not be negative", train, test))
	}
	return &Set{
		Name:  "synthetic digits drawn from the Go fonts",
		Train: drawSplit(trainAlphabets(), train, func(i int) uint64 { return mix(seed, uint64(i)<<1) }),
		Test:  drawSplit(testAlphabets(), test, func(i int) uint64 { return mix(seed, uint64(i)<<1|1) }),
	}
}

// drawSplit draws n pictures, picture i from the seed seedOf(i) alone, so that the order of
// drawing does not matter.
func drawSplit(faces []alphabet, n int, seedOf func(i int) uint64) Split {
	const size = SyntheticSize * SyntheticSize
	s := Split{Images: make([]byte, n*size), Labels: make([]byte, n), N: n, H: SyntheticSize, W: SyntheticSize}
	var wg sync.WaitGroup
	workers := max(1, min(runtime.GOMAXPROCS(0), n/256))
	for w := range workers {
		wg.Go(func() {
			for i := n * w / workers; i < n*(w+1)/workers; i++ {
				r := source{rand.NewPCG(seedOf(i), 0x5eed)}
				s.Labels[i] = byte(r.upTo(Classes - 1))
				face := &faces[r.upTo(len(faces)-1)]
				draw(s.Image(i), &face[s.Labels[i]], r)
			}
		})
	}
	wg.Wait()
	return s
}

// one is 1 in 16.16 fixed point; all of draw is integers, so that no processor rounds otherwise.
const one = 1 << 16

// pen is how one picture is drawn.
type pen struct {
	a, b, c, d int // from picture to glyph: a step right is (a, c) cells, a step down (b, d), 16.16
	x, y       int // where the glyph's centre lies in the picture, 16.16 pixels
	thicker    int // what is added to the strokes on each side, 1/64 cell
	soft       int // width of the edge between ink and paper, 1/64 cell
	ink, noise int // brightness of ink; largest noise, of 255
}

func newPen(g *glyph, r source) pen {
	// A pixel is cell cells when the digit is 20 pixels high, as MNIST's are.
	cell := g.top * one / 20
	sx := cell * one / r.between(54_000, 74_000)     // 0.82 … 1.13
	sy := cell * one / r.between(54_000, 72_000)     // 0.82 … 1.10
	sin, cos := rotation(r.between(-15_000, 15_000)) // ±13°
	shear := r.between(-19_000, 19_000)              // ±0.29
	m := pen{
		a: sx * cos >> 16, b: sx * sin >> 16,
		c: -sy * sin >> 16, d: sy * cos >> 16,
		x:       SyntheticSize*one/2 + r.between(-2*one, 2*one),
		y:       SyntheticSize*one/2 + r.between(-2*one, 2*one),
		thicker: (cell >> 10) * r.between(-30, 60) / 100, // -0.3 … 0.6 pixel
		soft:    (cell >> 10) * r.between(100, 220) / 100,
		ink:     r.between(190, 255),
		noise:   max(0, r.between(-8, 28)),
	}
	m.a, m.b = m.a+m.c*shear>>16, m.b+m.d*shear>>16
	return m
}

// draw fills a picture with one glyph.
func draw(dst []byte, g *glyph, r source) {
	p := newPen(g, r)
	for v := range SyntheticSize {
		for u := range SyntheticSize {
			x, y := u*one+one/2-p.x, v*one+one/2-p.y
			depth := g.at(g.cx+(p.a*x+p.b*y)>>16, g.cy+(p.c*x+p.d*y)>>16) + p.thicker
			ink := 128 + 255*depth/p.soft
			dst[v*SyntheticSize+u] = byte(p.ink * min(max(ink, 0), 255) / 255)
		}
	}
	if p.noise == 0 {
		return
	}
	for i := 0; i+8 <= len(dst); i += 8 {
		word := r.Uint64()
		for j := range 8 {
			n := int(int8(word>>(8*j))) * p.noise >> 7
			dst[i+j] = byte(min(max(int(dst[i+j])+n, 0), 255))
		}
	}
}

// rotation returns sine and cosine of a small angle, all 16.16, by their series.
func rotation(angle int) (sin, cos int) {
	a2 := angle * angle >> 16
	sin = angle - angle*a2/(6*one) + (angle*a2>>16)*a2/(120*one)
	cos = one - a2/2 + a2*a2/(24*one)
	return sin, cos
}

// source draws integers in a range in a way that this file fixes, so that a later version of
// math/rand cannot change the pictures.
type source struct{ *rand.PCG }

// upTo returns one of 0…n.
func (s source) upTo(n int) int {
	hi, _ := bits.Mul64(s.Uint64(), uint64(n)+1)
	return int(hi)
}

// between returns one of lo…hi.
func (s source) between(lo, hi int) int { return lo + s.upTo(hi-lo) }

// mix scatters a seed and an index over 64 bits (the finaliser of splitmix64), so that
// neighbouring pictures share no random numbers.
func mix(seed, i uint64) uint64 {
	z := seed*0x9e3779b97f4a7c15 + i*0xd1b54a32d192ed03 + 0x2545f4914f6cdd1d
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
