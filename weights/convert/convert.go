// Package convert writes tensors of one file of weights to another, as other types: with halves of the bits, or packed in blocks of 8, 5 or
// 4 bits, and says how far each tensor is from what it was.
//
// It knows formats and refuses to know models: what tensors are called and in which order rows lie is told to it.
//
//	report, err := convert.Write(ctx, "small.gguf", tensors, convert.Options{To: "Q4_0"})
package convert

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/safetensors"
	"github.com/weft-ml/weft/weights"
	"github.com/weft-ml/weft/weights/gguf"
)

// Tensor is a tensor to be written.
type Tensor struct {
	Name  string
	Shape []int64
	From  string                 // its type
	Data  func() ([]byte, error) // of that type
	Then  func(v []float32)      // changes its elements as floats; nil: not
	Turn  bool                   // a matrix [in, out] becomes [out, in]; Shape is the one after
	Keep  bool                   // it is not packed: written as F32
}

// Options are the options of Write.
type Options struct {
	// To is the type of tensors of floats: F32, F16, BF16, or one of gguf.Packs in a GGUF file; "": as they are. Packed are tensors of
	// two dims and more whose rows are whole blocks; of those to be packed, other matrices become F16 and vectors F32.
	To string
	// Pairs are the metadata of a GGUF file, Metadata those of a safetensors file.
	Pairs    []gguf.Pair
	Metadata map[string]string
}

// Line says what became of a tensor.
type Line struct {
	Name     string
	Shape    []int64
	From, To string
	Bytes    int64
	// Error is the root of the mean square of the difference over that of the tensor; Most the largest difference.
	Error, Most float64

	sum uint32
}

// Types lists what Options.To may be, in the order of their sizes.
func Types() []string { return append([]string{"F32", "F16", "BF16"}, gguf.Packs()...) }

func isGGUF(path string) bool { return strings.EqualFold(filepath.Ext(path), ".gguf") }

// Check says whether tensors of a type (Options.To) can be written to a file of this name.
func Check(path, to string) error {
	if !isGGUF(path) && !strings.EqualFold(filepath.Ext(path), ".safetensors") {
		return fmt.Errorf("convert: %s: files that end in .gguf or .safetensors are written", path)
	}
	if _, _, blocks := gguf.Packed(to); to != "" && !slices.Contains(Types(), to) || blocks && !isGGUF(path) {
		return fmt.Errorf("convert: %s: tensors of type %.32q are not written there; in safetensors files F32, F16 and BF16 are, in GGUF files %s", path, to,
			strings.Join(Types(), ", "))
	}
	return nil
}

// Of are the tensors of a file, as they are; packed ones of GGUF files as they are stored.
func Of(f weights.File) (out []Tensor) {
	if u, ok := f.(interface{ Packed() *gguf.File }); ok {
		f = u.Packed()
	}
	for _, name := range f.Names() {
		info, _ := f.Info(name)
		out = append(out, Tensor{Name: name, Shape: info.Shape, From: info.DType, Data: func() ([]byte, error) { return weights.Bytes(f, name) }})
	}
	return out
}

// Write writes a .gguf or a .safetensors file, in one step, and compares what is there with what was written.
func Write(ctx context.Context, path string, tensors []Tensor, o Options) ([]Line, error) {
	if err := Check(path, o.To); err != nil {
		return nil, err
	}
	packed := isGGUF(path)
	lines := make([]Line, len(tensors))
	var plain []safetensors.Entry
	var entries []gguf.Entry
	for i, t := range tensors {
		l := &lines[i]
		*l = Line{Name: t.Name, Shape: t.Shape, From: t.From, To: t.to(o.To, packed)}
		data := func() ([]byte, error) {
			raw, err := t.bytes(l)
			if err != nil {
				return nil, fmt.Errorf("convert: %s: %w", weights.Tensor(t.Name), err)
			}
			l.Bytes, l.sum = int64(len(raw)), crc32.ChecksumIEEE(raw)
			return raw, nil
		}
		if packed {
			entries = append(entries, gguf.Entry{Name: t.Name, DType: l.To, Shape: t.Shape, Data: data})
			continue
		}
		raw, err := data()
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		plain = append(plain, safetensors.Entry{Name: t.Name, DType: l.To, Shape: t.Shape, Data: raw})
	}
	if !packed {
		if err := safetensors.WriteContext(ctx, path, plain, o.Metadata); err != nil {
			return nil, err
		}
		f, err := safetensors.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return lines, check(f, lines)
	}
	if err := gguf.Write(ctx, path, o.Pairs, entries); err != nil {
		return nil, err
	}
	f, err := gguf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return lines, check(f, lines)
}

// check reads what was written.
func check(f weights.File, lines []Line) error {
	for _, l := range lines {
		info, ok := f.Info(l.Name)
		raw, err := weights.Bytes(f, l.Name)
		if err != nil {
			return err
		}
		if !ok || info.DType != l.To || !slices.Equal(info.Shape, l.Shape) || crc32.ChecksumIEEE(raw) != l.sum {
			return fmt.Errorf("convert: %s: %s: what was read back is not what was written: the disk or its memory is broken", f.Path(), weights.Tensor(l.Name))
		}
	}
	return nil
}

func isFloat(name string) bool {
	_, _, packed := gguf.Packed(name)
	return packed || name == "F32" || name == "F16" || name == "BF16" || name == "F64"
}

// to is the type that a tensor gets.
func (t *Tensor) to(want string, packed bool) string {
	_, _, stays := gguf.Packed(t.From)
	switch {
	case !isFloat(t.From):
		return t.From
	case want == "" && (stays && (!packed || t.Then != nil || t.Turn)):
		return "F32"
	case want == "":
		return t.From
	}
	if block, _, ok := gguf.Packed(want); ok {
		switch {
		case len(t.Shape) < 2 || t.Keep:
			return "F32"
		case t.Shape[len(t.Shape)-1]%int64(block) != 0:
			return "F16"
		}
	} else if packed && (len(t.Shape) < 2 || t.Keep) {
		return "F32" // as programs that read such files expect of norms
	}
	return want
}

// bytes are the tensor's in its new type.
func (t *Tensor) bytes(l *Line) ([]byte, error) {
	raw, err := t.Data()
	if err != nil || t.From == l.To && t.Then == nil && !t.Turn {
		return raw, err
	}
	was, err := floats(t.From, raw)
	if err != nil {
		return nil, err
	}
	if t.Turn {
		rows, cols := int(t.Shape[0]), int(t.Shape[1])
		turned := make([]float32, len(was))
		for i := range rows {
			for k := range cols {
				turned[i*cols+k] = was[k*rows+i]
			}
		}
		was = turned
	}
	if t.Then != nil {
		t.Then(was)
	}
	out, err := stored(l.To, was)
	if err != nil {
		return nil, err
	}
	is, err := floats(l.To, out)
	if err != nil {
		return nil, err
	}
	square, all := 0.0, 0.0
	for i, x := range was {
		d := float64(is[i]) - float64(x)
		square, all = square+d*d, all+float64(x)*float64(x)
		l.Most = max(l.Most, math.Abs(d))
	}
	if all > 0 {
		l.Error = math.Sqrt(square / all)
	}
	return out, nil
}

// floats are elements of a type.
func floats(name string, raw []byte) ([]float32, error) {
	if block, size, ok := gguf.Packed(name); ok {
		out := make([]float32, len(raw)/size*block)
		return out, gguf.Unpack(name, out, raw)
	}
	le, width := binary.LittleEndian, weights.Bits(name)/8
	one := map[string]func(b []byte) float32{"F32": func(b []byte) float32 { return math.Float32frombits(le.Uint32(b)) },
		"F64": func(b []byte) float32 { return float32(math.Float64frombits(le.Uint64(b))) }, // refused below where that is infinite
		"F16": func(b []byte) float32 { return dtype.FromF16(le.Uint16(b)) }, "BF16": func(b []byte) float32 { return dtype.FromBF16(le.Uint16(b)) }}[name]
	if one == nil {
		return nil, fmt.Errorf("its elements of type %.32q are no floats", name)
	}
	out := make([]float32, len(raw)/width)
	for i := range out {
		out[i] = one(raw[i*width:])
		if name != "F64" || !math.IsInf(float64(out[i]), 0) {
			continue
		}
		if x := math.Float64frombits(le.Uint64(raw[i*width:])); !math.IsInf(x, 0) {
			return nil, fmt.Errorf("element %d is %v, which no type but F64 can hold; leave the types as they are", i, x)
		}
	}
	return out, nil
}

// stored are floats as a type has them.
func stored(name string, v []float32) ([]byte, error) {
	if block, size, ok := gguf.Packed(name); ok {
		out := make([]byte, len(v)/block*size)
		return out, gguf.Pack(name, out, v)
	}
	var out []byte
	for i, x := range v {
		switch name {
		case "F32":
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
			continue
		case "F64":
			out = binary.LittleEndian.AppendUint64(out, math.Float64bits(float64(x)))
			continue
		case "BF16":
			h := dtype.ToBF16(float64(x))
			if h&0x7f80 == 0x7f80 && !math.IsInf(float64(x), 0) && x == x {
				return nil, fmt.Errorf("element %d is %v, which BF16 cannot hold; take F32", i, x)
			}
			out = binary.LittleEndian.AppendUint16(out, h)
			continue
		}
		h := dtype.ToF16(float64(x))
		if h&0x7c00 == 0x7c00 && !math.IsInf(float64(x), 0) && x == x {
			return nil, fmt.Errorf("element %d is %v, which F16 cannot hold; take BF16 or F32", i, x)
		}
		out = binary.LittleEndian.AppendUint16(out, h)
	}
	return out, nil
}
