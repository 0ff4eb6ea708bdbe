package nest

import (
	"fmt"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Some machines multiply blocks of matrices at once, of narrow numbers that lie in words as those of dot do. The directive puts a
// sum's steps into words; where its factors and it itself are staged, what would be three nested loops is one statement.

// MatrixFactor is a factor of a sum in words: the name of its value, and the type of the numbers in it.
type MatrixFactor struct {
	Name string
	Of   dtype.DType
}

// MatrixProducts takes a sum apart whose products the unit multiplies, or gives nil.
func (k *Kernel) MatrixProducts(u *uop.UOp) *Dotted {
	var d *Dotted
	m := k.Target.Matrix
	if m.Bytes {
		d = k.productsOf(u, 4, []dtype.DType{dtype.I8, dtype.U8}, dtype.I32, dtype.U32)
	}
	if d == nil && m.BFloat16 {
		d = k.productsOf(u, 2, []dtype.DType{dtype.BF16}, dtype.F32)
	}
	return d
}

// matrix carries out "matrix r0.a 4".
func (k *applier) matrix(m codegen.Directive) error {
	a, err := k.stepsAxis(m)
	if err != nil {
		return err
	}
	name := a.Owner
	d := k.MatrixProducts(k.Values[name])
	if d == nil || d.N != m.N {
		return fmt.Errorf("%s is no sum of products of numbers that the machine multiplies in words of %d", name, m.N)
	}
	var factors [2]MatrixFactor
	for i, f := range d.Factors {
		factors[i] = MatrixFactor{k.loadName(f.Load()) + WideSuffix, f.Load().DType()}
		if k.Values[factors[i].Name] != f.wide {
			return fmt.Errorf("the factors of %s have no names", name)
		}
	}
	n, blocks := codegen.MatrixBlocks(codegen.CeilDiv(codegen.Extent(a.Range), d.N))
	k.inWords(a, d, n*blocks, func(x, y *uop.UOp) *uop.UOp { return wordProduct(x, y, factors) })
	if k.Matrices == nil {
		k.Matrices = map[string][2]MatrixFactor{}
	}
	k.Matrices[name] = factors
	return nil
}

// wordProduct is the product of two words, as it is computed where no machine does it.
func wordProduct(x, y *uop.UOp, f [2]MatrixFactor) (sum *uop.UOp) {
	if f[0].Of == dtype.BF16 {
		return x.DotBF16(y)
	}
	part := func(u *uop.UOp, of dtype.DType, i int) *uop.UOp {
		if of == dtype.U8 {
			return u.Shr(u.Int(8 * i)).And(u.Int(255))
		}
		return u.Shl(u.Int(24 - 8*i)).Shr(u.Int(24))
	}
	for i := range 4 {
		p := part(x, f[0].Of, i).Mul(part(y, f[1].Of, i))
		if i > 0 {
			p = sum.Add(p)
		}
		sum = p
	}
	return sum
}
