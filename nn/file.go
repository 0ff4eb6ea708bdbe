package nn

import (
	"context"
	"fmt"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/safetensors"
	"github.com/weft-ml/weft/tensor"
)

// fileTypes are the names of element types in files.
var fileTypes = map[dtype.DType]string{
	dtype.Bool: "BOOL", dtype.I8: "I8", dtype.U8: "U8", dtype.I16: "I16", dtype.U16: "U16", dtype.I32: "I32", dtype.U32: "U32",
	dtype.I64: "I64", dtype.U64: "U64", dtype.F16: "F16", dtype.BF16: "BF16", dtype.F32: "F32", dtype.F64: "F64",
	dtype.F8E4M3: "F8_E4M3", dtype.F8E5M2: "F8_E5M2",
}

// Save writes the tensors of a model to a safetensors file under the names of State. The file appears whole
// or not at all; when ctx ends the old one is as it was.
func Save(ctx context.Context, path string, model any) error {
	state := State(model)
	if err := Realize(ctx, model); err != nil {
		return fmt.Errorf("save %s: %w", path, err)
	}
	entries := make([]safetensors.Entry, len(state))
	for i, s := range state {
		raw, err := s.Tensor.Bytes(ctx)
		if err != nil {
			return fmt.Errorf("save %s: read %s: %w", path, s.Name, err)
		}
		shape := make([]int64, s.Tensor.Rank())
		for k, n := range s.Tensor.Shape() {
			shape[k] = int64(n)
		}
		entries[i] = safetensors.Entry{Name: s.Name, DType: fileTypes[s.Tensor.DType()], Shape: shape, Data: raw}
	}
	return safetensors.WriteContext(ctx, path, entries, nil)
}

// MismatchError says that a file does not hold what a model needs.
type MismatchError struct {
	Path   string
	Tensor string
	Reason string
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("load %s: tensor %s: %s", e.Path, e.Tensor, e.Reason)
}

// Load reads the tensors of a model from a file that Save, or another program, wrote. Names, shapes and types
// must agree exactly; everything is checked before anything is changed.
func Load(ctx context.Context, path string, model any) error {
	f, err := safetensors.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	state := State(model)
	if err := matches(f, path, state); err != nil {
		return err
	}
	loaded := make([]*tensor.Tensor, len(state))
	for i, s := range state {
		raw, err := f.Bytes(s.Name)
		if err != nil {
			return err
		}
		loaded[i] = s.Tensor
		if err := tensor.Try(func() { s.Tensor.AssignBytes(raw) }); err != nil {
			return fmt.Errorf("load %s: tensor %s: %w", path, s.Name, err)
		}
	}
	if len(loaded) == 0 {
		return nil
	}
	return tensor.Realize(ctx, loaded...)
}

// matches compares what a file holds with what a model needs.
func matches(f *safetensors.File, path string, state []Named) error {
	names := make([]string, len(state))
	for i, s := range state {
		names[i] = s.Name
		info, ok := f.Info(s.Name)
		if !ok {
			return &MismatchError{path, s.Name, fmt.Sprintf("is not in the file, which holds %s", listed(f.Names()))}
		}
		have := make([]int, len(info.Shape))
		for k, n := range info.Shape {
			have[k] = int(n)
		}
		want, d := s.Tensor.Shape(), fileTypes[s.Tensor.DType()]
		if info.DType != d || !slices.Equal(have, want) {
			return &MismatchError{path, s.Name, fmt.Sprintf("the file has %s %v, the model needs %s %v", info.DType, have, d, want)}
		}
	}
	for _, name := range f.Names() {
		if !slices.Contains(names, name) {
			return &MismatchError{path, name, fmt.Sprintf("the model has no such tensor; it has %s", listed(names))}
		}
	}
	return nil
}

// listed writes some names.
func listed(names []string) string {
	if len(names) > 8 {
		return fmt.Sprintf("%v and %d more", names[:8], len(names)-8)
	}
	return fmt.Sprint(names)
}
