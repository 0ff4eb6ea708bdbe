package llm

import (
	"math"

	"github.com/weft-ml/weft/tensor"
)

// cache are the keys and values of one layer: [texts, length, heads of keys, head].
type cache struct{ keys, values *tensor.Tensor }

// part are n tokens of one text, that stand at positions from at on: text is an int or a variable.
type part struct {
	text any
	at   tensor.Variable
	n    int
}

// hidden computes what the last layer says, [tokens, dim], of the tokens of some parts, one after the other. Their keys and values are
// written into the caches; what stands behind them there is not read.
func (m *Model) hidden(ids *tensor.Tensor, caches []cache, parts []part) *tensor.Tensor {
	c, kind := &m.Config, m.Config.family()
	x := m.embed.rows(ids)
	if kind.scaled {
		x = x.Mul(math.Sqrt(float64(c.Dim)))
	}
	at := func(t *tensor.Tensor) *tensor.Tensor { // rows of positions
		return joined(parts, func(p part, from int) *tensor.Tensor { return t.Narrow(0, p.at, p.n) })
	}
	if kind.learned {
		x = x.Add(at(m.positions))
	}
	var all, near turns // [tokens, 1, rotary/2]
	if !kind.learned {
		all = turns{at(m.turns.cosines).Unsqueeze(1), at(m.turns.sines).Unsqueeze(1)}
		if near = all; c.LocalBase > 0 {
			near = turns{at(m.near.cosines).Unsqueeze(1), at(m.near.sines).Unsqueeze(1)}
		}
	}
	for i, l := range m.layers {
		turn := all
		if l.window > 0 {
			turn = near
		}
		if l.still {
			turn = turns{}
		}
		y := m.normed(x, l.attentionNorm, c.Dim)
		a := m.normed(m.attention(l, caches[i], y, turn, parts), l.postNorm, c.Dim)
		if kind.parallel {
			x = x.Add(a).Add(m.network(l, y))
			continue
		}
		x = x.Add(a)
		x = x.Add(m.normed(m.network(l, m.normed(x, l.ffnNorm, c.Dim)), l.ffnPostNorm, c.Dim))
	}
	return m.normed(x, m.norm, c.Dim)
}

// normed is x with its last axis of n elements normalised; without weights, x.
func (m *Model) normed(x *tensor.Tensor, w norm, n int) *tensor.Tensor {
	switch {
	case w.weight == nil:
		return x
	case w.bias != nil:
		return x.LayerNorm(w.weight, w.bias, m.Config.Eps, n)
	}
	return x.RMSNorm(w.weight, m.Config.Eps, n)
}

// network is that of a layer: down(f(up)), or down(f(gate)·up).
func (m *Model) network(l layer, x *tensor.Tensor) *tensor.Tensor {
	parts := l.up.linear(x)
	if !m.Config.family().plain {
		parts = split(parts, m.Config.Hidden, m.Config.Hidden)
	}
	y := m.Config.Activation.of(parts[0])
	if len(parts) > 1 {
		y = y.Mul(parts[1])
	}
	return l.down.linear(y)[0]
}

func (a Activation) of(x *tensor.Tensor) *tensor.Tensor {
	switch a {
	case GELUTanh:
		return x.GELUTanh()
	case GELU:
		return x.GELU()
	case ReLU:
		return x.ReLU()
	}
	return x.SiLU()
}

// logits are those of rows of what the last layer says.
func (m *Model) logits(x *tensor.Tensor) *tensor.Tensor {
	y := m.out.linear(x, m.outBias)
	if limit := m.Config.LogitCap; limit > 0 {
		y = y.Mul(1 / limit).Tanh().Mul(limit)
	}
	return y
}

// linear is what each of the matrices gives.
func (p product) linear(x *tensor.Tensor) (out []*tensor.Tensor) {
	for i, w := range p.parts {
		out = append(out, w.linear(x, p.bias[i]))
	}
	return out
}

// split cuts what one matrix gave in place of several.
func split(parts []*tensor.Tensor, sizes ...int) []*tensor.Tensor {
	if len(parts) == 1 {
		return parts[0].Split(-1, sizes...)
	}
	return parts
}

// joined makes a tensor of each part, whose tokens begin at from, and joins them.
func joined(parts []part, make func(p part, from int) *tensor.Tensor) *tensor.Tensor {
	var all []*tensor.Tensor
	from := 0
	for _, p := range parts {
		all = append(all, make(p, from))
		from += p.n
	}
	if len(all) == 1 {
		return all[0]
	}
	return tensor.Cat(0, all...)
}

// counted is 0, 1 … n−1 on the model's device.
func (m *Model) counted(n int) *tensor.Tensor {
	t := tensor.Arange(n)
	if m.options.Device != "" {
		t = t.On(m.options.Device)
	}
	return t
}

// attention is that of tokens y[tokens, dim], each to itself and those before it in its text. Heads that share keys are an axis of their own.
func (m *Model) attention(l layer, kept cache, y *tensor.Tensor, turn turns, parts []part) *tensor.Tensor {
	c := &m.Config
	n := y.Dim(0)
	qkv := split(l.qkv.linear(y), c.Heads*c.Head, c.KVHeads*c.Head, c.KVHeads*c.Head)
	heads := func(x *tensor.Tensor, w norm, count int) *tensor.Tensor {
		return m.turn(m.normed(x.Reshape(n, count, c.Head), w, c.Head), turn)
	}
	q, k := heads(qkv[0], l.qNorm, c.Heads), heads(qkv[1], l.kNorm, c.KVHeads)
	v := qkv[2].Reshape(n, c.KVHeads, c.Head)
	q = q.Reshape(n, c.KVHeads, c.Heads/c.KVHeads, c.Head).Permute(1, 2, 0, 3) // [kv, group, tokens, head]
	out := joined(parts, func(p part, from int) *tensor.Tensor {
		kept.keys.SetAt(k.Narrow(0, from, p.n).Unsqueeze(0), tensor.S(p.text, 1), tensor.S(p.at, p.n))
		kept.values.SetAt(v.Narrow(0, from, p.n).Unsqueeze(0), tensor.S(p.text, 1), tensor.S(p.at, p.n))
		seen := func(t *tensor.Tensor) *tensor.Tensor { // [kv, 1, at+n, head]
			return t.Narrow(0, p.text, 1).Squeeze(0).Narrow(0, 0, p.at.Plus(p.n)).Permute(1, 0, 2).Unsqueeze(1)
		}
		o := m.mixed(q.Narrow(2, from, p.n), seen(kept.keys), seen(kept.values), m.mask(p, l.window))
		return o.Permute(2, 0, 1, 3).Reshape(p.n, c.Heads*c.Head)
	})
	return l.o.linear(out)[0]
}

// mixed are the values that queries see, by their scores.
func (m *Model) mixed(q, k, v, mask *tensor.Tensor) *tensor.Tensor {
	c := &m.Config
	if c.AttentionCap == 0 {
		return tensor.ScaledDotProduct(q, k, v, tensor.Attention{Mask: mask, Scale: c.Scale})
	}
	scale := c.Scale
	if scale == 0 {
		scale = 1 / math.Sqrt(float64(c.Head))
	}
	scores := q.Mul(scale / c.AttentionCap).MatMul(k.T()).Tanh().Mul(c.AttentionCap)
	if mask != nil {
		scores = mask.Where(scores, math.Inf(-1))
	}
	return scores.Softmax(-1).MatMul(v)
}

// mask has each of the tokens see those up to itself, in a window only so many: [n, at+n]. nil: it sees all.
func (m *Model) mask(p part, window int) *tensor.Tensor {
	if window >= m.Config.rows() {
		window = 0
	}
	if p.n == 1 && window == 0 {
		return nil
	}
	rows, cols := m.counted(p.n).Add(p.at.Tensor()).Unsqueeze(1), m.counted(m.Config.rows()).Unsqueeze(0)
	seen := cols.Le(rows)
	if window > 0 {
		seen = seen.And(cols.Gt(rows.Sub(window)))
	}
	return seen.Narrow(1, 0, p.at.Plus(p.n))
}

// turn turns the pairs of each head of x[n, heads, head] by the angles of the positions.
func (m *Model) turn(x *tensor.Tensor, by turns) *tensor.Tensor {
	if by.cosines == nil {
		return x
	}
	cos, sin := by.cosines, by.sines
	n, heads, half := x.Dim(0), x.Dim(1), m.Config.Rotary/2
	rest := []*tensor.Tensor{}
	if c := &m.Config; c.Rotary < c.Head {
		rest = append(rest, x.Narrow(-1, c.Rotary, c.Head-c.Rotary))
		x = x.Narrow(-1, 0, c.Rotary)
	}
	if m.Config.Neighbours {
		pairs := x.Reshape(n, heads, half, 2)
		a, b := pairs.Select(-1, 0), pairs.Select(-1, 1)
		x = tensor.Stack(-1, a.Mul(cos).Sub(b.Mul(sin)), a.Mul(sin).Add(b.Mul(cos))).Reshape(n, heads, 2*half)
		if len(rest) == 0 {
			return x
		}
		return tensor.Cat(-1, x, rest[0])
	}
	a, b := x.Narrow(-1, 0, half), x.Narrow(-1, half, half)
	return tensor.Cat(-1, append([]*tensor.Tensor{a.Mul(cos).Sub(b.Mul(sin)), a.Mul(sin).Add(b.Mul(cos))}, rest...)...)
}
