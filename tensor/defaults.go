package tensor

import (
	"sync/atomic"

	"github.com/weft-ml/weft/dtype"
)

// defaults are how the types of numbers that name none differ from float32 and int32: their numbers, by exclusive or.
var defaults struct{ float, integer atomic.Uint32 }

// SetDefaultFloat chooses the float type of what names none, and gives the one before: of Go's floats, Zeros, Ones, Eye, Linspace, the
// random functions, and of integers that become floats. It is float32 at first. It holds for the whole process: set it before tensors
// are made.
func SetDefaultFloat(d dtype.DType) (before dtype.DType) {
	if !d.IsFloat() {
		failType("SetDefaultFloat", []dtype.DType{d}, "needs a float type")
	}
	before = DefaultFloat()
	defaults.float.Store(uint32(d ^ dtype.F32))
	return before
}

// SetDefaultInt chooses the integer type of what names none, and gives the one before: of Go's numbers of type int, where they fit, and of
// Arange. It is int32 at first. Indices are int32 whatever it is.
func SetDefaultInt(d dtype.DType) (before dtype.DType) {
	if !d.IsInt() || d.Size() == 0 {
		failType("SetDefaultInt", []dtype.DType{d}, "needs an integer type")
	}
	before = DefaultInt()
	defaults.integer.Store(uint32(d ^ dtype.I32))
	return before
}

// DefaultFloat is the float type of what names none.
func DefaultFloat() dtype.DType { return dtype.DType(defaults.float.Load()) ^ dtype.F32 }

// DefaultInt is the integer type of what names none.
func DefaultInt() dtype.DType { return dtype.DType(defaults.integer.Load()) ^ dtype.I32 }
