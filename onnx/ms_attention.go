package onnx

import (
	"math"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// The operators of com.microsoft, as exporters and optimizers of transformers write them:
// https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md.

// msScores are the scores of attention with the attributes that its operators share. A masked key gets a large negative number, not −∞.
func (c *call) msScores(q, k, v t, bias t) *scores {
	a := &scores{q: q, k: c.shared(k, q.Dim(1)), v: c.shared(v, q.Dim(1)), scale: c.attrFloat("scale", 0), softcap: c.attrFloat("softcap", 0)}
	if a.scale == 0 {
		a.scale = 1 / math.Sqrt(float64(max(1, q.Dim(3))))
	}
	if bias != nil {
		a.modified = func(s t) t { return s.Add(bias.To(s.DType())) }
	}
	return a
}

func plus(a, b t) t {
	if a == nil {
		return b
	}
	return a.Add(b.To(a.DType()))
}

// causal is what keeps n queries, of which the last sees the last of m keys, from looking ahead.
func causal(n, m int, d dtype.DType) t {
	rows := tensor.ArangeOf(dtype.I32, 0, n, 1).Reshape(n, 1).Add(m - n)
	return tensor.ArangeOf(dtype.I32, 0, m, 1).Reshape(1, m).Le(rows).Where(0.0, math.Inf(-1)).To(d)
}

// keyMask is a mask of keys as a number to add: [b, m] or [b, n, m] of ones, or [b] numbers of keys.
func (c *call) keyMask(i, m int, d dtype.DType) t {
	if !c.has(i) {
		return nil
	}
	mask := c.t(i)
	low := c.attrFloat("mask_filter_value", -10000)
	switch mask.Rank() {
	case 1:
		if mask.Dim(0) != c.array(0).shape[0] {
			c.notYet("a mask of the beginnings and ends of keys")
		}
		live := tensor.ArangeOf(dtype.I32, 0, m, 1).Reshape(1, m).Lt(mask.To(dtype.I32).Unsqueeze(1))
		return live.Where(0.0, low).To(d).Reshape(mask.Dim(0), 1, 1, m)
	case 2:
		return mask.Ne(0).Where(0.0, low).To(d).Reshape(mask.Dim(0), 1, 1, mask.Dim(1))
	case 3:
		return mask.Ne(0).Where(0.0, low).To(d).Unsqueeze(1)
	}
	c.notYet("a mask of four axes")
	return nil
}

// msAttend projects nothing: it attends from rows [b, n, 3·h] or what they are split into.
func (c *call) msAttend(q, k, v t, maskAt, biasAt int) t {
	d := q.DType()
	bias := c.keyMask(maskAt, k.Dim(2), d)
	if c.has(biasAt) {
		bias = plus(bias, wide(c.t(biasAt)))
	}
	if c.attrBool("unidirectional", false) {
		bias = plus(bias, causal(q.Dim(2), k.Dim(2), d))
	}
	y, _ := c.msScores(q, k, v, bias).attend()
	return joined(y)
}

// projected attends with queries, keys and values that lie side by side in [b, n, …], after a past [2, b, heads, m, d].
func (c *call) projected(x t, e Elem, maskAt, pastAt, biasAt int) []*Value {
	heads := c.attrInt("num_heads", 0)
	sizes, ok := c.attrInts("qkv_hidden_sizes")
	if !ok || len(sizes) != 3 {
		sizes = slices.Repeat([]int{x.Dim(2) / 3}, 3)
	}
	if heads < 1 || sizes[0]+sizes[1]+sizes[2] != x.Dim(2) {
		c.fail("%d heads of %v", heads, sizes)
	}
	parts := x.Split(2, sizes...)
	q, k, v := c.heads(parts[0], heads), c.heads(parts[1], heads), c.heads(parts[2], heads)
	if c.attrBool("do_rotary", false) {
		c.notYet("rotary embeddings within Attention")
	}
	if c.has(pastAt) {
		past := wide(c.t(pastAt))
		k, v = tensor.Cat(2, past.Select(0, 0), k), tensor.Cat(2, past.Select(0, 1), v)
	}
	y := c.out(c.msAttend(q, k, v, maskAt, biasAt), e)
	if k.Dim(3) != v.Dim(3) {
		return []*Value{y}
	}
	return []*Value{y, c.out(tensor.Stack(0, k, v), e)}
}

func msAttention(c *call) []*Value {
	x := wide(c.t(0)).MatMul(wide(c.t(1)))
	if c.has(2) {
		x = x.Add(wide(c.t(2)))
	}
	return c.projected(x, c.elem(0), 3, 4, 5)
}

func qAttention(c *call) []*Value {
	y := toF32(c.shifted(0, 6, -1).times(c.shifted(1, 7, -1))).Mul(toF32(c.t(3)).Reshape()).Mul(c.perAxis(toF32(c.t(4)), 3, -1)).Add(toF32(c.t(2)))
	return c.projected(y, c.elem(2), 5, 8, 99)
}

func multiHead(c *call) []*Value {
	heads := c.attrInt("num_heads", 0)
	q := wide(c.t(0))
	var k, v t
	split := func(x t, n int) []t { // [b, m, heads, n, d]
		var list []t
		for i := range n {
			list = append(list, x.Select(3, i).Permute(0, 2, 1, 3))
		}
		return list
	}
	switch {
	case q.Rank() == 5:
		l := split(q, 3)
		q, k, v = l[0], l[1], l[2]
	case c.has(1) && c.t(1).Rank() == 5:
		l := split(wide(c.t(1)), 2)
		q, k, v = c.heads(q, heads), l[0], l[1]
	default:
		q, k, v = c.heads(q, heads), c.heads(wide(c.t(1)), heads), c.heads(wide(c.t(2)), heads)
	}
	if c.has(3) {
		b := wide(c.t(3))
		n := q.Dim(1) * q.Dim(3)
		at := func(x t, from int) t {
			size := x.Dim(1) * x.Dim(3)
			return x.Add(b.Narrow(0, from, size).Reshape(1, x.Dim(1), 1, x.Dim(3)))
		}
		q, k, v = at(q, 0), at(k, n), at(v, n+k.Dim(1)*k.Dim(3))
	}
	if c.has(8) || c.has(9) {
		c.notYet("a cache that is shared, or walked indirectly, in MultiHeadAttention")
	}
	if c.has(6) && c.has(7) {
		k, v = tensor.Cat(2, wide(c.t(6)), k), tensor.Cat(2, wide(c.t(7)), v)
	}
	e := c.elem(0)
	return []*Value{c.out(c.msAttend(q, k, v, 4, 5), e), c.out(k, e), c.out(v, e)}
}

// groupQuery is causal attention with a cache. Sequences of a batch may have different lengths: seqlens_k says how many keys each has, less one.
func groupQuery(c *call) []*Value {
	heads, kvHeads := c.attrInt("num_heads", 0), c.attrInt("kv_num_heads", 0)
	if heads < 1 || kvHeads < 1 || heads%kvHeads != 0 {
		c.fail("%d heads share %d", heads, kvHeads)
	}
	if c.attrBool("smooth_softmax", false) || c.has(11) {
		c.notYet("GroupQueryAttention with a sink (smooth_softmax)")
	}
	q, k, v := c.groupHeads(heads, kvHeads)
	b, n := q.Dim(0), q.Dim(2)
	total := c.int(6)
	room := total
	if c.has(3) {
		room = max(room, c.t(3).Dim(2))
	}
	if room > 1<<24 || room < n && total > n {
		c.fail("%d keys in all for %d queries", total, n)
	}
	lens := c.t(5).To(dtype.I64).Reshape(b, 1).Add(1)
	past := lens.Sub(n).Maximum(0) // of each sequence
	if !c.has(3) || total <= n {   // a prompt
		past = past.Mul(0)
	}
	at := tensor.ArangeOf(dtype.I64, 0, n, 1).Reshape(1, n).Add(past) // [b, n]
	if c.attrBool("do_rotary", false) {
		places := at
		if c.has(9) {
			places = c.t(9).To(dtype.I64)
		}
		places = places.Minimum(c.t(7).Dim(0) - 1)
		turn := func(x t) t {
			return c.rotary(x, c.t(7), c.t(8), places, 0, 2*c.t(7).Dim(1), c.attrBool("rotary_interleaved", false))
		}
		q, k = turn(q), turn(k)
	}
	put := func(i int, x t) t { // into the cache
		cache := c.full(0.0, Float32, []int{b, kvHeads, room, x.Dim(3)}).To(x.DType())
		if c.has(i) {
			old := wide(c.t(i))
			valid := tensor.ArangeOf(dtype.I64, 0, old.Dim(2), 1).Reshape(1, 1, old.Dim(2), 1).Lt(past.Reshape(b, 1, 1, 1))
			old = valid.Where(old, 0.0).To(x.DType())
			cache = old.Pad([]int{0, 0}, []int{room - old.Dim(2), 0})
		}
		place := at.Minimum(room-1).Reshape(b, 1, n, 1).Expand(b, kvHeads, n, x.Dim(3))
		return cache.Scatter(2, place, x)
	}
	k, v = put(3, k), put(4, v)
	y, _ := c.msScores(q, k, v, c.groupBias(at, lens, room, q.DType())).attend()
	e := c.elem(0)
	return []*Value{c.out(joined(y), e), c.out(k, e), c.out(v, e)}
}

// groupHeads are the queries, keys and values of inputs of their own, or of one that holds all.
func (c *call) groupHeads(heads, kvHeads int) (q, k, v t) {
	x := wide(c.t(0))
	if c.has(1) {
		return c.heads(x, heads), c.heads(wide(c.t(1)), kvHeads), c.heads(wide(c.t(2)), kvHeads)
	}
	d := x.Dim(2) / (heads + 2*kvHeads)
	parts := x.Split(2, heads*d, kvHeads*d, kvHeads*d)
	return c.heads(parts[0], heads), c.heads(parts[1], kvHeads), c.heads(parts[2], kvHeads)
}

// groupBias keeps queries at the places at[b, n] from looking ahead, behind the window and beyond the lens[b, 1] keys of their sequence.
func (c *call) groupBias(at, lens t, room int, d dtype.DType) t {
	b, n := at.Dim(0), at.Dim(1)
	columns := tensor.ArangeOf(dtype.I64, 0, room, 1).Reshape(1, 1, 1, room)
	rows := at.Reshape(b, 1, n, 1)
	live := columns.Le(rows).LogicalAnd(columns.Lt(lens.Reshape(b, 1, 1, 1))) // what follows a shorter sequence is padding
	if w := c.attrInt("local_window_size", -1); w > 0 {
		live = live.LogicalAnd(columns.Gt(rows.Sub(w)))
	}
	bias := live.Where(0.0, math.Inf(-1)).To(d)
	if c.has(10) {
		extra := wide(c.t(10))
		if short := room - extra.Dim(-1); short > 0 {
			extra = extra.Pad([]int{0}, []int{short})
		}
		bias = bias.Add(extra)
	}
	return bias
}

func msRotary(c *call) []*Value {
	x := wide(c.t(0))
	places := c.t(1).To(dtype.I64)
	n, b := x.Dim(-2), x.Dim(0)
	size := c.attrInt("rotary_embedding_dim", 0)
	heads := c.attrInt("num_heads", 0)
	if heads == 0 && x.Rank() == 3 {
		d := 2 * c.t(2).Dim(1)
		if size > 0 || x.Dim(2)%d != 0 {
			c.fail("%v with an unknown number of heads", x.Shape())
		}
		heads = x.Dim(2) / d
	}
	if places.Numel() == 1 && n*b != 1 {
		places = tensor.ArangeOf(dtype.I64, 0, n, 1).Reshape(1, n).Add(places.Reshape()).Expand(b, n)
	}
	places = places.Reshape(b, n)
	return c.one(c.rotary(x, c.t(2), c.t(3), places, heads, size, c.attrBool("interleaved", false)), c.elem(0))
}

func init() {
	register("com.microsoft", map[string]operator{
		"Attention": msAttention, "QAttention": qAttention, "MultiHeadAttention": multiHead, "GroupQueryAttention": groupQuery,
		"RotaryEmbedding": msRotary,
	})
}
