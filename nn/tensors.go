package nn

import (
	"fmt"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/safetensors"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/weights"
)

// Tensors are those of a file, by name, without a model. Nothing but the file's header is read before one is asked for. The file may have any
// format that package weights has.
type Tensors struct{ File weights.File }

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
	raw, err := weights.Bytes(t.File, name)
	if err != nil {
		return nil, err
	}
	d, shape, err := t.typed(name)
	if err != nil {
		return nil, err
	}
	var out *tensor.Tensor
	if err := tensor.Try(func() { out = tensor.FromBytes(d, shape, raw) }); err != nil {
		return nil, fmt.Errorf("load %s: tensor %s: %w", t.File.Path(), name, err)
	}
	return out, nil
}

// Lazy is a tensor whose elements stay in the file until something reads them, and of which only what is used is read: see tensor.File. The
// file is to be left open for as long.
func (t *Tensors) Lazy(name string) (*tensor.Tensor, error) {
	src, err := t.File.Data(name)
	if err != nil {
		return nil, err
	}
	d, shape, err := t.typed(name)
	if err != nil {
		return nil, err
	}
	info, _ := t.File.Info(name)
	return tensor.OpenReader(t.File.Path()+", tensor "+name, src, info.Bytes).Tensor(d, 0, shape...)
}

// typed is the type and shape of a tensor of the file.
func (t *Tensors) typed(name string) (dtype.DType, []int, error) {
	info, _ := t.File.Info(name)
	d := ownType(info.DType)
	if d == dtype.Void {
		return d, nil, &MismatchError{t.File.Path(), name, fmt.Sprintf("its elements are %s, which no tensor holds", info.DType)}
	}
	shape := make([]int, len(info.Shape))
	for i, n := range info.Shape {
		shape[i] = int(n)
	}
	return d, shape, nil
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
