package safetensors

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/weft-ml/weft/atomicfile"
	"github.com/weft-ml/weft/weights"
)

// Entry is a tensor to be written: Data holds the elements in row-major order, little-endian.
type Entry struct {
	Name  string
	DType string
	Shape []int64
	Data  []byte
}

// Write writes a file in one step: another process sees the old file or the whole new one,
// and after an error the old one is as it was. Equal tensors and metadata give equal bytes,
// in whatever order the entries come.
func Write(path string, entries []Entry, metadata map[string]string) error {
	return WriteContext(context.Background(), path, entries, metadata)
}

// WriteContext is Write that ends with the context: then the old file is as it was.
func WriteContext(ctx context.Context, path string, entries []Entry, metadata map[string]string) error {
	head, sorted, err := encode(path, entries, metadata)
	if err != nil {
		return err
	}
	err = atomicfile.Replace(path, ".weft-save-", func(w io.Writer) error {
		return cmp.Or(writeTo(ctx, w, head, sorted), ctx.Err())
	})
	if err != nil {
		return &Error{Path: path, Cause: "cannot write", Err: err}
	}
	return nil
}

// piece is how many bytes are written before the context is asked again.
const piece = 4 << 20

func writeTo(ctx context.Context, w io.Writer, head []byte, entries []Entry) error {
	bw := bufio.NewWriterSize(w, 1<<16)
	bw.Write(head)
	for _, e := range entries {
		for part := range slices.Chunk(e.Data, piece) {
			if err := ctx.Err(); err != nil {
				return err
			}
			bw.Write(part)
		}
	}
	return bw.Flush() // bufio keeps the first error
}

// encode checks the entries, sorts them and returns them with the bytes that come before
// their data. Widest elements come first, so that all data is aligned.
func encode(path string, entries []Entry, metadata map[string]string) ([]byte, []Entry, error) {
	sorted := slices.Clone(entries)
	slices.SortFunc(sorted, func(a, b Entry) int {
		if wa, wb := weights.Bits(a.DType), weights.Bits(b.DType); wa != wb {
			return wb - wa
		}
		return strings.Compare(a.Name, b.Name)
	})
	type place struct {
		DType   string   `json:"dtype"`
		Shape   []int64  `json:"shape"`
		Offsets [2]int64 `json:"data_offsets"`
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	put := func(key string, value any) {
		b.WriteByte("{,"[min(b.Len(), 1)])
		enc.Encode(key) // strings, numbers and maps of strings always encode
		b.Truncate(b.Len() - 1)
		b.WriteByte(':')
		enc.Encode(value)
		b.Truncate(b.Len() - 1)
	}
	for k, v := range metadata {
		if !utf8.ValidString(k) || !utf8.ValidString(v) {
			return nil, nil, &Error{Path: path, Cause: fmt.Sprintf("cannot write: metadata %q is not UTF-8", k)}
		}
	}
	if metadata != nil {
		put(metaKey, metadata)
	}
	at := int64(0)
	seen := map[string]bool{}
	for _, e := range sorted {
		size, err := weights.Size(e.DType, e.Shape)
		switch {
		case err != nil:
		case !utf8.ValidString(e.Name):
			err = errors.New("its name is not UTF-8")
		case e.Name == metaKey:
			err = errors.New("its name is reserved by the format")
		case seen[e.Name]:
			err = errors.New("occurs twice")
		case size != int64(len(e.Data)):
			err = fmt.Errorf("%d bytes of data, %s of shape %v has %d", len(e.Data), e.DType, e.Shape, size)
		}
		if err != nil {
			return nil, nil, &Error{Path: path, Tensor: e.Name, Cause: "cannot write", Err: err}
		}
		seen[e.Name] = true
		shape := e.Shape
		if shape == nil {
			shape = []int64{} // a scalar is [], not null
		}
		put(e.Name, place{e.DType, shape, [2]int64{at, at + size}})
		at += size
	}
	if b.Len() == 0 {
		b.WriteByte('{')
	}
	b.WriteByte('}')
	b.WriteString(strings.Repeat(" ", (8-b.Len()%8)%8)) // data begins at a multiple of 8
	if b.Len() > maxHeader {
		return nil, nil, &Error{Path: path, Cause: fmt.Sprintf("cannot write: a header of %d bytes, the format allows %d", b.Len(), maxHeader)}
	}
	return append(binary.LittleEndian.AppendUint64(nil, uint64(b.Len())), b.Bytes()...), sorted, nil
}
