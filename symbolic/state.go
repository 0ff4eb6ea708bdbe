// Package symbolic simplifies: laws of arithmetic that hold bit for bit on every type (Algebra), and an engine
// for index expressions that brings sums to one affine form, folds division and remainder by bounds,
// and proves or drops guards.
//
// It knows numbers. It refuses to know tensors, schedules and kernels.
//
//	i := t.Range(0, 6, "i")
//	symbolic.Simplify(t, i.IDiv(t.Index(2)).Mul(t.Index(2)).Add(i.Mod(t.Index(2)))) // i
package symbolic

import "github.com/weft-ml/weft/uop"

// index is what is known about the index expressions of one table.
type index struct {
	t     *uop.Table
	forms uop.Map[*linear]    // affine forms
	spans uop.Map[span]       // bounds
	deps  uop.Map[[]*uop.UOp] // free ranges
	built uop.Map[bool]       // nodes known to be in normal form
	facts []fact              // conditions known to hold: see SimplifyUnder
	never bool                // they contradict each other
}

type indexKey struct{}

func of(t *uop.Table) *index {
	return t.Local(indexKey{}, func() any { return &index{t: t} }).(*index)
}

// fill computes f for root and, before it, for all operands that enter allows, and remembers the results in m.
func fill[V any](m *uop.Map[V], root *uop.UOp, enter func(u *uop.UOp) bool, f func(u *uop.UOp) V) V {
	if v, ok := m.Get(root); ok {
		return v
	}
	type frame struct {
		u    *uop.UOp
		next int
	}
	stack := []frame{{u: root}}
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		src := top.u.Src()
		if top.next == 0 && !enter(top.u) {
			top.next = len(src)
		}
		if top.next < len(src) {
			s := src[top.next]
			top.next++
			if _, ok := m.Get(s); !ok {
				stack = append(stack, frame{u: s})
			}
			continue
		}
		m.Set(top.u, f(top.u))
		stack = stack[:len(stack)-1]
	}
	v, _ := m.Get(root)
	return v
}
