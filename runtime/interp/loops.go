package interp

import "math"

// The loops below are the machine's arithmetic: d[i] = op(a[i], b[i]) over the lanes in use. Operands may be the
// result's own register. Each is monomorphic after instantiation, without a branch on type or op inside.

type real interface{ float32 | float64 }

func neg[T real](d, a []T) {
	a = a[:len(d)]
	for i := range d {
		d[i] = -a[i]
	}
}

func sqrt[T real](d, a []T) {
	a = a[:len(d)]
	for i := range d {
		d[i] = T(math.Sqrt(float64(a[i])))
	}
}

func trunc[T real](d, a []T) {
	a = a[:len(d)]
	for i := range d {
		d[i] = T(math.Trunc(float64(a[i])))
	}
}

func roundEven[T real](d, a []T) {
	a = a[:len(d)]
	for i := range d {
		d[i] = T(math.RoundToEven(float64(a[i])))
	}
}

func add[T real](d, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = a[i] + b[i]
	}
}

func sub[T real](d, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = a[i] - b[i]
	}
}

func mul[T real](d, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = a[i] * b[i]
	}
}

func div[T real](d, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = a[i] / b[i]
	}
}

// maximum passes NaN through, and +0 is above −0, as the built-in max has it.
func maximum[T real](d, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = max(a[i], b[i])
	}
}

func addScalar[T real](d, a []T, b T) {
	a = a[:len(d)]
	for i := range d {
		d[i] = a[i] + b
	}
}

func mulScalar[T real](d, a []T, b T) {
	a = a[:len(d)]
	for i := range d {
		d[i] = a[i] * b
	}
}

func less[T number](d []uint8, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = truth(a[i] < b[i])
	}
}

func equal[T number](d []uint8, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = truth(a[i] == b[i])
	}
}

// choose takes a[i] where the condition is 1, by masks: conditions are hard to predict. T is the unsigned integer of
// the registers' size.
func choose[T uint8 | uint32 | uint64](d []T, c []uint8, a, b []T) {
	c, a, b = c[:len(d)], a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = b[i] ^ (a[i]^b[i])&-T(c[i])
	}
}

// mulAdd64 rounds once; math.FMA is one instruction where the processor has it.
func mulAdd64(d, a, b, c []float64) {
	a, b, c = a[:len(d)], b[:len(d)], c[:len(d)]
	for i := range d {
		d[i] = math.FMA(a[i], b[i], c[i])
	}
}

// mulAdd32 rounds once. The product of two float32 is exact in float64; the sum is rounded there, which can go
// wrong only where it lands on the middle between two float32.
func mulAdd32(d, a, b, c []float32) {
	a, b, c = a[:len(d)], b[:len(d)], c[:len(d)]
	for i := range d {
		p, q := float64(a[i])*float64(b[i]), float64(c[i])
		s := p + q
		if math.Float64bits(s)&(1<<29-1) == 1<<28 {
			s = fromMiddle(p, q, s)
		}
		d[i] = float32(s)
	}
}

// mulAddScalar32 is mulAdd32 with one factor for all lanes: the inner loop of a product.
func mulAddScalar32(d, b, c []float32, a float32) {
	b, c = b[:len(d)], c[:len(d)]
	f := float64(a)
	for i := range d {
		p, q := f*float64(b[i]), float64(c[i])
		s := p + q
		if math.Float64bits(s)&(1<<29-1) == 1<<28 {
			s = fromMiddle(p, q, s)
		}
		d[i] = float32(s)
	}
}

// fromMiddle moves s = p + q, rounded, off the middle of two float32 to the side where the exact sum lies.
func fromMiddle(p, q, s float64) float64 {
	t := s - p
	err := (p - (s - t)) + (q - t)
	switch {
	case err > 0:
		return math.Nextafter(s, math.Inf(1))
	case err < 0:
		return math.Nextafter(s, math.Inf(-1))
	}
	return s
}
