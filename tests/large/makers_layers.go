package large

import (
	"math"

	"github.com/weft-ml/weft/tensor"
)

// convBlock is a convolution in one to three dimensions, with whatever follows it in networks.
func convBlock(b *build, x value) (value, bool) {
	axes := pick(b, 1, 2, 2, 2, 3)
	t := b.ranked(x.t, 2+axes)
	if t.Numel() == 0 {
		return nothing()
	}
	t = cut(cut(t, 1, 200), 0, 9)
	c := t.Dim(1)
	o := tensor.Conv{Stride: 1 + b.IntN(3), Padding: b.IntN(4), Dilation: pick(b, 1, 1, 2, 3), Groups: pick(b, 1, 1, 1, c, b.factor(c))}
	outs := o.Groups * pick(b, 1, 2, 3, 5, 8)
	if o.Groups == 1 {
		outs = b.size(130)
	}
	shape := []int{outs, c / o.Groups}
	n := c / o.Groups
	for a := range axes {
		k := pick(b, 1, 2, 3, 3, 5, 7)
		for k > 1 && (k-1)*o.Dilation+1 > t.Dim(2+a)+2*o.Padding {
			k--
		}
		shape = append(shape, k)
		n *= k
	}
	if b.one(3) {
		o.Padding, o.Paddings = 0, nil
		for range 2 * axes {
			o.Paddings = append(o.Paddings, b.IntN(4))
		}
		for a := range axes {
			if (shape[2+a]-1)*o.Dilation+1 > t.Dim(2+a)+o.Paddings[a]+o.Paddings[axes+a] {
				return nothing()
			}
		}
	}
	if work := t.Numel() / max(1, c) * outs * n; work > 40_000_000 {
		return nothing()
	}
	bound := x.bound*3*float64(n) + 3
	if !b.fits(bound) {
		return nothing()
	}
	var bias T
	if b.one(2) {
		bias = b.leaf(outs)
	}
	y := t.Conv2D(b.weight(n, shape...), bias, o)
	if !b.p.exact && b.one(2) {
		y = b.channelNorm(y)
	}
	if b.one(2) {
		y = b.activate(y)
	}
	if y.Numel() > 0 && b.one(3) {
		y = b.pooled(y, axes)
	}
	if b.one(4) && fitting(y.Shape(), x.t.Shape()) && y.Numel() >= x.t.Numel() && y.Rank() == x.t.Rank() {
		return made(y.Add(x.t), bound+x.bound)
	}
	return made(y, bound)
}

// channelNorm is one of the norms of channels.
func (b *build) channelNorm(y T) T {
	c := y.Dim(1)
	kinds := 3
	if y.Rank() == 2 {
		kinds = 2
	}
	switch b.IntN(kinds) {
	case 0:
		m, v := y.ChannelMoments(0)
		return y.BatchNorm(m, v, b.leaf(c), b.leaf(c), 1e-3)
	case 1:
		return y.GroupNorm(pick(b, 1, c, b.factor(c)), b.leaf(c), nil, 1e-2)
	}
	return y.InstanceNorm(nil, b.leaf(c), 1e-2)
}

// pooled takes the largest of windows, which keeps whole numbers.
func (b *build) pooled(y T, axes int) T {
	p := tensor.Pool{Axes: axes, Ceil: b.one(2)}
	for a := range axes {
		k := min(1+b.IntN(4), y.Dim(2+a))
		p.Size = append(p.Size, k)
		p.Stride = append(p.Stride, 1+b.IntN(3))
		p.Padding = append(p.Padding, b.IntN(k/2+1))
		p.Dilation = append(p.Dilation, 1)
	}
	if b.p.exact || b.one(2) {
		return y.MaxPool(p)
	}
	p.ExcludePadding = b.one(2)
	return y.AvgPool(p)
}

func pool(b *build, x value) (value, bool) {
	axes := 1 + b.IntN(3)
	t := b.ranked(x.t, 2+axes)
	return made(b.pooled(t, axes), x.bound)
}

func convTranspose(b *build, x value) (value, bool) {
	axes := pick(b, 1, 2)
	t := cut(cut(b.ranked(x.t, 2+axes), 1, 66), 0, 5)
	c := t.Dim(1)
	o := tensor.Conv{Stride: 1 + b.IntN(3), Dilation: 1 + b.IntN(2), Groups: pick(b, 1, 1, c, b.factor(c))}
	shape := []int{c, pick(b, 1, 2, 5, 8, 17)}
	n := c / o.Groups
	for range axes {
		shape = append(shape, 1+b.IntN(4))
		n *= shape[len(shape)-1]
	}
	if o.Stride > 1 && b.one(2) {
		for range axes {
			o.OutputPadding = append(o.OutputPadding, b.IntN(o.Stride))
		}
	}
	if t.Numel()*n*shape[1] > 30_000_000 || !b.fits(x.bound*3*float64(n)) {
		return nothing()
	}
	return made(t.ConvTranspose(b.weight(n, shape...), nil, o), x.bound*3*float64(n))
}

// attention is that of several heads, perhaps grouped, masked, over a cache.
func attention(b *build, x value) (value, bool) {
	t := cut(cut(cut(b.ranked(x.t, 3), -1, 256), -2, 129), 0, 9)
	n, l, d := t.Dim(0), t.Dim(1), t.Dim(2)
	heads := pick(b, 1, 2, 3, 4, 6)
	shared := heads
	if heads%2 == 0 && b.one(2) {
		shared = heads / 2
	}
	size := pick(b, 1, 7, 8, 16, 17, 32, 33)
	m := l
	split := func(y T, h int) T { return y.Unflatten(2, h, size).Transpose(1, 2) }
	q := split(t.MatMul(b.weight(d, d, heads*size)), heads)
	k := split(t.MatMul(b.weight(d, d, shared*size)), shared)
	v := split(t.Linear(b.weight(d, shared*size, d), b.leaf(shared*size)), shared)
	if b.one(3) { // what was there before
		past := b.size(100)
		k = tensor.Cat(2, b.leaf(n, shared, past, size), k)
		v = tensor.Cat(2, b.leaf(n, shared, past, size), v)
		m += past
	}
	o := tensor.Attention{Grouped: shared != heads, Causal: b.one(3)}
	switch b.IntN(4) {
	case 0:
		o.Mask = b.leaf(l, m)
	case 1: // each query sees one key at least
		o.Mask = tensor.Arange(m).Eq(0).LogicalOr(b.indices(3, n, 1, 1, m).Gt(0))
	case 2:
		o.Mask = tensor.Arange(m).Unsqueeze(0).Lt(b.indices(m, n, 1, 1, 1).Add(1))
	}
	y := tensor.ScaledDotProduct(q, k, v, o)
	y = y.Transpose(1, 2).Flatten(2, 3)
	if b.one(2) {
		y = y.MatMul(b.weight(heads*size, heads*size, d)).Add(t)
	}
	return made(y, 1)
}

// norm is one of the norms of the last axes, or of any.
func norm(b *build, x value) (value, bool) {
	t := x.t
	if t.Rank() == 0 {
		return nothing()
	}
	s := t.Shape()
	k := 1 + b.IntN(min(2, len(s)))
	last := s[len(s)-k:]
	switch b.IntN(7) {
	case 0, 1:
		return made(t.LayerNorm(b.leaf(last...), b.leaf(last...), 1e-3, last...), 1)
	case 2:
		return made(t.RMSNorm(b.leaf(last...), 1e-3, last...), 1)
	case 3:
		if len(s) > 1 {
			return made(b.channelNorm(t), 1)
		}
	case 4:
		return made(t.Normalize(2, 0.1, b.IntN(len(s))), 1)
	case 5:
		a := b.IntN(len(s))
		return made(t.Sub(t.MeanKeep(a)).Div(t.VarKeep(0, a).Add(0.1).Sqrt()), 1)
	}
	return made(t.Div(t.Abs().MaxKeep(b.IntN(len(s))).Add(0.1)), 1)
}

// softmax is along any axis, also after more of it.
func softmax(b *build, x value) (value, bool) {
	t := x.t
	if t.Rank() == 0 {
		return nothing()
	}
	a := b.IntN(t.Rank())
	switch b.IntN(5) {
	case 0, 1:
		return made(t.Softmax(a), 1)
	case 2:
		return made(t.LogSoftmax(a), 1)
	case 3:
		return made(t.Sub(t.LogSumExp(a).Unsqueeze(a)), 1)
	}
	return made(t.Mul(3).Softmax(a).Mul(t), 1)
}

// recurrent is a loop of a cell over the first axis.
func recurrent(b *build, x value) (value, bool) {
	t := cut(cut(cut(b.ranked(x.t, 3), 0, 6), 1, 65), 2, 65)
	n, d := t.Dim(1), t.Dim(2)
	h := pick(b, 1, 7, 8, 17, 32, 33)
	gates := pick(b, 1, 3, 4)
	wx, wh, bias := b.weight(d, d, gates*h), b.weight(h, h, gates*h), b.leaf(gates*h)
	state, cell := tensor.Zeros(n, h).To(t.DType()), b.leaf(n, h)
	var outs []T
	for i := range t.Dim(0) {
		z := t.Select(0, i).MatMul(wx).Add(bias)
		r := state.MatMul(wh)
		switch gates {
		case 1:
			state = z.Add(r).Tanh()
		case 3:
			g, q := z.Chunk(1, 3), r.Chunk(1, 3)
			u := g[0].Add(q[0]).Sigmoid()
			c := g[2].Add(g[1].Add(q[1]).Sigmoid().Mul(q[2])).Tanh()
			state = u.RSub(1).Mul(c).Add(u.Mul(state))
		case 4:
			g := z.Add(r).Chunk(1, 4)
			cell = g[0].Sigmoid().Mul(cell).Add(g[1].Sigmoid().Mul(g[2].Tanh()))
			state = g[3].Sigmoid().Mul(cell.Tanh())
		}
		outs = append(outs, state)
	}
	if b.one(3) {
		return made(state, 1)
	}
	return made(tensor.Stack(b.IntN(2), outs...), 1)
}

// experts routes each row to the best of several layers.
func experts(b *build, x value) (value, bool) {
	t := cut(cut(b.ranked(x.t, 2), 1, 65), 0, 130)
	n, d := t.Dim(0), t.Dim(1)
	e, k := pick(b, 3, 4, 7, 8), pick(b, 1, 2)
	scores := t.MatMul(b.weight(d, d, e))
	top, which := scores.TopK(k, 1, true)
	share := top.Softmax(1)
	w := b.weight(d, e, d, 9)
	switch b.IntN(3) {
	case 0: // the layers' outputs, chosen
		all := t.Unsqueeze(0).MatMul(w).Transpose(0, 1) // [n, e, 9]
		chosen := all.Gather(1, which.Unsqueeze(2).Expand(n, k, 9))
		return made(chosen.Mul(share.Unsqueeze(2)).Sum(1), 1)
	case 1: // the layers' weights, gathered
		chosen := w.IndexSelect(0, which.Flatten()).Reshape(n, k, d, 9)
		return made(t.Reshape(n, 1, 1, d).MatMul(chosen).Squeeze(2).Mul(share.Unsqueeze(2)).Sum(1), 1)
	}
	gates := tensor.Zeros(n, e).To(t.DType()).Scatter(1, which, share) // a row of shares
	return made(gates.T().Unsqueeze(2).Mul(t.Unsqueeze(0).MatMul(w)).Sum(0), 1)
}

// embed takes rows of a table by numbers, or by the places of the largest elements.
func embed(b *build, x value) (value, bool) {
	n, d := b.size(300), b.size(129)
	table := b.leaf(n, d)
	switch b.IntN(3) {
	case 0:
		return made(table.Embedding(b.indices(n, b.shape(1)...).Narrow(0, 0, 1), tensor.EmbeddingOptions{}), 3)
	case 1:
		k := 1 + b.IntN(5)
		m := b.size(100)
		return made(table.EmbeddingBag(b.indices(n, m, k), nil, nil, tensor.BagSum, tensor.EmbeddingOptions{}), 3*float64(k))
	}
	t := b.ranked(x.t, 2)
	ids := t.ArgMax(1).Mod(n)
	if ids.Numel()*d > most {
		return nothing()
	}
	return made(table.Embedding(ids, tensor.EmbeddingOptions{}), 3)
}

// kmeans is a step of it: distances to centres, the nearest of them, their new places.
func kmeans(b *build, x value) (value, bool) {
	t := cut(cut(b.ranked(x.t, 2), 1, 33), 0, 257)
	k := pick(b, 2, 5, 8, 17)
	centres := b.leaf(k, t.Dim(1))
	away := t.Unsqueeze(1).Sub(centres).Square().Sum(2)
	if b.one(2) {
		away = t.Square().SumKeep(1).Add(centres.Square().Sum(1)).Sub(t.MatMul(centres.T()).Mul(2))
	}
	near := away.ArgMin(1)
	sums := tensor.Zeros(k, t.Dim(1)).To(t.DType()).IndexAdd(0, near, t, 1)
	counts := tensor.Zeros(k).To(t.DType()).IndexAdd(0, near, tensor.Ones(t.Dim(0)).To(t.DType()), 1)
	return made(sums.Div(counts.Maximum(1).Unsqueeze(1)), 1)
}

// loss is one of the losses, by its elements.
func loss(b *build, x value) (value, bool) {
	t := b.ranked(x.t, 2)
	n, c := t.Dim(0), t.Dim(1)
	o := tensor.Loss{Reduction: tensor.LossReduction(b.IntN(3))}
	switch b.IntN(5) {
	case 0, 1:
		o.Smoothing = pick(b, 0, 0.1)
		return made(t.CrossEntropy(b.indices(c, n), o), 1)
	case 2:
		return made(t.MSE(b.leaf(n, c), o), 1)
	case 3:
		return made(t.Huber(b.leaf(n, c), 0.5, o), 1)
	}
	return made(t.BCEWithLogits(b.indices(2, n, c).To(t.DType()), o), 1)
}

// matrices are products and solutions of small matrices made of a value.
func matrices(b *build, x value) (value, bool) {
	n := pick(b, 1, 2, 3, 4, 5, 7, 8, 9, 17)
	k := x.t.Numel() / (n * n)
	if k == 0 {
		return nothing()
	}
	k = min(k, pick(b, 1, 3, 8, 33))
	t := x.t.Flatten().Narrow(0, 0, k*n*n).Reshape(k, n, n).Tanh()
	spd := t.MatMul(t.T()).Div(float64(n)).Add(tensor.Eye(n))
	switch b.IntN(5) {
	case 0:
		return made(spd.Cholesky(), 1)
	case 1:
		return made(spd.Solve(b.leaf(n, 3)), 1)
	case 2:
		return made(spd.Inv(), 1)
	case 3:
		return made(spd.LogDet(), 1)
	}
	return made(spd.Cholesky().SolveTriangular(b.leaf(k, n, 2), false, false).Div(math.Sqrt(float64(n))), 1)
}
