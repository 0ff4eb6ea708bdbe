package main

import (
	"context"
	"fmt"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/tensor"
)

const (
	places    = 8 // digits that are sorted
	kinds     = 10
	width     = 64
	sortSteps = 500
	sortBatch = 128
)

// transformer gives the logits of the digit at each place of a sorted list.
type transformer struct {
	Digits, Places *nn.Embedding
	Layer          *nn.TransformerLayer
	Norm           *nn.LayerNorm
	Out            *nn.Linear
}

// forward takes x[n, places] of digits.
func (m *transformer) forward(x *tensor.Tensor) *tensor.Tensor {
	y := m.Digits.Forward(x).Add(m.Places.Weight)
	y = m.Layer.Forward(y, nil, nn.Attending{}, nn.Attending{})
	return m.Out.Forward(m.Norm.Forward(y))
}

// sorter is a function of eight digits that gives them in order.
func sorter(ctx context.Context, o options) (*tensor.Captured, error) {
	tensor.Seed(3)
	m := &transformer{nn.NewEmbedding(kinds, width), nn.NewEmbedding(places, width), nn.NewTransformerLayer(width, 4, 4*width, false),
		nn.NewLayerNorm(width), nn.NewLinear(width, kinds)}
	m.Layer.SelfAttention.BatchFirst, m.Layer.NormFirst, m.Layer.GELU = true, true, true
	err := learn(ctx, o, "sort", m, sortSteps, func() *tensor.Tensor {
		x := tensor.RandInt(0, kinds, sortBatch, places)
		sorted, _ := x.Sort(-1, false)
		return m.forward(x).Reshape(-1, kinds).CrossEntropy(sorted.Reshape(-1))
	})
	if err != nil {
		return nil, err
	}
	x := tensor.RandInt(0, kinds, 2000, places)
	sorted, _ := x.Sort(-1, false)
	right := m.forward(x).ArgMax(-1).Eq(sorted.To(dtype.I32))
	each, all := right.To(dtype.F32).Mean(), right.All(1).To(dtype.F32).Mean()
	if err := tensor.Realize(ctx, each, all); err != nil {
		return nil, err
	}
	of, err := each.Item(ctx)
	if err != nil {
		return nil, err
	}
	lists, err := all.Item(ctx)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(o.out, "sort      %.1f %% of digits and %.1f %% of lists are right\n", 100*of, 100*lists)
	c, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor {
		return []*tensor.Tensor{m.forward(in[0].Unsqueeze(0)).ArgMax(-1).Squeeze(0).To(dtype.I32)}
	}, tensor.Zeros(places).To(dtype.I32))
	if err != nil {
		return nil, err
	}
	return c.Named([]string{"digits"}, []string{"sorted"}), nil
}
