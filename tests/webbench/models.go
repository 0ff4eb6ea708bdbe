package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"github.com/weft-ml/weft/onnx"
	written "github.com/weft-ml/weft/onnx/networks"
	"github.com/weft-ml/weft/tests/browser"
)

// modelCase is a model in an ONNX file: of the shared data, or as package networks writes it. An engine may take as long as onnxruntime-web.
type modelCase struct {
	name  string
	write func() *written.Network // nil: the model of the folder shared
	from  string                  // its folder among the shared models
}

var modelCases = []modelCase{
	{name: "onnx ultraface, 320x240", from: "ultraface-rfb-320"},
	{name: "onnx silero, 32 ms", from: "silero-vad-op18-ifless"},
	{name: "onnx resnet-18, 224x224", write: written.ResNet18},
	{name: "onnx encoder, 12 layers, 128 words", write: func() *written.Network { return written.Encoder(12) }},
	{name: "onnx gpt-2, 255 before", write: func() *written.Network { return written.GPT2(255, 32) }},
	{name: "onnx gpt-2 4 bits, 255 before", write: func() *written.Network { return written.GPT2(255, 4) }},
}

const modelNote = "Milliseconds of a run until its first output is a typed array of the page. Weft's inputs and other outputs stay on its device;\n" +
	"onnxruntime-web takes inputs from the page and gives all outputs there, which is the only way its processor has.\n" +
	"Medians of %d rounds in turns; both gave the same values within %g of the greatest.\n"

// modelTolerance is how far the values of two engines may be from each other, relative to the greatest value.
const modelTolerance = 1e-3

// network writes or reads a model and what it is given.
func (c modelCase) network() (*written.Network, error) {
	if c.write != nil {
		return c.write(), nil
	}
	data := os.Getenv("WEFT_DATA")
	if data == "" {
		data = filepath.Join("..", "shared", "data")
	}
	dir := filepath.Join(data, "models", c.from)
	file, err := os.ReadFile(filepath.Join(dir, "model.onnx"))
	if err != nil {
		return nil, fmt.Errorf("%w; name the folder of shared data with WEFT_DATA", err)
	}
	m, err := onnx.Read(file, onnx.Options{Name: c.from})
	if err != nil {
		return nil, err
	}
	n := &written.Network{Name: c.from, Model: file}
	for i, port := range m.Inputs() {
		b, err := os.ReadFile(filepath.Join(dir, "test_data_set_0", fmt.Sprintf("input_%d.pb", i)))
		if err != nil {
			return nil, err
		}
		v, err := onnx.ReadValue(b, port.Type)
		if err != nil {
			return nil, err
		}
		raw, err := v.Bytes(context.Background())
		if err != nil {
			return nil, err
		}
		n.Inputs = append(n.Inputs, written.Input{Name: port.Name, DType: v.Elem().DType().String(), Shape: v.Shape(), Data: raw})
	}
	for _, port := range m.Outputs() {
		n.Outputs = append(n.Outputs, port.Name)
	}
	return n, nil
}

// measureModels measures models, each in a page of its own: the largest fill much of the memory that a page may have.
func measureModels(ctx context.Context, o options, p *printer, _ string) error {
	names := []string{"weft", "onnxruntime-web"}
	headed := false
	for _, c := range modelCases {
		if !o.wants("models", c.name) {
			continue
		}
		n, err := c.network()
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		server := serveWith(o.peers, o.engine, func(mux *http.ServeMux) { routeModel(mux, n) })
		err = inPage(ctx, server.URL+"/index.html", "globalThis.bench", func(page *browser.Page, version string) error {
			var about struct {
				Threads int
				Detail  string
			}
			if err := page.Run(fmt.Sprintf("return await bench.open([%s], 'wasm', {models: true})", quoted(names)), &about); err != nil {
				return err
			}
			p.threads = about.Threads
			if !headed {
				headed = true
				p.head("models on wasm", fmt.Sprintf("%s, %s, %d threads for everyone\n"+modelNote, version, about.Detail, about.Threads, o.rounds, modelTolerance), names)
			}
			var got map[string]timed
			if err := page.Run(fmt.Sprintf("return await bench.model({rounds: %d, ms: %d, tolerance: %g})", o.rounds, o.ms, modelTolerance), &got); err != nil {
				return err
			}
			p.row("models", compared{c.name, 1, names[1:]}, names, got)
			return nil
		})
		server.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

// routeModel serves a model, and what it is given as text.
func routeModel(mux *http.ServeMux, n *written.Network) {
	type input struct {
		Name  string `json:"name"`
		DType string `json:"dtype"`
		Shape []int  `json:"shape"`
		Data  string `json:"data"` // base64
	}
	told := struct {
		Inputs  []input  `json:"inputs"`
		Outputs []string `json:"outputs"`
	}{Outputs: n.Outputs}
	for _, in := range n.Inputs {
		told.Inputs = append(told.Inputs, input{in.Name, in.DType, append([]int{}, in.Shape...), base64.StdEncoding.EncodeToString(in.Data)})
	}
	mux.HandleFunc("/model.onnx", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(n.Model) })
	mux.HandleFunc("/model.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(told)
	})
}
