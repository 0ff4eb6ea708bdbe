package onnx

import (
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"
)

// value is the array that a message holds. Elements that lie in a file of their own are read from files.
func (t *tensorProto) value(files fs.FS) (*Value, error) {
	v, err := t.decoded(files)
	if err != nil {
		return nil, fmt.Errorf("tensor %.80q: %w", t.name, err)
	}
	return v, nil
}

func (t *tensorProto) decoded(files fs.FS) (*Value, error) {
	shape, err := shapeOf(t.dims, t.typ.bits())
	if err != nil {
		return nil, err
	}
	n := count(shape)
	if t.segment {
		return nil, fmt.Errorf("it comes in segments, which no exporter writes")
	}
	if t.typ == String {
		if t.outside || len(t.strings) != n {
			return nil, fmt.Errorf("it holds %d strings where its shape %v has %d", len(t.strings), shape, n)
		}
		v := &Value{elem: String, shape: shape, strs: make([]string, n), known: true}
		for i, s := range t.strings {
			v.strs[i] = string(s)
		}
		return v, nil
	}
	if t.typ.DType() == 0 {
		return nil, fmt.Errorf("its elements are %v, which tensors do not hold", t.typ)
	}
	raw, err := t.stored(files, n)
	if err != nil {
		return nil, err
	}
	return &Value{elem: t.typ, shape: shape, raw: carried(t.typ, raw, n), known: true}, nil
}

// stored are the elements as raw data has them: little-endian, those of less than a byte packed, the first lowest.
func (t *tensorProto) stored(files fs.FS, n int) ([]byte, error) {
	want := (n*t.typ.bits() + 7) / 8
	var raw []byte
	var err error
	switch {
	case t.outside:
		if raw, err = t.elsewhere(files, want); err != nil {
			return nil, err
		}
	case t.hasRaw:
		raw = t.raw
	default:
		raw = t.listed(want)
	}
	if len(raw) != want {
		return nil, fmt.Errorf("it holds %d bytes where its shape %v of %v has %d", len(raw), t.dims, t.typ, want)
	}
	return raw, nil
}

// listed are the elements that stand in a list of numbers.
func (t *tensorProto) listed(want int) []byte {
	switch t.typ {
	case Float32:
		return t.floats
	case Float64:
		return t.doubles
	case Int64:
		return little(t.ints64, 8)
	case Uint64, Uint32:
		return little(t.uints64, t.typ.bits()/8)
	}
	return little(t.ints32, max(1, t.typ.bits()/8))
}

func little(list []int64, width int) []byte {
	out := make([]byte, 0, len(list)*width)
	for _, n := range list {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], uint64(n))
		out = append(out, b[:width]...)
	}
	return out
}

// elsewhere reads elements from a file beside the model's. Paths lead nowhere but into the model's folder.
func (t *tensorProto) elsewhere(files fs.FS, want int) ([]byte, error) {
	name := strings.ReplaceAll(t.external["location"], "\\", "/")
	if name = path.Clean(name); !fs.ValidPath(name) || name == "." {
		return nil, fmt.Errorf("its data lie in %.200q, which is not a file in the model's folder", t.external["location"])
	}
	if files == nil {
		return nil, fmt.Errorf("its data lie in the file %.200q; give Options.External, the folder that holds it", name)
	}
	number := func(key string, none int64) (int64, error) {
		s, ok := t.external[key]
		if !ok {
			return none, nil
		}
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < 0 {
			return 0, fmt.Errorf("the %s of its data in %.200q is %.40q", key, name, s)
		}
		return n, nil
	}
	offset, err := number("offset", 0)
	if err != nil {
		return nil, err
	}
	length, err := number("length", int64(want))
	if err != nil {
		return nil, err
	}
	if length != int64(want) {
		return nil, fmt.Errorf("%d bytes are set aside for it in %.200q where its shape %v of %v has %d", length, name, t.dims, t.typ, want)
	}
	s, err := fs.Stat(files, name) // before it is opened, as in Open
	if err != nil {
		return nil, fmt.Errorf("its data: %w", err)
	}
	if !s.Mode().IsRegular() {
		return nil, fmt.Errorf("its data lie in %.200q, which is no ordinary file", name)
	}
	f, err := files.Open(name)
	if err != nil {
		return nil, fmt.Errorf("its data: %w", err)
	}
	defer f.Close()
	if s.Size() < length || offset > s.Size()-length {
		return nil, fmt.Errorf("its data are to be %d bytes from byte %d of %.200q, which has %d bytes", length, offset, name, s.Size())
	}
	if at, ok := f.(io.Seeker); ok {
		_, err = at.Seek(offset, io.SeekStart)
	} else {
		_, err = io.CopyN(io.Discard, f, offset)
	}
	raw := make([]byte, length)
	if err == nil {
		_, err = io.ReadFull(f, raw)
	}
	return raw, err
}

// carried are elements as their carrier has them.
func carried(e Elem, raw []byte, n int) []byte {
	row := e.row()
	switch {
	case e == Bool:
		out := make([]byte, n)
		for i, b := range raw {
			if b != 0 {
				out[i] = 1
			}
		}
		return out
	case !e.narrow():
		return raw
	}
	out := make([]byte, 0, n*row.carrier.Size())
	per := 8 / row.bits
	mask := byte(1<<row.bits - 1)
	for i := range n {
		b := raw[i/per] >> (i % per * row.bits) & mask
		switch {
		case e == F8E8M0:
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(float32(e8m0(b))))
		case row.small != nil:
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(float32(row.small.value(b, row.bits))))
		case e == Int4 || e == Int2:
			shift := 8 - row.bits
			out = append(out, byte(int8(b<<shift)>>shift))
		default:
			out = append(out, b)
		}
	}
	return out
}

func e8m0(b byte) float64 {
	if b == 255 {
		return math.NaN()
	}
	return math.Ldexp(1, int(b)-127)
}

func count(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// dense is a sparse tensor with its zeros.
func (s *sparseProto) dense(files fs.FS) (*Value, error) {
	values, err := s.values.value(files)
	if err != nil {
		return nil, err
	}
	indices, err := s.indices.value(files)
	if err != nil {
		return nil, err
	}
	shape, err := shapeOf(s.dims, s.values.typ.bits())
	if err != nil {
		return nil, err
	}
	n, k := count(shape), count(values.shape)
	const most = 1 << 28
	switch {
	case values.elem == String || indices.elem != Int64:
		return nil, fmt.Errorf("sparse tensor %.80q: values of %v at indices of %v", s.values.name, values.elem, indices.elem)
	case n > most:
		return nil, fmt.Errorf("sparse tensor %.80q: %d elements; at most %d are written out", s.values.name, n, most)
	case count(indices.shape) != k && count(indices.shape) != k*len(shape):
		return nil, fmt.Errorf("sparse tensor %.80q: %v indices for %d values", s.values.name, indices.shape, k)
	}
	width := values.elem.DType().Size()
	raw := make([]byte, n*width)
	at, _ := integersOf(indices.elem, indices.raw)
	for i := range k {
		place := 0
		if len(indices.shape) == 1 {
			place = int(at[i])
		} else {
			for a, d := range shape {
				j := int(at[i*len(shape)+a])
				if j < 0 || j >= d {
					return nil, fmt.Errorf("sparse tensor %.80q: index %d of value %d is outside of axis %d", s.values.name, j, i, a)
				}
				place = place*d + j
			}
		}
		if place < 0 || place >= n {
			return nil, fmt.Errorf("sparse tensor %.80q: value %d stands at %d of %d", s.values.name, i, place, n)
		}
		copy(raw[place*width:], values.raw[i*width:(i+1)*width])
	}
	return &Value{elem: values.elem, shape: shape, raw: raw, known: true}, nil
}
