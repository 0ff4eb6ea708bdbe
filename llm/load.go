package llm

import (
	"fmt"
	"strings"

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
	layout
	loaded []*tensor.Tensor
	err    error
	about  *About // nil: tensors are read, otherwise looked at only
	asked  map[string]bool
}

// layer reads the weights of a layer.
func (r *loader) layer(c *Config, i int) layer {
	kind, n := c.family(), r.layout
	at := func(name string) string {
		if name == "" {
			return ""
		}
		return fmt.Sprintf(name, i)
	}
	q, kv := c.Heads*c.Head, c.KVHeads*c.Head
	l := layer{attentionNorm: r.norm(at(n.attentionNorm), kind.layerNorm, c.Dim), ffnNorm: r.norm(at(n.ffnNorm), kind.layerNorm, c.Dim),
		postNorm: r.norm(at(n.postNorm), kind.layerNorm, c.Dim), ffnPostNorm: r.norm(at(n.ffnPostNorm), kind.layerNorm, c.Dim),
		qkv:  r.product(at(n.qkv), c.Dim, c.Bias, rows{at(n.q), q}, rows{at(n.k), kv}, rows{at(n.v), kv}),
		o:    r.product(at(n.o), q, c.OutputBias, rows{at(n.o), c.Dim}),
		down: r.product(at(n.down), c.Hidden, c.ForwardBias, rows{at(n.down), c.Dim})}
	if kind.plain {
		l.up = r.product(at(n.up), c.Dim, c.ForwardBias, rows{at(n.up), c.Hidden})
	} else {
		l.up = r.product(at(n.gateUp), c.Dim, c.ForwardBias, rows{at(n.gate), c.Hidden}, rows{at(n.up), c.Hidden})
	}
	if c.HeadNorm {
		l.qNorm, l.kNorm = r.norm(at(n.qNorm), false, c.Head), r.norm(at(n.kNorm), false, c.Head)
	}
	if c.Windowed != nil && c.Windowed[i] {
		l.window = c.Window
	}
	l.still = c.Still != nil && c.Still[i]
	return l
}

// rows are those of a matrix.
type rows struct {
	name string
	n    int
}

// product reads matrices of the same input: the one that has them all, if the file has it, or each.
func (r *loader) product(joint string, in int, bias bool, parts ...rows) (p product) {
	if joint != "" && (parts[0].name == "" || r.has(joint)) {
		sum := 0
		for _, x := range parts {
			sum += x.n
		}
		parts = []rows{{joint, sum}}
	}
	for _, x := range parts {
		switch {
		case r.transposed && r.err == nil:
			t := r.tensor(x.name, in, x.n)
			if r.err == nil {
				t = t.T().Contiguous()
				r.loaded[len(r.loaded)-1] = t
			}
			p.parts = append(p.parts, matrix{plain: t})
		default:
			p.parts = append(p.parts, r.matrix(x.name, x.n, in))
		}
		var b *tensor.Tensor
		if bias {
			b = r.tensor(biasOf(x.name), x.n)
		}
		p.bias = append(p.bias, b)
	}
	return p
}

// norm reads a norm; of no name, none.
func (r *loader) norm(name string, bias bool, n int) (out norm) {
	if name == "" || r.err != nil {
		return norm{}
	}
	if out.weight = r.tensor(name, n); r.err == nil && r.plusOne {
		out.weight = out.weight.Add(1)
		r.loaded[len(r.loaded)-1] = out.weight
	}
	if bias {
		out.bias = r.tensor(biasOf(name), n)
	}
	return out
}

// padded reads a matrix, of which there are more or fewer rows than the file has; those behind are 0.
func (r *loader) padded(name string, rows, now, cols int) *tensor.Tensor {
	t := r.tensor(name, rows, cols)
	if r.err != nil {
		return nil
	}
	if rows < now {
		t = t.Pad([]int{0, 0}, []int{now - rows, 0})
	} else {
		t = t.Narrow(0, 0, now)
	}
	t = t.Contiguous()
	r.loaded[len(r.loaded)-1] = t
	return t
}

// called is what the file calls a tensor.
func (r *loader) called(name string) string {
	if rest, ok := strings.CutPrefix(name, r.prefix[0]); ok {
		return r.prefix[1] + rest
	}
	return name
}

func (r *loader) has(name string) bool {
	_, ok := r.f.Info(r.called(name))
	return ok
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
	name = r.called(name)
	if r.about != nil {
		return r.looked(name, shape)
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
