package torchops

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// axesOrAll is the list of axes of dim, nil for none.
func (c *call) axesOrAll(name string) []int {
	if c.None(name) {
		return nil
	}
	return c.Ints(name)
}

var movementOps = map[string]op{
	"torch.reshape":           one("input, shape", reshape("input", "shape")),
	"torch.Tensor.reshape":    one("self, *shape", reshape("self", "shape")),
	"torch.Tensor.view":       one("self, *shape", view),
	"torch.permute":           one("input, dims", func(c *call) *tensor.Tensor { return c.T("input").Permute(c.Ints("dims")...) }),
	"torch.transpose":         one("input, dim0, dim1", transpose("dim0", "dim1")),
	"torch.swapaxes":          one("input, axis0, axis1", transpose("axis0", "axis1")),
	"torch.t":                 one("input", matrixTranspose),
	"torch.movedim":           one("input, source, destination", movedim),
	"torch.Tensor.expand":     one("self, *size", func(c *call) *tensor.Tensor { return c.T("self").Expand(c.Ints("size")...) }),
	"torch.broadcast_to":      one("input, shape", func(c *call) *tensor.Tensor { return c.T("input").Expand(c.Ints("shape")...) }),
	"torch.Tensor.expand_as":  one("self, other", func(c *call) *tensor.Tensor { return c.T("self").ExpandAs(c.T("other")) }),
	"torch.broadcast_tensors": list("*tensors", func(c *call) []*tensor.Tensor { return tensor.Broadcast(c.Ts("tensors")...) }),
	"torch.Tensor.view_as":    one("self, other", func(c *call) *tensor.Tensor { return c.T("self").Reshape(c.T("other").Shape()...) }),
	"torch.flip":              one("input, dims", func(c *call) *tensor.Tensor { return c.T("input").Flip(c.Ints("dims")...) }),
	"torch.fliplr":            one("input", func(c *call) *tensor.Tensor { return c.T("input").Flip(1) }),
	"torch.flipud":            one("input", func(c *call) *tensor.Tensor { return c.T("input").Flip(0) }),
	"torch.roll":              one("input, shifts, dims=None", roll),
	"torch.Tensor.unfold": one("self, dimension, size, step", func(c *call) *tensor.Tensor {
		x := c.T("self")
		y := vector(x).Unfold(c.Int("dimension"), c.Int("size"), c.Int("step"))
		if x.Rank() == 0 {
			return y.Select(0, 0)
		}
		return y
	}),
	"torch.Tensor.repeat": one("self, *repeats", func(c *call) *tensor.Tensor { return c.T("self").Repeat(c.Ints("repeats")...) }),
	"torch.tile":          one("input, dims", tile),
	"torch.stack":         one("tensors, dim=0", func(c *call) *tensor.Tensor { return tensor.Stack(c.Int("dim"), c.Ts("tensors")...) }),
	"torch.cat":           one("tensors, dim=0", func(c *call) *tensor.Tensor { return tensor.Cat(c.Int("dim"), c.Ts("tensors")...) }),
	"torch.split":         list("tensor|input, split_size_or_sections|size, dim=0", split),
	"torch.chunk":         list("input, chunks, dim=0", func(c *call) []*tensor.Tensor { return c.T("input").Chunk(c.Int("dim"), c.Int("chunks")) }),
	"torch.unbind":        list("input, dim=0", unbind),
	"torch.squeeze":       one("input, dim=None", func(c *call) *tensor.Tensor { return squeeze(c.T("input"), c) }),
	"torch.unsqueeze":     one("input, dim", func(c *call) *tensor.Tensor { return c.T("input").Unsqueeze(c.Int("dim")) }),
	"torch.flatten":       one("input, start_dim=0, end_dim=-1", func(c *call) *tensor.Tensor { return c.T("input").Flatten(c.Int("start_dim"), c.Int("end_dim")) }),
	"torch.ravel":         one("input", func(c *call) *tensor.Tensor { return c.T("input").Flatten() }),
	"torch.unflatten":     one("input, dim, sizes", func(c *call) *tensor.Tensor { return c.T("input").Unflatten(c.Int("dim"), c.Ints("sizes")...) }),
	"torch.tril":          one("input, diagonal=0", func(c *call) *tensor.Tensor { return c.T("input").Tril(c.Int("diagonal")) }),
	"torch.triu":          one("input, diagonal=0", func(c *call) *tensor.Tensor { return c.T("input").Triu(c.Int("diagonal")) }),
	"torch.Tensor.narrow": one("self, dimension, start, length", func(c *call) *tensor.Tensor {
		return c.T("self").Narrow(c.Int("dimension"), c.Int("start"), c.Int("length"))
	}),
	"torch.meshgrid": list("*tensors, indexing='ij'", meshgrid),
	"torch.diag":     one("input, diagonal=0", diag),
	"torch.diagflat": one("input, offset=0", func(c *call) *tensor.Tensor { return c.T("input").Flatten().DiagMatrix(c.Int("offset"), 0, 1) }),
	"torch.diag_embed": one("input, offset=0, dim1=-2, dim2=-1", func(c *call) *tensor.Tensor {
		return c.T("input").DiagMatrix(c.Int("offset"), c.Int("dim1"), c.Int("dim2"))
	}),
	"torch.diagonal":       one("input, offset=0, dim1=0, dim2=1", diagonal),
	"torch.trace":          one("input", func(c *call) *tensor.Tensor { return c.T("input").Trace() }),
	"torch.vstack":         one("tensors", func(c *call) *tensor.Tensor { return tensor.VStack(c.Ts("tensors")...) }),
	"torch.hstack":         one("tensors", func(c *call) *tensor.Tensor { return tensor.HStack(c.Ts("tensors")...) }),
	"torch.dstack":         one("tensors", func(c *call) *tensor.Tensor { return tensor.DStack(c.Ts("tensors")...) }),
	"torch.atleast_1d":     list("*tensors", func(c *call) []*tensor.Tensor { return atLeast(c, 1) }),
	"torch.atleast_2d":     list("*tensors", func(c *call) []*tensor.Tensor { return atLeast(c, 2) }),
	"torch.atleast_3d":     list("*tensors", func(c *call) []*tensor.Tensor { return atLeast(c, 3) }),
	"torch.tensor_split":   list("input, indices_or_sections|sections, dim=0", tensorSplit),
	"torch.cartesian_prod": one("*tensors", func(c *call) *tensor.Tensor { return tensor.CartesianProduct(c.Ts("tensors")...) }),
	"torch.block_diag":     one("*tensors", func(c *call) *tensor.Tensor { return tensor.BlockDiag(c.Ts("tensors")...) }),
	"torch.rot90": one("input, k=1, dims=(0, 1)", func(c *call) *tensor.Tensor {
		d := c.Tuple("dims", 2)
		return c.T("input").Rot90(c.Int("k"), d[0], d[1])
	}),
	"torch.repeat_interleave":             one("input, repeats, dim=None", repeatInterleave),
	"torch.diff":                          one("input, n=1, dim=-1, prepend=None, append=None", diff),
	"torch.take":                          one("input, index", func(c *call) *tensor.Tensor { return c.T("input").Take(c.T("index")) }),
	"torch.select":                        one("input, dim, index", func(c *call) *tensor.Tensor { return c.T("input").Select(c.Int("dim"), c.Int("index")) }),
	"torch.Tensor.contiguous":             one("self, memory_format=None", func(c *call) *tensor.Tensor { return c.T("self").Contiguous() }),
	"torch.nn.functional.pixel_shuffle":   one("input, upscale_factor", func(c *call) *tensor.Tensor { return c.T("input").PixelShuffle(c.Int("upscale_factor")) }),
	"torch.nn.functional.pixel_unshuffle": one("input, downscale_factor", func(c *call) *tensor.Tensor { return c.T("input").PixelUnshuffle(c.Int("downscale_factor")) }),
	"torch.nn.functional.channel_shuffle": one("input, groups", func(c *call) *tensor.Tensor { return c.T("input").ChannelShuffle(c.Int("groups")) }),
}

func reshape(input, shape string) func(c *call) *tensor.Tensor {
	return func(c *call) *tensor.Tensor { return c.T(input).Reshape(c.Ints(shape)...) }
}

// view takes a shape, or a dtype to read the bits as.
func view(c *call) *tensor.Tensor {
	if v := c.value("shape").([]any); len(v) == 1 {
		if name, ok := v[0].(DTypeName); ok {
			d, known := dtype.Parse(string(name))
			if !known {
				panic(&missingType{string(name)})
			}
			return c.T("self").Bitcast(d)
		}
	}
	return c.T("self").Reshape(c.Ints("shape")...)
}

func transpose(a, b string) func(c *call) *tensor.Tensor {
	return func(c *call) *tensor.Tensor {
		return scalar(c.T("input"), vector(c.T("input")).Transpose(c.Int(a), c.Int(b)))
	}
}

func matrixTranspose(c *call) *tensor.Tensor {
	if x := c.T("input"); x.Rank() < 2 {
		return x
	} else if x.Rank() > 2 {
		c.refuse("%d axes are more than a matrix has", x.Rank())
	}
	return c.T("input").Transpose(0, 1)
}

// movedim moves several axes at once.
func movedim(c *call) *tensor.Tensor {
	x, from, to := c.T("input"), c.Ints("source"), c.Ints("destination")
	if len(from) != len(to) {
		c.refuse("%d axes to %d places", len(from), len(to))
	}
	if len(from) == 1 {
		return x.MoveAxis(from[0], to[0])
	}
	order := make([]int, x.Rank())
	for i := range order {
		order[i] = -1
	}
	mod := func(a int) int {
		if a < 0 {
			return a + len(order)
		}
		return a
	}
	for i := range from {
		order[mod(to[i])] = mod(from[i])
	}
	next := 0
	for i := range order {
		if order[i] >= 0 {
			continue
		}
		for slices.Contains(order, next) || slices.ContainsFunc(from, func(f int) bool { return mod(f) == next }) {
			next++
		}
		order[i] = next
	}
	return x.Permute(order...)
}

func roll(c *call) *tensor.Tensor { return c.T("input").Roll(c.Ints("shifts"), c.axesOrAll("dims")) }

// tile is repeat with ones in front where counts are missing.
func tile(c *call) *tensor.Tensor {
	x, dims := c.T("input"), c.Ints("dims")
	for len(dims) < x.Rank() {
		dims = append([]int{1}, dims...)
	}
	return x.Repeat(dims...)
}

func split(c *call) []*tensor.Tensor {
	x, axis := c.T("tensor"), c.Int("dim")
	if n, ok := c.value("split_size_or_sections").(int); ok {
		return x.SplitEvery(axis, n)
	}
	return x.Split(axis, c.Ints("split_size_or_sections")...)
}

func unbind(c *call) []*tensor.Tensor { return c.T("input").Unbind(c.Int("dim")) }

func squeeze(x *tensor.Tensor, c *call) *tensor.Tensor {
	if c.None("dim") {
		return x.Squeeze()
	}
	if dims := c.Ints("dim"); len(dims) > 0 && x.Rank() > 0 {
		return x.Squeeze(dims...)
	}
	return x
}

func meshgrid(c *call) []*tensor.Tensor {
	ts, order := c.Ts("tensors"), c.Str("indexing")
	if order != "ij" && order != "xy" {
		c.refuse("no indexing %s", order)
	}
	if order == "ij" || len(ts) < 2 {
		return tensor.Meshgrid(ts...)
	}
	swapped := slices.Clone(ts)
	swapped[0], swapped[1] = ts[1], ts[0]
	out := tensor.Meshgrid(swapped...)
	out[0], out[1] = out[1], out[0]
	return out
}

func diag(c *call) *tensor.Tensor {
	x := c.T("input")
	if x.Rank() == 1 {
		return x.DiagMatrix(c.Int("diagonal"), 0, 1)
	}
	if x.Rank() != 2 {
		c.refuse("%d axes are neither a vector's nor a matrix's", x.Rank())
	}
	return x.Diagonal(c.Int("diagonal"))
}

func diagonal(c *call) *tensor.Tensor {
	return c.T("input").DiagonalOf(c.Int("offset"), c.Int("dim1"), c.Int("dim2"))
}

func atLeast(c *call, rank int) []*tensor.Tensor {
	out := c.Ts("tensors")
	for i, x := range out {
		out[i] = x.AtLeast(rank)
	}
	return out
}

func tensorSplit(c *call) []*tensor.Tensor {
	x, axis := c.T("input"), c.Int("dim")
	if n, ok := c.value("indices_or_sections").(int); ok {
		return x.SplitEvenly(axis, n)
	}
	return x.SplitAt(axis, c.Ints("indices_or_sections")...)
}

func repeatInterleave(c *call) *tensor.Tensor {
	x, axis := c.T("input"), 0
	if c.None("dim") {
		x = x.Flatten()
	} else {
		axis = c.Int("dim")
	}
	if !c.IsTensor("repeats") {
		return x.RepeatInterleave(c.Int("repeats"), axis)
	}
	out, err := x.RepeatEach(c.dev.ctx, c.T("repeats"), axis)
	c.fails(err)
	return out
}

func diff(c *call) *tensor.Tensor {
	var ts []*tensor.Tensor
	if x := c.OptT("prepend"); x != nil {
		ts = append(ts, x)
	}
	ts = append(ts, c.T("input"))
	if x := c.OptT("append"); x != nil {
		ts = append(ts, x)
	}
	return tensor.Cat(c.Int("dim"), ts...).Diff(c.Int("n"), c.Int("dim"))
}
