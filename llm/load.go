package llm

import (
	"fmt"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/packed"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/weights"
	"github.com/weft-ml/weft/weights/gguf"
)

// matrix are weights [out, in] of a product: plain, or packed.
type matrix struct {
	plain  *tensor.Tensor
	packed *packed.Matrix
}

// linear is x[…, in] · matrixᵀ + bias, which may be nil.
func (m matrix) linear(x, bias *tensor.Tensor) *tensor.Tensor {
	if m.packed == nil {
		return x.Linear(m.plain, bias)
	}
	y := m.packed.Linear(x)
	if bias != nil {
		y = y.Add(bias)
	}
	return y
}

// rows are some of the rows: [n, in] of ids[n].
func (m matrix) rows(ids *tensor.Tensor) *tensor.Tensor {
	if m.packed == nil {
		return m.plain.Embedding(ids, tensor.EmbeddingOptions{})
	}
	return m.packed.Embedding(ids)
}

// loader reads tensors as float32, and matrices as they are packed where that is known; after an error it reads none.
type loader struct {
	f      weights.File
	packed *gguf.File // or nil: everything is read as float32
	device string
	loaded []*tensor.Tensor
	err    error
}

// matrix reads a matrix.
func (r *loader) matrix(name string, out, in int) matrix {
	if r.err != nil || r.packed == nil {
		return matrix{plain: r.tensor(name, out, in)}
	}
	info, ok := r.packed.Info(name)
	if !ok || !packed.Has(info.DType) || !r.shaped(name, info, out, in) {
		return matrix{plain: r.tensor(name, out, in)} // or the error that says why not
	}
	raw, err := weights.Bytes(r.packed, name)
	if err == nil {
		err = gguf.Check(info.DType, raw)
	}
	var m *packed.Matrix
	if err == nil {
		m, err = packed.New(info.DType, out, in, raw, r.device)
	}
	if err != nil {
		r.err = fmt.Errorf("%s: %s: %w", r.f.Path(), weights.Tensor(name), err)
		return matrix{}
	}
	r.loaded = append(r.loaded, m.Parts()...)
	return matrix{packed: m}
}

// shaped says that a tensor has the shape that the configuration says; if not, that is the error.
func (r *loader) shaped(name string, info weights.Info, shape ...int) bool {
	same := len(info.Shape) == len(shape)
	for i := 0; same && i < len(shape); i++ {
		same = info.Shape[i] == int64(shape[i])
	}
	if !same {
		r.err = fmt.Errorf("%s: %s: the file has the shape %v, the configuration says %v", r.f.Path(), weights.Tensor(name), info.Shape, shape)
	}
	return same
}

func (r *loader) tensor(name string, shape ...int) *tensor.Tensor {
	if r.err != nil {
		return nil
	}
	info, ok := r.f.Info(name)
	if !ok {
		r.err = weights.Missing("weights", r.f, name)
		return nil
	}
	if !r.shaped(name, info, shape...) {
		return nil
	}
	t, err := (&nn.Tensors{File: r.f}).Tensor(name)
	if err == nil && !t.IsFloat() {
		err = fmt.Errorf("%s: %s: its elements are %v, not floats", r.f.Path(), weights.Tensor(name), t.DType())
	}
	if err == nil {
		err = tensor.Try(func() {
			if r.device != "" {
				t = t.On(r.device)
			}
			t = t.To(dtype.F32)
		})
	}
	if err != nil {
		r.err = err
		return nil
	}
	r.loaded = append(r.loaded, t)
	return t
}
