package torchops

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// array is a tensor on the host.
type array struct {
	dtype dtype.DType
	shape []int
	bytes []byte
}

// hostArray reads a Ref; ok is false where Weft does not have the element type.
func hostArray(r *Ref) (a array, ok bool) {
	d, ok := dtype.Parse(r.DType)
	return array{d, r.Shape, r.Bytes}, ok
}

func (a array) numel() int { return uop.Shape(a.shape).Numel() }

// rawBits gives the stored bits of element i.
func (a array) rawBits(i int) uint64 {
	switch size := a.dtype.Size(); size {
	case 1:
		return uint64(a.bytes[i])
	case 2:
		return uint64(binary.LittleEndian.Uint16(a.bytes[2*i:]))
	case 4:
		return uint64(binary.LittleEndian.Uint32(a.bytes[4*i:]))
	default:
		return binary.LittleEndian.Uint64(a.bytes[8*i:])
	}
}

func (a array) value(i int) uop.Value { return uop.FromBits(a.dtype, a.rawBits(i)) }

// float gives element i as a number.
func (a array) float(i int) float64 {
	switch {
	case a.dtype.IsFloat():
		return a.value(i).Float()
	case a.dtype.IsUnsigned():
		return float64(uint64(a.value(i)))
	}
	return float64(a.value(i).Int())
}

func (a array) floats() []float64 {
	out := make([]float64, a.numel())
	for i := range out {
		out[i] = a.float(i)
	}
	return out
}

// rule says how close two arrays must be.
type rule struct {
	rtol, atol float64
	bits       bool // the same bits, any NaN for any NaN
	anyInt     bool // any integer type, equal values
}

// closeTo is |got − want| ≤ atol + rtol·|want|; NaN passes only for NaN, infinities only for
// themselves.
func (r rule) closeTo(got, want float64) bool {
	switch {
	case math.IsNaN(want) || math.IsNaN(got):
		return math.IsNaN(want) && math.IsNaN(got)
	case math.IsInf(want, 0) || math.IsInf(got, 0):
		return got == want
	}
	return math.Abs(got-want) <= r.atol+r.rtol*math.Abs(want)
}

// compare gives the first difference, or nil.
func compare(got, want array, r rule) error {
	if err := sameForm(got, want, r); err != nil {
		return err
	}
	bad, first := 0, -1
	for i := range want.numel() {
		if !r.same(got, want, i) {
			if bad++; first < 0 {
				first = i
			}
		}
	}
	if bad == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d elements differ, the first at %v: got %v, want %v (rtol %g, atol %g)", bad, want.numel(),
		unravel(first, want.shape), show(got, first), show(want, first), r.rtol, r.atol)
}

func sameForm(got, want array, r rule) error {
	if !slices.Equal(got.shape, want.shape) {
		return fmt.Errorf("shape %v, want %v", got.shape, want.shape)
	}
	if got.dtype != want.dtype && !(r.anyInt && got.dtype.IsInt() && want.dtype.IsInt()) {
		return fmt.Errorf("dtype %v, want %v", got.dtype, want.dtype)
	}
	return nil
}

func (r rule) same(got, want array, i int) bool {
	if !want.dtype.IsFloat() {
		return got.value(i) == want.value(i)
	}
	g, w := got.float(i), want.float(i)
	if r.bits {
		return got.rawBits(i) == want.rawBits(i) || math.IsNaN(g) && math.IsNaN(w)
	}
	return r.closeTo(g, w)
}

func show(a array, i int) string {
	if a.dtype.IsFloat() {
		return fmt.Sprintf("%.9g", a.float(i))
	}
	return fmt.Sprint(int64(a.value(i)))
}

func unravel(i int, shape []int) []int {
	at := make([]int, len(shape))
	for ax := len(shape) - 1; ax >= 0; ax-- {
		at[ax] = i % shape[ax]
		i /= shape[ax]
	}
	return at
}
