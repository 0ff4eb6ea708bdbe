package tensor

import (
	"encoding/binary"
	"math"
	"sync"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/uop"
)

// Random numbers come from threefry-2x32, a function of a key and a counter: the same numbers on every
// device. Each call takes a key of its own, made on the host from the seed and from how many words were
// drawn before, and hands it to the device as data, so that new numbers need no new kernel.

// stream is the second half of the seed's key.
const stream = 0x14b81119

var generator struct {
	sync.Mutex
	seed  uint32
	drawn uint64 // words since the seed was set
}

// Seed restarts the random numbers.
func Seed(seed uint32) {
	generator.Lock()
	defer generator.Unlock()
	generator.seed, generator.drawn = seed, 0
}

// nextKey is the key of a draw of n words.
func nextKey(n int) [2]uint32 {
	generator.Lock()
	defer generator.Unlock()
	c := generator.drawn
	generator.drawn += uint64(n)
	return threefryHost([2]uint32{uint32(c), uint32(c >> 32)}, [2]uint32{stream, generator.seed})
}

// rotations of threefry-2x32, four rounds each in turn.
var rotations = [2][4]int{{13, 15, 26, 6}, {17, 29, 16, 24}}

// parity is the constant of the key schedule.
const parity = 0x1BD11BDA

func threefryHost(x, key [2]uint32) [2]uint32 {
	ks := [3]uint32{key[0], key[1], key[0] ^ key[1] ^ parity}
	a, b := x[0]+ks[0], x[1]+ks[1]
	for i := range 5 {
		for _, r := range rotations[i%2] {
			a += b
			b = b<<r | b>>(32-r)
			b ^= a
		}
		a += ks[(i+1)%3]
		b += ks[(i+2)%3] + uint32(i) + 1
	}
	return [2]uint32{a, b}
}

// keyBytes is a new key for a draw of n words, as it lies on a device.
func keyBytes(n int) []byte {
	k := nextKey(n)
	return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, k[0]), k[1])
}

// threefry is the same on uint32 nodes.
func threefry(a, b, key0, key1 *uop.UOp) (x, y *uop.UOp) {
	ks := [3]*uop.UOp{key0, key1, key0.Xor(key1).Xor(key0.Int(parity))}
	a, b = a.Add(ks[0]), b.Add(ks[1])
	for i := range 5 {
		for _, r := range rotations[i%2] {
			a = a.Add(b)
			b = b.Shl(b.Int(r)).Or(b.Shr(b.Int(32 - r)))
			b = b.Xor(a)
		}
		a = a.Add(ks[(i+1)%3])
		b = b.Add(ks[(i+2)%3]).Add(b.Int(i + 1))
	}
	return a, b
}

// words are n random uint32 on a device, nil for the default one: the first half of each block, then the second.
func words(on *engine.Engine, n int) *Tensor {
	draw := func(e *engine.Engine) (*uop.UOp, error) { return e.FromBytes(dtype.U32, []int{2}, keyBytes(n)) }
	var key *Tensor
	if on == nil {
		key = onDefault("Rand", draw)
	} else {
		u, err := draw(on)
		if err != nil {
			failDevice("Rand", err)
		}
		key = newTensor(u, on)
	}
	noteDraw(key.node(), n)
	half := (n + 1) / 2
	if half == 0 {
		return key.like(cut(key.node(), 0, 0, 0))
	}
	at := func(i int) *uop.UOp { return cut(key.node(), 0, i, i+1).Reshape() }
	i := iota(half, dtype.U32)
	x, y := threefry(i, i.Add(i.Int(half)), at(0), at(1))
	return key.like(cut(join([]*uop.UOp{x, y}, 0, 2*half), 0, 0, n))
}

// Rand is uniform in 0 … 1, 1 excluded, float32.
func Rand(shape ...int) *Tensor { return RandOf(dtype.F32, shape...) }

// RandOf is Rand of a float type: each number is a random multiple of the type's precision.
func RandOf(d dtype.DType, shape ...int) *Tensor { return randOn(nil, d, shape) }

func randOn(e *engine.Engine, d dtype.DType, shape []int) *Tensor {
	checkSizes("Rand", shape)
	bits := map[dtype.DType]int{dtype.F32: 23, dtype.F16: 10, dtype.BF16: 7, dtype.F64: 52}[d]
	if bits == 0 {
		failType("Rand", []dtype.DType{d}, "needs a float type")
	}
	n := uop.Shape(shape).Numel()
	if d == dtype.F64 {
		w := words(e, 2*n)
		hi, lo := cut(w.node(), 0, 0, n), cut(w.node(), 0, n, 2*n)
		u := hi.Shr(hi.Int(6)).Cast(d).Mul(uop.NewFloat(d, 1<<26)).Add(lo.Shr(lo.Int(6)).Cast(d))
		return w.like(u.Mul(u.Float(math.Ldexp(1, -52))).Reshape(shape...))
	}
	w := words(e, n)
	u := w.node().Shr(w.node().Int(32 - bits)).Cast(dtype.F32)
	return w.like(u.Mul(u.Float(math.Ldexp(1, -bits))).Cast(d).Reshape(shape...))
}

// Randn is normal with mean 0 and deviation 1, float32, by the method of Box and Muller.
func Randn(shape ...int) *Tensor { return randnOn(nil, dtype.F32, shape) }

// randnOn computes in float32, or in float64 for d = float64. The radius is finite: 1 less a random number is never 0.
func randnOn(e *engine.Engine, d dtype.DType, shape []int) *Tensor {
	checkSizes("Randn", shape)
	n := uop.Shape(shape).Numel()
	r := randOn(e, dtype.Accumulator(d), []int{2, n})
	angle, radius := r.At(0), r.At(1)
	z := angle.Mul(2 * math.Pi).Cos().Mul(radius.RSub(1).Log().Mul(-2).Sqrt())
	return z.Reshape(shape...).To(d)
}

// Normal is Randn of another mean and deviation.
func Normal(mean, std float64, shape ...int) *Tensor { return Randn(shape...).Mul(std).Add(mean) }

// Uniform is Rand between other bounds, high excluded: what would be rounded to it is the float32 before it. Where no float32
// lies between the bounds it is low.
func Uniform(low, high float64, shape ...int) *Tensor {
	lo, hi := float32(low), float32(high)
	if lo-lo != 0 || hi-hi != 0 {
		failArg("Uniform", "the bounds %v and %v must be finite float32 numbers", low, high)
	}
	r := Rand(shape...)
	if span := high - low; math.Abs(span) <= math.MaxFloat32 {
		r = r.Mul(span).Add(low)
	} else { // in halves, which do not overflow
		r = r.Mul(high/2 - low/2).Add(low / 2).Mul(2)
	}
	switch {
	case lo < hi && float64(hi) >= high:
		return r.Minimum(math.Nextafter32(hi, lo))
	case lo > hi && float64(hi) <= high:
		return r.Maximum(math.Nextafter32(hi, lo))
	}
	return r
}

// ScaledUniform is uniform in ±1/√n, n the number of elements.
func ScaledUniform(shape ...int) *Tensor {
	return Uniform(-1, 1, shape...).Mul(1 / math.Sqrt(float64(max(1, uop.Shape(shape).Numel()))))
}

// fans are the inputs and outputs of a weight: axis 1 and axis 0, times the rest.
func fans(op string, shape []int) (in, out float64) {
	if len(shape) < 2 {
		fail(op, shapes(shape), "needs two axes")
	}
	rest := uop.Shape(shape[2:]).Numel()
	return float64(shape[1] * rest), float64(shape[0] * rest)
}

// GlorotUniform is uniform in ±√(6/(in+out)) for a weight of shape out, in, ….
func GlorotUniform(shape ...int) *Tensor {
	in, out := fans("GlorotUniform", shape)
	b := math.Sqrt(6 / max(1, in+out))
	return Uniform(-b, b, shape...)
}

// KaimingUniform is uniform for a weight of shape out, in, … before a leaky ReLU of this slope.
func KaimingUniform(slope float64, shape ...int) *Tensor {
	in, _ := fans("KaimingUniform", shape)
	b := math.Sqrt(6 / (1 + slope*slope) / max(1, in))
	return Uniform(-b, b, shape...)
}

// KaimingNormal is normal for a weight of shape out, in, … before a leaky ReLU of this slope.
func KaimingNormal(slope float64, shape ...int) *Tensor {
	in, _ := fans("KaimingNormal", shape)
	return Normal(0, math.Sqrt(2/(1+slope*slope)/max(1, in)), shape...)
}

// RandLike is Rand of the shape and type of t, on its device.
func RandLike(t *Tensor) *Tensor { return randOn(t.Engine(), floating(t.DType()), t.Shape()) }

// RandnLike is Randn of the shape and type of t, on its device.
func RandnLike(t *Tensor) *Tensor { return randnOn(t.Engine(), floating(t.DType()), t.Shape()) }

// RandPerm is 0 … n−1 in random order, int32. Each place has 64 random bits that it is sorted by, so that hardly two are equal
// however many there are.
func RandPerm(n int) *Tensor {
	checkSizes("RandPerm", []int{n})
	hi := words(nil, n)
	return hi.like(joined(hi.node(), words(hi.Engine(), n).node())).ArgSort(0, false)
}

// Dropout sets each element to 0 with probability p, to 32 bits, and divides the others by 1 − p. Whether a network
// is in training is its own affair: call it then only.
func (t *Tensor) Dropout(p float64) *Tensor {
	if !(p >= 0 && p <= 1) {
		failArg("Dropout", "probability %v", p)
	}
	if p == 0 {
		return t
	}
	if p == 1 { // also of NaN
		return Full(false, dtype.Bool, t.Shape()...).Where(t.Div(1), 0)
	}
	drop := uint32(min(math.Round(math.Ldexp(p, 32)), 1<<32-1))
	return words(t.Engine(), t.Numel()).Reshape(t.Shape()...).Ge(drop).Where(t.Div(1-p), 0)
}
