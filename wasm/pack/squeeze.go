package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

const (
	customSection  = 0
	importSection  = 2
	elementSection = 9
	dataSection    = 11
)

// section is one of a module: plain as a WebAssembly module has it, and packed, if it has such a form.
type section struct {
	id            byte
	plain, packed []byte
}

// squeeze writes a module of Go's compiler smaller: packed (see code.go), without custom sections, its data in few
// pieces, and, unless names is set, without the tables of functions' names and lines. Code of a form that cannot be
// packed is an error that is errForm; plain is the same module without packing.
func squeeze(module []byte, names bool) (packed, plain []byte, err error) {
	if len(module) < 8 || string(module[:4]) != "\x00asm" {
		return nil, nil, errors.New("this is no WebAssembly module")
	}
	known, imported := functionNames(module), 0
	packed, plain = append(append(packed, module[:4]...), packedVersion...), append(plain, module[:8]...)
	r := &reader{b: module, at: 8}
	for r.at < len(r.b) {
		s := section{id: r.byte()}
		s.plain = r.bytes(r.uint())
		if r.err != nil {
			return nil, nil, r.err
		}
		switch s.id {
		case customSection:
			continue
		case importSection:
			imported = importedFunctions(s.plain)
		case elementSection:
			s.packed = packElements(s.plain)
		case codeSection:
			if !names {
				s.plain = shake(s.plain, known, imported)
			}
			var failed error
			if s.packed, failed = packCode(s.plain); failed != nil {
				err = fmt.Errorf("code: %w", failed)
			}
		case dataSection:
			first, memory, failed := image(s.plain)
			if failed != nil {
				return nil, nil, failed
			}
			var at region
			if !names {
				at = forgetLines(memory)
			}
			s.plain = segments(first, memory, &at)
			s.packed = packData(s.plain, at)
		}
		packed, plain = s.write(packed, plain)
	}
	return packed, plain, err
}

// write appends a section, with its plain size, to both.
func (s section) write(packed, plain []byte) (p, q []byte) {
	head := appendUint([]byte{s.id}, uint64(len(s.plain)))
	plain = append(append(plain, head...), s.plain...)
	if s.packed == nil {
		s.packed = s.plain
	}
	return append(append(packed, head...), s.packed...), plain
}

// packElements packs the table of functions, which Go's linker fills with one after the other: how many bytes come
// before the numbers, these bytes, the first number, and how many there are.
func packElements(section []byte) []byte {
	r := &reader{b: section}
	ok := r.uint() == 1 && r.uint() == 0 && r.byte() == i32Const
	r.sint()
	ok = ok && r.byte() == end
	n := r.uint()
	head := r.at
	first := r.uint()
	for i := range n - 1 {
		ok = ok && r.uint() == first+1+i
	}
	if !ok || r.err != nil || r.at != len(section) {
		head, first, n = len(section), 0, 0
	}
	out := append(appendUint(nil, uint64(head)), section[:head]...)
	return appendUint(appendUint(out, uint64(first)), uint64(n))
}

// reader reads the binary format.
type reader struct {
	b   []byte
	at  int
	err error
}

func (r *reader) byte() byte {
	b := r.bytes(1)
	if b == nil {
		return 0
	}
	return b[0]
}

func (r *reader) bytes(n int) []byte {
	if r.err != nil || n < 0 || n > len(r.b)-r.at {
		r.err = fmt.Errorf("the module ends within something, at %d", r.at)
		r.at = len(r.b)
		return nil
	}
	r.at += n
	return r.b[r.at-n : r.at]
}

func (r *reader) uint() int {
	var v uint64
	for shift := 0; shift < 64 && r.err == nil; shift += 7 {
		c := r.byte()
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			break
		}
	}
	return int(v)
}

func (r *reader) sint() int {
	var v int64
	for shift := 0; shift < 64 && r.err == nil; {
		c := r.byte()
		v |= int64(c&0x7f) << shift
		shift += 7
		if c < 0x80 {
			if c&0x40 != 0 && shift < 64 {
				v |= -1 << shift
			}
			break
		}
	}
	return int(v)
}

func appendUint(b []byte, v uint64) []byte { return binary.AppendUvarint(b, v) }

func appendSint(b []byte, v int64) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

const i32Const, end = 0x41, 0x0b

// image is memory as the data section fills it; first is the lowest address that it writes.
func image(section []byte) (first int, memory []byte, err error) {
	r := &reader{b: section}
	first = -1
	for range r.uint() {
		kind, op := r.uint(), r.byte()
		at := r.sint()
		if r.byte() != end || kind != 0 || op != i32Const {
			return 0, nil, errors.New("a data segment has a form that Go's linker did not write before")
		}
		data := r.bytes(r.uint())
		if r.err != nil {
			return 0, nil, r.err
		}
		if first < 0 || at < first {
			first = at
		}
		if n := at + len(data) - len(memory); n > 0 {
			memory = append(memory, make([]byte, n)...)
		}
		copy(memory[at:], data)
	}
	return max(first, 0), memory, r.err
}

// gap is how many zeros end a piece: memory is zero anyway, and a piece costs bytes too.
const gap = 4096

// segments is the data section for an image. Addresses in at become places in the section.
func segments(first int, memory []byte, at *region) []byte {
	zeros := make([]byte, gap)
	var pieces [][2]int
	for at := first; at < len(memory); {
		n := bytes.Index(memory[at:], zeros)
		if n < 0 {
			n = len(memory) - at
		}
		if n > 0 {
			pieces = append(pieces, [2]int{at, at + n})
		}
		at += n
		for at < len(memory) && memory[at] == 0 {
			at++
		}
		if at < len(memory) {
			at = max(at&^15, first) // what begins with zeros stays whole
		}
	}
	b := appendUint(nil, uint64(len(pieces)))
	from := *at
	for _, p := range pieces {
		b = appendSint(append(b, 0, i32Const), int64(p[0]))
		b = appendUint(append(b, end), uint64(p[1]-p[0]))
		if p[0] <= from.tables && from.tables < p[1] {
			at.tables = len(b) + from.tables - p[0]
		}
		if p[0] <= from.records && from.records < p[1] {
			at.records = len(b) + from.records - p[0]
		}
		b = append(b, memory[p[0]:p[1]]...)
	}
	return b
}
