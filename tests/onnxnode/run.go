package onnxnode

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"runtime/debug"
	"strings"

	"github.com/weft-ml/weft/codegen/legal"
	"github.com/weft-ml/weft/onnx"
)

// Status is what became of a case.
type Status uint8

// The outcomes.
const (
	Passed Status = iota
	Failed
	NotYet
)

// Result is the outcome of one case.
type Result struct {
	Case   *Case
	Status Status
	Reason string
}

// noise names the cases whose expected values nobody reaches who computes in another order, and why.
var noise = map[string]string{
	"test_dft_inverse": inverseNoise, "test_dft_inverse_opset19": inverseNoise,
	"test_attention_4d_causal_fp16_expanded": softmaxNoise,
}

const (
	inverseNoise = "where the transform is 0, the rounding of the one that was recorded, 1.9e-7, is expected, and the tolerance is 1e-7"
	softmaxNoise = "the softmax that was recorded rounds to float16 after each step, ours once, and one unit in the last place of float16 is more than 1e-3"
)

// Tolerance is how far results may be from what is expected: |got − want| ≤ Abs + Rel·|want|, where that of bfloat16 is at least BF16.
type Tolerance struct{ Rel, Abs, BF16 float64 }

// Run runs a case on a device.
func (c *Case) Run(ctx context.Context, device string, tol Tolerance) (r Result) {
	r.Case = c
	defer func() {
		if p := recover(); p != nil {
			r.Status, r.Reason = Failed, fmt.Sprintf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	err := c.run(ctx, device, tol)
	if err == nil {
		return r
	}
	r.Status, r.Reason = Failed, err.Error()
	if why, ok := noise[path.Base(c.Name)]; ok {
		r.Status, r.Reason = NotYet, why+": "+err.Error()
	}
	var ops *onnx.UnsupportedError
	var limit *onnx.NotYetError
	var typ *legal.Unsupported
	switch {
	case errors.As(err, &ops), errors.As(err, &limit):
		r.Status = NotYet
	case errors.As(err, &typ):
		r.Status, r.Reason = NotYet, "no "+typ.DType.String()
	}
	return r
}

func (c *Case) run(ctx context.Context, device string, tol Tolerance) error {
	b, err := fs.ReadFile(c.Files, "model.onnx")
	if err != nil {
		return err
	}
	m, err := onnx.Read(b, onnx.Options{Name: c.Name + "/model.onnx", External: c.Files, Device: device})
	if err != nil {
		return err
	}
	sets, err := c.Sets()
	if err != nil {
		return err
	}
	if len(sets) == 0 {
		return fmt.Errorf("there is no test_data_set_0")
	}
	loose := random(m)
	for _, set := range sets {
		in, err := c.values(set, "input", m.Inputs(), false)
		if err != nil {
			return err
		}
		want, err := c.values(set, "output", m.Outputs(), true)
		if err != nil {
			return err
		}
		got, err := m.Call(ctx, in)
		if err != nil {
			return err
		}
		for name, w := range want {
			if err := same(ctx, got[name], w, tol, loose); err != nil {
				return fmt.Errorf("%s: output %q: %w", set, name, err)
			}
		}
	}
	return nil
}

// random says that a model's results are random numbers.
func random(m *onnx.Model) bool {
	for _, op := range m.Ops() {
		if strings.HasPrefix(op.Name, "Random") || op.Name == "Bernoulli" || op.Name == "Multinomial" || op.Name == "Dropout" && op.Domain == "" && m.Opset("") >= 12 && m.Trains() {
			return true
		}
	}
	return false
}

// values reads the files of a data set.
func (c *Case) values(set, kind string, ports []onnx.Port, all bool) (map[string]*onnx.Value, error) {
	vs := map[string]*onnx.Value{}
	for k, p := range ports {
		name := fmt.Sprintf("%s/%s_%d.pb", set, kind, k)
		b, err := fs.ReadFile(c.Files, name)
		if errors.Is(err, fs.ErrNotExist) && !all {
			continue // an input that is optional
		}
		if err != nil {
			return nil, err
		}
		v, err := onnx.ReadValue(b, p.Type)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		vs[p.Name] = v
	}
	return vs, nil
}
