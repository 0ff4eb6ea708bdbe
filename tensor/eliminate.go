package tensor

import (
	"math"

	"github.com/weft-ml/weft/dtype"
)

// Systems of equations by Gauss's and Jordan's method with row pivots: steps bring a matrix to the identity, and what stands
// beside it to the solution. A step takes its number from memory, so that all steps are the same computation.

// fewColumns is the size up to which matrices are not cut into blocks.
const fewColumns = 24

// eliminate solves a·x = b without derivatives. It gives, as a last axis, the pivots too, whose signs exchanges may have changed.
func eliminate(a, b *Tensor) (x, pivots *Tensor) {
	if a.Dim(-1) > fewColumns {
		return eliminateInBlocks(a, b)
	}
	return eliminateFew(a, b, false)
}

// eliminateFew is eliminate for few columns, where b may be nil. With past it goes on past a pivot that is 0 with nonZero in its place; as all
// that is left of the column is 0, the steps that follow are those of a matrix that differs by that much in one element.
func eliminateFew(a, b *Tensor, past bool) (x, pivots *Tensor) {
	n := a.Dim(-1)
	m := a
	if b != nil {
		m = Cat(-1, a, b)
	}
	m = m.Detach().Contiguous()
	row, place := m.row(), arange(n)
	pivots = Ones(append(m.batch(), n)...).To(m.DType())
	for _, at := range m.stepNumbers(n) {
		size := row.Lt(at).Where(-1, m.line(-1, at).Abs())
		best := m.like(largest(size.node(), size.Rank()-2).Part(1)).To(dtype.I32).Unsqueeze(-2)
		top := m.line(-2, best)
		sign := func(x *Tensor) *Tensor { return best.Eq(at).Where(x, x.Neg()) }
		pivots = place.Eq(at).Where(sign(top.line(-1, at)).Squeeze(-1), pivots).Contiguous()
		pivot := pivots.line(-1, at).Unsqueeze(-1)
		if past {
			pivot = nonZero(pivot)
		}
		top = top.Div(sign(pivot)).Contiguous()
		others := m.like(m.node().Gather(row.Eq(best).Where(at, row).Expand(m.Shape()...).node(), m.Rank()-2))
		times := row.Eq(at).Where(-1, others.line(-1, at))
		m = row.Eq(at).Where(0, others).Sub(times.Mul(top)).Contiguous()
	}
	return m.Narrow(-1, n, m.Dim(-1)-n), pivots
}

// nonZero has a number so small in the place of pivots that are 0 that it does not count beside others, and not so small that its square vanishes.
func nonZero(pivots *Tensor) *Tensor {
	e := -50
	switch pivots.DType() {
	case dtype.F64:
		e = -400
	case dtype.F16:
		e = -10
	}
	return pivots.Eq(0).Where(math.Ldexp(1, e), pivots).To(pivots.DType())
}

// inverse is the inverse without derivatives, and the pivots.
func (t *Tensor) inverse() (y, pivots *Tensor) { return t.inverted(false) }

// inversePast is inverse with nonZero pivots.
func (t *Tensor) inversePast() (y, pivots *Tensor) { return t.inverted(true) }

func (t *Tensor) inverted(past bool) (y, pivots *Tensor) {
	n := t.Dim(-1)
	if n <= fewColumns {
		return eliminateFew(t, t.identityLike(), past)
	}
	m, o := reduce(t, nil, past)
	order, pivots := o.found(n)
	y = m.like(m.node().Gather(order.Expand(m.Shape()...).node(), m.Rank()-2))
	steps := o.steps().Narrow(-1, 0, n).To(dtype.I32)
	return y.like(y.node().Gather(steps.Expand(m.Shape()...).node(), m.Rank()-1)).To(t.DType()), pivots.To(t.DType())
}

func eliminateInBlocks(a, b *Tensor) (x, pivots *Tensor) {
	n, kind := a.Dim(-1), a.DType()
	x, o := reduce(a, b, false)
	order, pivots := o.found(n)
	return x.like(x.node().Gather(order.Expand(x.Shape()...).node(), x.Rank()-2)).To(kind), pivots.To(kind)
}

// exchanges say which row an elimination took in which step; rows stay where they are. Of each row there are the step, n for
// those that had none yet, and the pivot: [… 2 n].
type exchanges struct {
	rows *Tensor
	past bool // see eliminateFew
}

func (o *exchanges) steps() *Tensor { return o.rows.Narrow(-2, 0, 1) }

// order are the rows of n steps, [… n 1].
func (o *exchanges) order(first *Tensor, n int) *Tensor {
	step := arange(n).Unsqueeze(1).Add(first).To(o.rows.DType())
	return o.steps().Eq(step).Where(o.rows.column(), 0).Sum(-1).To(dtype.I32).Unsqueeze(-1)
}

// found are the rows of all steps and the pivots.
func (o *exchanges) found(n int) (order, pivots *Tensor) {
	order = o.order(Full(0, dtype.I32, 1), n).Contiguous()
	pivots = o.rows.Narrow(-2, 1, 1).T()
	return order, pivots.like(pivots.node().Gather(order.node(), pivots.Rank()-2)).Squeeze(-1)
}

// determinantPivots are pivots whose product is the determinant: exchanges of rows, of which there are an odd number if as many pairs of
// rows are out of order, change its sign. Behind one that is 0 they go on.
func (t *Tensor) determinantPivots() *Tensor {
	n := t.Dim(-1)
	if n <= fewColumns {
		_, pivots := eliminateFew(t, nil, true)
		return pivots
	}
	_, o := reduce(t, t.Narrow(-1, 0, 0), true)
	order, pivots := o.found(n)
	place := arange(n)
	swapped := place.Unsqueeze(1).Lt(place).And(order.T().Lt(order))
	odd := swapped.To(dtype.I32).Sum(-1, -2).Unsqueeze(-1).Mod(2).Eq(1)
	return odd.And(place.Eq(0)).Where(pivots.Neg(), pivots).To(t.DType())
}

// reduce eliminates the columns of a in blocks. With b, it gives what b becomes, and else in the place of a what an identity beside it
// becomes: the inverse, in an order of rows and columns that the exchanges say. With b, that is done to parts of the columns, each of which
// is then the matrix that does all its steps at once in the columns behind it and in b.
func reduce(a, b *Tensor, past bool) (m *Tensor, o *exchanges) {
	n := a.Dim(-1)
	blocks, size := blocksOf(n)
	m = a.Detach()
	if m.DType().Size() < 4 { // they do not count so far
		m = m.To(dtype.F32)
	}
	m = m.Contiguous()
	place := arange(wholeLines(n))
	rows := place.Lt(n).Or(arange(2).Unsqueeze(1).Gt(0)).Where(n, -1).To(m.DType())
	o = &exchanges{rows.Expand(append(m.batch(), rows.Shape()...)...).Contiguous(), past}
	places, steps := m.everyPlace(blocks, size), m.stepNumbers(size)
	if b == nil {
		return o.inPlace(m, places, places, steps), o
	}
	b = b.Detach().To(m.DType()).Contiguous()
	for done := 0; done < blocks; {
		some := part(blocks - done)
		end := min(some*size, m.Dim(-1))
		rest := m.Narrow(-1, end, m.Dim(-1)-end)
		x := o.inPlace(m.Narrow(-1, 0, end).Contiguous(), places[done:done+some], places, steps)
		m, b = o.apply(x, rest, places[done], nil), o.apply(x, b, places[done], nil)
		done += some
	}
	return b, o
}

// inPlace eliminates the columns of m in blocks, as the steps that begin with some numbers. There stands then what the columns of the
// identity become that these steps are.
func (o *exchanges) inPlace(m *Tensor, firsts, places, steps []*Tensor) *Tensor {
	size := len(steps)
	for i, first := range firsts {
		x := o.panel(m, first, places[i], steps, min(size, m.Dim(-1)-i*size))
		m = o.apply(x.T(), m, first, places[i])
	}
	return m
}

// panel eliminates some columns that begin at a place, as the steps that begin with a number. Of these columns, which lie
// as rows, each step leaves what its column of the identity becomes; so at the end they are the matrix that does all steps at once. The
// exchanges are two more rows, so that a step is one computation.
func (o *exchanges) panel(m, first, at *Tensor, steps []*Tensor, some int) *Tensor {
	n, size := m.Dim(-2), len(steps)
	p := Cat(-2, m.block(-1, at, size).T().wider(0, wholeLines(n)-n), o.rows).Contiguous()
	for i, k := range steps[:some] {
		p = p.eliminateColumn(n, k, k.Add(first), o.past)
		if i%stepsAtOnce == stepsAtOnce-1 {
			p = p.Contiguous()
		}
	}
	p = p.Contiguous()
	o.rows = p.Narrow(-2, size, 2)
	return p.Narrow(-2, 0, size).Narrow(-1, 0, n)
}

// stepsAtOnce is how many columns are eliminated before the result is stored. What the next of them needs is computed again for its pivot.
const stepsAtOnce = 2

// eliminateColumn is a step of panel: that of the column in row k, with a number.
func (p *Tensor) eliminateColumn(n int, k, step *Tensor, past bool) *Tensor {
	row, place, size := p.row(), p.column(), p.Dim(-2)-2
	line := p.line(-2, k)
	open := p.Narrow(-2, size, 1).Eq(n).Where(line.Abs(), -1)
	best := p.like(largest(open.node(), open.Rank()-1).Part(1)).To(dtype.I32).Unsqueeze(-1)
	column := p.line(-1, best)
	pivot := column.line(-2, k)
	by := pivot
	if past {
		by = nonZero(pivot)
	}
	times := row.Eq(k).Where(1, column).Div(by)
	here := place.Eq(best)
	rest := here.Or(row.Eq(k)).Where(0, p).Sub(times.Mul(here.Where(-1, line)))
	found := firstRows(size+1, here.Where(step.To(p.DType()), p), here.Where(pivot, p))
	return firstRows(size, rest, found)
}

// apply does steps in m that begin with a number, of which x is what their columns of the identity become. Where these stand in m, there
// stands then that.
func (o *exchanges) apply(x, m, first, at *Tensor) *Tensor {
	size := x.Dim(-1)
	within := func(x, lo *Tensor) *Tensor { return x.Lt(lo).LogicalNot().And(x.Lt(lo.Add(size))) }
	tops := m.like(m.node().Gather(o.order(first, size).Expand(with(m.shape(), m.Rank()-2, size)...).node(), m.Rank()-2))
	gone := within(o.steps().Narrow(-1, 0, m.Dim(-2)).T().To(dtype.I32), first)
	if at != nil {
		own := within(m.column(), at)
		tops = own.Where(m.column().Sub(at).Eq(arange(size).Unsqueeze(1)), tops).To(m.DType())
		gone = gone.Or(own)
	}
	return gone.Where(0, m).Add(x.MatMul(tops.Contiguous())).Contiguous()
}
