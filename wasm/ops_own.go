package main

import (
	"math"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/nn/recurrent"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/wasm/wire"
)

// Operations that are not one function of package tensor, and those whose arguments mean something of their own.

// opTensor takes a typed array, its shape and a type to convert to.
func opTensor(c *call) one {
	a, ok := c.next().(wire.Array)
	if !ok {
		c.fail("the elements are not a typed array")
	}
	shape := c.integers()
	from, ok := dtype.Parse(a.Type)
	if !ok {
		c.fail("there is no element type %q", a.Type)
	}
	x := tensor.FromBytes(from, shape, a.Data)
	if v := c.next(); v != nil {
		c.taken--
		return x.To(c.dtype())
	}
	return x
}

func opEye(c *call) one {
	n := c.integer()
	m := c.integer(n)
	return c.converted(tensor.Eye(n, m))
}

func opArange(c *call) one {
	if len(c.args) > 1 {
		if list, ok := isSize(c.args[1]); ok {
			if from, step := c.operand(), c.args[2]; from != any(0) || step != any(1.) {
				c.fail("up to a size that varies, numbers are 0, 1, …")
			}
			c.taken += 2
			return c.converted(tensor.Arange(c.size(list)))
		}
	}
	lo, hi, step := c.operand(), c.operand(), c.operand()
	return tensor.ArangeOf(c.dtype(), lo, hi, step)
}

func opUniform(c *call) one {
	shape, lo, hi := c.integers(), c.number(), c.number()
	return c.converted(tensor.Uniform(lo, hi, shape...))
}

func opNormal(c *call) one {
	shape, mean, std := c.integers(), c.number(), c.number()
	return c.converted(tensor.Normal(mean, std, shape...))
}

func opEinsum(c *call) one {
	formula := c.text()
	return tensor.Einsum(formula, c.tensors()...)
}

func opNanToNum(c *call) one {
	x, nan := c.tensor(), c.number()
	greatest := 0. // integers have neither
	if x.IsFloat() {
		greatest = x.Greatest()
	}
	return x.NanToNum(nan, c.number(greatest), c.number(-greatest))
}

func opOneHot(c *call) one {
	x, n := c.tensor(), c.integer()
	if n == -1 {
		return c.got(x.OneHotMax(c.ctx))
	}
	return x.OneHot(n)
}

func opSoftplus(c *call) one {
	x, beta := c.tensor(), c.number()
	if limit := c.number(math.NaN()); limit == limit {
		return x.SoftplusUpTo(beta, limit)
	}
	return x.Softplus(beta)
}

// adding takes axes, whether they are kept, and the type to compute in.
func (c *call) adding(plain func(one, ...int) one, of func(one, dtype.DType, ...int) one) one {
	x, axes, keep := c.tensor(), c.integers(), c.truth()
	if d := c.dtype(); d != dtype.Void {
		return kept(keep, x, of(x, d, axes...), axes)
	}
	return kept(keep, x, plain(x, axes...), axes)
}

func opSum(c *call) one  { return c.adding(one.Sum, one.SumOf) }
func opProd(c *call) one { return c.adding(one.Prod, one.ProdOf) }

// running takes an axis and the type to compute in.
func (c *call) running(plain func(one, int) one, of func(one, dtype.DType, int) one) one {
	x, axis := c.tensor(), c.integer()
	if d := c.dtype(); d != dtype.Void {
		return of(x, d, axis)
	}
	return plain(x, axis)
}

func opCumSum(c *call) one  { return c.running(one.CumSum, one.CumSumOf) }
func opCumProd(c *call) one { return c.running(one.CumProd, one.CumProdOf) }

func opNorm(c *call) one {
	x, p, axes := c.tensor(), c.number(), c.integers()
	return kept(c.truth(), x, x.Norm(p, axes...), axes)
}

func opKthValue(c *call) some {
	x, k, axis, keep := c.tensor(), c.integer(), c.integer(-1), c.truth()
	values, indices := x.KthValue(k, axis)
	return two(kept(keep, x, values, []int{axis}), kept(keep, x, indices, []int{axis}))
}

// opQuantile gives the new first axis for a list of shares only.
func opQuantile(c *call) one {
	x, single := c.tensor(), false
	if c.taken < len(c.args) {
		_, single = c.args[c.taken].(float64)
	}
	q, axis, how := c.numbers(), c.integer(), tensor.Interpolation(c.word())
	skip, f := c.truth(), one.Quantile
	if c.truth() {
		f = one.QuantileKeep
	}
	y := f(x, q, axis, how, skip)
	if single {
		y = y.Select(0, 0)
	}
	return y
}

func opTrapezoid(c *call) one {
	x, dx, at, axis := c.tensor(), c.number(), c.tensor(), c.integer()
	if at != nil {
		return x.TrapezoidAt(at, axis)
	}
	return x.Trapezoid(dx, axis)
}

func opCumulativeTrapezoid(c *call) one {
	x, dx, at, axis := c.tensor(), c.number(), c.tensor(), c.integer()
	if at != nil {
		return x.CumulativeTrapezoidAt(at, axis)
	}
	return x.CumulativeTrapezoid(dx, axis)
}

// opUnique gives the values, where each element is among them, and how often each stands there.
func opUnique(c *call) some {
	x, axes := c.tensor(), c.integers()
	var u tensor.Uniques
	var err error
	switch runs := c.truth(); {
	case runs && len(axes) > 0:
		u, err = x.UniqueRunsAlong(c.ctx, axes[0])
	case runs:
		u, err = x.UniqueRuns(c.ctx)
	case len(axes) > 0:
		u, err = x.UniqueAlong(c.ctx, axes[0])
	default:
		u, err = x.Unique(c.ctx)
	}
	if err != nil {
		panic(raised{err})
	}
	return three(u.Values, u.Inverse, u.Counts)
}

func opPad(c *call) one {
	x, lo, hi, v := c.tensor(), c.integers(), c.integers(), c.operand()
	switch how := tensor.PadMode(c.word()); {
	case how != tensor.Zero:
		return x.PadMode(how, lo, hi)
	case v == any(0):
		return x.Pad(lo, hi)
	}
	return x.PadWith(v, lo, hi)
}

func opDiagonal(c *call) one {
	x, offset, first, second := c.tensor(), c.integer(), c.integer(), c.integer()
	if first == -2 && second == -1 {
		return x.Diagonal(offset)
	}
	return x.DiagonalOf(offset, first, second)
}

func opAt(c *call) one {
	x := c.tensor()
	return x.At(c.index()...)
}

func opWithAt(c *call) one {
	x, v := c.tensor(), c.operand()
	return x.WithAt(v, c.index()...)
}

func opSetAt(c *call) one {
	x, v := c.tensor(), c.operand()
	return x.SetAt(v, c.index()...)
}

func opAssign(c *call) one {
	x := c.tensor()
	return x.Assign(c.operand())
}

func opOwn(c *call) one { return c.tensor().Own() }

// opGrad is told whether it is for the step of an optimiser, which is an error where x depends on none of ws.
func opGrad(c *call) some {
	x, ws, seed := c.tensor(), c.tensors(), c.tensor()
	if seed != nil {
		return x.GradWith(seed, ws...)
	}
	gs, reached := x.GradReached(ws...)
	if step, _ := c.next().(bool); step && !slices.Contains(reached, true) {
		c.fail("the loss depends on none of the optimiser's %d parameters, so nothing would be trained; make the optimiser for the model that the loss is computed with", len(ws))
	}
	return gs
}

// planar are windows over two axes, also of one size.
func (c *call) planar() tensor.Pool {
	p := c.pool()
	if p.Axes == 0 {
		p.Axes = 2
	}
	return p
}

func opMaxPool2d(c *call) one {
	x := c.tensor()
	return x.MaxPool(c.planar())
}

func opAvgPool2d(c *call) one {
	x := c.tensor()
	return x.AvgPool(c.planar())
}

// opRecurrent runs layers of cells over a sequence and gives the outputs, the last states and, of LSTM, the last cells. The weights
// are, for each layer and direction, those of inputs and of states, their biases if there are, and a projection if that is all.
func opRecurrent(c *call) some {
	x, weights := c.tensor(), c.tensors()
	kind, layers, both := recurrent.CellKind(c.word()), c.integer(), c.truth()
	r := &recurrent.Recurrent{BatchFirst: c.truth(), Dropout: c.number()}
	biases, start := c.truth(), recurrent.States{}
	start.H, start.C = c.tensor(), c.tensor()
	ways := 1
	if both {
		ways = 2
	}
	full := 2 // weights of a cell without projection
	if biases {
		full = 4
	}
	n := layers * ways
	if n < 1 || len(weights)%n != 0 || len(weights)/n < full || len(weights)/n > full+1 {
		c.fail("%d weights do not make %d cells with %d or %d each", len(weights), n, full, full+1)
	}
	each := len(weights) / n
	for range layers {
		var cells []*recurrent.Cell
		for range ways {
			cell := &recurrent.Cell{Kind: kind, Input: weights[0], Hidden: weights[1]}
			if biases {
				cell.InputBias, cell.HiddenBias = weights[2], weights[3]
			}
			if each > full {
				cell.Projection = weights[full]
			}
			cells, weights = append(cells, cell), weights[each:]
		}
		r.Layers = append(r.Layers, cells)
	}
	y, last := r.Forward(x, start, true)
	if last.C == nil {
		return two(y, last.H)
	}
	return three(y, last.H, last.C)
}
