package main

import (
	"context"
	"slices"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/onnx"
	"github.com/weft-ml/weft/tensor"
)

// work is what a case computes: a function of tensors, captured at the first run, so that this one shows the time of
// compiling, and replayed.
type work struct {
	f     func(in ...*tensor.Tensor) []*tensor.Tensor
	in    []*tensor.Tensor
	model any  // whose tensors f uses besides, and may change; nil: none
	into  bool // results go into the same tensors each time

	weights int // how many of in, the last ones, are no inputs of the captured function but tensors that it uses, as a model's are

	file  []byte      // a model in an ONNX file, which is run instead of f
	net   *onnx.Model // it
	names []string    // of its inputs, in

	captured *tensor.Captured
	outs     []*tensor.Tensor // the same tensors
}

// training is a step: the loss of a model, and what an optimiser makes of it.
func training(model any, opt *nn.Optimizer, loss func(in ...*tensor.Tensor) *tensor.Tensor, in ...*tensor.Tensor) *work {
	return &work{model: model, in: in, f: func(in ...*tensor.Tensor) []*tensor.Tensor {
		l := loss(in...)
		opt.Update(l)
		return []*tensor.Tensor{l}
	}}
}

// run computes everything once and waits for it.
func (w *work) run(ctx context.Context) error {
	_, err := w.results(ctx)
	return err
}

// results is run that gives the results.
func (w *work) results(ctx context.Context) (outs []*tensor.Tensor, err error) {
	in := w.in[:len(w.in)-w.weights]
	if w.captured == nil && w.net == nil {
		f := func(in ...*tensor.Tensor) []*tensor.Tensor { return w.f(slices.Concat(in, w.in[len(in):])...) }
		if w.captured, err = tensor.Capture(ctx, f, in...); err != nil {
			return nil, err
		}
	}
	switch {
	case w.net != nil:
		outs, err = w.call(ctx)
	case w.into:
		if w.outs == nil {
			w.outs = make([]*tensor.Tensor, 1)
		}
		outs, err = w.captured.RunInto(ctx, w.outs, in...)
	default:
		outs, err = w.captured.Run(ctx, in...)
	}
	if err != nil {
		return nil, err
	}
	e, err := engine.UseContext(ctx, "")
	if err != nil {
		return nil, err
	}
	return outs, e.Sync(ctx)
}
