package lower

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// What is computed for few elements, as a function far from where its arguments mostly are, stands behind a condition: where nothing
// but one operand of a choice looks at many operations, they are done if some lane of the vector chooses them.

const (
	branchCost  = 100  // of what stands behind a condition at least, in additions
	branchShare = 0.85 // of the whole expression at most: what is all of it is no exception
	branchMost  = 4000 // and at most, for what is looked at again and again
	branchDepth = 3    // of conditions within each other
)

// branch puts operands of the choices that an expression is made of behind conditions; the choices get names.
func (p *placer) branch(root *uop.UOp) {
	if p.branching == branchDepth {
		return
	}
	named := func(u *uop.UOp) bool { r, _ := p.named.Get(u); return r != nil }
	var order []*uop.UOp
	found, all := false, 0.0
	uop.Walk([]*uop.UOp{root}, named, func(u *uop.UOp) {
		order = append(order, u)
		found, all = found || u.Op() == uop.Where, all+uop.Info(u.Op()).Cost.Loop
	})
	if !found {
		return
	}
	inside := map[*uop.UOp]bool{}
	for _, u := range slices.Backward(order) {
		if u.Op() != uop.Where || u.DType() == dtype.Bool || u.DType() == dtype.Index || inside[u] || named(u) || !codegen.Reads(u.At(0)) {
			continue
		}
		for side := 2; side > 0; side-- {
			if v, ok := u.At(3 - side).ConstValue(); ok && u.DType().IsFloat() && v.Float() != v.Float() {
				continue // nothing is mostly NaN
			}
			if own := p.ownOf(u, side, min(all*branchShare, branchMost)); own != nil {
				for x := range own {
					inside[x] = true
				}
				p.behind(u, side)
				break
			}
		}
	}
}

// ownOf are the nodes that nothing but an operand of a choice looks at, if they are worth a condition.
func (p *placer) ownOf(u *uop.UOp, side int, most float64) map[*uop.UOp]bool {
	top := u.At(side)
	if slices.Index(u.Src(), top) != side || slices.Contains(u.Src()[side+1:], top) {
		return nil
	}
	uses := map[*uop.UOp]int{top: 1}
	own := map[*uop.UOp]bool{}
	cost, level := 0.0, p.level(u)
	for todo := []*uop.UOp{top}; len(todo) > 0; {
		x := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if n, _ := p.refs.Get(x); n > uses[x] || own[x] || x.Op() == uop.Load || len(x.Src()) == 0 {
			continue
		}
		own[x] = true
		if p.level(x) == level {
			cost += uop.Info(x.Op()).Cost.Loop
		}
		if cost > most {
			return nil
		}
		for _, s := range x.Src() {
			uses[s]++
			todo = append(todo, s)
		}
	}
	if cost < branchCost {
		return nil
	}
	return own
}

// behind names a choice: it is one operand, and then the other where that is chosen.
func (p *placer) behind(u *uop.UOp, side int) {
	open, level := p.scopes, p.level(u)
	p.scopes = slices.Clip(open[:level+1])
	defer func() { p.scopes = open }()
	cond, usual := p.value(u.At(0)), p.value(u.At(3-side))
	if side == 2 {
		cond = cond.Not()
	}
	at := p.scopes[level]
	r := p.name(u, usual, level)
	behind := &scope{barrier: true, writes: map[*uop.UOp]bool{}}
	p.scopes = append(p.scopes, behind)
	p.branching++
	value := p.value(u.At(side))
	p.branching--
	for _, k := range behind.keys {
		p.named.Set(k, nil)
	}
	at.out = append(at.out, &codegen.If{Cond: cond, Body: append(behind.out, &codegen.Set{Regs: []*uop.UOp{r}, Values: []*uop.UOp{value}})})
}
