package interp

import (
	"math"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/plan/bytecode"
)

// codec turns the bits of a narrow float type into float32 and back.
type codec struct {
	decode func(d []float32, a []int64)
	encode func(d []int64, a []float32)
	round  func(f float64) float32
}

func newCodec(t dtype.DType) codec {
	return codec{
		decode: func(d []float32, a []int64) {
			for i := range d {
				d[i] = float32(t.Decode(uint64(a[i])))
			}
		},
		encode: func(d []int64, a []float32) {
			for i := range d {
				d[i] = int64(t.Encode(float64(a[i])))
			}
		},
		round: func(f float64) float32 { return float32(t.Round(f)) },
	}
}

// codecs has those of all narrow types.
var codecs = func() map[dtype.DType]codec {
	m := map[dtype.DType]codec{}
	for _, d := range dtype.All {
		if d.IsNarrow() {
			m[d] = newCodec(d)
		}
	}
	return m
}()

// realTo converts between floats; through makes a narrower value of each.
func realTo[R, T real](d []R, a []T) {
	a = a[:len(d)]
	for i := range d {
		d[i] = R(a[i])
	}
}

func realToHalf[T real](round func(float64) float32) func(d []float32, a []T) {
	return func(d []float32, a []T) {
		for i := range d {
			d[i] = round(float64(a[i]))
		}
	}
}

// realToInt truncates and saturates; NaN gives 0.
func realToInt[W integer, T real](d []int64, a []T) {
	lo, hi := W(0), ^W(0)
	if signed[W]() {
		lo = W(1) << (width[W]() - 1)
		hi = ^lo
	}
	least, greatest := float64(lo), float64(hi)
	for i := range d {
		f := float64(a[i])
		switch {
		case f != f:
			d[i] = 0
		case f <= least:
			d[i] = int64(lo)
		case f >= greatest:
			d[i] = int64(hi)
		default:
			d[i] = int64(W(f))
		}
	}
}

func intToReal[W integer, T real](d []T, a []int64) {
	a = a[:len(d)]
	for i := range d {
		d[i] = T(W(a[i]))
	}
}

func wrap[W integer](d, a []int64) {
	a = a[:len(d)]
	for i := range d {
		d[i] = int64(W(a[i]))
	}
}

func notZero[T number](d []uint8, a []T) {
	a = a[:len(d)]
	for i := range d {
		d[i] = truth(a[i] != 0)
	}
}

func boolTo[R number](d []R, a []uint8) {
	a = a[:len(d)]
	for i := range d {
		d[i] = R(a[i])
	}
}

func bits32(d []int64, a []float32) {
	for i := range d {
		d[i] = int64(math.Float32bits(a[i]))
	}
}

func signedBits32(d []int64, a []float32) {
	for i := range d {
		d[i] = int64(int32(math.Float32bits(a[i])))
	}
}

func fromBits32(d []float32, a []int64) {
	for i := range d {
		d[i] = math.Float32frombits(uint32(a[i]))
	}
}

func bits64(d []int64, a []float64) {
	for i := range d {
		d[i] = int64(math.Float64bits(a[i]))
	}
}

func fromBits64(d []float64, a []int64) {
	for i := range d {
		d[i] = math.Float64frombits(uint64(a[i]))
	}
}

// cast binds a conversion of values.
func (b *binder) cast(in *bytecode.Instr) step {
	w := b.w
	switch bytecode.ClassOf(in.Type) {
	case bytecode.F32:
		return castReal(w, &w.f32, in)
	case bytecode.F64:
		return castReal(w, &w.f64, in)
	case bytecode.Int:
		row := intRows[in.Type]
		switch bytecode.ClassOf(in.To) {
		case bytecode.Int:
			return bindUnary(w, intRows[in.To].wrap, &w.ints, &w.ints, in)
		case bytecode.Bool:
			return bindUnary(w, notZero[int64], &w.bools, &w.ints, in)
		case bytecode.F64:
			return bindUnary(w, row.toF64, &w.f64, &w.ints, in)
		}
		if c, ok := codecs[in.To]; ok {
			return bindUnary(w, intToHalf(row, c), &w.f32, &w.ints, in)
		}
		return bindUnary(w, row.toF32, &w.f32, &w.ints, in)
	}
	switch bytecode.ClassOf(in.To) {
	case bytecode.F32:
		return bindUnary(w, boolTo[float32], &w.f32, &w.bools, in)
	case bytecode.F64:
		return bindUnary(w, boolTo[float64], &w.f64, &w.bools, in)
	case bytecode.Int:
		return bindUnary(w, boolTo[int64], &w.ints, &w.bools, in)
	}
	return bindUnary(w, notZero[uint8], &w.bools, &w.bools, in)
}

func intToHalf(row *intRow, c codec) func(d []float32, a []int64) {
	return func(d []float32, a []int64) {
		var wide [1]float64
		for i := range d {
			row.toF64(wide[:], a[i:i+1])
			d[i] = c.round(wide[0])
		}
	}
}

func castReal[T real](w *worker, f *file[T], in *bytecode.Instr) step {
	switch bytecode.ClassOf(in.To) {
	case bytecode.Bool:
		return bindUnary(w, notZero[T], &w.bools, f, in)
	case bytecode.Int:
		row := intRows[in.To]
		convert, ok := any(row.fromF32).(func([]int64, []T))
		if !ok {
			convert = any(row.fromF64).(func([]int64, []T))
		}
		return bindUnary(w, convert, &w.ints, f, in)
	case bytecode.F64:
		return bindUnary(w, realTo[float64, T], &w.f64, f, in)
	}
	if c, ok := codecs[in.To]; ok && in.To != in.Type {
		return bindUnary(w, realToHalf[T](c.round), &w.f32, f, in)
	}
	return bindUnary(w, realTo[float32, T], &w.f32, f, in)
}

// bitcast binds a conversion of bits between types of one size.
func (b *binder) bitcast(in *bytecode.Instr) step {
	w := b.w
	from, to := bytecode.ClassOf(in.Type), bytecode.ClassOf(in.To)
	switch {
	case from == bytecode.F32 && to == bytecode.Int:
		f := bits32
		if in.To == dtype.I32 {
			f = signedBits32
		}
		if c, ok := codecs[in.Type]; ok {
			wrap := intRows[in.To].wrap
			f = func(d []int64, a []float32) {
				c.encode(d, a)
				wrap(d, d)
			}
		}
		return bindUnary(w, f, &w.ints, &w.f32, in)
	case from == bytecode.Int && to == bytecode.F32:
		f := fromBits32
		if c, ok := codecs[in.To]; ok {
			f = c.decode
		}
		return bindUnary(w, f, &w.f32, &w.ints, in)
	case from == bytecode.F32 && to == bytecode.F32 && in.Type != in.To:
		a, c, bits := codecs[in.Type], codecs[in.To], w.ints.spare[2]
		return bindUnary(w, func(d, x []float32) {
			a.encode(bits[:len(d)], x)
			c.decode(d, bits)
		}, &w.f32, &w.f32, in)
	case from == bytecode.F64 && to == bytecode.Int:
		return bindUnary(w, bits64, &w.ints, &w.f64, in)
	case from == bytecode.Int && to == bytecode.F64:
		return bindUnary(w, fromBits64, &w.f64, &w.ints, in)
	}
	return b.cast(in) // integers of one size, and bool with 8 bits
}
