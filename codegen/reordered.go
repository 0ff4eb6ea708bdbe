package codegen

import "github.com/weft-ml/weft/dtype"

// Reordered is how far apart two orders of adding numbers of a type may end, relative to the larger of 1 and the result. It is 0 for types
// whose sums are exact.
func Reordered(d dtype.DType) float64 {
	switch digits := d.Digits(); {
	case digits == 0:
		return 0
	case digits < 8:
		return 1
	case digits < 11:
		return 1e-1
	case digits < 24:
		return 1e-2
	case digits < 53:
		return 1e-4
	}
	return 1e-9
}
