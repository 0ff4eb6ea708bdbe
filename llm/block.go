package llm

import (
	"github.com/weft-ml/weft/tensor"
)

// cache are the keys and values of one layer: [length, heads of keys, head].
type cache struct{ keys, values *tensor.Tensor }

// forward computes the logits [vocab] of one of n tokens, ids[n], that stand at positions from at on. Their keys and values are written
// into the caches; what stands behind them there is not read. which says of which token.
func (m *Model) forward(ids *tensor.Tensor, caches []cache, at tensor.Variable, n int, which any) *tensor.Tensor {
	c := &m.Config
	x := m.embed.rows(ids) // [n, dim]
	cos, sin := m.cosines.Narrow(0, at, n).Unsqueeze(1), m.sines.Narrow(0, at, n).Unsqueeze(1)
	var mask *tensor.Tensor
	if n > 1 { // token i sees those up to itself: [n, at+n]
		rows := m.counted(n).Add(at.Tensor()).Unsqueeze(1)
		mask = m.counted(c.Length).Unsqueeze(0).Le(rows).Narrow(1, 0, at.Plus(n))
	}
	for i, l := range m.layers {
		x = x.Add(m.attention(l, caches[i], x.RMSNorm(l.attentionNorm, c.Eps, c.Dim), cos, sin, mask, at, n))
		y := x.RMSNorm(l.ffnNorm, c.Eps, c.Dim)
		x = x.Add(l.down.linear(l.gate.linear(y, nil).SiLU().Mul(l.up.linear(y, nil)), nil))
	}
	last := x.Narrow(0, which, 1).RMSNorm(m.norm, c.Eps, c.Dim)
	return m.out.linear(last, nil).Reshape(c.Vocab)
}

// counted is 0, 1 … n−1 on the model's device.
func (m *Model) counted(n int) *tensor.Tensor {
	t := tensor.Arange(n)
	if m.options.Device != "" {
		t = t.On(m.options.Device)
	}
	return t
}

// attention is that of n tokens y[n, dim] to themselves and all before them. Heads that share keys are an axis of their own.
func (m *Model) attention(l layer, kept cache, y, cos, sin, mask *tensor.Tensor, at tensor.Variable, n int) *tensor.Tensor {
	c := &m.Config
	heads := func(w matrix, bias, norm *tensor.Tensor, count int) *tensor.Tensor {
		x := w.linear(y, bias).Reshape(n, count, c.Head)
		if norm != nil {
			x = x.RMSNorm(norm, c.Eps, c.Head)
		}
		return m.turn(x, cos, sin)
	}
	q := heads(l.q, l.qBias, l.qNorm, c.Heads)
	kept.keys.SetAt(heads(l.k, l.kBias, l.kNorm, c.KVHeads), tensor.S(at, n))
	kept.values.SetAt(l.v.linear(y, l.vBias).Reshape(n, c.KVHeads, c.Head), tensor.S(at, n))
	seen := func(t *tensor.Tensor) *tensor.Tensor { // [kv, 1, at+n, head]
		return t.Narrow(0, 0, at.Plus(n)).Permute(1, 0, 2).Unsqueeze(1)
	}
	q = q.Reshape(n, c.KVHeads, c.Heads/c.KVHeads, c.Head).Permute(1, 2, 0, 3) // [kv, group, n, head]
	out := tensor.ScaledDotProduct(q, seen(kept.keys), seen(kept.values), tensor.Attention{Mask: mask})
	return l.o.linear(out.Permute(2, 0, 1, 3).Reshape(n, c.Heads*c.Head), nil)
}

// turn turns the pairs of each head of x[n, heads, head] by the angles of the positions.
func (m *Model) turn(x, cos, sin *tensor.Tensor) *tensor.Tensor {
	n, heads, half := x.Dim(0), x.Dim(1), m.Config.Head/2
	if m.Config.Neighbours {
		pairs := x.Reshape(n, heads, half, 2)
		a, b := pairs.Select(-1, 0), pairs.Select(-1, 1)
		return tensor.Stack(-1, a.Mul(cos).Sub(b.Mul(sin)), a.Mul(sin).Add(b.Mul(cos))).Reshape(n, heads, 2*half)
	}
	a, b := x.Narrow(-1, 0, half), x.Narrow(-1, half, half)
	return tensor.Cat(-1, a.Mul(cos).Sub(b.Mul(sin)), a.Mul(sin).Add(b.Mul(cos)))
}
