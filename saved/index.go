package saved

import (
	"math"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Nodes of type Index are what the compiler proves bounds with, in integers that it takes to be exact. So in a file they may come from
// grids, variables and constants only, by the ops of index arithmetic, and never leave 2⁵⁶, below which sums and products of
// a few stay within 64 bits. Functions that Capture records keep far below.
const mostIndex = 1 << 56

// magnitude is the greatest that a node of type Index can be, but for its sign, or false where no file may have the node.
func (g *graph) magnitude(u *uop.UOp) (int, bool) {
	at := func(i int) int { return g.most[u.At(i)] }
	switch u.Op() {
	case uop.Const:
		v, _ := u.ConstValue()
		return size(int(v.Int())), true
	case uop.Range:
		return u.Arg().(uop.RangeArg).N, true
	case uop.Var:
		a := u.Arg().(uop.VarArg)
		return max(size(a.Lo), size(a.Hi)), true
	case uop.Neg, uop.IDiv:
		return at(0), true
	case uop.Mod:
		return at(1), true
	case uop.Add:
		return uop.Plus(at(0), at(1)), true
	case uop.Mul:
		return uop.Times(at(0), at(1)), true
	case uop.Max:
		return max(at(0), at(1)), true
	case uop.Where:
		return max(at(1), at(2)), true
	}
	if u.Op().IsMovement() {
		return at(0), true
	}
	return 0, false
}

func size(n int) int {
	if n == math.MinInt {
		return math.MaxInt
	}
	return max(n, -n)
}

// bound refuses index arithmetic that may leave its bounds.
func (g *graph) bound(u *uop.UOp) {
	if u.DType() != dtype.Index {
		return
	}
	n, ok := g.magnitude(u)
	if !ok {
		g.fail("%v of index arithmetic", u.Op())
	} else if n > mostIndex {
		g.fail("index arithmetic that leaves 2⁵⁶")
	}
	g.most[u] = n
}
