package torchops

import (
	"fmt"
	"strings"

	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/tensor"
)

// object is an argument of an nn layer by name: the constructor's (init) or the weights (state).
type object map[string]any

func (c *call) object(name string) object {
	m, ok := c.value(name).(map[string]any)
	if !ok {
		c.wrong(name, "an object")
	}
	return m
}

func (o object) int(name string, otherwise int) int {
	if v, ok := o[name].(int); ok {
		return v
	}
	return otherwise
}

func (o object) float(name string, otherwise float64) float64 {
	switch v := o[name].(type) {
	case int:
		return float64(v)
	case float64:
		return v
	}
	return otherwise
}

func (o object) bool(name string, otherwise bool) bool {
	if v, ok := o[name].(bool); ok {
		return v
	}
	return otherwise
}

func (o object) str(name, otherwise string) string {
	if v, ok := o[name].(string); ok {
		return v
	}
	return otherwise
}

// tensor is a weight, or nil.
func (o object) tensor(name string) T {
	if v, ok := o[name].(operand); ok {
		return v.Tensor
	}
	return nil
}

func (o object) linear(prefix string) *nn.Linear {
	return &nn.Linear{Weight: o.tensor(prefix + ".weight"), Bias: o.tensor(prefix + ".bias")}
}

// optional is a tensor among the inputs of forward, or nil.
func (c *call) optional(name string) T {
	if o, ok := c.value(name).(operand); ok {
		return o.Tensor
	}
	return nil
}

// states is an initial state: h, or the pair (h, c).
func (c *call) states(name string) nn.States {
	if list, ok := c.value(name).([]any); ok && len(list) == 2 {
		return nn.States{H: list[0].(operand).Tensor, C: list[1].(operand).Tensor}
	}
	return nn.States{H: c.optional(name)}
}

// cellKind is the kind of a layer, whose activation only plain ones choose.
func cellKind(name string, init object) nn.CellKind {
	switch {
	case strings.HasPrefix(name, "LSTM"):
		return nn.LSTMCell
	case strings.HasPrefix(name, "GRU"):
		return nn.GRUCell
	case init.str("nonlinearity", "tanh") == "relu":
		return nn.ReLUCell
	}
	return nn.TanhCell
}

func (o object) cell(kind nn.CellKind, suffix string) *nn.Cell {
	return &nn.Cell{Kind: kind, Input: o.tensor("weight_ih" + suffix), Hidden: o.tensor("weight_hh" + suffix),
		InputBias: o.tensor("bias_ih" + suffix), HiddenBias: o.tensor("bias_hh" + suffix), Projection: o.tensor("weight_hr" + suffix)}
}

const recurrentArgs = "input, hx=None, *, init, state"

func cell(name string) op {
	return op{recurrentArgs, func(c *call) []any {
		l := c.object("state").cell(cellKind(name, c.object("init")), "")
		x, s := c.T("input"), c.states("hx")
		single := x.Rank() == 1
		if single {
			x = x.Unsqueeze(0)
			if s.H != nil {
				s.H = s.H.Unsqueeze(0)
			}
			if s.C != nil {
				s.C = s.C.Unsqueeze(0)
			}
		}
		zero := l.Zero(x.Dim(0))
		if s.H == nil {
			s.H = zero.H
		}
		if s.C == nil {
			s.C = zero.C
		}
		y := l.Forward(x, s)
		out := []T{y.H}
		if y.C != nil {
			out = append(out, y.C)
		}
		if single {
			for i := range out {
				out[i] = out[i].Select(0, 0)
			}
		}
		return outputs(out...)
	}}
}

func recurrent(name string) op {
	return op{recurrentArgs, func(c *call) []any {
		init, state := c.object("init"), c.object("state")
		l := &nn.Recurrent{BatchFirst: init.bool("batch_first", false)}
		for i := range init.int("num_layers", 1) {
			cells := []*nn.Cell{state.cell(cellKind(name, init), fmt.Sprintf("_l%d", i))}
			if init.bool("bidirectional", false) {
				cells = append(cells, state.cell(cellKind(name, init), fmt.Sprintf("_l%d_reverse", i)))
			}
			l.Layers = append(l.Layers, cells)
		}
		y, last := l.Forward(c.T("input"), c.states("hx"), true)
		if last.C != nil {
			return outputs(y, last.H, last.C)
		}
		return outputs(y, last.H)
	}}
}

// attention makes the layer from torch's weights, whose three projections may be stacked.
func (o object) attention(prefix string, init object, heads int) *nn.MultiheadAttention {
	l := &nn.MultiheadAttention{Heads: heads, Query: &nn.Linear{}, Key: &nn.Linear{}, Value: &nn.Linear{}, Out: o.linear(prefix + "out_proj"),
		KeyBias: o.tensor(prefix + "bias_k"), ValueBias: o.tensor(prefix + "bias_v"), ZeroKey: init.bool("add_zero_attn", false),
		BatchFirst: init.bool("batch_first", false)}
	if w := o.tensor(prefix + "in_proj_weight"); w != nil {
		p := w.Chunk(0, 3)
		l.Query.Weight, l.Key.Weight, l.Value.Weight = p[0], p[1], p[2]
	} else {
		l.Query.Weight, l.Key.Weight, l.Value.Weight = o.tensor(prefix+"q_proj_weight"), o.tensor(prefix+"k_proj_weight"), o.tensor(prefix+"v_proj_weight")
	}
	if b := o.tensor(prefix + "in_proj_bias"); b != nil {
		p := b.Chunk(0, 3)
		l.Query.Bias, l.Key.Bias, l.Value.Bias = p[0], p[1], p[2]
	}
	return l
}

func multihead(c *call) []any {
	init, state := c.object("init"), c.object("state")
	l := state.attention("", init, init.int("num_heads", 1))
	y, w := l.Forward(c.T("query"), c.T("key"), c.T("value"), nn.Attending{Mask: c.OptT("attn_mask"),
		PaddingMask: c.OptT("key_padding_mask"), Causal: c.Bool("is_causal"), EachHead: !c.Bool("average_attn_weights"), Training: true})
	if !c.Bool("need_weights") {
		return []any{y, nil}
	}
	return outputs(y, w)
}

func transformer(c *call, decoder bool) *nn.TransformerLayer {
	init, state := c.object("init"), c.object("state")
	size, heads := init.int("d_model", 0), init.int("nhead", 1)
	norm := func(name string) *nn.LayerNorm {
		return &nn.LayerNorm{Weight: state.tensor(name + ".weight"), Bias: state.tensor(name + ".bias"), Shape: []int{size},
			Eps: init.float("layer_norm_eps", 1e-5)}
	}
	l := &nn.TransformerLayer{SelfAttention: state.attention("self_attn.", init, heads), Widen: state.linear("linear1"),
		Narrow: state.linear("linear2"), SelfNorm: norm("norm1"), FeedNorm: norm("norm2"), NormFirst: init.bool("norm_first", false),
		GELU: init.str("activation", "relu") == "gelu"}
	if decoder {
		l.CrossAttention, l.CrossNorm, l.FeedNorm = state.attention("multihead_attn.", init, heads), norm("norm2"), norm("norm3")
	}
	return l
}

var nnOps = map[string]op{
	"torch.nn.RNNCell": cell("RNNCell"), "torch.nn.LSTMCell": cell("LSTMCell"), "torch.nn.GRUCell": cell("GRUCell"),
	"torch.nn.RNN": recurrent("RNN"), "torch.nn.LSTM": recurrent("LSTM"), "torch.nn.GRU": recurrent("GRU"),
	"torch.nn.MultiheadAttention": {"query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, average_attn_weights=True, is_causal=False, *, init, state", multihead},
	"torch.nn.TransformerEncoderLayer": one("src, src_mask=None, src_key_padding_mask=None, is_causal=False, *, init, state", func(c *call) T {
		return transformer(c, false).Forward(c.T("src"), nil, nn.Attending{Mask: c.OptT("src_mask"),
			PaddingMask: c.OptT("src_key_padding_mask"), Causal: c.Bool("is_causal"), Training: true}, nn.Attending{})
	}),
	"torch.nn.TransformerDecoderLayer": one("tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None, tgt_is_causal=False, memory_is_causal=False, *, init, state", func(c *call) T {
		return transformer(c, true).Forward(c.T("tgt"), c.T("memory"),
			nn.Attending{Mask: c.OptT("tgt_mask"), PaddingMask: c.OptT("tgt_key_padding_mask"), Causal: c.Bool("tgt_is_causal"), Training: true},
			nn.Attending{Mask: c.OptT("memory_mask"), PaddingMask: c.OptT("memory_key_padding_mask"), Causal: c.Bool("memory_is_causal"), Training: true})
	}),
	functional + "scaled_dot_product_attention": one("query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False", func(c *call) T {
		scale, _ := c.OptFloat("scale")
		if c.Bool("is_causal") && !c.None("attn_mask") {
			c.refuse("a mask beside is_causal")
		}
		return tensor.ScaledDotProduct(c.T("query"), c.T("key"), c.T("value"), tensor.Attention{Mask: c.OptT("attn_mask"),
			Causal: c.Bool("is_causal"), Scale: scale, Dropout: c.Float("dropout_p"), Grouped: c.Bool("enable_gqa")})
	}),
}
