package onnx

import (
	"math"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// heads splits the last axis of [b, n, h·d] and gives [b, h, n, d]; four axes stay as they are.
func (c *call) heads(x t, n int) t {
	if x.Rank() == 4 {
		return x
	}
	if x.Rank() != 3 || n < 1 || x.Dim(2)%n != 0 {
		c.fail("%v does not have %d heads", x.Shape(), n)
	}
	return x.Reshape(x.Dim(0), x.Dim(1), n, x.Dim(2)/n).Permute(0, 2, 1, 3)
}

// joined is the inverse of heads.
func joined(x t) t {
	return x.Permute(0, 2, 1, 3).Reshape(x.Dim(0), x.Dim(2), x.Dim(1)*x.Dim(3))
}

// shared repeats heads of keys or values for the queries that share them.
func (c *call) shared(x t, heads int) t {
	if x.Dim(1) == heads {
		return x
	}
	if x.Dim(1) == 0 || heads%x.Dim(1) != 0 {
		c.fail("%d heads of queries share %d of keys", heads, x.Dim(1))
	}
	return x.RepeatInterleave(heads/x.Dim(1), 1)
}

// scores is what attention computes with.
type scores struct {
	q, k, v  t // [b, h, n, d]
	scale    float64
	softcap  float64
	bias     t // added, or nil
	softmax  dtype.DType
	modified func(s t) t
	after    func(p t) t
}

// attend gives the result and the stages between: raw scores, capped ones, with the bias, probabilities.
func (a *scores) attend() (y t, stages [4]t) {
	root := math.Sqrt(a.scale)
	d := wide(a.q).DType()
	s := a.q.To(d).Mul(root).MatMul(a.k.To(d).Mul(root).T())
	stages[0] = s
	if a.softcap > 0 {
		s = s.Div(a.softcap).Tanh().Mul(a.softcap)
	}
	stages[1] = s
	if a.bias != nil {
		s = s.Add(a.bias.To(d))
	}
	stages[2] = s
	if a.modified != nil {
		s = a.modified(s)
	}
	if a.softmax != dtype.Void {
		s = s.To(a.softmax)
	}
	p := s.Softmax(-1)
	if a.bias != nil { // what may attend to nothing gets nothing
		p = a.bias.MaxKeep(-1).IsNegInf().Where(tensor.ZerosLike(p), p).To(p.DType())
	}
	p = p.To(d)
	if a.after != nil {
		p = a.after(p)
	}
	stages[3] = p
	return p.MatMul(a.v.To(d)), stages
}

func attention(c *call) []*Value {
	q3 := c.t(0).Rank() == 3
	q, k, v := c.heads(c.t(0), c.attrInt("q_num_heads", 0)), c.heads(c.t(1), c.attrInt("kv_num_heads", 0)), c.heads(c.t(2), c.attrInt("kv_num_heads", 0))
	past := 0
	if c.has(4) && c.has(5) {
		past = c.t(4).Dim(2)
		k, v = tensor.Cat(2, c.t(4).To(k.DType()), k), tensor.Cat(2, c.t(5).To(v.DType()), v)
	}
	a := &scores{q: q, k: c.shared(k, q.Dim(1)), v: c.shared(v, q.Dim(1)), softcap: c.attrFloat("softcap", 0)}
	if a.scale = c.attrFloat("scale", 0); a.scale == 0 {
		a.scale = 1 / math.Sqrt(float64(max(1, q.Dim(3))))
	}
	if p := c.attrInt("softmax_precision", 0); p != 0 {
		a.softmax = c.elemAttr("softmax_precision", Float32).DType()
	}
	a.bias = c.attentionBias(q.Dim(2), k.Dim(2), past, wide(q).DType())
	y, stages := a.attend()
	if q3 {
		y = joined(y)
	}
	mode := c.attrInt("qk_matmul_output_mode", 0)
	if mode < 0 || mode > 3 {
		c.fail("its qk_matmul_output_mode is %d", mode)
	}
	return []*Value{c.out(y, c.elem(0)), c.out(k, c.elem(1)), c.out(v, c.elem(2)), c.out(stages[mode], c.elem(0))}
}

// attentionBias is what is added to the scores of n queries with m keys: the mask, −∞ where a query must not look, or nil.
func (c *call) attentionBias(n, m, past int, d dtype.DType) (bias t) {
	add := func(b t) {
		if b.DType() == dtype.Bool {
			b = b.Where(0.0, math.Inf(-1)).To(d)
		}
		if b = b.To(d); bias != nil {
			b = bias.Add(b)
		}
		bias = b
	}
	if c.has(3) {
		mask := c.t(3)
		if short := m - mask.Dim(-1); short > 0 && mask.Dim(-1) > 1 || short > 0 && m > 1 && mask.Rank() >= 2 {
			if mask.DType() == dtype.Bool {
				mask = mask.PadWith(false, []int{0}, []int{short})
			} else {
				mask = mask.To(d).PadWith(math.Inf(-1), []int{0}, []int{short})
			}
		}
		add(mask)
	}
	rows := tensor.ArangeOf(dtype.I32, 0, n, 1).Reshape(n, 1)
	columns := tensor.ArangeOf(dtype.I32, 0, m, 1).Reshape(1, m)
	place := rows.Add(past)
	if c.has(6) {
		lens := c.t(6).To(dtype.I32).Reshape(c.t(6).Numel(), 1, 1, 1)
		add(columns.Lt(lens))
		if past == 0 {
			place = rows.Add(lens.Sub(n))
		}
	}
	if c.attrBool("is_causal", false) {
		add(columns.Le(place))
	}
	if w := c.attrInt("left_window_size", -1); w >= 0 {
		add(columns.Ge(place.Sub(w)))
	}
	if w := c.attrInt("right_window_size", -1); w >= 0 {
		add(columns.Le(place.Add(w)))
	}
	return bias
}

func flexAttention(c *call) []*Value {
	q, k, v := c.t(0), c.t(1), c.t(2)
	if q.Rank() != 4 || k.Rank() != 4 || v.Rank() != 4 {
		c.fail("queries %v, keys %v, values %v; they must have four axes", q.Shape(), k.Shape(), v.Shape())
	}
	e := Float32
	if c.elem(0) == Float64 {
		e = Float64
	}
	e = c.elemAttr("softmax_precision", e)
	a := &scores{q: q, k: c.shared(k, q.Dim(1)), v: c.shared(v, q.Dim(1)), scale: c.attrFloat("scale", 0), softmax: e.DType()}
	if a.scale == 0 {
		a.scale = 1 / math.Sqrt(float64(max(1, q.Dim(3))))
	}
	through := func(name string) func(x t) t {
		if c.attr(name) == nil {
			return nil
		}
		return func(x t) t {
			outs := c.body(c.attrGraph(name), c.out(x, e))
			if len(outs) != 1 {
				c.fail("its %s gives %d values", name, len(outs))
			}
			return c.r.tensor(outs[0])
		}
	}
	a.modified, a.after = through("score_mod"), through("prob_mod")
	y, _ := a.attend()
	return c.one(y, c.elem(0))
}

// linearAttention goes through a sequence with a state of keys and values.
func linearAttention(c *call) []*Value {
	hq, hk := c.attrInt("q_num_heads", 0), c.attrInt("kv_num_heads", 0)
	q, k, v := wide(c.heads(c.t(0), hq)), wide(c.heads(c.t(1), hk)), wide(c.heads(c.t(2), hk))
	rule := c.attrString("update_rule", "gated_delta")
	gated, delta := rule == "gated" || rule == "gated_delta", rule == "delta" || rule == "gated_delta"
	if !gated && !delta && rule != "linear" {
		c.fail("its update_rule is %.40q", rule)
	}
	scale := c.attrFloat("scale", 0)
	if scale == 0 {
		scale = 1 / math.Sqrt(float64(max(1, q.Dim(3))))
	}
	b, steps := q.Dim(0), q.Dim(2)
	state := c.full(0.0, Float32, []int{b, hk, k.Dim(3), v.Dim(3)})
	e := c.elem(0)
	if c.has(3) {
		state, e = wide(c.t(3)), c.elem(3)
	}
	state = state.To(q.DType())
	var decay, beta t
	if gated {
		decay = wide(c.heads(c.t(4), hk)).Exp() // [b, h, n, d or 1]
	}
	if delta {
		beta = wide(c.t(5)) // [b, n, h or 1]
		beta = beta.Permute(0, 2, 1).Reshape(b, beta.Dim(2), steps, 1)
	}
	var list []t
	c.ticks(steps)
	for i := range steps {
		row := func(x t) t { return x.Narrow(2, i, 1) } // [b, h, 1, d]
		if gated {
			state = state.Mul(row(decay).T())
		}
		write := row(v)
		if delta {
			write = write.Sub(row(k).MatMul(state)).Mul(row(beta))
		}
		state = state.Add(row(k).T().MatMul(write))
		list = append(list, row(q).MatMul(c.shared(state, hq)).Mul(scale))
		if i%16 == 15 { // no kernel is deeper than that
			state = state.Contiguous()
		}
	}
	out := c.emptyOf(Float32, []int{b, hq, 0, v.Dim(3)})
	if len(list) > 0 {
		out = tensor.Cat(2, list...)
	}
	return []*Value{c.out(joined(out), c.elem(0)), c.out(state, e)}
}

func causalConv(c *call) []*Value {
	x, w := wide(c.t(0)), wide(c.t(1))
	if x.Rank() != 3 || w.Rank() != 3 || w.Dim(0) != x.Dim(1) {
		c.fail("filters %v over %v", w.Shape(), x.Shape())
	}
	k := w.Dim(2)
	past := c.full(0.0, Float32, []int{x.Dim(0), x.Dim(1), k - 1}).To(x.DType())
	if c.has(3) {
		past = wide(c.t(3)).To(x.DType())
	}
	all := x
	if k > 1 {
		all = tensor.Cat(2, past, x)
	}
	var b t
	if c.has(2) {
		b = wide(c.t(2))
	}
	y := all.Conv(w, b, tensor.Conv{Groups: x.Dim(1)})
	switch f := c.attrString("activation", "none"); f {
	case "silu", "swish":
		y = y.SiLU()
	case "none":
	default:
		c.fail("its activation is %.40q", f)
	}
	return []*Value{c.out(y, c.elem(0)), c.out(all.Narrow(2, all.Dim(2)-(k-1), k-1), c.elem(0))}
}

// rotary turns pairs of elements by angles whose cosines and sines are given.
func (c *call) rotary(x, cos, sin, places t, heads, size int, interleaved bool) t {
	three := x.Rank() == 3
	if three {
		x = c.heads(x, heads)
	}
	if x.Rank() != 4 {
		c.fail("%v has no heads", x.Shape())
	}
	b, n, d := x.Dim(0), x.Dim(2), x.Dim(3)
	if size == 0 {
		size = d
	}
	if size > d || size%2 != 0 {
		c.fail("%d of %d elements are turned", size, d)
	}
	at := func(p t) t {
		if places != nil {
			p = p.IndexSelect(0, places.Reshape(places.Numel())).Reshape(slices.Concat(places.Shape(), []int{p.Dim(-1)})...)
		}
		if p.Rank() == 2 {
			p = p.Reshape(1, p.Dim(0), p.Dim(1)).Narrow(1, 0, n)
		}
		return p.Narrow(2, 0, size/2).Reshape(p.Dim(0), 1, n, size/2)
	}
	cos, sin = at(cos).To(x.DType()), at(sin).To(x.DType())
	turn, rest := x.Narrow(3, 0, size), x.Narrow(3, size, d-size)
	var y t
	if interleaved {
		pairs := turn.Reshape(b, x.Dim(1), n, size/2, 2)
		re, im := pairs.Select(4, 0), pairs.Select(4, 1)
		y = tensor.Stack(4, re.Mul(cos).Sub(im.Mul(sin)), re.Mul(sin).Add(im.Mul(cos))).Reshape(b, x.Dim(1), n, size)
	} else {
		re, im := turn.Narrow(3, 0, size/2), turn.Narrow(3, size/2, size/2)
		y = tensor.Cat(3, re.Mul(cos).Sub(im.Mul(sin)), re.Mul(sin).Add(im.Mul(cos)))
	}
	if size < d {
		y = tensor.Cat(3, y, rest)
	}
	if three {
		return joined(y)
	}
	return y
}

func rotaryEmbedding(c *call) []*Value {
	y := c.rotary(wide(c.t(0)), c.t(1), c.t(2), c.tOr(3), c.attrInt("num_heads", 0), c.attrInt("rotary_embedding_dim", 0),
		c.attrBool("interleaved", false))
	return c.one(y, c.elem(0))
}

func init() {
	register("", map[string]operator{
		"Attention": attention, "LinearAttention": linearAttention, "CausalConvWithState": causalConv, "RotaryEmbedding": rotaryEmbedding,
		"SwiGLU": func(c *call) []*Value {
			x := wide(c.t(0))
			return c.one(swish(x, c.attrFloat("alpha", 1)).Mul(wide(c.t(1))), c.elem(0))
		},
	})
	register("ai.onnx.preview", map[string]operator{"FlexAttention": flexAttention})
}
