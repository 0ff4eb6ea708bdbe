package tensor

import (
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// What sizes and types a caller may ask for.

// checkStored refuses types that no array has.
func checkStored(op string, d dtype.DType) {
	if d.Size() == 0 {
		failType(op, []dtype.DType{d}, "%v has no storage; an array has elements of a type as dtype.F32", d)
	}
}

func checkSizes(op string, shape []int) {
	for i, d := range shape {
		if d < 0 {
			fail(op, shapes(shape), "axis %d has the negative size %d", i, d)
		}
	}
	if why := uop.Shape(shape).TooMany(); why != "" {
		fail(op, shapes(shape), "%s", why)
	}
}

// mostListed is how many numbers are listed one by one while a graph is built: places, weights, tables of sines.
const mostListed = 1 << 27

// checkListed refuses sizes for which a list would not end.
func checkListed(op string, shape uop.Shape, n int) {
	if n > mostListed {
		fail(op, shapes(shape), "%d numbers would be listed one by one, more than %d", n, mostListed)
	}
}

// mostParts is how many graphs one operation builds, one for each part, power or step that the caller asks for.
const mostParts = 1 << 16

// checkParts refuses numbers of parts for which building graphs would not end.
func checkParts(op string, shape uop.Shape, n int) {
	if n > mostParts {
		fail(op, shapes(shape), "%d parts would be built one by one, more than %d", n, mostParts)
	}
}
