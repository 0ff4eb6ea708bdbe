package gguf

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/weft-ml/weft/weights"
)

// kind is the type of a value of the metadata, by its number in files.
type kind uint32

const (
	kindU8 kind = iota
	kindI8
	kindU16
	kindI16
	kindU32
	kindI32
	kindF32
	kindBool
	kindText
	kindList
	kindU64
	kindI64
	kindF64
	kinds
)

var kindNames = [kinds]string{"uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "bool", "text", "list", "uint64", "int64", "float64"}

// kindSizes are bytes; 0: it depends.
var kindSizes = [kinds]int64{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8}

// value is a value of the metadata: a number or bool by its bits, a text, or where a list lies.
type value struct {
	kind kind
	bits uint64
	text string

	element kind
	count   int64
	at, end int64 // of a list's elements in the file
}

func (v value) String() string {
	switch v.kind {
	case kindText:
		return v.text
	case kindList:
		return fmt.Sprintf("%s[%d]", kindNames[v.element], v.count)
	case kindBool:
		return fmt.Sprint(v.bits != 0)
	case kindF32:
		return fmt.Sprint(math.Float32frombits(uint32(v.bits)))
	case kindF64:
		return fmt.Sprint(math.Float64frombits(v.bits))
	case kindU8, kindU16, kindU32, kindU64:
		return fmt.Sprint(v.bits)
	}
	n, _ := v.int()
	return fmt.Sprint(n)
}

// int is an integer; ok is false for other kinds, and for what does not fit.
func (v value) int() (n int64, ok bool) {
	switch v.kind {
	case kindI8:
		return int64(int8(v.bits)), true
	case kindI16:
		return int64(int16(v.bits)), true
	case kindI32:
		return int64(int32(v.bits)), true
	case kindI64:
		return int64(v.bits), true
	case kindU8, kindU16, kindU32, kindU64:
		return int64(v.bits), v.bits <= math.MaxInt64
	}
	return 0, false
}

// Int is an integer of the metadata, of any width; ok is false where the key is missing or is none.
func (f *File) Int(key string) (n int64, ok bool) {
	v, ok := f.values[key]
	if !ok {
		return 0, false
	}
	return v.int()
}

// Float is a float of the metadata.
func (f *File) Float(key string) (x float64, ok bool) {
	v, ok := f.values[key]
	switch {
	case ok && v.kind == kindF32:
		return float64(math.Float32frombits(uint32(v.bits))), true
	case ok && v.kind == kindF64:
		return math.Float64frombits(v.bits), true
	}
	return 0, false
}

// Bool is a bool of the metadata.
func (f *File) Bool(key string) (b, ok bool) {
	v, ok := f.values[key]
	return v.bits != 0, ok && v.kind == kindBool
}

// Text is a text of the metadata.
func (f *File) Text(key string) (s string, ok bool) {
	v, ok := f.values[key]
	return v.text, ok && v.kind == kindText
}

// Has says whether there is a key, of any kind.
func (f *File) Has(key string) bool {
	_, ok := f.values[key]
	return ok
}

// list finds a list and reads its bytes.
func (f *File) list(key, want string, of func(kind) bool) (value, []byte, error) {
	v, ok := f.values[key]
	fail := func(cause string, err error) (value, []byte, error) {
		return v, nil, &weights.Error{Format: "gguf", Path: f.path, Place: fmt.Sprintf("key %.100q", key), Cause: cause, Err: err}
	}
	if !ok {
		return fail("is not in the metadata", nil)
	}
	if v.kind != kindList || !of(v.element) {
		return fail(fmt.Sprintf("is %s, not a list of %s", v.described(), want), nil)
	}
	raw := make([]byte, v.end-v.at)
	if n, err := f.src.ReadAt(raw, v.at); n < len(raw) {
		return fail(fmt.Sprintf("only %d of %d bytes could be read", n, len(raw)), err)
	}
	return v, raw, nil
}

func (v value) described() string {
	if v.kind == kindList {
		return "a list of " + kindNames[v.element]
	}
	return kindNames[v.kind]
}

// Texts is a list of texts of the metadata.
func (f *File) Texts(key string) ([]string, error) {
	v, raw, err := f.list(key, "texts", func(k kind) bool { return k == kindText })
	if err != nil {
		return nil, err
	}
	out := make([]string, 0, v.count)
	for range v.count { // the lengths were checked when the file was opened, but a file may change
		n, rest, ok := f.length(raw)
		if !ok || n > uint64(len(rest)) {
			return nil, &weights.Error{Format: "gguf", Path: f.path, Place: fmt.Sprintf("key %.100q", key), Cause: "changed since the file was opened",
				Err: io.ErrUnexpectedEOF}
		}
		out = append(out, string(rest[:n]))
		raw = rest[n:]
	}
	return out, nil
}

// length reads the length of a text.
func (f *File) length(raw []byte) (n uint64, rest []byte, ok bool) {
	if f.version == 1 {
		if len(raw) < 4 {
			return 0, nil, false
		}
		return uint64(binary.LittleEndian.Uint32(raw)), raw[4:], true
	}
	if len(raw) < 8 {
		return 0, nil, false
	}
	return binary.LittleEndian.Uint64(raw), raw[8:], true
}

// Ints is a list of integers or bools of the metadata.
func (f *File) Ints(key string) ([]int64, error) {
	integer := func(k kind) bool { return k != kindText && k != kindList && k != kindF32 && k != kindF64 }
	v, raw, err := f.list(key, "integers", integer)
	if err != nil {
		return nil, err
	}
	size := int(kindSizes[v.element])
	out := make([]int64, v.count)
	for i := range out {
		element := value{kind: v.element, bits: littleEndian(raw[i*size:][:size])}
		if v.element == kindBool {
			element.kind = kindU8
		}
		n, ok := element.int()
		if !ok {
			return nil, &weights.Error{Format: "gguf", Path: f.path, Place: fmt.Sprintf("key %.100q", key),
				Cause: fmt.Sprintf("element %d is %d, which 63 bits do not hold", i, element.bits)}
		}
		out[i] = n
	}
	return out, nil
}

// Floats is a list of float32 of the metadata.
func (f *File) Floats(key string) ([]float32, error) {
	v, raw, err := f.list(key, "float32", func(k kind) bool { return k == kindF32 })
	if err != nil {
		return nil, err
	}
	out := make([]float32, v.count)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return out, nil
}

// littleEndian reads an integer of up to 8 bytes.
func littleEndian(raw []byte) uint64 {
	var wide [8]byte
	copy(wide[:], raw)
	return binary.LittleEndian.Uint64(wide[:])
}
