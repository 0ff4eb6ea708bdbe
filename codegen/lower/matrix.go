package lower

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// stageMatrix computes a block of a sum into scratch by one statement, and gives the load that replaces it. Its factors are staged
// already.
func stageMatrix(b *stager, m codegen.Directive, u *uop.UOp, sp insertionPoint) ([]codegen.Stmt, *uop.UOp) {
	no := func(why string) {
		refuse("stage %s at %s: for the machine's product of matrices %s", m.Name, m.At, why)
	}
	if m.Box || m.Shared || u.Op() != uop.Reduce || len(m.Axes) != 2 {
		no("it is staged by ranges, of which its layout has two")
	}
	_, ranges := codegen.ReduceParts(u)
	rows, cols, steps := b.Axes[m.Axes[0]], b.Axes[m.Axes[1]], ranges[0]
	block := b.Facts.Set(rows.Range, cols.Range)
	if len(ranges) != 1 || b.Facts.FreeRanges(u).Minus(sp.open) != block || rows == cols || rows.Guard != nil || cols.Guard != nil {
		no("its steps go along one axis, and its layout has all others that are not open")
	}
	f := b.Matrices[m.Name]
	x, y := sp.names[f[0].Name], sp.names[f[1].Name]
	if x == nil || y == nil {
		no("both factors are staged further out")
	}
	if b.Facts.FreeRanges(y).Has(b.Facts.RangeID(rows.Range)) {
		x, y, f[0], f[1] = y, x, f[1], f[0]
	}
	inner := block.Or(b.Facts.Set(steps))
	s := &codegen.MatrixProduct{Rows: codegen.Extent(rows.Range), Cols: codegen.Extent(cols.Range), Steps: codegen.Extent(steps), Types: [2]dtype.DType{f[0].Of, f[1].Of}}
	words, blocks := codegen.MatrixBlocks(s.Steps)
	if s.Block = words; words*blocks != s.Steps {
		no("its words are as many as blocks of them hold")
	}
	var ok, also bool
	s.A, s.ABase, s.ARow, ok = b.matrixRows(x, rows.Range, steps, inner)
	s.B, s.BBase, s.BRow, also = b.matrixRows(y, steps, cols.Range, inner)
	if !ok || !also {
		no("the words of its factors lie in rows")
	}
	s.Acc = b.newScratch(u.DType(), s.Rows*s.Cols)
	at := affine.Form{Terms: []affine.Term{{Node: rows.Range, Coef: s.Cols}, {Node: cols.Range, Coef: 1}}}
	return []codegen.Stmt{&codegen.Alloc{Buf: s.Acc, N: s.Rows * s.Cols}, s}, b.Table.Load(s.Acc, b.Table.True(), at.Node(b.Table))
}

// matrixRows says where the rows of a staged factor lie, and how far apart.
func (b *builder) matrixRows(u, row, col *uop.UOp, inner affine.RangeSet) (buf, base *uop.UOp, apart int, ok bool) {
	if u.Op() != uop.Load || len(u.Src()) != 3 || u.At(1).Op() != uop.Const || !u.At(0).Arg().(uop.ParamArg).Scratch {
		return nil, nil, 0, false
	}
	at := b.Facts.Form(u.At(2))
	apart = at.Coeff(row)
	ok = at.Coeff(col) == 1 && apart > 0
	at.Terms = slices.DeleteFunc(slices.Clone(at.Terms), func(t affine.Term) bool { return t.Node == row || t.Node == col })
	base = at.Node(b.Table)
	return u.At(0), base, apart, ok && b.Facts.FreeRanges(base).Disjoint(inner)
}
