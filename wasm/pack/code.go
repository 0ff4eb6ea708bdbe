package main

import (
	"errors"
	"fmt"
)

// A packed module has packedVersion as its version. Of its sections three are packed, and wasm/js/unpack.js makes them
// what they were while the engine arrives: the code (here and in macros.go), the elements (squeeze.go) and the data
// (records.go).
//
// Packed code leaves out what follows from the rest, or reads alike where it means the same:
//
//   - Go's code keeps a stack of its own: before each call it stores where the callee shall return to, the number of the
//     calling function and of a place in it. Every such number is another one, and no compressor sees that most are the
//     one before plus one. step+n stands for an i64.const of the place before plus n, place for one of the place that
//     follows.
//   - Branches name their block by how many are open around it, not by how many are to be left: what leaves the
//     function, as the end of every call may, then reads alike everywhere. Targets in a table are differences.
//   - The alignment of loads and stores is that of their type, and is left out; so is the size of a function, which ends
//     with its outermost block.
//   - Rows of instructions that are frequent have one byte, see macros.go.
const (
	codeSection   = 10
	packedVersion = "weft"
	step          = 0xe0 // … 0xef: no instruction begins so
	place         = 0xf0
	firstFunction = 0x1000 // Go's number of a module's first function
)

// alignments are those of the loads and stores 0x28 … 0x3e.
const alignments = "\x02\x03\x02\x03\x00\x00\x01\x01\x00\x00\x01\x01\x02\x02\x02\x03\x02\x03\x00\x01\x00\x01\x02"

// errForm says that the compiler wrote something in a way that packed code cannot stand for.
var errForm = errors.New("this is not the form that Go's compiler was known to write")

// body is a function: its locals as in the module, and its instructions in packed form.
type body struct {
	locals []byte
	code   [][]byte
}

// packCode packs a code section.
func packCode(section []byte) ([]byte, error) {
	r := &reader{b: section}
	bodies := make([]body, r.uint())
	for f := range bodies {
		b := r.bytes(r.uint())
		if r.err != nil {
			return nil, r.err
		}
		var err error
		if bodies[f], err = packBody(b, firstFunction+int64(f)); err != nil {
			return nil, fmt.Errorf("function %d: %w", f, err)
		}
	}
	return shorten(bodies), nil
}

func packBody(b []byte, function int64) (body, error) {
	r := &reader{b: b}
	for range r.uint() {
		r.uint()
		r.byte()
	}
	p := packer{reader: r, function: function, open: 1}
	out := body{locals: b[:r.at]}
	for r.at < len(b) && r.err == nil {
		if p.open == 0 {
			return body{}, fmt.Errorf("at %d: code behind the end: %w", r.at, errForm)
		}
		i, err := p.instruction()
		if err != nil {
			return body{}, err
		}
		out.code = append(out.code, i)
	}
	if p.open != 0 && r.err == nil {
		r.err = fmt.Errorf("blocks stay open: %w", errForm)
	}
	return out, r.err
}

// packer packs the instructions of a function.
type packer struct {
	*reader
	function, last int64 // its number; the place before
	open           int   // blocks around the instruction
}

// instruction packs one.
func (p *packer) instruction() ([]byte, error) {
	from := p.at
	op := p.byte()
	var out []byte // unless it stays as it is
	length := 0    // what unpacking will make of out; a number may have been written longer than it need be
	switch {
	case op == 0x02 || op == 0x03 || op == 0x04: // block, loop, if: the type
		p.open++
		p.byte()
	case op == 0x0b: // end
		p.open--
	case op == 0x0c || op == 0x0d: // br, br_if
		depth := p.uint()
		if depth >= p.open {
			return nil, fmt.Errorf("at %d: a branch leads out of the function", from)
		}
		out, length = appendUint([]byte{op}, uint64(p.open-1-depth)), 1+uintLength(depth)
	case op == 0x0e: // br_table
		n := p.uint()
		out, length = appendUint([]byte{op}, uint64(n)), 1+uintLength(n)
		last := 0
		for range n + 1 {
			t := p.uint()
			out, length = appendUint(out, zigzag(int64(t-last))), length+uintLength(t)
			last = t
		}
	case op == 0x10 || op >= 0x20 && op <= 0x26: // call, variables, tables
		p.uint()
	case op == 0x11: // call_indirect
		p.uint()
		p.uint()
	case op >= 0x28 && op <= 0x3e: // loads and stores
		if p.byte() != alignments[op-0x28] {
			return nil, fmt.Errorf("at %d: an alignment of its own: %w", from, errForm)
		}
		p.uint()
		out, length = append([]byte{op}, p.b[min(from+2, p.at):p.at]...), p.at-from
	case op == 0x3f || op == 0x40: // memory.size, memory.grow
		p.byte()
	case op == 0x41: // i32.const
		p.sint()
	case op == 0x42: // i64.const
		out, length = p.number(int64(p.sint()))
	case op == 0x43:
		p.bytes(4)
	case op == 0x44:
		p.bytes(8)
	case op == 0xfc:
		switch sub := p.uint(); {
		case sub <= 7: // saturating conversions
		case sub == 10: // memory.copy
			p.bytes(2)
		case sub == 11: // memory.fill
			p.bytes(1)
		default:
			return nil, fmt.Errorf("at %d: instruction 0xfc %d: %w", from, sub, errForm)
		}
	case op <= 0x01 || op == 0x05 || op == 0x0f || op == 0x1a || op == 0x1b || op >= 0x45 && op < firstMacro: // without operands
	default:
		return nil, fmt.Errorf("at %d: instruction %#x: %w", from, op, errForm)
	}
	if out == nil {
		return p.b[from:p.at], p.err
	}
	if length != p.at-from && p.err == nil {
		return nil, fmt.Errorf("at %d: a long form of a number: %w", from, errForm)
	}
	return out, p.err
}

// number packs an i64.const; nil: it stays as it is.
func (p *packer) number(v int64) (out []byte, length int) {
	if v>>16 != p.function {
		return nil, 0
	}
	length = 1 + len(appendSint(nil, v))
	now := v & 0xffff
	d := now - p.last
	p.last = now
	if d >= 0 && d < 16 {
		return []byte{byte(step + d)}, length
	}
	return appendUint([]byte{place}, uint64(now)), length
}

func uintLength(v int) int { return len(appendUint(nil, uint64(v))) }

func zigzag(v int64) uint64 { return uint64(v<<1) ^ uint64(v>>63) }
