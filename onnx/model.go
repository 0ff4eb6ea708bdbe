// Package onnx reads models in the ONNX format and runs them with tensors.
//
// It knows the file format (https://onnx.ai/onnx/repo-docs/IR.html) and what each operator means in each version
// (https://onnx.ai/onnx/operators). It refuses to know devices and kernels: a model becomes operations of package tensor, once for each
// combination of input shapes, and that graph is captured as one plan. What decides about shapes is computed ahead in the program; where only
// values computed on the device can tell, the graph is several plans, and the values between them are read.
//
// A file is not trusted: nothing is reserved on its word, data outside of it lie in its own folder, and whatever is not right is an error that
// names the file, the node and the reason.
//
//	m, err := onnx.Open("model.onnx")
//	out, err := m.Run(ctx, map[string]*tensor.Tensor{"x": x})
package onnx

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

// Options say how a model is read.
type Options struct {
	Name     string // of the file, for messages
	External fs.FS  // the folder in which data outside of the file lie; nil: there may be none
	Device   string // on which models run whose inputs lie on none; "": the default
}

// Port is an input or an output of a model.
type Port struct {
	Name string
	Type *Type
}

// Model is a model that was read. Any number of goroutines may run it.
type Model struct {
	name      string
	opts      Options
	proto     *modelProto
	opsets    map[string]int
	functions map[functionKey]*functionProto
	inputs    []Port
	outputs   []Port

	mu     sync.Mutex
	placed map[placedKey]*Value // weights, on each engine
	pieces map[pieceKey]*piece
	byNode map[string]bool // engines that lack the float64 that the graph asks for
}

type functionKey struct{ domain, name, overload string }

type placedKey struct {
	e *engine.Engine
	t any
}

// Error is what is wrong with a model, and where.
type Error struct {
	File   string
	Node   string // the node concerned: its operator and name
	Reason string
	Err    error
}

func (e *Error) Error() string {
	s := "onnx: " + e.File
	if e.Node != "" {
		s += ": " + e.Node
	}
	if e.Reason != "" {
		s += ": " + e.Reason
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// Open reads the model in a file; data outside of it may lie in its folder.
func Open(path string) (*Model, error) {
	m, err := open(path)
	if err != nil {
		return nil, err
	}
	return m, nil
}

func open(path string) (*Model, error) {
	info, err := os.Stat(path) // before it is opened: a pipe would wait for someone who writes
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("is not a regular file")
	}
	if err != nil {
		return nil, &Error{File: path, Err: err}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, &Error{File: path, Err: err}
	}
	dir, err := openFolder(path)
	if err != nil {
		return nil, &Error{File: path, Err: err}
	}
	defer dir.close()
	return parse(b, Options{Name: path, External: dir})
}

// Read reads a model. The bytes must not be changed afterwards.
func Read(b []byte, o Options) (*Model, error) {
	m, err := parse(b, o)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// parse is Read, which gives the model beside an *UnsupportedError too.
func parse(b []byte, o Options) (*Model, error) {
	if o.Name == "" {
		o.Name = "model"
	}
	m := &Model{name: o.Name, opts: o, placed: map[placedKey]*Value{}, pieces: map[pieceKey]*piece{}}
	d := &decoder{}
	p, err := d.model(b)
	if err != nil {
		if kind := otherKind(b); kind != "" {
			err = errors.New(kind)
		} else {
			err = fmt.Errorf("it is no ONNX model, or a damaged one: %w", err)
		}
	} else {
		m.proto = p
		err = m.resolve()
	}
	if err != nil {
		if e, ok := err.(*UnsupportedError); ok {
			return m, e
		}
		return nil, &Error{File: o.Name, Err: err}
	}
	return m, nil
}

// otherKind says what a file is that is no model, "" where it is none that is known.
func otherKind(b []byte) string {
	const weights = "it holds weights, which weft show reads, and no ONNX model; it is "
	begins := func(s string) bool { return strings.HasPrefix(string(b[:min(len(b), 16)]), s) }
	switch {
	case begins("PK\x03\x04"):
		return weights + "a zip file, as PyTorch (.pt) and NumPy (.npz) write them; torch.onnx.export makes a model"
	case begins("GGUF"):
		return weights + "a GGUF file"
	case begins("\x93NUMPY"):
		return weights + "an array of NumPy"
	case begins("\x80\x02"):
		return weights + "a pickle, as old versions of PyTorch write them; torch.onnx.export makes a model"
	case len(b) > 9 && b[8] == '{':
		return weights + "a safetensors file"
	case len(b) > 8 && string(b[4:8]) == "ORTM":
		return "it is a model in onnxruntime's own format; the .onnx file that it was made of is read"
	}
	return ""
}

// Inputs are what a run takes; inputs with a value in the file, which older files list too, are not among them.
func (m *Model) Inputs() []Port { return slices.Clone(m.inputs) }

// Outputs are what a run gives.
func (m *Model) Outputs() []Port { return slices.Clone(m.outputs) }

// Run computes the outputs of inputs that are tensors. All outputs must be tensors; see Call for others.
func (m *Model) Run(ctx context.Context, in map[string]*tensor.Tensor) (map[string]*tensor.Tensor, error) {
	vs := make(map[string]*Value, len(in))
	for name, t := range in {
		if t == nil {
			return nil, &Error{File: m.name, Reason: fmt.Sprintf("input %q is nil", name)}
		}
		var v *Value
		if err := tensor.Try(func() { v = Of(t) }); err != nil {
			return nil, &Error{File: m.name, Reason: fmt.Sprintf("input %q", name), Err: err}
		}
		for _, p := range m.inputs { // a narrow type is given as what carries it
			if p.Name == name && p.Type != nil && p.Type.Elem.narrow() && p.Type.Elem.DType() == t.DType() {
				v.elem = p.Type.Elem
			}
		}
		vs[name] = v
	}
	got, err := m.Call(ctx, vs)
	if err != nil {
		return nil, err
	}
	out := make(map[string]*tensor.Tensor, len(got))
	for name, v := range got {
		t := v.Tensor()
		if t == nil {
			return nil, &Error{File: m.name, Reason: fmt.Sprintf("output %q is a %v, which is no tensor; use Call", name, v)}
		}
		out[name] = t
	}
	return out, nil
}

// resolve checks a model that was read.
func (m *Model) resolve() error {
	p := m.proto
	if p.graph == nil {
		return fmt.Errorf("there is no graph in it; it is no ONNX file")
	}
	var err error
	if m.opsets, err = opsetsOf(p.opsets); err != nil {
		return err
	}
	m.functions = map[functionKey]*functionProto{}
	for _, f := range p.functions {
		k := functionKey{f.domain, f.name, f.overload}
		if m.functions[k] != nil {
			return fmt.Errorf("function %.80q of domain %.80q is there twice", f.name, f.domain)
		}
		m.functions[k] = f
	}
	given := map[string]bool{}
	for _, t := range p.graph.init {
		given[t.name] = true
	}
	for _, s := range p.graph.sparse {
		given[s.values.name] = true
	}
	for _, in := range p.graph.inputs {
		if !given[in.name] {
			m.inputs = append(m.inputs, Port{in.name, in.typ})
		}
	}
	for _, out := range p.graph.outputs {
		m.outputs = append(m.outputs, Port{out.name, out.typ})
	}
	return m.check()
}

// The versions of the operators of the default domain that are known.
const (
	oldestOpset = 1
	newestOpset = 28
)

func opsetsOf(list []opsetID) (map[string]int, error) {
	out := map[string]int{}
	for _, o := range list {
		if o.domain == "ai.onnx" {
			o.domain = ""
		}
		if o.version < 0 || o.domain == "" && (o.version < oldestOpset || o.version > newestOpset) {
			return nil, fmt.Errorf("it asks for version %d of the operators; versions %d to %d are known", o.version, oldestOpset, newestOpset)
		}
		out[o.domain] = int(min(o.version, 1<<30))
	}
	return out, nil
}
