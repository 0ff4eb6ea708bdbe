package uop

import (
	"fmt"
	"math"
	"strings"
)

// MaxElements is how many elements an array may have: as many as a float64 counts one by one. No memory holds as many, and
// no machine goes through them in a lifetime, but a shape is quickly written. Below it neither the bytes of an
// array nor the arithmetic of its indices leaves 64 bits.
const MaxElements = 1 << 53

// TooMany says why an array of this shape cannot be, or "". Axes without elements do not make others smaller: a
// reduction over them would have the others' elements.
func (s Shape) TooMany() string {
	n := 1
	for _, d := range s {
		if d > 0 && n > MaxElements/d {
			return fmt.Sprintf("an array of %s elements is larger than any memory", s.product())
		}
		if d > 0 {
			n *= d
		}
	}
	return ""
}

// product writes the sizes as a product and what it comes to.
func (s Shape) product() string {
	sizes, all := make([]string, len(s)), 1.
	for i, d := range s {
		sizes[i] = fmt.Sprint(d)
		all *= float64(max(d, 1))
	}
	if len(s) == 1 {
		return sizes[0]
	}
	return fmt.Sprintf("%s = %.3g", strings.Join(sizes, "×"), all)
}

// Plus is a + b of sizes that a caller gave, or the nearest number that there is: a size that was too large stays so.
func Plus(a, b int) int {
	c := a + b
	switch {
	case a > 0 && b > 0 && c < 0:
		return math.MaxInt
	case a < 0 && b < 0 && c >= 0:
		return math.MinInt
	}
	return c
}

// Times is a · b in the manner of Plus.
func Times(a, b int) int {
	if a == 0 || b == 0 {
		return 0
	}
	if c := a * b; c/b == a && !(a == -1 && b == math.MinInt) && !(b == -1 && a == math.MinInt) {
		return c
	}
	if (a < 0) != (b < 0) {
		return math.MinInt
	}
	return math.MaxInt
}

// magnitude is |a|, in the manner of Plus.
func magnitude(a int) int {
	if a == math.MinInt {
		return math.MaxInt
	}
	return max(a, -a)
}
