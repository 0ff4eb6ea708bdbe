package nn

import (
	"fmt"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/safetensors"
	"github.com/weft-ml/weft/tensor"
)

// Tensors are those of a file, by name, without a model. Nothing but the file's header is read before one is asked for.
type Tensors struct{ File *safetensors.File }

// OpenTensors opens a safetensors file. Close its File when no more tensors are wanted; those that were read stay.
func OpenTensors(path string) (*Tensors, error) {
	f, err := safetensors.Open(path)
	if err != nil {
		return nil, err
	}
	return &Tensors{f}, nil
}

// Names lists the tensors in the order of their data.
func (t *Tensors) Names() []string { return t.File.Names() }

// Tensor reads a tensor. It is on the default device; On moves it.
func (t *Tensors) Tensor(name string) (*tensor.Tensor, error) {
	raw, err := t.File.Bytes(name)
	if err != nil {
		return nil, err
	}
	info, _ := t.File.Info(name)
	d := ownType(info.DType)
	if d == dtype.Void {
		return nil, &MismatchError{t.File.Path(), name, fmt.Sprintf("its elements are %s, which no tensor holds", info.DType)}
	}
	shape := make([]int, len(info.Shape))
	for i, n := range info.Shape {
		shape[i] = int(n)
	}
	var out *tensor.Tensor
	if err := tensor.Try(func() { out = tensor.FromBytes(d, shape, raw) }); err != nil {
		return nil, fmt.Errorf("load %s: tensor %s: %w", t.File.Path(), name, err)
	}
	return out, nil
}

// All reads all tensors.
func (t *Tensors) All() (map[string]*tensor.Tensor, error) {
	all := map[string]*tensor.Tensor{}
	for _, name := range t.Names() {
		x, err := t.Tensor(name)
		if err != nil {
			return nil, err
		}
		all[name] = x
	}
	return all, nil
}
