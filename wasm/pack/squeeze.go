package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

const (
	customSection = 0
	importSection = 2
	codeSection   = 10
	dataSection   = 11
)

// squeeze writes a module of Go's compiler smaller, and as plain as it was: without custom sections and, unless names is
// set, its data in few pieces, and without the tables of functions' names and lines, and, where shaken is set, what a page never calls. What has another form than is known here
// stays as it is: the module is larger then, but as good.
func squeeze(module []byte, names, shaken bool) ([]byte, error) {
	if len(module) < 8 || string(module[:4]) != "\x00asm" {
		return nil, errors.New("this is no WebAssembly module")
	}
	known, imported := functionNames(module), 0
	out := append([]byte{}, module[:8]...)
	r := &reader{b: module, at: 8}
	for r.at < len(r.b) {
		id := r.byte()
		section := r.bytes(r.uint())
		if r.err != nil {
			return nil, r.err
		}
		switch id {
		case customSection:
			continue
		case importSection:
			imported = importedFunctions(section)
		case codeSection:
			if shaken && !names {
				section = shake(section, known, imported)
			}
		case dataSection:
			if first, memory, ok := image(section); ok && !names {
				forgetLines(memory)
				section = segments(first, memory)
			}
		}
		out = append(appendUint(append(out, id), uint64(len(section))), section...)
	}
	return out, nil
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

const i32Const, i64Const, end = 0x41, 0x42, 0x0b

// image is memory as the data section fills it; first is the lowest address that it writes. It is not ok where a segment has a form
// that Go's linker does not write.
func image(section []byte) (first int, memory []byte, ok bool) {
	r := &reader{b: section}
	first = -1
	for range r.uint() {
		kind, op := r.uint(), r.byte()
		at := r.sint()
		if r.byte() != end || kind != 0 || op != i32Const || at < 0 || at > most {
			return 0, nil, false
		}
		data := r.bytes(r.uint())
		if r.err != nil {
			return 0, nil, false
		}
		if first < 0 || at < first {
			first = at
		}
		if n := at + len(data) - len(memory); n > 0 {
			memory = append(memory, make([]byte, n)...)
		}
		copy(memory[at:], data)
	}
	return max(first, 0), memory, r.err == nil
}

// most is an address that no engine's data reaches.
const most = 1 << 28

// gap is how many zeros end a piece: memory is zero anyway, and a piece costs bytes too.
const gap = 4096

// segments is the data section for an image.
func segments(first int, memory []byte) []byte {
	zeros := make([]byte, gap)
	var pieces []span
	for at := first; at < len(memory); {
		n := bytes.Index(memory[at:], zeros)
		if n < 0 {
			n = len(memory) - at
		}
		if n > 0 {
			pieces = append(pieces, span{at, at + n})
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
	for _, p := range pieces {
		b = appendPiece(b, memory, p)
	}
	return b
}

// span is a piece of memory, from an address to another.
type span struct{ from, to int }

// appendPiece appends what a data section has for a piece.
func appendPiece(b, memory []byte, s span) []byte {
	b = appendSint(append(b, 0, i32Const), int64(s.from))
	return append(appendUint(append(b, end), uint64(s.to-s.from)), memory[s.from:s.to]...)
}
