package interp

import "math/bits"

// Integers of every type W live in int64 lanes, sign- or zero-extended; what may wrap is cut back to W.

type integer interface {
	int8 | uint8 | int16 | uint16 | int32 | uint32 | int64 | uint64
}

func signed[W integer]() bool { return ^W(0) < 0 }

func width[W integer]() uint64 {
	n := uint64(bits.OnesCount64(uint64(int64(^W(0)))))
	if !signed[W]() {
		return n
	}
	n = 1
	for x := W(1); x > 0; x <<= 1 {
		n++
	}
	return n
}

func intNeg[W integer](d, a []int64) {
	a = a[:len(d)]
	for i := range d {
		d[i] = int64(W(-a[i]))
	}
}

func intAdd[W integer](d, a, b []int64) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = int64(W(a[i] + b[i]))
	}
}

func intSub[W integer](d, a, b []int64) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = int64(W(a[i] - b[i]))
	}
}

func intMul[W integer](d, a, b []int64) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = int64(W(a[i] * b[i]))
	}
}

func intMulAdd[W integer](d, a, b, c []int64) {
	a, b, c = a[:len(d)], b[:len(d)], c[:len(d)]
	for i := range d {
		d[i] = int64(W(a[i]*b[i] + c[i]))
	}
}

// intDiv rounds toward minus infinity; by zero it is 0.
func intDiv[W integer](d, a, b []int64) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		x, y := W(a[i]), W(b[i])
		switch {
		case y == 0:
			d[i] = 0
		case y == ^W(0) && signed[W]():
			d[i] = int64(-x)
		default:
			q := x / y
			if signed[W]() && q*y != x && (x < 0) != (y < 0) {
				q--
			}
			d[i] = int64(q)
		}
	}
}

// intMod has the sign of the divisor; by zero it is 0.
func intMod[W integer](d, a, b []int64) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		x, y := W(a[i]), W(b[i])
		if y == 0 || y == ^W(0) && signed[W]() {
			d[i] = 0
			continue
		}
		r := x % y
		if signed[W]() && r != 0 && (x < 0) != (y < 0) {
			r += y
		}
		d[i] = int64(r)
	}
}

func intMax[W integer](d, a, b []int64) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = int64(max(W(a[i]), W(b[i])))
	}
}

func intLess[W integer](d []uint8, a, b []int64) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = truth(W(a[i]) < W(b[i]))
	}
}

// Shift counts are taken modulo the width of W.
func intShl[W integer](d, a, b []int64) {
	a, b = a[:len(d)], b[:len(d)]
	mask := width[W]() - 1
	for i := range d {
		d[i] = int64(W(a[i]) << (uint64(b[i]) & mask))
	}
}

func intShr[W integer](d, a, b []int64) {
	a, b = a[:len(d)], b[:len(d)]
	mask := width[W]() - 1
	for i := range d {
		d[i] = int64(W(a[i]) >> (uint64(b[i]) & mask))
	}
}

func and[T int64 | uint8](d, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = a[i] & b[i]
	}
}

func or[T int64 | uint8](d, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = a[i] | b[i]
	}
}

func xor[T int64 | uint8](d, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = a[i] ^ b[i]
	}
}
