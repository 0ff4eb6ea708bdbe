package codegen

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Factors that are taken out of narrow numbers, as the halves of bytes times the scale of their block are, cost more than the products that they are
// multiplied in. What is used again and again is staged as these factors: p1u and p1u.1 are what the load p1 is made into.

const unpackedSuffix = "u"

// mostUnpacked is how many factors are made of one load.
const mostUnpacked = 4

// nameUnpacked names what is made of narrow loads, of other loads that vary no more than these, and of constants, as far as that goes.
func (k *kernel) nameUnpacked() {
	nodes := uop.Topo(k.roots()...)
	for _, name := range k.loads {
		l := k.values[name]
		if l.DType().Size() >= 4 {
			continue
		}
		made := map[*uop.UOp]bool{l: true}
		var ends []*uop.UOp // that others read
		for _, u := range nodes {
			if !readsAny(u, made) {
				continue
			}
			if k.facts.freeRanges(u).within(k.facts.freeRanges(l)) && plainly(u, made) {
				made[u] = true
				continue
			}
			for _, x := range u.Src() {
				if made[x] && !slices.Contains(ends, x) {
					ends = append(ends, x)
				}
			}
		}
		if len(ends) == 0 || len(ends) > mostUnpacked || slices.ContainsFunc(ends, func(u *uop.UOp) bool { return u.DType().Size() < 4 || u == k.values[name+wideSuffix] }) {
			continue
		}
		f := &unpackedFactors{}
		for i, u := range ends {
			n := name + unpackedSuffix
			if i > 0 {
				n = fmt.Sprintf("%s.%d", n, i)
			}
			k.values[n], f.names, f.bytes = u, append(f.names, n), f.bytes+u.DType().Size()
		}
		for _, other := range k.loads {
			if k.values[other] != l && onlyFor(nodes, k.values[other], made) {
				f.loads = append(f.loads, other)
			}
		}
		k.unpackings[name] = f
	}
}

// unpackedFactors are what is made of a narrow load.
type unpackedFactors struct {
	names []string // of the factors
	loads []string // that are read for these only
	bytes int      // of an element of each
}

func readsAny(u *uop.UOp, of map[*uop.UOp]bool) bool {
	return slices.ContainsFunc(u.Src(), func(x *uop.UOp) bool { return of[x] })
}

// plainly says that a value is computed of what is made already, and else of loads without gates and of constants.
func plainly(u *uop.UOp, made map[*uop.UOp]bool) bool {
	ok := u.Op().Elementwise() && u.DType() != dtype.Index
	walk(u.Src(), func(u *uop.UOp) bool { return !ok || made[u] || u.Op() == uop.Load }, func(u *uop.UOp) {
		ok = ok && (made[u] || u.Op().Elementwise() || u.Op() == uop.Const || u.Op() == uop.Load)
		ok = ok && (u.Op() != uop.Load || u.At(1).Op() == uop.Const)
	})
	return ok
}

// onlyFor says that a load is read for these values only.
func onlyFor(nodes []*uop.UOp, l *uop.UOp, made map[*uop.UOp]bool) bool {
	own := map[*uop.UOp]bool{l: true}
	for _, u := range nodes {
		if made[u] || !readsAny(u, own) {
			continue
		}
		if slices.ContainsFunc(u.Src(), func(x *uop.UOp) bool { return !own[x] && x.Op() != uop.Const }) {
			return false
		}
		own[u] = true
	}
	return !made[l]
}

// findUnpacked notes what is made of operands. Where a number is repeated in all lanes only slowly, copies hold them repeated, which is for single
// numbers (choose_broad.go).
func (c *chooser) findUnpacked() {
	if c.target.Broad || c.anyLength() || len(c.groups) != 1 {
		return
	}
	for _, a := range c.loads {
		a.factors = c.unpackings[a.name]
	}
}

// shared are the values that are staged of an operand that all lanes share.
func (a *access) shared() []string {
	if a.factors != nil {
		return a.factors.names
	}
	return []string{a.staged()}
}

// withoutUnpacked leaves out operands that are read for what others are made into only.
func withoutUnpacked(shares []*access) []*access {
	return slices.DeleteFunc(slices.Clone(shares), func(l *access) bool {
		return slices.ContainsFunc(shares, func(a *access) bool { return a.factors != nil && slices.Contains(a.factors.loads, l.name) })
	})
}
