package codegen

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// illegal is thrown where the tree shows that directives do not fit; Legal and Lower return it as an error.
type illegal struct{ why string }

func refuse(format string, a ...any) { panic(illegal{fmt.Sprintf(format, a...)}) }

// newScratch names thread-local memory of n elements.
func (b *builder) newScratch(d dtype.DType, n int) *uop.UOp {
	b.allocs++
	return b.t.Make(uop.Param, d, uop.ParamArg{Slot: b.allocs - 1, N: n, Scratch: true})
}

// stage evaluates a value once into scratch for all inner ranges it depends on, and gives the load that
// replaces it.
func (b *builder) stage(m Directive, u *uop.UOp, sp insertionPoint) ([]Stmt, *uop.UOp) {
	if sp.lanes {
		refuse("stage %s at %s: it lies inside a vector axis", m.Name, m.At)
	}
	switch {
	case m.Shared:
		return b.stageShared(m, u, sp)
	case b.matrices[m.Name] != [2]matrixFactor{}:
		return b.target.Matrix.stage(b, m, u, sp)
	case m.Box:
		return b.stageBox(m, u, sp)
	}
	inner := b.facts.freeRanges(u).minus(sp.open)
	var loops []*axis
	for _, name := range m.Axes {
		if a := b.axes[name]; inner.has(b.facts.rangeID(a.r)) {
			loops = append(loops, &axis{name: "", r: a.r, guard: a.guard, full: -1})
			inner = inner.minus(b.facts.set(a.r))
		}
	}
	if !inner.empty() {
		refuse("stage %s at %s: its layout lacks %v", m.Name, m.At, b.facts.list(inner))
	}
	n, at := 1, affine{}
	for _, a := range slices.Backward(loops) {
		at = affine{terms: []term{{a.r, n}}}.add(at, 1)
		n *= extent(a.r)
	}
	buf := b.newScratch(u.DType(), n)
	index := at.node(b.t)
	for _, w := range []struct {
		name string
		kind Kind
	}{{m.Tile, Tile}, {m.Vector, Vector}} { // innermost
		if x := b.axes[w.name]; x != nil {
			if i := slices.IndexFunc(loops, func(a *axis) bool { return a.r == x.r }); i >= 0 {
				a := loops[i]
				a.kind = w.kind
				loops = append(slices.Delete(loops, i, i+1), a)
			}
		}
	}
	to := index
	if n := len(loops); n > 0 && b.longCopy(loops[n-1], u) {
		a := loops[n-1]
		coord, split := b.copyLoops(0, extent(a.r), true, u)
		with := map[*uop.UOp]*uop.UOp{a.r: coord}
		loops = append(loops[:n-1], split...)
		u, to = b.substitute(with, u), b.substitute(with, index)
	}
	sp.roots = []*uop.UOp{u}
	return append([]Stmt{&Alloc{Buf: buf, N: n}}, b.level(loops, sp, "", func(sp insertionPoint) []Stmt {
		return []Stmt{&Store{Buf: buf, Index: []*uop.UOp{to}, Value: sp.roots[0]}}
	})...), b.t.Load(buf, b.t.True(), index)
}

// longCopy says that lanes of a copy are a loop of vectors: too many to be written out, or of a number that vectors do not
// divide. In a copy the last vector may move inwards, because what it copies twice is the same.
func (b *builder) longCopy(a *axis, u *uop.UOp) bool {
	w, n := b.width(u.DType()), extent(a.r)
	return a.kind == Vector && a.guard == nil && w > 1 && (n > 8*w || n%min(w, pow2(n)) != 0) && b.facts.freeRanges(u).has(b.facts.rangeID(a.r))
}
