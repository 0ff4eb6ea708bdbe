package codegen

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Some machines multiply blocks of matrices at once, of narrow numbers that lie in words as those of dot do. The directive puts a
// sum's steps into words; where its factors and it itself are staged, what would be three nested loops is one statement.

// MatrixUnit is what such a machine can. It brings along the code that deals with it: a program that makes none, as the engine for
// pages, has nothing of that code.
type MatrixUnit struct {
	Bytes    bool // it multiplies numbers of 8 bits, of either sign
	BFloat16 bool

	apply  func(k *kernel, m Directive) error
	stage  func(b *builder, m Directive, u *uop.UOp, sp insertionPoint) ([]Stmt, *uop.UOp)
	choose func(c *chooser) []Directive
}

// NewMatrixUnit is a unit for such numbers, or nil if it is for none.
func NewMatrixUnit(bytes, bfloat16 bool) *MatrixUnit {
	if !bytes && !bfloat16 {
		return nil
	}
	return &MatrixUnit{bytes, bfloat16, applyMatrix, stageMatrix, chooseMatrix}
}

// matrixFactor is a factor of a sum in words: the name of its value, and the type of the numbers in it.
type matrixFactor struct {
	name string
	of   dtype.DType
}

// matrixProducts takes a sum apart whose products the unit multiplies, or gives nil.
func (k *kernel) matrixProducts(u *uop.UOp) *dotted {
	var d *dotted
	m := k.target.Matrix
	if m.Bytes {
		d = k.productsOf(u, 4, []dtype.DType{dtype.I8, dtype.U8}, dtype.I32, dtype.U32)
	}
	if d == nil && m.BFloat16 {
		d = k.productsOf(u, 2, []dtype.DType{dtype.BF16}, dtype.F32)
	}
	return d
}

// applyMatrix carries out "matrix r0.a 4".
func applyMatrix(k *kernel, m Directive) error {
	a, err := k.stepsAxis(m)
	if err != nil {
		return err
	}
	name := a.owner
	d := k.matrixProducts(k.values[name])
	if d == nil || d.n != m.N {
		return fmt.Errorf("%s is no sum of products of numbers that the machine multiplies in words of %d", name, m.N)
	}
	var factors [2]matrixFactor
	for i, f := range d.factors {
		factors[i] = matrixFactor{k.loadName(f.load()) + wideSuffix, f.load().DType()}
		if k.values[factors[i].name] != f.wide {
			return fmt.Errorf("the factors of %s have no names", name)
		}
	}
	k.inWords(a, d, func(x, y *uop.UOp) *uop.UOp { return wordProduct(x, y, factors) })
	if k.matrices == nil {
		k.matrices = map[string][2]matrixFactor{}
	}
	k.matrices[name] = factors
	return nil
}

// wordProduct is the product of two words, as it is computed where no machine does it.
func wordProduct(x, y *uop.UOp, f [2]matrixFactor) (sum *uop.UOp) {
	if f[0].of == dtype.BF16 {
		return x.DotBF16(y)
	}
	part := func(u *uop.UOp, of dtype.DType, i int) *uop.UOp {
		if of == dtype.U8 {
			return u.Shr(u.Int(8 * i)).And(u.Int(255))
		}
		return u.Shl(u.Int(24 - 8*i)).Shr(u.Int(24))
	}
	for i := range 4 {
		p := part(x, f[0].of, i).Mul(part(y, f[1].of, i))
		if i > 0 {
			p = sum.Add(p)
		}
		sum = p
	}
	return sum
}

// stageMatrix computes a block of a sum into scratch by one statement, and gives the load that replaces it. Its factors are staged
// already.
func stageMatrix(b *builder, m Directive, u *uop.UOp, sp insertionPoint) ([]Stmt, *uop.UOp) {
	no := func(why string) {
		refuse("stage %s at %s: for the machine's product of matrices %s", m.Name, m.At, why)
	}
	if m.Box || m.Shared || u.Op() != uop.Reduce || len(m.Axes) != 2 {
		no("it is staged by ranges, of which its layout has two")
	}
	_, ranges := reduceParts(u)
	rows, cols, steps := b.axes[m.Axes[0]], b.axes[m.Axes[1]], ranges[0]
	block := b.facts.set(rows.r, cols.r)
	if len(ranges) != 1 || b.facts.freeRanges(u).minus(sp.open) != block || rows == cols || rows.guard != nil || cols.guard != nil {
		no("its steps go along one axis, and its layout has all others that are not open")
	}
	f := b.matrices[m.Name]
	x, y := sp.names[f[0].name], sp.names[f[1].name]
	if x == nil || y == nil {
		no("both factors are staged further out")
	}
	if b.facts.freeRanges(y).has(b.facts.rangeID(rows.r)) {
		x, y, f[0], f[1] = y, x, f[1], f[0]
	}
	inner := block.or(b.facts.set(steps))
	s := &MatrixProduct{Rows: extent(rows.r), Cols: extent(cols.r), Steps: extent(steps), Types: [2]dtype.DType{f[0].of, f[1].of}}
	var ok, also bool
	s.A, s.ABase, s.ARow, ok = b.matrixRows(x, rows.r, steps, inner)
	s.B, s.BBase, s.BRow, also = b.matrixRows(y, steps, cols.r, inner)
	if !ok || !also {
		no("the words of its factors lie in rows")
	}
	s.Acc = b.newScratch(u.DType(), s.Rows*s.Cols)
	at := affine{terms: []term{{rows.r, s.Cols}, {cols.r, 1}}}
	return []Stmt{&Alloc{Buf: s.Acc, N: s.Rows * s.Cols}, s}, b.t.Load(s.Acc, b.t.True(), at.node(b.t))
}

// matrixRows says where the rows of a staged factor lie, and how far apart.
func (b *builder) matrixRows(u, row, col *uop.UOp, inner rangeSet) (buf, base *uop.UOp, apart int, ok bool) {
	if u.Op() != uop.Load || len(u.Src()) != 3 || u.At(1).Op() != uop.Const || !u.At(0).Arg().(uop.ParamArg).Scratch {
		return nil, nil, 0, false
	}
	at := b.facts.affine(u.At(2))
	apart = at.coeff(row)
	ok = at.coeff(col) == 1 && apart > 0
	at.terms = slices.DeleteFunc(slices.Clone(at.terms), func(t term) bool { return t.u == row || t.u == col })
	base = at.node(b.t)
	return u.At(0), base, apart, ok && b.facts.freeRanges(base).disjoint(inner)
}
