package devicetest

import (
	"math"
	"math/rand/v2"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
)

// Inputs makes the leaves of a case on one device. With the same seed it gives the same numbers on every device.
type Inputs struct {
	engine *engine.Engine
	rng    *rand.Rand
	tiny   bool // there was a number that NormalInputs leaves out
}

func newInputs(e *engine.Engine, seed uint64) *Inputs {
	return &Inputs{engine: e, rng: rand.New(rand.NewPCG(seed, 1))}
}

// Fill is what numbers a leaf gets.
type Fill uint8

const (
	Special  Fill = iota // anything: zeros, infinities, NaN, extremes, denormals, and random numbers of all sizes
	Finite               // as Special, without infinities, NaN and extremes
	Exact                // quarters up to ±4: sums and products of some thousands are exact in any order
	Powers               // 1, −1 and some ±½, ±2: products are exact
	Smooth               // between ±2
	Positive             // between ½ and 2
	Distinct             // all different while the type allows
)

// Leaf is an array in memory.
func (in *Inputs) Leaf(d dtype.DType, fill Fill, shape ...int) *uop.UOp {
	n := uop.Shape(shape).Numel()
	raw := make([]byte, 0, n*d.Size())
	for i := range n {
		v := in.value(d, fill, i)
		if d.IsFloat() && v.Float() != 0 && math.Abs(v.Float()) < smallest {
			in.tiny = true
			if NormalInputs {
				v = uop.FloatValue(d, math.Copysign(0, v.Float()))
			}
		}
		bits := uop.ToBits(d, v)
		for range d.Size() {
			raw = append(raw, byte(bits))
			bits >>= 8
		}
	}
	u, err := in.engine.FromBytes(d, shape, raw)
	if err != nil {
		panic(err)
	}
	return u
}

// Tensor is a leaf as a tensor.
func (in *Inputs) Tensor(d dtype.DType, fill Fill, shape ...int) *tensor.Tensor {
	return tensor.FromNode(in.Leaf(d, fill, shape...), in.engine)
}

// Index is an array of indices into n elements; where wild is set, some are outside.
func (in *Inputs) Index(d dtype.DType, n int, wild bool, shape ...int) *uop.UOp {
	raw := make([]byte, 0)
	for range uop.Shape(shape).Numel() {
		i := 0
		if n > 0 {
			i = in.rng.IntN(n)
		}
		if wild && in.rng.IntN(4) == 0 {
			i = in.rng.IntN(2*n+6) - n - 2
		}
		bits := uop.ToBits(d, uop.IntValue(d, int64(i)))
		for range d.Size() {
			raw = append(raw, byte(bits))
			bits >>= 8
		}
	}
	u, err := in.engine.FromBytes(d, shape, raw)
	if err != nil {
		panic(err)
	}
	return u
}

func (in *Inputs) value(d dtype.DType, fill Fill, i int) uop.Value {
	r := in.rng
	if d == dtype.Bool {
		return uop.Value(r.IntN(2))
	}
	if !d.IsFloat() {
		return in.integer(d, fill, i)
	}
	switch fill {
	case Exact:
		return uop.FloatValue(d, float64(r.IntN(33)-16)/4)
	case Powers: // few that are not 1, so that no part of a long product overflows
		return uop.FloatValue(d, []float64{2, 0.5, -2, -0.5, 1, -1}[min(5, r.IntN(40))])
	case Smooth:
		return uop.FloatValue(d, 4*r.Float64()-2)
	case Positive:
		return uop.FloatValue(d, 0.5+1.5*r.Float64())
	case Distinct:
		return uop.FloatValue(d, float64(i)-3)
	case Finite:
		f := finite[(i+r.IntN(2)*17)%len(finite)]
		if i >= len(finite) && r.IntN(3) > 0 {
			f = math.Ldexp(r.NormFloat64(), r.IntN(12)-6)
		}
		return uop.FloatValue(d, f)
	}
	if i < len(special) {
		return in.specialFloat(d, i)
	}
	switch r.IntN(4) {
	case 0:
		return in.specialFloat(d, r.IntN(len(special)))
	case 1: // any bits
		return uop.FromBits(d, r.Uint64()>>(64-d.Bits()))
	}
	return uop.FloatValue(d, math.Ldexp(r.NormFloat64(), r.IntN(40)-20))
}

// NormalInputs makes float32's denormal numbers zeros among the inputs, and its least normal ones, whose parts are
// denormal. It is set by tests on machines that take them for zero on the way, as SwiftShader does: what is asked of them is
// the result of that.
var NormalInputs bool

// smallest is of float32, whose arithmetic such machines have for all floats.
const smallest = 0x1p-125

func (in *Inputs) specialFloat(d dtype.DType, i int) uop.Value {
	least, frac, top := format(d)
	f := special[i]
	switch f {
	case greatest:
		f = math.Ldexp(2-math.Ldexp(1, -frac), top)
	case -greatest:
		f = -math.Ldexp(2-math.Ldexp(1, -frac), top)
	case denormal:
		f = math.Ldexp(1, least-frac)
	case -denormal:
		f = -math.Ldexp(1, least-1)
	case normal:
		f = math.Ldexp(1, least)
	}
	return uop.FloatValue(d, f)
}

// Stand-ins for numbers that depend on the type.
const (
	greatest = 1e300
	denormal = 1e-300
	normal   = 1e-290
)

var (
	nan, inf = math.NaN(), math.Inf(1)
	special  = []float64{0, math.Copysign(0, -1), inf, -inf, nan, greatest, -greatest, denormal, -denormal, normal, 1, -1, 0.5, -0.5, 1.5,
		2.5, -2.5, 3, 7, -7, 100, 127, 128, -128, 255, 256, 65504, 1 << 23, 1<<24 + 1, -1 << 31, 1 << 31, 1 << 32, 1 << 63, -1 << 63, 1 << 64,
		math.Pi, -math.Pi / 2, 1e5, 1e-5, 0.1}
	finite = []float64{0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3, -7, 10, 0.1, -0.1, math.Pi, -math.Pi / 2, 1e-3, 20, -20, 0.999, 1.001}
)

func (in *Inputs) integer(d dtype.DType, fill Fill, i int) uop.Value {
	r := in.rng
	lo, hi := uop.IntLimits(d)
	switch fill {
	case Exact, Smooth:
		return uop.IntValue(d, int64(r.IntN(33)-16))
	case Powers, Positive:
		return uop.IntValue(d, int64(1+r.IntN(3)))
	case Distinct:
		return uop.IntValue(d, int64(i)-3)
	}
	edges := []uop.Value{lo, hi, 0, 1, uop.IntValue(d, -1), uop.IntValue(d, lo.Int()+1), uop.IntValue(d, hi.Int()-1), 2, 3, uop.IntValue(d, -3), 7,
		uop.IntValue(d, 31), uop.IntValue(d, 32), uop.IntValue(d, 33), uop.IntValue(d, 63), uop.IntValue(d, 64), 100}
	if i < len(edges) {
		return edges[i]
	}
	if r.IntN(4) == 0 {
		return edges[r.IntN(len(edges))]
	}
	v := r.Uint64() >> r.IntN(64)
	return uop.IntValue(d, int64(v))
}

// View is an array seen through movement that hides how it lies in memory.
func (in *Inputs) View(d dtype.DType, fill Fill, shape ...int) *uop.UOp {
	return in.through(in.rng.IntN(6), d, fill, shape)
}

// Varied is a View in which no element is repeated, for functions that divide by a variance.
func (in *Inputs) Varied(d dtype.DType, fill Fill, shape ...int) *tensor.Tensor {
	return tensor.FromNode(in.through(in.rng.IntN(4), d, fill, shape), in.engine)
}

func (in *Inputs) through(kind int, d dtype.DType, fill Fill, shape []int) *uop.UOp {
	rank := len(shape)
	if rank == 0 {
		return in.Leaf(d, fill, 1).Reshape()
	}
	switch kind {
	case 0: // transposed
		back, order := make([]int, rank), make([]int, rank)
		for i := range shape {
			back[i], order[i] = shape[rank-1-i], rank-1-i
		}
		return in.Leaf(d, fill, back...).Permute(order...)
	case 1: // a part of something larger
		wide, lo, hi := make([]int, rank), make([]int, rank), make([]int, rank)
		for i, n := range shape {
			lo[i] = in.rng.IntN(3)
			hi[i] = lo[i] + n
			wide[i] = hi[i] + in.rng.IntN(3)
		}
		return in.Leaf(d, fill, wide...).Shrink(lo, hi)
	case 2: // backwards
		axes := make([]int, rank)
		for i := range axes {
			axes[i] = i
		}
		return in.Leaf(d, fill, shape...).Flip(axes...)
	case 3: // every other element
		wide, lo, hi := append([]int{}, shape...), make([]int, rank+1), append([]int{}, shape...)
		wide[rank-1] *= 2
		hi = append(hi, 2)
		lo[rank], hi[rank] = 1, 2
		return in.Leaf(d, fill, wide...).Reshape(append(append([]int{}, shape...), 2)...).Shrink(lo, hi).Reshape(shape...)
	case 4: // repeated along an axis
		thin := append([]int{}, shape...)
		thin[in.rng.IntN(rank)] = 1
		return in.Leaf(d, fill, thin...).Expand(shape...)
	}
	return in.Leaf(d, fill, uop.Shape(shape).Numel()).Reshape(shape...)
}
