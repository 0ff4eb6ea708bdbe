package nest

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Factors that are taken out of narrow numbers, as the halves of bytes times the scale of their block are, cost more than the products that they are
// multiplied in. What is used again and again is staged as these factors: p1u and p1u.1 are what the load p1 is made into.

// nameUnpacked names what is made of narrow loads, of other loads that vary no more than these, and of constants, as far as that goes.
func (k *Kernel) nameUnpacked() {
	var r *readers
	for _, name := range k.loads {
		if k.Values[name].DType().Size() < 4 {
			if r == nil {
				r = newReaders(uop.Topo(k.Roots()...))
			}
			k.nameUnpackedOf(name, r)
		}
	}
}

// nameUnpackedOf does so for one load.
func (k *Kernel) nameUnpackedOf(name string, r *readers) {
	l := k.Values[name]
	made := map[*uop.UOp]bool{l: true}
	var ends []*uop.UOp // that others read
	r.behind(l, func(u *uop.UOp) (further bool) {
		if k.Facts.FreeRanges(u).Within(k.Facts.FreeRanges(l)) && plainly(u, made) {
			made[u] = true
			return true
		}
		for _, x := range u.Src() {
			if made[x] && !slices.Contains(ends, x) {
				ends = append(ends, x)
			}
		}
		return len(ends) <= mostUnpacked
	})
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
		if k.Values[other] != l && r.onlyFor(k.Values[other], made) {
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

// plainly says that a value is computed of what is made already, and else of loads without gates and of constants.
func plainly(u *uop.UOp, made map[*uop.UOp]bool) bool {
	ok := u.Op().Elementwise() && u.DType() != dtype.Index
	uop.Walk(u.Src(), func(u *uop.UOp) bool { return !ok || made[u] || u.Op() == uop.Load }, func(u *uop.UOp) {
		ok = ok && (made[u] || u.Op().Elementwise() || u.Op() == uop.Const || u.Op() == uop.Load)
		ok = ok && (u.Op() != uop.Load || u.At(1).Op() == uop.Const)
	})
	return ok
}

// onlyFor says that a load is read for these values only.
func (r *readers) onlyFor(l *uop.UOp, made map[*uop.UOp]bool) bool {
	own, ok := map[*uop.UOp]bool{l: true}, !made[l]
	r.behind(l, func(u *uop.UOp) (further bool) {
		if !ok || made[u] {
			return false
		}
		ok = !slices.ContainsFunc(u.Src(), func(x *uop.UOp) bool { return !own[x] && x.Op() != uop.Const })
		own[u] = ok
		return ok
	})
	return ok
}

// readers are the nodes of a kernel with those that read them, so that what is made of a load is found without going through all nodes.
type readers struct {
	nodes []*uop.UOp           // sources before what reads them
	of    map[*uop.UOp][]int32 // the places of a node's readers, in order
}

func newReaders(nodes []*uop.UOp) *readers {
	r := &readers{nodes, make(map[*uop.UOp][]int32, len(nodes))}
	for i, u := range nodes {
		for _, x := range u.Src() {
			r.of[x] = append(r.of[x], int32(i))
		}
	}
	return r
}

// behind visits what reads a node, in the nodes' order, and what reads that of which further says so.
func (r *readers) behind(u *uop.UOp, further func(u *uop.UOp) bool) {
	next := slices.Clone(r.of[u])
	for i := 0; i < len(next); i++ {
		if i > 0 && next[i] == next[i-1] {
			continue
		}
		u := r.nodes[next[i]]
		if !further(u) {
			continue
		}
		for _, at := range r.of[u] { // all behind i: what reads a node comes after it
			place, _ := slices.BinarySearch(next[i+1:], at)
			next = slices.Insert(next, i+1+place, at)
		}
	}
}

const unpackedSuffix = "u"

// mostUnpacked is how many factors are made of one load.
const mostUnpacked = 4
