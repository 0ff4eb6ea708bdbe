package saved

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"

	"github.com/weft-ml/weft/dtype"
)

// A file is the head, the program, and the elements of each array in order. Each of these begins at a multiple of align bytes; what lies between
// is 0. Numbers are little-endian.

const (
	magic      = "weftfunc"
	headBytes  = 24 // magic, version (32 bits), CRC-32C of the program (32 bits), its length (64 bits)
	align      = 64
	maxProgram = 256 << 20 // bytes
)

// Sum is the checksum of bytes in a file.
func Sum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) } // made once

// Padding is how many bytes follow n in a file, so that the next begin at a multiple of 64.
func Padding(n int64) int64 { return -n & (align - 1) }

// Write writes a file. elements gives those of an array in its own type; the program gets the checksums of what is written.
func Write(w io.Writer, p *Program, elements func(i int) ([]byte, error)) error {
	return WriteParts(w, w, p, elements)
}

// WriteParts is Write with the program to one writer and the elements to another. Who reads one after the other reads a file.
func WriteParts(head, rest io.Writer, p *Program, elements func(i int) ([]byte, error)) error {
	for i := range p.Arrays { // before the first byte is written: the program comes first and has the checksums
		b, err := inForm(p.Arrays[i], i, elements)
		if err != nil {
			return err
		}
		p.Arrays[i].Sum = Sum(b)
	}
	program, err := Encode(p)
	if err != nil {
		return err
	}
	b := append([]byte(magic), make([]byte, headBytes-len(magic))...)
	binary.LittleEndian.PutUint32(b[8:], Version)
	binary.LittleEndian.PutUint32(b[12:], Sum(program))
	binary.LittleEndian.PutUint64(b[16:], uint64(len(program)))
	b = append(b, program...)
	if _, err := head.Write(append(b, make([]byte, Padding(int64(len(b))))...)); err != nil {
		return err
	}
	for i := range p.Arrays {
		b, err := inForm(p.Arrays[i], i, elements)
		if err != nil {
			return err
		}
		if Sum(b) != p.Arrays[i].Sum {
			return wrong("array %d changed while it was written; let nothing assign it meanwhile", i)
		}
		if _, err := rest.Write(b); err != nil {
			return err
		}
		if _, err := rest.Write(make([]byte, Padding(int64(len(b))))); err != nil {
			return err
		}
	}
	return nil
}

// inForm gives the elements of an array in its form.
func inForm(a Array, i int, elements func(i int) ([]byte, error)) ([]byte, error) {
	b, err := elements(i)
	if err != nil {
		return nil, err
	}
	if want := (Array{DType: a.DType, N: a.N}).Stored(); int64(len(b)) != want {
		return nil, wrong("array %d has %d bytes, not %d", i, len(b), want)
	}
	return shorten(b, a.Form)
}

// File is a file whose program has been read.
type File struct {
	*Program
	r io.Reader
}

// Read reads the program of a file.
func Read(r io.Reader) (*File, error) {
	head := make([]byte, headBytes)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, wrong("no file of Weft: %v while the first %d bytes were read", err, headBytes)
	}
	if string(head[:len(magic)]) != magic {
		return nil, wrong("it does not begin as one; give a file that Captured.Save or SaveFunctions wrote")
	}
	if v := binary.LittleEndian.Uint32(head[8:]); v != Version {
		return nil, wrong("it has version %d of the format, and this version of Weft reads version %d; load it with the version of Weft that wrote it, or save it again", v, Version)
	}
	n := binary.LittleEndian.Uint64(head[16:])
	if n > maxProgram {
		return nil, wrong("a program of %d bytes is longer than %d", n, maxProgram)
	}
	program, err := take(r, int64(n))
	if err != nil {
		return nil, err
	}
	if Sum(program) != binary.LittleEndian.Uint32(head[12:]) {
		return nil, wrong("its program is damaged: the checksum differs; copy the file again")
	}
	if _, err := take(r, Padding(headBytes+int64(n))); err != nil {
		return nil, err
	}
	p, err := Decode(program)
	if err != nil {
		return nil, err
	}
	return &File{p, r}, nil
}

// take reads n bytes. It has memory for what has come, not for what is said to come.
func take(r io.Reader, n int64) ([]byte, error) {
	var b bytes.Buffer
	got, err := io.CopyN(&b, r, n)
	if err == io.EOF {
		return nil, wrong("it ends too early: %d bytes are missing; copy the file again", n-got)
	}
	return b.Bytes(), err
}

// Contents reads the elements of the arrays and hands them to f in their own type, one array after the other.
func (f *File) Contents(each func(i int, elements []byte) error) error {
	for i, a := range f.Arrays {
		n := a.Stored()
		b, err := take(f.r, n)
		if err != nil {
			return err
		}
		if Sum(b) != a.Sum {
			return wrong("array %d is damaged: the checksum differs; copy the file again", i)
		}
		if _, err := take(f.r, Padding(n)); err != nil {
			return err
		}
		if a.DType == dtype.Bool { // kernels take for granted that a bool is 0 or 1
			for _, v := range b {
				if v > 1 {
					return wrong("array %d has a bool that is %d", i, v)
				}
			}
		}
		if err := each(i, lengthen(b, a.N, a.Form)); err != nil {
			return err
		}
	}
	return nil
}
