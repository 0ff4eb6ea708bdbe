package onnx

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// The wire format of protocol buffers: https://protobuf.dev/programming-guides/encoding/. A message is a list of fields, each a key (number
// and kind) and a value. A reader walks one message without copying it; lengths are those of the bytes that are there.

type wireKind uint8

const (
	wireVarint wireKind = 0
	wire64     wireKind = 1
	wireBytes  wireKind = 2
	wire32     wireKind = 5
)

// field is one field of a message: a number, or the bytes of a string, a message or a packed list.
type field struct {
	number int
	kind   wireKind
	n      uint64
	data   []byte
}

var errShort = errors.New("the message ends inside of a field")

// varint reads a number from the front of b.
func varint(b []byte) (n uint64, size int, err error) {
	n, size = binary.Uvarint(b)
	if size == 0 {
		return 0, 0, errShort
	}
	if size < 0 {
		return 0, 0, errors.New("a number is longer than 64 bits")
	}
	return n, size, nil
}

// next reads the field at the front of b and gives what follows it.
func next(b []byte) (f field, rest []byte, err error) {
	key, n, err := varint(b)
	if err != nil {
		return f, nil, err
	}
	b = b[n:]
	if key>>3 == 0 || key>>3 > math.MaxInt32 {
		return f, nil, fmt.Errorf("there is no field %d", key>>3)
	}
	f.number, f.kind = int(key>>3), wireKind(key&7)
	switch f.kind {
	case wireVarint:
		if f.n, n, err = varint(b); err != nil {
			return f, nil, err
		}
		return f, b[n:], nil
	case wire64:
		if len(b) < 8 {
			return f, nil, errShort
		}
		f.n = binary.LittleEndian.Uint64(b)
		return f, b[8:], nil
	case wire32:
		if len(b) < 4 {
			return f, nil, errShort
		}
		f.n = uint64(binary.LittleEndian.Uint32(b))
		return f, b[4:], nil
	case wireBytes:
		size, n, err := varint(b)
		if err != nil {
			return f, nil, err
		}
		b = b[n:]
		if size > uint64(len(b)) {
			return f, nil, fmt.Errorf("field %d says it has %d bytes where %d are left", f.number, size, len(b))
		}
		f.data = b[:size:size]
		return f, b[size:], nil
	}
	return f, nil, fmt.Errorf("field %d is of kind %d, which is no longer in use", f.number, f.kind)
}

// walk calls each with the fields of a message.
func walk(b []byte, each func(f field) error) error {
	for len(b) > 0 {
		f, rest, err := next(b)
		if err != nil {
			return err
		}
		if err := each(f); err != nil {
			return err
		}
		b = rest
	}
	return nil
}

// bytes are those of a string or message.
func (f field) bytes() ([]byte, error) {
	if f.kind != wireBytes {
		return nil, fmt.Errorf("field %d is a number where a string or a message belongs", f.number)
	}
	return f.data, nil
}

func (f field) text(to *string) error {
	b, err := f.bytes()
	*to = string(b)
	return err
}

func (f field) int(to *int64) error {
	if f.kind != wireVarint {
		return fmt.Errorf("field %d is of kind %d where an integer belongs", f.number, f.kind)
	}
	*to = int64(f.n)
	return nil
}

func (f field) float(to *float32) error {
	if f.kind != wire32 {
		return fmt.Errorf("field %d is of kind %d where a float belongs", f.number, f.kind)
	}
	*to = math.Float32frombits(uint32(f.n))
	return nil
}

// integers appends a list of integers, packed or one of it.
func (f field) integers(to *[]int64) error {
	if f.kind == wireVarint {
		*to = append(*to, int64(f.n))
		return nil
	}
	b, err := f.bytes()
	for err == nil && len(b) > 0 {
		var n uint64
		var size int
		if n, size, err = varint(b); err == nil {
			*to = append(*to, int64(n))
			b = b[size:]
		}
	}
	return err
}

// fixed appends a list of numbers of width bytes, packed or one of it, as they stand in the file.
func (f field) fixed(width int, to *[]byte) error {
	switch {
	case f.kind == wire32 && width == 4:
		*to = binary.LittleEndian.AppendUint32(*to, uint32(f.n))
	case f.kind == wire64 && width == 8:
		*to = binary.LittleEndian.AppendUint64(*to, f.n)
	case f.kind == wireBytes && len(f.data)%width == 0:
		if *to == nil {
			*to = f.data
		} else {
			*to = append((*to)[:len(*to):len(*to)], f.data...)
		}
	default:
		return fmt.Errorf("field %d is no list of numbers of %d bytes", f.number, width)
	}
	return nil
}
