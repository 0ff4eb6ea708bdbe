package lower

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/codegen/nest"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// illegal is thrown where the tree shows that directives do not fit; Legal and Lower return it as an error.
type illegal struct{ why string }

func refuse(format string, a ...any) { panic(illegal{fmt.Sprintf(format, a...)}) }

// newScratch names thread-local memory of n elements.
func (b *builder) newScratch(d dtype.DType, n int) *uop.UOp {
	b.allocs++
	return b.Table.Make(uop.Param, d, uop.ParamArg{Slot: b.allocs - 1, N: n, Scratch: true})
}

// stager writes the loops that copy a value, or a box of what is loaded, to where a nest reads it.
type stager struct{ *builder }

// stage evaluates a value once into scratch for all inner ranges it depends on, and gives the load that
// replaces it.
func (b *stager) stage(m codegen.Directive, u *uop.UOp, sp insertionPoint) ([]codegen.Stmt, *uop.UOp) {
	if sp.lanes {
		refuse("stage %s at %s: it lies inside a vector axis", m.Name, m.At)
	}
	switch {
	case m.Shared:
		return (&grouper{b.builder}).stageShared(m, u, sp)
	case b.Matrices[m.Name] != [2]nest.MatrixFactor{}:
		return stageMatrix(b, m, u, sp)
	case m.Box:
		return b.stageBox(m, u, sp)
	}
	inner := b.Facts.FreeRanges(u).Minus(sp.open)
	var loops []*nest.Axis
	for _, name := range m.Axes {
		if a := b.Axes[name]; inner.Has(b.Facts.RangeID(a.Range)) {
			loops = append(loops, &nest.Axis{Name: "", Range: a.Range, Guard: a.Guard, Full: -1})
			inner = inner.Minus(b.Facts.Set(a.Range))
		}
	}
	if !inner.Empty() {
		refuse("stage %s at %s: its layout lacks %v", m.Name, m.At, b.Facts.List(inner))
	}
	n, at := 1, affine.Form{}
	for _, a := range slices.Backward(loops) {
		at = affine.Form{Terms: []affine.Term{{Node: a.Range, Coef: n}}}.Add(at, 1)
		n *= codegen.Extent(a.Range)
	}
	buf := b.newScratch(u.DType(), n)
	index := at.Node(b.Table)
	for _, w := range []struct {
		name string
		kind codegen.Kind
	}{{m.Tile, codegen.Tile}, {m.Vector, codegen.Vector}} { // innermost
		if x := b.Axes[w.name]; x != nil {
			if i := slices.IndexFunc(loops, func(a *nest.Axis) bool { return a.Range == x.Range }); i >= 0 && !b.longGuarded(loops[i], u) {
				a := loops[i]
				a.Kind = w.kind
				loops = append(slices.Delete(loops, i, i+1), a)
			}
		}
	}
	to := index
	if n := len(loops); n > 0 && b.longCopy(loops[n-1], u) {
		a := loops[n-1]
		coord, split := b.copyLoops(0, codegen.Extent(a.Range), true, u)
		with := map[*uop.UOp]*uop.UOp{a.Range: coord}
		loops = append(loops[:n-1], split...)
		u, to = b.Substitute(with, u), b.Substitute(with, index)
	}
	sp.roots = []*uop.UOp{u}
	return append([]codegen.Stmt{&codegen.Alloc{Buf: buf, N: n}}, b.level(loops, sp, "", func(sp insertionPoint) []codegen.Stmt {
		return []codegen.Stmt{&codegen.Store{Buf: buf, Index: []*uop.UOp{to}, Value: sp.roots[0]}}
	})...), b.Table.Load(buf, b.Table.True(), index)
}

// longGuarded says that an axis, of which some elements may not exist, has more than can be written out one by one.
func (b *stager) longGuarded(a *nest.Axis, u *uop.UOp) bool {
	return a.Guard != nil && codegen.Extent(a.Range) > 8*max(1, b.width(u.DType()))
}

// longCopy says that lanes of a copy are a loop of vectors: too many to be written out, or of a number that vectors do not
// divide. In a copy the last vector may move inwards, because what it copies twice is the same.
func (b *stager) longCopy(a *nest.Axis, u *uop.UOp) bool {
	w, n := b.width(u.DType()), codegen.Extent(a.Range)
	return a.Kind == codegen.Vector && a.Guard == nil && w > 1 && (n > 8*w || n%min(w, codegen.Pow2(n)) != 0) && b.Facts.FreeRanges(u).Has(b.Facts.RangeID(a.Range))
}
