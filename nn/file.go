package nn

import (
	"context"
	"fmt"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/safetensors"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/weights"
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
	_, err = LoadFrom(ctx, f, model, LoadOptions{})
	return err
}

// LoadOptions are the options of LoadFrom.
type LoadOptions struct {
	// Partial loads what fits and leaves the other tensors of the model as they are.
	Partial bool
	// Rename gives for the name of a tensor of the model that of the one in the file; nil: the same.
	Rename func(name string) string
	// Convert lets a float of the file become one of another type, rounded.
	Convert bool
}

// LoadReport says what was loaded and what was not.
type LoadReport struct {
	Loaded     []string         // tensors of the model, in the order of State
	Missing    []string         // tensors of the model that the file does not have
	Unused     []string         // tensors of the file that the model does not have
	Mismatched []*MismatchError // tensors of both whose shapes or types differ
}

// String says it in words.
func (r *LoadReport) String() string {
	s := fmt.Sprintf("%d loaded", len(r.Loaded))
	for _, part := range []struct {
		names []string
		what  string
	}{{r.Missing, "not in the file"}, {r.Unused, "not in the model"}} {
		if len(part.names) > 0 {
			s += fmt.Sprintf("; %d %s: %s", len(part.names), part.what, listed(part.names))
		}
	}
	for _, m := range r.Mismatched {
		s += fmt.Sprintf("; %s: %s", m.Tensor, m.Reason)
	}
	return s
}

// LoadFrom is Load from an open file of any format that package weights has, which may lie anywhere that can be read at an offset
// (safetensors.Parse: bytes, io.ReaderAt), with options. Without Partial the first thing that does not fit is a *MismatchError, and nothing is changed.
//
//	f, err := safetensors.Parse("model", bytes.NewReader(raw), int64(len(raw)))
//	report, err := nn.LoadFrom(ctx, f, model, nn.LoadOptions{Partial: true})
func LoadFrom(ctx context.Context, f weights.File, model any, o LoadOptions) (*LoadReport, error) {
	state := State(model)
	report, from := compared(f, state, o)
	if !o.Partial {
		if err := report.first(f, state); err != nil {
			return report, err
		}
	}
	var loaded []*tensor.Tensor
	for _, s := range state {
		name, ok := from[s.Name]
		if !ok {
			continue
		}
		raw, err := weights.Bytes(f, name)
		if err != nil {
			return report, err
		}
		info, _ := f.Info(name)
		err = tensor.Try(func() {
			if d := ownType(info.DType); d != s.Tensor.DType() {
				s.Tensor.Own().Assign(tensor.FromBytes(d, s.Tensor.Shape(), raw).On(s.Tensor.Device()).To(s.Tensor.DType()))
			} else {
				s.Tensor.AssignBytes(raw)
			}
		})
		if err != nil {
			return report, fmt.Errorf("load %s: tensor %s: %w", f.Path(), s.Name, err)
		}
		loaded = append(loaded, s.Tensor)
	}
	if len(loaded) == 0 {
		return report, nil
	}
	return report, tensor.Realize(ctx, loaded...)
}

// ownType is the element type of a name in files, Void where there is none.
func ownType(name string) dtype.DType {
	for d, n := range fileTypes {
		if n == name {
			return d
		}
	}
	return dtype.Void
}

// compared says what of a file fits a model, and gives the names in the file of what does.
func compared(f weights.File, state []Named, o LoadOptions) (r *LoadReport, from map[string]string) {
	r, from = &LoadReport{}, map[string]string{}
	wanted := map[string]bool{}
	for _, s := range state {
		name := s.Name
		if o.Rename != nil {
			name = o.Rename(name)
		}
		wanted[name] = true
		info, ok := f.Info(name)
		if !ok {
			r.Missing = append(r.Missing, s.Name)
			continue
		}
		have := make([]int, len(info.Shape))
		for k, n := range info.Shape {
			have[k] = int(n)
		}
		want, d := s.Tensor.Shape(), fileTypes[s.Tensor.DType()]
		same := info.DType == d
		if !same && o.Convert {
			same = ownType(info.DType).IsFloat() && s.Tensor.IsFloat()
		}
		if !same || !slices.Equal(have, want) {
			r.Mismatched = append(r.Mismatched, &MismatchError{f.Path(), s.Name,
				fmt.Sprintf("the file has %s %v, the model needs %s %v", info.DType, have, d, want)})
			continue
		}
		r.Loaded, from[s.Name] = append(r.Loaded, s.Name), name
	}
	for _, name := range f.Names() {
		if !wanted[name] {
			r.Unused = append(r.Unused, name)
		}
	}
	return r, from
}

// first is the first thing that does not fit.
func (r *LoadReport) first(f weights.File, state []Named) error {
	for _, s := range state {
		for _, m := range r.Mismatched {
			if m.Tensor == s.Name {
				return m
			}
		}
		if slices.Contains(r.Missing, s.Name) {
			return &MismatchError{f.Path(), s.Name, fmt.Sprintf("is not in the file, which holds %s", listed(f.Names()))}
		}
	}
	if len(r.Unused) > 0 {
		names := make([]string, len(state))
		for i, s := range state {
			names[i] = s.Name
		}
		return &MismatchError{f.Path(), r.Unused[0], fmt.Sprintf("the model has no such tensor; it has %s", listed(names))}
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
