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
			if i := slices.IndexFunc(loops, func(a *nest.Axis) bool { return a.Range == x.Range }); i >= 0 {
				a := loops[i]
				a.Kind = w.kind
				loops = append(slices.Delete(loops, i, i+1), a)
			}
		}
	}
	to := index
	var ends *nest.Axis // the vectors of a long copy of which not all counts
	if n := len(loops); n > 0 && b.longCopy(loops[n-1], u) {
		a := loops[n-1]
		coord, split := b.copyLoops(0, codegen.Extent(a.Range), true, u)
		with := map[*uop.UOp]*uop.UOp{a.Range: coord}
		loops = append(loops[:n-1], split...)
		u, to = b.Substitute(with, u), b.Substitute(with, index)
		if a.Guard != nil {
			n = len(loops) - 1
			loops, ends = loops[:n], loops[n]
			ends.Guard = b.Substitute(with, a.Guard)
		}
	}
	sp.roots = []*uop.UOp{u}
	return append([]codegen.Stmt{&codegen.Alloc{Buf: buf, N: n}}, b.level(loops, sp, "", func(sp insertionPoint) []codegen.Stmt {
		if ends != nil {
			return b.guardedVector(buf, to, ends, sp)
		}
		return []codegen.Stmt{&codegen.Store{Buf: buf, Index: []*uop.UOp{to}, Value: sp.roots[0]}}
	})...), b.Table.Load(buf, b.Table.True(), index)
}

// guardedVector copies a vector as one where all of it counts, and lane by lane where its end does not: if the last lane counts those before it do, as
// the guard of a split says that a place comes before an end.
func (b *stager) guardedVector(buf, to *uop.UOp, v *nest.Axis, sp insertionPoint) []codegen.Stmt {
	last := b.Table.Index(codegen.Extent(v.Range) - 1)
	whole := b.Fold(b.Substitute(map[*uop.UOp]*uop.UOp{v.Range: last}, v.Guard))
	single := b.NewRange(codegen.Extent(v.Range), "")
	with := map[*uop.UOp]*uop.UOp{v.Range: single}
	part := sp
	part.roots = []*uop.UOp{b.Substitute(with, sp.roots[0])}
	copied := func(to *uop.UOp, a *nest.Axis, sp insertionPoint) []codegen.Stmt {
		return b.level([]*nest.Axis{a}, sp, "", func(sp insertionPoint) []codegen.Stmt {
			return []codegen.Stmt{&codegen.Store{Buf: buf, Index: []*uop.UOp{to}, Value: sp.roots[0]}}
		})
	}
	return append(when(whole, copied(to, &nest.Axis{Range: v.Range, Kind: v.Kind, Full: -1}, sp)...),
		when(b.Fold(whole.Not()), copied(b.Substitute(with, to), &nest.Axis{Range: single, Guard: b.Substitute(with, v.Guard), Full: -1}, part)...)...)
}

// longCopy says that lanes of a copy are a loop of vectors: too many to be written out, or of a number that vectors do not
// divide. In a copy the last vector may move inwards, because what it copies twice is the same.
func (b *stager) longCopy(a *nest.Axis, u *uop.UOp) bool {
	w, n := b.width(u.DType()), codegen.Extent(a.Range)
	return a.Kind == codegen.Vector && w > 1 && (n > 8*w || n%min(w, codegen.Pow2(n)) != 0) && b.Facts.FreeRanges(u).Has(b.Facts.RangeID(a.Range))
}
