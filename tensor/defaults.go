package tensor

import (
	"sync/atomic"

	"github.com/weft-ml/weft/dtype"
)

// defaults are the types that numbers get which name none; 0 is float32, and int32.
var defaults struct{ float, integer atomic.Uint32 }

// SetDefaultFloat chooses the float type of what names none, and gives the one before: of Go's floats, Zeros, Ones, Eye, Linspace, the
// random functions, and of integers that become floats. It is float32 at first. It holds for the whole process: set it before tensors
// are made.
func SetDefaultFloat(d dtype.DType) (before dtype.DType) {
	if !d.IsFloat() {
		failType("SetDefaultFloat", []dtype.DType{d}, "needs a float type")
	}
	before = DefaultFloat()
	defaults.float.Store(uint32(d))
	return before
}

// SetDefaultInt chooses the integer type of what names none, and gives the one before: of Go's numbers of type int, where they fit, and of
// Arange. It is int32 at first. Indices are int32 whatever it is.
func SetDefaultInt(d dtype.DType) (before dtype.DType) {
	if !d.IsInt() || d.Size() == 0 {
		failType("SetDefaultInt", []dtype.DType{d}, "needs an integer type")
	}
	before = DefaultInt()
	defaults.integer.Store(uint32(d))
	return before
}

// DefaultFloat is the float type of what names none.
func DefaultFloat() dtype.DType { return chosen(&defaults.float, dtype.F32) }

// DefaultInt is the integer type of what names none.
func DefaultInt() dtype.DType { return chosen(&defaults.integer, dtype.I32) }

func chosen(of *atomic.Uint32, none dtype.DType) dtype.DType {
	if d := dtype.DType(of.Load()); d != dtype.Void {
		return d
	}
	return none
}
