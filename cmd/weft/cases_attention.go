package main

import (
	"context"
	"fmt"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// attentionCases are attention in the forms in which programs write it: masks computed and loaded, heads that share
// keys, one query against a cache, and a gradient.
var attentionCases = []benchCase{
	attentionCase("attention", "8 heads of 512 queries and keys of 64", heads{1, 8, 8, 512, 512, 64}, plainAttention),
	attentionCase("attention-causal", "the same, queries see no later keys", heads{1, 8, 8, 512, 512, 64}, causalAttention),
	attentionCase("attention-add", "the same, a mask of 512×512 is added to the scores", heads{1, 8, 8, 512, 512, 64}, plainAttention,
		func(x *tensor.Tensor) *tensor.Tensor { return x }),
	attentionCase("attention-bool", "the same, a bool mask of 512×512", heads{1, 8, 8, 512, 512, 64}, plainAttention,
		func(x *tensor.Tensor) *tensor.Tensor { return x.Gt(0) }),
	attentionCase("attention-groups", "8 heads of queries on 2 of keys", heads{1, 8, 2, 512, 512, 64}, groupedAttention),
	attentionCase("attention-batch", "4 times 12 heads of 256 queries and keys of 64", heads{4, 12, 12, 256, 256, 64}, plainAttention),
	attentionCase("attention-batch-causal", "the same, queries see no later keys", heads{4, 12, 12, 256, 256, 64}, causalAttention),
	narrowAttention("attention-bf16", dtype.BF16, heads{1, 8, 8, 512, 512, 64}),
	attentionCase("attention-token-512", "a query of 8 heads against 512 keys of 64", heads{1, 8, 8, 1, 512, 64}, plainAttention),
	attentionCase("attention-token-2048", "a query of 8 heads against 2048 keys of 64", heads{1, 8, 8, 1, 2048, 64}, plainAttention),
	attentionCase("attention-token-groups", "a query of 32 heads against 1024 keys of 8 heads of 64", heads{1, 32, 8, 1, 1024, 64}, groupedAttention),
	attentionGrad("attention-grad", "the gradients of attention to 8 heads of 512 queries, keys and values of 64", heads{1, 8, 8, 512, 512, 64}, plainAttention),
	attentionGrad("attention-grad-causal", "the same, queries see no later keys", heads{1, 8, 8, 512, 512, 64}, causalAttention),
	attentionGrad("attention-grad-batch", "the gradients of attention to 4 times 12 heads of 256", heads{4, 12, 12, 256, 256, 64}, plainAttention),
	attentionGrad("attention-grad-batch-causal", "the same, queries see no later keys", heads{4, 12, 12, 256, 256, 64}, causalAttention),
	attentionGrad("attention-grad-2048", "the gradients of attention to 8 heads of 2048", heads{1, 8, 8, 2048, 2048, 64}, plainAttention),
	attentionGrad("attention-grad-2048-causal", "the same, queries see no later keys", heads{1, 8, 8, 2048, 2048, 64}, causalAttention),
}

// heads are the sizes of an attention.
type heads struct{ batch, queries, keys, n, m, d int }

func (h heads) shapes() [][]int {
	return [][]int{{h.batch, h.queries, h.n, h.d}, {h.batch, h.keys, h.m, h.d}, {h.batch, h.keys, h.m, h.d}}
}

// flops are those of its two products, whatever a mask leaves out.
func (h heads) flops() float64 {
	return 4 * float64(h.batch) * float64(h.queries) * float64(h.n) * float64(h.m) * float64(h.d)
}

// attentionForm is attention of queries, keys, values and perhaps a mask.
type attentionForm = func(in ...*tensor.Tensor) *tensor.Tensor

func attendWith(o tensor.Attention) attentionForm {
	return func(in ...*tensor.Tensor) *tensor.Tensor {
		if len(in) > 3 {
			o := o
			o.Mask = in[3]
			return tensor.ScaledDotProduct(in[0], in[1], in[2], o)
		}
		return tensor.ScaledDotProduct(in[0], in[1], in[2], o)
	}
}

var (
	plainAttention   = attendWith(tensor.Attention{})
	causalAttention  = attendWith(tensor.Attention{Causal: true})
	groupedAttention = attendWith(tensor.Attention{Grouped: true})
)

func attentionCase(name, about string, h heads, f attentionForm, mask ...func(x *tensor.Tensor) *tensor.Tensor) benchCase {
	return attentionOf(name, about, dtype.F32, h, f, mask...)
}

func narrowAttention(name string, d dtype.DType, h heads) benchCase {
	return attentionOf(name, fmt.Sprintf("%d heads of %d queries and keys of %d, of %s", h.queries, h.n, h.d, d), d, h, plainAttention)
}

func attentionOf(name, about string, d dtype.DType, h heads, f attentionForm, mask ...func(x *tensor.Tensor) *tensor.Tensor) benchCase {
	return benchCase{name: name, about: "attention: " + about, flops: h.flops(), prepare: func(ctx context.Context) (*work, error) {
		var in []*tensor.Tensor
		for _, s := range h.shapes() {
			in = append(in, tensor.Randn(s...).To(d))
		}
		for _, f := range mask {
			in = append(in, f(tensor.Randn(1, 1, h.n, h.m)))
		}
		if err := tensor.Realize(ctx, in...); err != nil {
			return nil, err
		}
		return &work{f: single(f), in: in}, nil
	}}
}

// attentionGrad measures the gradients of a form.
func attentionGrad(name, about string, h heads, f attentionForm) benchCase {
	return benchCase{name: name, about: about, flops: 3.5 * h.flops(), // two products forward, five of their size backward
		prepare: kernelsCase(func(in ...*tensor.Tensor) []*tensor.Tensor {
			y := f(in...)
			return append(y.Mul(y).Sum().Grad(in...), y)
		}, h.shapes()...)}
}
