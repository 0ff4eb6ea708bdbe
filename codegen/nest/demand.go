package nest

import (
	"slices"

	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// Under is a condition, or its opposite; a nil node: always.
type Under struct {
	Cond     *uop.UOp
	Opposite bool
}

// demands says under which conditions the values of a place look at each other.
type demands map[*uop.UOp]Under

// Demand is the condition under which one of the roots looks at u.
func Demand(roots []*uop.UOp, u *uop.UOp) Under { return demanded(roots)[u] }

// demanded says so of all values.
func demanded(roots []*uop.UOp) demands {
	d := demands{}
	for _, r := range roots {
		d[r] = Under{}
	}
	for _, x := range slices.Backward(uop.Topo(roots...)) {
		c := d[x]
		for j, y := range x.Src() {
			if x.Op() == uop.Where && j > 0 && c.Cond == nil {
				d.add(y, Under{x.At(0), j == 2})
			} else {
				d.add(y, c)
			}
		}
	}
	return d
}

// add notes that a value is looked at under a condition.
func (d demands) add(u *uop.UOp, c Under) {
	if old, seen := d[u]; seen && old != c {
		c = Under{}
	}
	d[u] = c
}

// implies says that a gate holds wherever a condition does.
func (c Under) implies(gate *uop.UOp) bool {
	if c.Cond == nil || c.Opposite {
		return false
	}
	known := symbolic.Conjuncts(c.Cond)
	return !slices.ContainsFunc(symbolic.Conjuncts(gate), func(g *uop.UOp) bool { return !slices.Contains(known, g) })
}
