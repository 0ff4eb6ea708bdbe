package nest

import (
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// WideSuffix ends the name of what a narrow load becomes in the wider type in which products are computed: p1w is p1, widened. A conversion
// where each product is made costs as much as the product, so what is used again and again is staged as the wider number.
const WideSuffix = "w"

// widens says that a cast keeps every number of its operand and takes more bytes.
func widens(u *uop.UOp) bool {
	from, to := u.At(0).DType(), u.DType()
	return u.Op() == uop.Cast && from != dtype.Bool && to != dtype.Index && from.Size() < to.Size()
}
