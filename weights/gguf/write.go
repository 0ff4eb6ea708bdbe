package gguf

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/weft-ml/weft/atomicfile"
	"github.com/weft-ml/weft/weights"
)

// Pair is a key of the metadata and its value: a string, bool, uint32, float32 or []float32, or one that Pairs gave.
type Pair struct {
	Key   string
	Value any
}

// stored is a value of a file, as it is written there.
type stored struct {
	kind kind
	raw  []byte
}

// Entry is a tensor to be written. Data gives its elements or blocks when they are to be written.
type Entry struct {
	Name  string
	DType string
	Shape []int64
	Data  func() ([]byte, error)
}

// Pairs are the metadata, to be written to another file.
func (f *File) Pairs() (out []Pair, err error) {
	for _, key := range f.keys {
		v := f.values[key]
		switch v.kind {
		case kindText:
			out = append(out, Pair{key, v.text})
			continue
		case kindList:
			if f.version == 1 {
				return nil, &weights.Error{Format: "gguf", Path: f.path, Place: fmt.Sprintf("key %.100q", key), Cause: "lists of version 1 are not written again"}
			}
			_, raw, err := f.list(key, "", func(kind) bool { return true })
			if err != nil {
				return nil, err
			}
			head := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32(nil, uint32(v.element)), uint64(v.count))
			out = append(out, Pair{key, stored{kindList, append(head, raw...)}})
			continue
		}
		raw := binary.LittleEndian.AppendUint64(nil, v.bits)
		out = append(out, Pair{key, stored{v.kind, raw[:kindSizes[v.kind]]}})
	}
	return out, nil
}

// alignment is where data begins: at its multiples.
const alignment = 32

// Write writes a file of version 3 in one step: another process sees the old file or the whole new one, and after an error the old one is as
// it was. One tensor at a time is held.
func Write(ctx context.Context, path string, pairs []Pair, entries []Entry) error {
	fail := func(place, cause string, err error) error {
		return &weights.Error{Format: "gguf", Path: path, Place: place, Cause: cause, Err: err}
	}
	head, sizes, place, err := encode(pairs, entries)
	if err != nil {
		return fail(place, "cannot be written", err)
	}
	err = atomicfile.Replace(path, ".weft-save-", func(w io.Writer) (err error) {
		place, err = writeTo(ctx, w, head, entries, sizes)
		return err
	})
	if err != nil {
		return fail(place, "cannot write", err)
	}
	return nil
}

func writeTo(ctx context.Context, out io.Writer, head []byte, entries []Entry, sizes []int64) (place string, err error) {
	w := bufio.NewWriterSize(out, 1<<16)
	put := func(raw []byte) {
		w.Write(raw) // the first error is kept
		w.Write(make([]byte, (alignment-len(raw)%alignment)%alignment))
	}
	put(head)
	for i, e := range entries {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		raw, err := e.Data()
		if err == nil && int64(len(raw)) != sizes[i] {
			err = fmt.Errorf("%d bytes of data, %s %v has %d", len(raw), e.DType, e.Shape, sizes[i])
		}
		if err != nil {
			return weights.Tensor(e.Name), err
		}
		put(raw)
	}
	return "", w.Flush()
}

// encode is what stands before the data, and how many bytes each tensor has.
func encode(pairs []Pair, entries []Entry) (head []byte, sizes []int64, place string, err error) {
	le := binary.LittleEndian
	text := func(s string) { head = append(le.AppendUint64(head, uint64(len(s))), s...) }
	head = le.AppendUint64(le.AppendUint64(le.AppendUint32([]byte("GGUF"), 3), uint64(len(entries))), uint64(len(pairs)))
	seen := map[string]bool{}
	for _, p := range pairs {
		if place = fmt.Sprintf("key %.100q", p.Key); seen[p.Key] {
			return nil, nil, place, errors.New("occurs twice")
		}
		seen[p.Key] = true
		text(p.Key)
		kind := func(k kind) { head = le.AppendUint32(head, uint32(k)) }
		switch v := p.Value.(type) {
		case string:
			kind(kindText)
			text(v)
		case bool:
			kind(kindBool)
			head = append(head, map[bool]byte{true: 1}[v])
		case uint32:
			kind(kindU32)
			head = le.AppendUint32(head, v)
		case float32:
			kind(kindF32)
			head = le.AppendUint32(head, math.Float32bits(v))
		case []float32:
			kind(kindList)
			kind(kindF32)
			head = le.AppendUint64(head, uint64(len(v)))
			for _, x := range v {
				head = le.AppendUint32(head, math.Float32bits(x))
			}
		case stored:
			kind(v.kind)
			head = append(head, v.raw...)
		default:
			return nil, nil, place, fmt.Errorf("a value of %T is not written", v)
		}
	}
	at := int64(0)
	clear(seen)
	for _, e := range entries {
		id, form := formOf(e.DType)
		size, err := int64(0), error(nil)
		switch place = weights.Tensor(e.Name); {
		case form == nil:
			err = fmt.Errorf("there is no type %.32q in such files", e.DType)
		case seen[e.Name]:
			err = errors.New("occurs twice")
		case len(e.Shape) > maxDims || len(e.Name) > maxName:
			err = fmt.Errorf("%d dims, a name of %d bytes", len(e.Shape), len(e.Name))
		default:
			size, err = form.size(e.Shape)
		}
		if err != nil {
			return nil, nil, place, err
		}
		seen[e.Name] = true
		text(e.Name)
		head = le.AppendUint32(head, uint32(len(e.Shape)))
		for i := range e.Shape {
			head = le.AppendUint64(head, uint64(e.Shape[len(e.Shape)-1-i]))
		}
		head = le.AppendUint64(le.AppendUint32(head, id), uint64(at))
		sizes = append(sizes, size)
		at += (size + alignment - 1) / alignment * alignment
	}
	return head, sizes, "", nil
}

func formOf(name string) (uint32, *form) {
	for id, f := range forms {
		if f.name == name {
			return id, f
		}
	}
	return 0, nil
}
