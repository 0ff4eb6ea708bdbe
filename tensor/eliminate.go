package tensor

import (
	"github.com/weft-ml/weft/dtype"
)

// Systems of equations by Gauss's and Jordan's method with row pivots: steps bring a matrix to the identity, and what stands
// beside it to the solution. A step takes its number from memory, so that all steps are the same computation.

// eliminate solves a·x = b, where b may be nil, without derivatives. It gives, as a last axis, the pivots too, signed by the exchanges.
func eliminate(a, b *Tensor) (x, pivots *Tensor) {
	n := a.Dim(-1)
	if n > unblocked {
		return eliminateInBlocks(a, b)
	}
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
		top = top.Div(sign(pivots.line(-1, at).Unsqueeze(-1))).Contiguous()
		others := m.like(m.node().Gather(row.Eq(best).Where(at, row).Expand(m.Shape()...).node(), m.Rank()-2))
		times := row.Eq(at).Where(-1, others.line(-1, at))
		m = row.Eq(at).Where(0, others).Sub(times.Mul(top)).Contiguous()
	}
	return m.Narrow(-1, n, m.Dim(-1)-n), pivots
}

// inverse is the inverse without derivatives, and the pivots.
func (t *Tensor) inverse() (y, pivots *Tensor) {
	n := t.Dim(-1)
	if n <= unblocked {
		return eliminate(t, t.identityLike())
	}
	m, o := reduce(t, nil)
	order, pivots := o.found(n)
	y = m.like(m.node().Gather(order.Expand(m.Shape()...).node(), m.Rank()-2))
	steps := o.steps().Narrow(-1, 0, n).To(dtype.I32)
	return y.like(y.node().Gather(steps.Expand(m.Shape()...).node(), m.Rank()-1)).To(t.DType()), pivots.To(t.DType())
}

func eliminateInBlocks(a, b *Tensor) (x, pivots *Tensor) {
	n, kind := a.Dim(-1), a.DType()
	if b == nil {
		b = a.Narrow(-1, 0, 0)
	}
	x, o := reduce(a, b)
	order, pivots := o.found(n)
	return x.like(x.node().Gather(order.Expand(x.Shape()...).node(), x.Rank()-2)).To(kind), pivots.To(kind)
}

// exchanges say which row an elimination took in which step; rows stay where they are. Of each row there are the step, n for
// those that had none yet, the pivot, and what of the row of the last step is to be taken from it: [… 3 n].
type exchanges struct{ rows *Tensor }

func (o *exchanges) steps() *Tensor  { return o.rows.Narrow(-2, 0, 1) }
func (o *exchanges) ratios() *Tensor { return o.rows.Narrow(-2, 2, 1) }

// order are the rows of n steps, [… n 1].
func (o *exchanges) order(first *Tensor, n int) *Tensor {
	step := arange(n).Unsqueeze(1).Add(first).To(o.rows.DType())
	return o.steps().Eq(step).Where(o.rows.column(), 0).Sum(-1).To(dtype.I32).Unsqueeze(-1).Contiguous()
}

// found are the rows of all steps and the pivots, whose product has the sign that exchanging the rows gives it.
func (o *exchanges) found(n int) (order, pivots *Tensor) {
	order = o.order(Full(0, dtype.I32, 1), n)
	place := arange(n)
	swapped := place.Unsqueeze(1).Lt(place).And(order.T().Lt(order))
	odd := swapped.To(dtype.I32).Sum(-1, -2).Unsqueeze(-1).Mod(2).Eq(1)
	pivots = o.rows.Narrow(-2, 1, 1).T()
	pivots = pivots.like(pivots.node().Gather(order.node(), pivots.Rank()-2)).Squeeze(-1)
	return order, odd.And(place.Eq(0)).Where(pivots.Neg(), pivots)
}

// reduce eliminates the columns of a in blocks. With b, it gives what b becomes, and else in the place of a what an identity beside it
// becomes: the inverse, in an order of rows and columns that the exchanges say.
func reduce(a, b *Tensor) (m *Tensor, o *exchanges) {
	n := a.Dim(-1)
	blocks, size := blocksOf(n)
	m = a.Detach()
	if m.DType().Size() < 4 { // they do not count so far
		m = m.To(dtype.F32)
	}
	if b != nil {
		b = b.Detach().To(m.DType())
	}
	m = m.Contiguous()
	place := arange(wholeLines(n))
	rows := place.Lt(n).Or(arange(3).Unsqueeze(1).Gt(0)).Where(n, -1).To(m.DType())
	o = &exchanges{rows.Expand(append(m.batch(), rows.Shape()...)...).Contiguous()}
	places, steps := m.everyPlace(blocks, size), m.stepNumbers(size)
	for done := 0; done < blocks; {
		some := blocks
		if b != nil {
			some = part(blocks - done)
		}
		for i, at := range places[:some] {
			first := places[done+i]
			x := o.panel(m, first, at, steps, min(size, n-(done+i)*size))
			order := o.order(first, size)
			if b != nil {
				b = o.apply(x, b, order, first, nil)
			}
			m = o.apply(x, m, order, first, at)
		}
		done += some
		if at := some * size; b != nil && at < m.Dim(-1) {
			m = m.Narrow(-1, at, m.Dim(-1)-at).Contiguous()
		}
	}
	if b != nil {
		return b, o
	}
	return m, o
}

// panel eliminates some columns that begin at a place, as the steps that begin with a number. Of these columns, which lie
// as rows, each step leaves what its column of the identity becomes; so at the end they are the matrix that does all steps at once.
func (o *exchanges) panel(m, first, at *Tensor, steps []*Tensor, some int) *Tensor {
	n, kind := m.Dim(-2), m.DType()
	p := m.block(-1, at, len(steps)).Contiguous().T().Contiguous().wider(0, wholeLines(n)-n).Contiguous()
	row, place, which := p.row(), p.column(), arange(3).Unsqueeze(1)
	for _, k := range steps[:some] {
		line := p.line(-2, k)
		size := o.steps().Eq(n).Where(line.Abs(), -1)
		best := p.like(largest(size.node(), size.Rank()-1).Part(1)).To(dtype.I32).Unsqueeze(-1).Contiguous()
		here, pivot := place.Eq(best), line.line(-1, best)
		found := here.Where(which.Eq(0).Where(k.Add(first).To(kind), pivot), o.rows)
		o.rows = which.Eq(2).Where(here.Where(-1, line).Div(pivot), found).Contiguous()
		top := row.Eq(k).Where(1, p.line(-1, best))
		p = here.Or(row.Eq(k)).Where(0, p).Sub(top.Mul(o.ratios())).Contiguous()
	}
	return p.Narrow(-1, 0, n)
}

// apply does the steps of a panel in m. If its columns begin at a place of m, there stands then what the identity's columns become.
func (o *exchanges) apply(panel, m, order, first, at *Tensor) *Tensor {
	size := panel.Dim(-2)
	within := func(x, lo *Tensor) *Tensor { return x.Lt(lo).LogicalNot().And(x.Lt(lo.Add(size))) }
	tops := m.like(m.node().Gather(order.Expand(with(m.shape(), m.Rank()-2, size)...).node(), m.Rank()-2))
	gone := within(o.steps().Narrow(-1, 0, m.Dim(-2)).T().To(dtype.I32), first)
	if at != nil {
		own := within(m.column(), at)
		tops = own.Where(m.column().Sub(at).Eq(arange(size).Unsqueeze(1)), tops).To(m.DType())
		gone = gone.Or(own)
	}
	return gone.Where(0, m).Add(panel.T().MatMul(tops.Contiguous())).Contiguous()
}
