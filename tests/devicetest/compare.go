package devicetest

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Tolerance is how far a float may be from the truth. Integers must be equal, and so must infinities and NaNs.
type Tolerance struct {
	ULP   float64 // units in the last place of the element
	Scale float64 // units in the last place of the largest finite element of the array
	One   float64 // units in the last place of 1
	Zero  bool    // the sign of zero does not matter
	Tiny  bool    // numbers below the least normal one may count as zero
}

// flushes are the devices that may take denormal numbers for zero: WebGPU leaves that to the machine.
var flushes = map[string]bool{"WEBGPU": true, "WEBGPU AS HARDWARE": true, "WEBGPU PLAIN": true}

// loose is how many units in the last place ops may be off that are exact elsewhere, where the language leaves it to the processor of
// graphics: quotients, and roots as the inverse of an inverse root.
var loose = map[string]float64{uop.Div.String(): 2.5, uop.Sqrt.String(): 3}

// tolerance is the one table of what ops may differ by from the truth, which carries sums in float64 and
// rounds once. Whatever is not in it must be exact to the bit (of NaNs only that they are).
var tolerance = map[string]Tolerance{
	"exp2":                {ULP: 1},
	"log2":                {ULP: 2},
	"log2 f64":            {ULP: 16}, // near 1 the reference, Go's, is the one that is off
	"sin":                 {ULP: 2, Zero: true},
	"sin f64":             {ULP: 1, Scale: 1, One: 1, Zero: true}, // near multiples of π the reference, Go's, is the one that is off
	"max":                 {Zero: true},                           // of both zeros
	"muladd f16":          {ULP: 1},                               // computed in float32 and rounded again
	"muladd bf16":         {ULP: 1},
	"muladd f8e4m3":       {ULP: 1},
	"muladd f8e5m2":       {ULP: 1},
	"to integer and back": {Zero: true},                   // gcc's -fno-trapping-math makes it trunc, which keeps −0
	"reduce":              {Zero: true},                   // a sum of negative zeros, and max
	"sumexp":              {ULP: 32, Scale: 2},            // rescaled as the maximum grows
	"moments":             {ULP: 128, Scale: 4, One: 2},   // one update an element
	"long":                {ULP: 2048, Scale: 4, One: 64}, // the same over hundred thousands
	"rounded":             {ULP: 4, Scale: 4},             // sums of rounded products
	"smooth":              {ULP: 32, Scale: 16, One: 4},   // compositions with exp, log and division
	"chain":               {ULP: 512, Scale: 512, One: 128},
	"grad":                {ULP: 64, Scale: 64, One: 16},
}

// result is one array that was read back.
type result struct {
	shape  []int
	dtype  dtype.DType
	values []uop.Value
	err    error
}

func decode(d dtype.DType, raw []byte) []uop.Value {
	size := d.Size()
	out := make([]uop.Value, len(raw)/size)
	word := make([]byte, 8)
	for i := range out {
		clear(word)
		copy(word, raw[i*size:(i+1)*size])
		out[i] = uop.FromBits(d, binary.LittleEndian.Uint64(word))
	}
	return out
}

// mismatch says what is wrong with got, "" if nothing.
func mismatch(tol Tolerance, got, want []result) string {
	if len(want) > 0 && want[0].err != nil {
		return "the reference fails: " + want[0].err.Error()
	}
	if len(got) != len(want) {
		return fmt.Sprintf("%d roots, not %d", len(got), len(want))
	}
	for r := range got {
		if why := differs(tol, got[r], want[r]); why != "" {
			return fmt.Sprintf("root %d, %v %v: %s", r, want[r].dtype, want[r].shape, why)
		}
	}
	return ""
}

func differs(tol Tolerance, got, want result) string {
	if got.dtype != want.dtype || len(got.values) != len(want.values) {
		return fmt.Sprintf("got %v of %d elements", got.dtype, len(got.values))
	}
	d := want.dtype
	largest := 0.0
	if d.IsFloat() {
		for _, v := range want.values {
			if f := math.Abs(v.Float()); !math.IsInf(f, 0) && f > largest {
				largest = f
			}
		}
	}
	first, bad := -1, 0
	for i := range want.values {
		if !near(tol, d, got.values[i], want.values[i], largest) {
			bad++
			if first < 0 {
				first = i
			}
		}
	}
	if bad == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d elements differ; first at %v: got %s, want %s", bad, len(want.values),
		unravel(first, want.shape), show(d, got.values[first]), show(d, want.values[first]))
}

// near compares so that NaN is close to NaN only.
func near(tol Tolerance, d dtype.DType, got, want uop.Value, largest float64) bool {
	if got == want {
		return true
	}
	if !d.IsFloat() {
		return false
	}
	g, w := got.Float(), want.Float()
	switch {
	case w != w:
		return g != g
	case math.IsInf(w, 0) || math.IsInf(g, 0):
		return g == w || overflows(tol, d, g, w)
	case g == 0 && w == 0:
		return tol.Zero || tol.ULP > 0
	case tol.Tiny && math.Abs(g-w) < math.Ldexp(1, leastNormal(d)):
		return true
	}
	return math.Abs(g-w) <= tol.ULP*unit(d, w)+tol.Scale*unit(d, largest)+tol.One*unit(d, 1)
}

// overflows says that one is infinite and the other within the tolerance of the largest number.
func overflows(tol Tolerance, d dtype.DType, g, w float64) bool {
	if tol.ULP == 0 || (g < 0) != (w < 0) {
		return false
	}
	finite := math.Min(math.Abs(g), math.Abs(w))
	_, frac, top := format(d)
	greatest := math.Ldexp(2-math.Ldexp(1, -frac), top)
	return finite >= greatest*(1-tol.ULP*math.Ldexp(1, -frac))
}

// format gives the exponent of the least normal number, the bits of the fraction, and the greatest exponent.
func format(d dtype.DType) (least, frac, top int) {
	f, _ := dtype.Finfo(d)
	return math.Ilogb(f.Normal), f.Digits - 1, math.Ilogb(f.Max)
}

// leastNormal is the exponent of the least normal number.
func leastNormal(d dtype.DType) int {
	least, _, _ := format(d)
	return least
}

// unit is the unit in the last place of x.
func unit(d dtype.DType, x float64) float64 {
	least, frac, _ := format(d)
	if x == 0 {
		return math.Ldexp(1, least-frac)
	}
	_, e := math.Frexp(x)
	return math.Ldexp(1, max(e-1, least)-frac)
}

func unravel(i int, shape []int) []int {
	at := make([]int, len(shape))
	for k := len(shape) - 1; k >= 0; k-- {
		at[k] = i % shape[k]
		i /= shape[k]
	}
	return at
}

func show(d dtype.DType, v uop.Value) string {
	switch {
	case d.IsFloat():
		return fmt.Sprintf("%v (bits %#x)", v.Float(), uop.ToBits(d, v))
	case d.IsUnsigned():
		return fmt.Sprint(uint64(v))
	}
	return fmt.Sprint(v.Int())
}
