package nest

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Factors that are taken out of narrow numbers, as the halves of bytes times the scale of their block are, cost more than the products that they are
// multiplied in. What is used again and again is staged as these factors: p1u and p1u.1 are what the load p1 is made into.

// nameUnpacked names what is made of narrow loads, of other loads that vary no more than these, and of constants, as far as that goes.
func (k *Kernel) nameUnpacked() {
	for _, name := range k.loads {
		if k.Values[name].DType().Size() < 4 {
			k.nameUnpackedOf(name, uop.Topo(k.Roots()...))
		}
	}
}

// nameUnpackedOf does so for one load.
func (k *Kernel) nameUnpackedOf(name string, nodes []*uop.UOp) {
	l := k.Values[name]
	made := map[*uop.UOp]bool{l: true}
	var ends []*uop.UOp // that others read
	for _, u := range nodes {
		if !readsAny(u, made) {
			continue
		}
		if k.Facts.FreeRanges(u).Within(k.Facts.FreeRanges(l)) && plainly(u, made) {
			made[u] = true
			continue
		}
		for _, x := range u.Src() {
			if made[x] && !slices.Contains(ends, x) {
				ends = append(ends, x)
			}
		}
	}
	if len(ends) == 0 || len(ends) > mostUnpacked || slices.ContainsFunc(ends, func(u *uop.UOp) bool { return u.DType().Size() < 4 || u == k.Values[name+WideSuffix] }) {
		return
	}
	f := &UnpackedFactors{}
	for i, u := range ends {
		n := name + unpackedSuffix
		if i > 0 {
			n = fmt.Sprintf("%s.%d", n, i)
		}
		k.Values[n], f.Names, f.Bytes = u, append(f.Names, n), f.Bytes+u.DType().Size()
	}
	for _, other := range k.loads {
		if k.Values[other] != l && onlyFor(nodes, k.Values[other], made) {
			f.Loads = append(f.Loads, other)
		}
	}
	k.Unpackings[name] = f
}

// UnpackedFactors are what is made of a narrow load.
type UnpackedFactors struct {
	Names []string // of the factors
	Loads []string // that are read for these only
	Bytes int      // of an element of each
}

func readsAny(u *uop.UOp, of map[*uop.UOp]bool) bool {
	return slices.ContainsFunc(u.Src(), func(x *uop.UOp) bool { return of[x] })
}

// plainly says that a value is computed of what is made already, and else of loads without gates and of constants.
func plainly(u *uop.UOp, made map[*uop.UOp]bool) bool {
	ok := u.Op().Elementwise() && u.DType() != dtype.Index
	codegen.Walk(u.Src(), func(u *uop.UOp) bool { return !ok || made[u] || u.Op() == uop.Load }, func(u *uop.UOp) {
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

const unpackedSuffix = "u"

// mostUnpacked is how many factors are made of one load.
const mostUnpacked = 4
