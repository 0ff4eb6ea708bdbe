package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/onnx"
	"github.com/weft-ml/weft/onnx/networks"
	"github.com/weft-ml/weft/tensor"
)

// modelCases are models in ONNX files, run by package onnx: two of others, which lie among the shared data, and networks that exporters write, with
// random weights. A run of one is a call of the model with its inputs by name.
var modelCases = []benchCase{
	{name: "onnx-ultraface", about: "the ONNX file of a face detector, a picture of 320×240", flops: 2 * 105e6, prepare: sharedModel("ultraface-rfb-320")},
	{name: "onnx-silero", about: "the ONNX file of a detector of speech, 32 ms of sound", prepare: sharedModel("silero-vad-op18-ifless")},
	{name: "onnx-resnet18", about: "an ONNX file of ResNet-18, a picture of 224×224", flops: 2 * 1.814e9, prepare: writtenModel(networks.ResNet18)},
	{name: "onnx-bert", about: "an ONNX file of an encoder like BERT, 12 layers of 768, 128 words", flops: 2 * 12 * (128*12*768*768 + 2*128*128*768),
		prepare: writtenModel(func() *networks.Network { return networks.Encoder(12) })},
	{name: "onnx-gpt2", about: "an ONNX file of GPT-2 small: a token, 255 before it", bytes: 4 * (12*12*768*768 + 50257*768 + 2*12*768*255), byBytes: true,
		prepare: writtenModel(func() *networks.Network { return networks.GPT2(255, 32) })},
	{name: "onnx-gpt2-4bit", about: "the same with weights of 4 bits", bytes: 4.0*2*12*768*255 + (0.5+4.0/32)*(12*12*768*768+50257*768), byBytes: true,
		prepare: writtenModel(func() *networks.Network { return networks.GPT2(255, 4) })},
}

// writtenModel is a case of a network that package networks writes.
func writtenModel(write func() *networks.Network) func(ctx context.Context) (*work, error) {
	return func(ctx context.Context) (*work, error) {
		n := write()
		w := &work{file: n.Model}
		for _, in := range n.Inputs {
			d := dtype.F32
			if in.DType == "int64" {
				d = dtype.I64
			}
			w.names, w.in = append(w.names, in.Name), append(w.in, tensor.FromBytes(d, in.Shape, in.Data))
		}
		return w.open(ctx, n.Name+".onnx")
	}
}

// sharedModel is a case of a model among the shared data, given the first of its sets of test data.
func sharedModel(name string) func(ctx context.Context) (*work, error) {
	return func(ctx context.Context) (*work, error) {
		data := os.Getenv("WEFT_DATA")
		if data == "" {
			data = filepath.Join("..", "shared", "data")
		}
		dir := filepath.Join(data, "models", name)
		file, err := os.ReadFile(filepath.Join(dir, "model.onnx"))
		if err != nil {
			return nil, &missingData{err}
		}
		w, err := (&work{file: file}).open(ctx, name+".onnx")
		if err != nil {
			return nil, err
		}
		for i, p := range w.net.Inputs() {
			b, err := os.ReadFile(filepath.Join(dir, "test_data_set_0", "input_"+strconv.Itoa(i)+".pb"))
			if err != nil {
				return nil, err
			}
			v, err := onnx.ReadValue(b, p.Type)
			if err != nil {
				return nil, err
			}
			raw, err := v.Bytes(ctx)
			if err != nil {
				return nil, err
			}
			w.names, w.in = append(w.names, p.Name), append(w.in, tensor.FromBytes(v.Elem().DType(), v.Shape(), raw))
		}
		return w, tensor.Realize(ctx, w.in...)
	}
}

// missingData says that a case's data are not here.
type missingData struct{ err error }

func (m *missingData) Error() string {
	return fmt.Sprintf("%v; name the folder of shared data with WEFT_DATA", m.err)
}

func (m *missingData) Unwrap() error { return fs.ErrNotExist }

// open reads the model of a case and has its inputs on the device.
func (w *work) open(ctx context.Context, name string) (*work, error) {
	var err error
	if w.net, err = onnx.Read(w.file, onnx.Options{Name: name}); err != nil {
		return nil, err
	}
	return w, tensor.Realize(ctx, w.in...)
}

// call runs a model.
func (w *work) call(ctx context.Context) (outs []*tensor.Tensor, err error) {
	in := map[string]*tensor.Tensor{}
	for i, name := range w.names {
		in[name] = w.in[i]
	}
	got, err := w.net.Run(ctx, in)
	if err != nil {
		return nil, err
	}
	for _, p := range w.net.Outputs() {
		outs = append(outs, got[p.Name])
	}
	return outs, nil
}
