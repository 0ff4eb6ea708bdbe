package tensor

import (
	"math"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// TriangleIndices are the rows and columns (int32, [2, count]) of the lower or upper triangle of a matrix, up to or
// from the given diagonal.
func TriangleIndices(rows, columns, diagonal int, lower bool) *Tensor {
	checkSizes("TriangleIndices", []int{rows, columns})
	diagonal = min(max(diagonal, -rows), columns) // those further out are the same
	if lower {
		diagonal = columns - rows - diagonal
	}
	row, column := upperTriangle(rows, columns, diagonal, lower)
	return Stack(0, row, column)
}

// mostFalling is how long rows may be of which numbers of elements are computed with in 32 bits.
const mostFalling = 46000

// upperTriangle are the rows and columns of an upper triangle, row by row; turned, those of the lower triangle that it is when seen from the
// last element. First come rows that are whole, then others, each of which is one shorter than the one before.
func upperTriangle(rows, columns, diagonal int, turned bool) (row, column *Tensor) {
	whole := min(max(-diagonal, 0), rows)
	longest := columns - max(diagonal, 0)
	falling := min(rows-whole, longest)
	before, count := whole*columns, whole*columns+falling*longest-falling*(falling-1)/2
	at := arange(count)
	if turned {
		at = at.RSub(count - 1)
	}
	if longest <= mostFalling {
		row, column = fromPeak(at.RSub(before+longest*(longest+1)/2-1), longest)
	} else {
		row, column = rowByRow(at.Sub(before), longest, falling)
	}
	row, column = row.Add(whole), column.Add(columns-longest)
	if before > 0 {
		in := at.Lt(before)
		row, column = in.Where(at.FloorDiv(columns), row), in.Where(at.Mod(columns), column)
	}
	if turned {
		row, column = row.RSub(rows-1), column.RSub(columns-1)
	}
	return row, column
}

// fromPeak are the rows and columns of the elements of a triangle whose longest row comes first, counted from the last row, which has one:
// before the one with q + 1 lie q·(q+1)/2, so q is about √(2·at), and as that is rounded, the number is looked at.
func fromPeak(at *Tensor, longest int) (row, column *Tensor) {
	before := func(q *Tensor) *Tensor { return q.Mul(q.Add(1)).Shr(1) }
	q := at.To(dtype.F32).Mul(8).Add(1).Sqrt().Sub(1).Mul(0.5).To(dtype.I32)
	q = q.Add(before(q.Add(1)).RSub(at).Shr(31).Add(1)) // as many more elements are reached, or not: −1 is the sign
	q = q.Add(at.Sub(before(q)).Shr(31))
	return q.RSub(longest - 1), at.Sub(before(q)).RSub(longest - 1)
}

// rowByRow are the same of elements counted from the first one, for few rows.
func rowByRow(at *Tensor, longest, rows int) (row, column *Tensor) {
	checkParts("TriangleIndices", uop.Shape{rows, longest}, rows)
	row, column = Zeros().To(dtype.I32).Expand(at.Dim(0)), at
	for r, first := 1, longest; r < rows; r++ {
		in := at.Ge(first)
		row, column = in.Where(r, row), in.Where(at.Sub(first-r), column)
		first += longest - r
	}
	return row, column
}

// PDist are the p-norms of the differences of all pairs of rows: of n rows n·(n−1)/2 distances, those of the first row first.
func (t *Tensor) PDist(p float64) *Tensor {
	if t.Rank() != 2 {
		fail("PDist", shapesOf(t), "needs rows: two axes")
	}
	n := t.Dim(0)
	places := dtype.I32
	if n > 0 && n > math.MaxInt32/n {
		places = dtype.I64
	}
	distances := func(in ...*Tensor) []*Tensor { return []*Tensor{in[0].CDist(in[1], p)} }
	packed := func(in ...*Tensor) []*Tensor {
		row, column := upperTriangle(n, n, 1, false)
		at := row.To(places).Mul(n).Add(column.To(places))
		all := distances(in[0], in[0])[0].Reshape(n * n)
		return []*Tensor{all.pickInside("PDist", 0, all.like(at.node()))}
	}
	// Each row is the first of some pairs and the second of others, and the gradient of a distance is that of the other row with another sign.
	gradient := func(in, _, seeds []*Tensor) []*Tensor {
		list := arange(n).To(places)
		before := list.Mul(list.RSub(2*n - 3)).Shr(1).Sub(1).Contiguous() // and the second of a pair: its place
		i, j := list.Unsqueeze(1), list.Unsqueeze(0)
		at := i.Lt(j).Where(before.Unsqueeze(1).Add(j), before.Unsqueeze(0).Add(i)).Reshape(n * n)
		all := seeds[0].pickInside("PDist", 0, seeds[0].like(at.node())).Reshape(n, n)
		_, pull := VJP(distances, in[0], in[0])
		return []*Tensor{pull(i.Ne(j).Where(all, 0))[0]}
	}
	return Function("PDist", packed, FunctionOptions{Gradient: gradient})(t)[0]
}
