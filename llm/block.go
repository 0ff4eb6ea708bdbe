package llm

import (
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
	c := &m.Config
	x := m.embed.rows(ids)
	turns := func(t *tensor.Tensor) *tensor.Tensor { // [tokens, 1, head/2]
		return joined(parts, func(p part, from int) *tensor.Tensor { return t.Narrow(0, p.at, p.n) }).Unsqueeze(1)
	}
	cos, sin := turns(m.cosines), turns(m.sines)
	for i, l := range m.layers {
		x = x.Add(m.attention(l, caches[i], x.RMSNorm(l.attentionNorm, c.Eps, c.Dim), cos, sin, parts))
		y := x.RMSNorm(l.ffnNorm, c.Eps, c.Dim)
		x = x.Add(l.down.linear(l.gate.linear(y, nil).SiLU().Mul(l.up.linear(y, nil)), nil))
	}
	return x.RMSNorm(m.norm, c.Eps, c.Dim)
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

// attention is that of tokens y[tokens, dim], each to itself and all before it in its text. Heads that share keys are an axis of their own.
func (m *Model) attention(l layer, kept cache, y, cos, sin *tensor.Tensor, parts []part) *tensor.Tensor {
	c := &m.Config
	n := y.Dim(0)
	heads := func(w matrix, bias, norm *tensor.Tensor, count int) *tensor.Tensor {
		x := w.linear(y, bias).Reshape(n, count, c.Head)
		if norm != nil {
			x = x.RMSNorm(norm, c.Eps, c.Head)
		}
		return m.turn(x, cos, sin)
	}
	q, k := heads(l.q, l.qBias, l.qNorm, c.Heads), heads(l.k, l.kBias, l.kNorm, c.KVHeads)
	v := l.v.linear(y, l.vBias).Reshape(n, c.KVHeads, c.Head)
	q = q.Reshape(n, c.KVHeads, c.Heads/c.KVHeads, c.Head).Permute(1, 2, 0, 3) // [kv, group, tokens, head]
	out := joined(parts, func(p part, from int) *tensor.Tensor {
		kept.keys.SetAt(k.Narrow(0, from, p.n).Unsqueeze(0), tensor.S(p.text, 1), tensor.S(p.at, p.n))
		kept.values.SetAt(v.Narrow(0, from, p.n).Unsqueeze(0), tensor.S(p.text, 1), tensor.S(p.at, p.n))
		seen := func(t *tensor.Tensor) *tensor.Tensor { // [kv, 1, at+n, head]
			return t.Narrow(0, p.text, 1).Squeeze(0).Narrow(0, 0, p.at.Plus(p.n)).Permute(1, 0, 2).Unsqueeze(1)
		}
		o := tensor.ScaledDotProduct(q.Narrow(2, from, p.n), seen(kept.keys), seen(kept.values), tensor.Attention{Mask: m.mask(p)})
		return o.Permute(2, 0, 1, 3).Reshape(p.n, c.Heads*c.Head)
	})
	return l.o.linear(out, nil)
}

// mask has each of several tokens see those up to itself: [n, at+n].
func (m *Model) mask(p part) *tensor.Tensor {
	if p.n == 1 {
		return nil
	}
	rows := m.counted(p.n).Add(p.at.Tensor()).Unsqueeze(1)
	return m.counted(m.Config.Length).Unsqueeze(0).Le(rows).Narrow(1, 0, p.at.Plus(p.n))
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
