package wasm

import (
	"math"

	"github.com/weft-ml/weft/uop"
)

// wide says that an index needs 64 bits.
func (r *renderer) wide(u *uop.UOp) bool {
	lo, hi, _ := r.scope.Bounds(u)
	return lo < math.MinInt32 || hi > math.MaxInt32
}
