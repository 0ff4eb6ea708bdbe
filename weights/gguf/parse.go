package gguf

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"unicode/utf8"

	"github.com/weft-ml/weft/weights"
)

const (
	maxDims  = 8       // the format's own library has four
	maxName  = 1 << 16 // bytes of a key or of a tensor's name
	maxDepth = 4       // of lists in lists
)

// Parse reads the metadata of a file of size bytes that lies in src; path names it in errors.
func Parse(path string, src io.ReaderAt, size int64) (*File, error) {
	f := &File{path: path, src: src, size: size, values: map[string]value{}, infos: map[string]tensor{}}
	r := &reader{in: bufio.NewReaderSize(io.NewSectionReader(src, 0, size), 1<<16), size: size}
	if place, err := f.parse(r); err != nil {
		var whole *weights.Error
		if errors.As(err, &whole) {
			return nil, err
		}
		return nil, &weights.Error{Format: "gguf", Path: path, Place: place, Cause: fmt.Sprintf("at byte %d", r.at), Err: err}
	}
	return f, nil
}

func (f *File) parse(r *reader) (place string, err error) {
	magic := r.take(4)
	if r.err == nil && string(magic) != "GGUF" {
		return "", fmt.Errorf("it begins with %q, not with \"GGUF\"", magic)
	}
	f.version = uint32(r.number(4))
	switch {
	case r.err != nil:
		return "", r.err
	case f.version >= 1 && f.version <= 3:
	case bits.ReverseBytes32(f.version) <= 3:
		return "", errors.New("its numbers are big-endian, which is not read; convert it with gguf_convert_endian")
	default:
		return "", fmt.Errorf("version %d; 1, 2 and 3 are read", f.version)
	}
	r.wide = 8
	if f.version == 1 {
		r.wide = 4
	}
	tensors, pairs := r.number(r.wide), r.number(r.wide)
	if err := r.fits("tensors", tensors, uint64(r.wide)+4+4+8); err != nil {
		return "", err
	}
	if err := r.fits("keys", pairs, uint64(r.wide)+4+1); err != nil {
		return "", err
	}
	for i := range pairs {
		if key, err := f.pair(r); err != nil {
			return fmt.Sprintf("key %d %.100q", i, key), err
		}
	}
	for i := range tensors {
		if name, err := f.tensor(r); err != nil {
			return fmt.Sprintf("tensor %d %.100q", i, name), err
		}
	}
	return "", f.places(r.at)
}

// pair reads a key and its value.
func (f *File) pair(r *reader) (key string, err error) {
	key = r.text(maxName)
	v := r.value(kind(r.number(4)), 0)
	if r.err != nil {
		return key, r.err
	}
	if _, twice := f.values[key]; twice {
		return key, errors.New("occurs twice")
	}
	if !utf8.ValidString(key) {
		return key, errors.New("is not valid UTF-8")
	}
	f.values[key] = v
	f.keys = append(f.keys, key)
	return key, nil
}

// tensor reads name, shape, type and place of a tensor.
func (f *File) tensor(r *reader) (name string, err error) {
	name = r.text(maxName)
	n := r.number(4)
	if r.err == nil && n > maxDims {
		return name, fmt.Errorf("%d dims, at most %d are read", n, maxDims)
	}
	shape := make([]int64, n)
	for i := range slices.Backward(shape) { // the first is the one of neighbours
		d := r.number(r.wide)
		if d > 1<<62 {
			return name, fmt.Errorf("a dim of %d", d)
		}
		shape[i] = int64(d)
	}
	id, at := r.number(4), r.number(8)
	if r.err != nil {
		return name, r.err
	}
	if _, twice := f.infos[name]; twice {
		return name, errors.New("occurs twice")
	}
	form, ok := forms[uint32(id)]
	if !ok {
		if old := oldForms[uint32(id)]; old != "" {
			return name, fmt.Errorf("its type is %s, which is not read", old)
		}
		return name, fmt.Errorf("its type is number %d, which is not known", id)
	}
	size, err := form.size(shape)
	if err != nil {
		return name, err
	}
	if at > uint64(f.size) {
		return name, fmt.Errorf("its data at %d lies beyond the file's %d bytes", at, f.size)
	}
	f.infos[name] = tensor{weights.Info{DType: form.name, Shape: shape, Bytes: size}, form, int64(at)}
	f.names = append(f.names, name)
	return name, nil
}

// places turns offsets into places in the file, and looks that each tensor lies in it and none in another.
func (f *File) places(end int64) error {
	align := int64(32)
	if v, ok := f.values["general.alignment"]; ok {
		n, ok := v.int()
		if !ok || n < 1 || n > 1<<20 || n&(n-1) != 0 {
			return fmt.Errorf("general.alignment is %v; it must be a power of two up to %d", v, 1<<20)
		}
		align = n
	}
	begin := (end + align - 1) / align * align
	slices.SortStableFunc(f.names, func(a, b string) int { // empty ones first
		x, y := f.infos[a], f.infos[b]
		return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.info.Bytes, y.info.Bytes))
	})
	free := int64(0)
	for _, name := range f.names {
		t := f.infos[name]
		fail := func(format string, args ...any) error {
			return &weights.Error{Format: "gguf", Path: f.path, Place: weights.Tensor(name), Cause: fmt.Sprintf(format, args...)}
		}
		switch {
		case t.at%align != 0:
			return fail("its data at %d is not aligned to %d bytes", t.at, align)
		case t.info.Bytes > 0 && t.at < free:
			return fail("its data at %d overlaps other data that ends at %d", t.at, free)
		case t.info.Bytes > 0 && (begin > f.size || t.at > f.size-begin || t.info.Bytes > f.size-begin-t.at):
			return fail("truncated: its %d bytes at %d of the data end beyond the file's %d bytes", t.info.Bytes, t.at, f.size)
		}
		free = max(free, t.at+t.info.Bytes)
		t.at += begin
		f.infos[name] = t
	}
	return nil
}

// reader reads numbers in order. After an error everything is zero.
type reader struct {
	in       *bufio.Reader
	at, size int64
	wide     int // bytes of a count
	err      error
}

// take reads n bytes; n is small or was compared with what is left.
func (r *reader) take(n int64) []byte {
	if r.err != nil {
		return nil
	}
	if n > r.size-r.at {
		r.err = fmt.Errorf("truncated: %d bytes belong here, %d are left", n, r.size-r.at)
		return nil
	}
	out := make([]byte, n)
	got, err := io.ReadFull(r.in, out)
	r.at += int64(got)
	if err != nil {
		r.err = fmt.Errorf("cannot read: %w", err)
		return nil
	}
	return out
}

func (r *reader) number(bytes int) uint64 { return littleEndian(r.take(int64(bytes))) }

// fits checks a count against the bytes that are left: each takes some at least.
func (r *reader) fits(what string, n, each uint64) error {
	if r.err != nil {
		return r.err
	}
	if left := uint64(r.size - r.at); n > left/each {
		return fmt.Errorf("%d %s do not fit into the %d bytes that are left", n, what, left)
	}
	return nil
}

func (r *reader) text(limit uint64) string {
	n := r.number(r.wide)
	if r.err == nil && n > limit {
		r.err = fmt.Errorf("a text of %d bytes where at most %d are read", n, limit)
	}
	if r.err == nil {
		r.err = r.fits("bytes of text", n, 1)
	}
	if r.err != nil {
		return ""
	}
	return string(r.take(int64(n)))
}

func (r *reader) value(k kind, depth int) (v value) {
	v.kind = k
	switch {
	case r.err != nil:
	case k >= kinds:
		r.err = fmt.Errorf("a value of type number %d, which is not known", k)
	case k == kindText:
		v.text = r.text(uint64(r.size))
	case k == kindList:
		v.element, v.count = kind(r.number(4)), 0
		n := r.number(r.wide)
		if r.err == nil && v.element >= kinds {
			r.err = fmt.Errorf("a list of type number %d, which is not known", v.element)
		}
		v.at = r.at
		r.skip(v.element, n, depth)
		v.count, v.end = int64(n), r.at
	default:
		v.bits = littleEndian(r.take(kindSizes[k]))
		if k == kindBool && v.bits > 1 {
			r.err = fmt.Errorf("a bool is 0 or 1, not %d", v.bits)
		}
	}
	return v
}

// skip passes over the n elements of a list.
func (r *reader) skip(k kind, n uint64, depth int) {
	if r.err != nil {
		return
	}
	least := uint64(kindSizes[k])
	switch k {
	case kindText:
		least = uint64(r.wide)
	case kindList:
		least = uint64(r.wide) + 4
	}
	if r.err = r.fits("elements of a list", n, least); r.err != nil {
		return
	}
	if k == kindList && depth == maxDepth {
		r.err = fmt.Errorf("lists are nested deeper than %d", maxDepth)
		return
	}
	switch {
	case k == kindBool:
		r.bools(n)
	case kindSizes[k] > 0:
		r.discard(int64(n) * kindSizes[k])
	case k == kindText:
		for i := uint64(0); i < n && r.err == nil; i++ {
			size := r.number(r.wide)
			if r.err == nil {
				r.err = r.fits("bytes of text", size, 1)
			}
			r.discard(int64(size))
		}
	default:
		for i := uint64(0); i < n && r.err == nil; i++ {
			r.value(k, depth+1)
		}
	}
}

func (r *reader) bools(n uint64) {
	for range n {
		b, err := r.in.ReadByte()
		if err == nil && b > 1 {
			err = fmt.Errorf("a bool is 0 or 1, not %d", b)
		}
		if err != nil {
			r.err = err
			return
		}
		r.at++
	}
}

// discard passes over bytes that were compared with what is left.
func (r *reader) discard(n int64) {
	for n > 0 && r.err == nil {
		got, err := r.in.Discard(int(min(n, 1<<30)))
		r.at += int64(got)
		n -= int64(got)
		if err != nil {
			r.err = fmt.Errorf("cannot read: %w", err)
		}
	}
}

// size is the bytes of a tensor.
func (f *form) size(shape []int64) (int64, error) {
	if f.unpack == nil {
		return weights.Size(f.name, shape)
	}
	if len(shape) == 0 || shape[len(shape)-1]%int64(f.block) != 0 {
		return 0, fmt.Errorf("shape %v of %s: rows are not a whole number of blocks of %d", shape, f.name, f.block)
	}
	blocks := slices.Clone(shape)
	blocks[len(blocks)-1] /= int64(f.block)
	n, err := weights.Size("U8", append(blocks, int64(f.bytes)))
	if err == nil && n/int64(f.bytes) > 1<<60/int64(f.block) {
		err = fmt.Errorf("shape %v of %s overflows", shape, f.name)
	}
	return n, err
}

// putFloats writes floats into p, without their first skip bytes, and says how many bytes that were.
func putFloats(p []byte, xs []float32, skip int) int {
	done := 0
	var word [4]byte
	for i := skip / 4; i < len(xs) && done < len(p); i++ {
		bits := floatBits(xs[i])
		if part := skip - 4*i; part <= 0 && len(p)-done >= 4 {
			binary.LittleEndian.PutUint32(p[done:], bits)
			done += 4
		} else {
			binary.LittleEndian.PutUint32(word[:], bits)
			done += copy(p[done:], word[max(part, 0):])
		}
	}
	return done
}
