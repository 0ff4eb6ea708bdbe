package torchops

import (
	"context"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

var reductions = map[string]tensor.Merging{"sum": tensor.MergeSum, "add": tensor.MergeSum, "prod": tensor.MergeProd,
	"multiply": tensor.MergeProd, "mean": tensor.MergeMean, "amax": tensor.MergeMax, "amin": tensor.MergeMin}

// merging is how elements meet at one place.
func (c *call) merging() tensor.Merging {
	return choice(c, "reduce", reductions)
}

var indexOps = map[string]op{
	"torch.gather": one("input, dim, index, *, sparse_grad=False", func(c *call) T {
		return scalar(c.T("index"), vector(c.T("input")).Gather(c.Int("dim"), vector(c.T("index"))))
	}),
	"torch.take_along_dim": one("input, indices, dim=None", takeAlong),
	"torch.index_select": one("input, dim, index", func(c *call) T {
		return scalar(c.T("input"), vector(c.T("input")).IndexSelect(c.Int("dim"), c.T("index")))
	}),
	"torch.scatter": one("input, dim, index, src, *, reduce=None", scatter),
	"torch.scatter_add": one("input, dim, index, src", func(c *call) T {
		return scalar(c.T("input"), vector(c.T("input")).ScatterAdd(c.Int("dim"), vector(c.T("index")), vector(c.T("src"))))
	}),
	"torch.scatter_reduce": one("input, dim, index, src, reduce, *, include_self=True", func(c *call) T {
		y := vector(c.T("input")).ScatterReduce(c.Int("dim"), vector(c.T("index")), vector(c.T("src")), c.merging(), c.Bool("include_self"))
		return scalar(c.T("input"), y)
	}),
	"torch.index_add": one("input, dim, index, source, *, alpha=1", func(c *call) T {
		return scalar(c.T("input"), vector(c.T("input")).IndexAdd(c.Int("dim"), vector(c.T("index")), vector(c.T("source")), c.Operand("alpha")))
	}),
	"torch.index_copy": one("input, dim, index, source", func(c *call) T {
		return scalar(c.T("input"), vector(c.T("input")).IndexCopy(c.Int("dim"), vector(c.T("index")), vector(c.T("source"))))
	}),
	"torch.index_fill": one("input, dim, index, value", func(c *call) T {
		if c.IsTensor("value") && c.T("value").Rank() > 0 {
			c.refuse("a value with %d axes", c.T("value").Rank())
		}
		return scalar(c.T("input"), vector(c.T("input")).IndexFill(c.Int("dim"), vector(c.T("index")), c.Operand("value")))
	}),
	"torch.index_reduce": one("input, dim, index, source, reduce, *, include_self=True", func(c *call) T {
		if c.Str("reduce") == "sum" {
			c.refuse("index_add adds up")
		}
		y := vector(c.T("input")).IndexReduce(c.Int("dim"), vector(c.T("index")), vector(c.T("source")), c.merging(), c.Bool("include_self"))
		return scalar(c.T("input"), y)
	}),
	"torch.index_put":             one("input, indices, values, accumulate=False", indexPut),
	"torch.masked_select":         one("input, mask", maskedSelect),
	"torch.Tensor.masked_scatter": one("input, mask, source", func(c *call) T { return c.T("input").MaskedScatter(c.T("mask"), c.T("source")) }),
	"torch.nonzero":               {"input, *, as_tuple=False", nonzero},
	"torch.argwhere":              {"input", nonzero},
	"torch.unique":                {"input, sorted=True, return_inverse=False, return_counts=False, dim=None", unique(T.Unique, T.UniqueAlong)},
	"torch.unique_consecutive":    {"input, return_inverse=False, return_counts=False, dim=None", unique(T.UniqueRuns, T.UniqueRunsAlong)},
	"torch.bincount": one("input, weights=None, minlength=0", func(c *call) T {
		y, err := c.T("input").BinCount(c.dev.ctx, c.OptT("weights"), c.Int("minlength"))
		c.fails(err)
		return y
	}),
	"torch.bucketize": one("input, boundaries, *, out_int32=False, right=False", func(c *call) T {
		return c.T("boundaries").SearchSorted(c.left("input", "boundaries"), c.Bool("right"))
	}),
	"torch.searchsorted": one("sorted_sequence, input|values, *, out_int32=False, right=False, side=None, sorter=None", searchSorted),
	"torch.isin":         one("elements, test_elements, *, assume_unique=False, invert=False", isIn),
	"torch.histc":        one("input, bins=100, min=0, max=0", histc),
	"torch.histogram":    two("input, bins, *, range=None, weight=None, density=False", histogram),
	functional + "embedding": one("input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False", func(c *call) T {
		return c.T("weight").Embedding(c.T("input"), c.embedding())
	}),
	functional + "embedding_bag": one("input, weight, offsets=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, mode='mean', sparse=False, per_sample_weights=None, include_last_offset=False, padding_idx=None", embeddingBag),
	functional + "one_hot": one("input, num_classes=-1", func(c *call) T {
		if n := c.Int("num_classes"); n != -1 {
			return c.T("input").OneHot(n)
		}
		y, err := c.T("input").OneHotMax(c.dev.ctx)
		c.fails(err)
		return y
	}),
	"torch.Tensor.__getitem__": one("self, index_list|index", func(c *call) T {
		return c.T("self").At(c.index("index_list")...)
	}),
	"torch.Tensor.__setitem__": one("self, index_list|index, value", func(c *call) T {
		return c.T("self").WithAt(c.Operand("value"), c.index("index_list")...)
	}),
	"torch.Tensor.item": {"self", func(c *call) []any {
		v, err := c.T("self").Item(c.dev.ctx)
		c.fails(err)
		if c.T("self").DType() == dtype.Bool {
			return []any{v != 0}
		}
		return []any{v}
	}},
	"torch.sort":                 two("input, dim=-1, descending=False, stable=False", func(c *call) (T, T) { return c.T("input").Sort(c.Int("dim"), c.Bool("descending")) }),
	"torch.argsort":              one("input, dim=-1, descending=False, stable=False", func(c *call) T { return c.T("input").ArgSort(c.Int("dim"), c.Bool("descending")) }),
	"torch.topk":                 two("input, k, dim=-1, largest=True, sorted=True", func(c *call) (T, T) { return c.T("input").TopK(c.Int("k"), c.Int("dim"), c.Bool("largest")) }),
	"torch.msort":                one("input", func(c *call) T { v, _ := c.T("input").Sort(0, false); return v }),
	"torch.kthvalue":             {"input, k, dim=-1, keepdim=False", func(c *call) []any { return c.kept(pair(c.T("input").KthValue(c.Int("k"), c.Int("dim")))...) }},
	"torch.mode":                 {"input, dim=-1, keepdim=False", func(c *call) []any { return c.kept(pair(c.T("input").Mode(c.Int("dim")))...) }},
	"torch.cumsum":               one("input, dim, *, dtype=None", func(c *call) T { return c.asked(c.inType("input").CumSum(c.Int("dim"))) }),
	"torch.cumprod":              one("input, dim, *, dtype=None", func(c *call) T { return c.asked(c.inType("input").CumProd(c.Int("dim"))) }),
	"torch.cummax":               two("input, dim", func(c *call) (T, T) { return c.T("input").CumMax(c.Int("dim")) }),
	"torch.cummin":               two("input, dim", func(c *call) (T, T) { return c.T("input").CumMin(c.Int("dim")) }),
	"torch.logcumsumexp":         one("input, dim", func(c *call) T { return c.T("input").LogCumSumExp(c.Int("dim")) }),
	"torch.trapezoid":            one("y, x=None, *, dx=1, dim=-1", trapezoid(T.Trapezoid, T.TrapezoidAt)),
	"torch.cumulative_trapezoid": one("y, x=None, *, dx=1, dim=-1", trapezoid(T.CumulativeTrapezoid, T.CumulativeTrapezoidAt)),
}

func pair(a, b T) []T { return []T{a, b} }

func trapezoid(even func(y T, dx float64, axis int) T, at func(y, x T, axis int) T) func(c *call) T {
	return func(c *call) T {
		if x := c.OptT("x"); x != nil {
			return at(c.T("y"), x, c.Int("dim"))
		}
		return even(c.T("y"), c.Float("dx"), c.Int("dim"))
	}
}

func takeAlong(c *call) T {
	if c.None("dim") {
		return c.T("input").Flatten().TakeAlong(0, c.T("indices").Flatten())
	}
	return c.T("input").TakeAlong(c.Int("dim"), c.T("indices"))
}

func scatter(c *call) T {
	how := tensor.MergeLast
	if !c.None("reduce") {
		how = c.merging()
	}
	src := c.Operand("src")
	if t, ok := src.(T); ok {
		src = vector(t)
	}
	return scalar(c.T("input"), vector(c.T("input")).ScatterReduce(c.Int("dim"), vector(c.T("index")), src, how, true))
}

func indexPut(c *call) T {
	var index []T
	for _, x := range c.Ts("indices") {
		index = append(index, c.places(x)...)
	}
	return c.T("input").IndexPut(index, c.T("values"), c.Bool("accumulate"))
}

// places turns a bool index into the index tensors that it stands for; others stay.
func (c *call) places(x T) []T {
	if x.DType() != dtype.Bool {
		return []T{x}
	}
	at, err := x.NonZero(c.dev.ctx)
	c.fails(err)
	return at.Unbind(1)
}

func maskedSelect(c *call) T {
	y, err := c.T("input").MaskedSelect(c.dev.ctx, c.T("mask"))
	c.fails(err)
	return y
}

func nonzero(c *call) []any {
	y, err := c.T("input").NonZero(c.dev.ctx)
	c.fails(err)
	if c.vals["as_tuple"] == true {
		return outputs(y.Unbind(1)...)
	}
	return []any{y}
}

type (
	uniqueAll   func(x T, ctx context.Context) (tensor.Uniques, error)
	uniqueAlong func(x T, ctx context.Context, axis int) (tensor.Uniques, error)
)

func unique(all uniqueAll, along uniqueAlong) func(c *call) []any {
	return func(c *call) []any {
		var u tensor.Uniques
		var err error
		if c.None("dim") {
			u, err = all(c.T("input"), c.dev.ctx)
		} else {
			u, err = along(c.T("input"), c.dev.ctx, c.Int("dim"))
		}
		c.fails(err)
		out := []any{u.Values}
		if c.Bool("return_inverse") {
			out = append(out, u.Inverse)
		}
		if c.Bool("return_counts") {
			out = append(out, u.Counts)
		}
		return out
	}
}

func searchSorted(c *call) T {
	if !c.None("sorter") {
		s := c.T("sorted_sequence")
		if !sameShape(s, c.T("sorter")) {
			c.refuse("a sorter of another shape")
		}
		return s.Gather(-1, c.T("sorter")).SearchSorted(c.left("input", "sorted_sequence"), c.afterEqual())
	}
	return c.T("sorted_sequence").SearchSorted(c.left("input", "sorted_sequence"), c.afterEqual())
}

func (c *call) afterEqual() bool {
	if side := c.value("side"); side != nil && side != "left" && side != "right" {
		c.refuse("side %v", side)
	}
	if c.Bool("right") && c.value("side") == "left" {
		c.refuse("right, and the side left")
	}
	return c.Bool("right") || c.value("side") == "right"
}

func isIn(c *call) T {
	x := c.left("elements", "test_elements")
	y := x.IsIn(c.left("test_elements", "elements"))
	if c.Bool("invert") {
		return y.LogicalNot()
	}
	return y
}

func histc(c *call) T {
	x := c.T("input")
	return x.Histogram(x.HistogramEdges(c.Int("bins"), c.Float("min"), c.Float("max"), true), nil)
}

func histogram(c *call) (T, T) {
	x := c.T("input")
	var edges T
	if c.IsTensor("bins") {
		edges = c.T("bins")
	} else {
		r := []float64{0, 0}
		if !c.None("range") {
			r = c.Floats("range")
		}
		edges = x.HistogramEdges(c.Int("bins"), r[0], r[1], false)
	}
	h := x.Histogram(edges, c.OptT("weight"))
	if c.Bool("density") {
		h = h.Div(h.Sum()).Div(edges.Diff(1, 0))
	}
	return h, edges
}

// embedding reads the options of an embedding; a negative padding row counts from the end.
func (c *call) embedding() tensor.EmbeddingOptions {
	o := tensor.EmbeddingOptions{NormType: c.Float("norm_type"), ScaleByFreq: c.Bool("scale_grad_by_freq")}
	o.MaxNorm, _ = c.OptFloat("max_norm")
	if !c.None("padding_idx") {
		row := c.Int("padding_idx")
		if row < 0 {
			row += c.T("weight").Dim(0)
		}
		o.Padding = []int{row}
	}
	return o
}

var bagModes = map[string]tensor.BagMode{"sum": tensor.BagSum, "mean": tensor.BagMean, "max": tensor.BagMax}

func embeddingBag(c *call) T {
	offsets := c.OptT("offsets")
	if offsets != nil && c.Bool("include_last_offset") {
		offsets = offsets.Narrow(0, 0, offsets.Dim(0)-1)
	}
	return c.T("weight").EmbeddingBag(c.T("input"), offsets, c.OptT("per_sample_weights"), choice(c, "mode", bagModes), c.embedding())
}

// masks refuses bool indices of another shape than the axes that they stand for.
func (c *call) masks(list []any) {
	shape, axis := c.T("self").Shape(), 0
	used := func(x any) int {
		switch x := x.(type) {
		case operand:
			if x.DType() == dtype.Bool {
				return x.Rank()
			}
		case Ellipsis, NewAxis, bool:
			return 0
		}
		return 1
	}
	total := 0
	for _, x := range list {
		total += used(x)
	}
	for _, x := range list {
		n := used(x)
		if m, ok := x.(operand); ok && m.DType() == dtype.Bool && axis+n <= len(shape) && !slices.Equal(m.Shape(), shape[axis:axis+n]) {
			c.refuse("a mask %v for axes %v", m.Shape(), shape[axis:axis+n])
		}
		if _, ok := x.(Ellipsis); ok {
			n = max(0, len(shape)-total)
		}
		axis += n
	}
}

// index turns an index list into that of At.
func (c *call) index(name string) []any {
	list, ok := c.value(name).([]any)
	if !ok {
		c.wrong(name, "a list")
	}
	c.masks(list)
	var out []any
	for _, x := range list {
		switch x := x.(type) {
		case Slice:
			out = append(out, slice(x))
		case Ellipsis:
			out = append(out, tensor.Ellipsis)
		case NewAxis:
			out = append(out, tensor.NewAxis)
		case operand:
			if x.DType() == dtype.Bool && x.Rank() == 0 {
				out = append(out, c.truth(x.Tensor))
				continue
			}
			for _, p := range c.places(x.Tensor) {
				out = append(out, p)
			}
		case int, bool:
			out = append(out, x)
		default:
			c.wrong(name, "an index list")
		}
	}
	return out
}

func slice(s Slice) tensor.Range {
	step := 1
	if s.Step != nil {
		step = *s.Step
	}
	from, to := tensor.Begin, tensor.End
	if step < 0 {
		from, to = to, from
	}
	if s.Start != nil {
		from = *s.Start
	}
	if s.Stop != nil {
		to = *s.Stop
	}
	return tensor.RS(from, to, step)
}
