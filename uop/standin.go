package uop

import (
	"sync/atomic"

	"github.com/weft-ml/weft/dtype"
)

// standIns counts the stand-ins that were made.
var standIns atomic.Int64

// NewStandIn is a Param that no other node is equal to: it stands in a graph for an array of a shape that Fill puts in its
// place. Slots of stand-ins are negative; those of arguments are not.
func NewStandIn(d dtype.DType, shape ...int) *UOp {
	return global.Param(-int(standIns.Add(1)), Shape(shape).Numel(), d).Reshape(shape...)
}

// Slot is the number of a stand-in, 0 of other nodes.
func (u *UOp) Slot() int {
	for u.op == Reshape {
		u = u.src[0]
	}
	if a, ok := u.arg.(ParamArg); ok && u.op == Param && a.Slot < 0 {
		return a.Slot
	}
	return 0
}

// Fill puts values, by slot, in the place of the stand-ins in the graphs of roots.
func Fill(values map[int]*UOp, roots ...*UOp) []*UOp { return FillBeside(values, nil, roots...) }

// FillBeside is Fill where the graphs of some nodes are known to have none of these stand-ins: they are not looked at.
func FillBeside(values map[int]*UOp, without []*UOp, roots ...*UOp) []*UOp {
	var done Map[*UOp]
	for _, u := range without {
		if u.home == global {
			done.Set(u, u)
		}
	}
	get := func(u *UOp) *UOp {
		v, _ := done.Get(u)
		return v
	}
	Walk(roots, func(u *UOp) bool { return get(u) != nil }, func(u *UOp) {
		if v, ok := values[u.Slot()]; ok && u.op == Param {
			done.Set(u, v.Reshape(u.shape...))
		} else {
			done.Set(u, u.WithSrc(global, get))
		}
	})
	out := make([]*UOp, len(roots))
	for i, r := range roots {
		out[i] = get(r)
	}
	return out
}
