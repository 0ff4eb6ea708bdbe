package main

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Go's code for WebAssembly keeps a stack of its own: before each call it stores where the callee shall return to, the
// number of the calling function and of a place in it. Every such number is another one, and no compressor sees that
// most are the one before plus one: together they are an eighth of the compressed engine. So they are left out here,
// and wasm/js/unpack.js puts them back while the engine arrives.
//
// A packed module has packedVersion as its version. In its code section, which otherwise is as it was, sizes included,
// step+n stands for an i64.const of the place before plus n, and place for one of the place that follows. Branches
// name their block by how many are open around it, not by how many are to be left: what leaves the function, as the end
// of every call may, then reads alike everywhere.
const (
	codeSection   = 10
	packedVersion = "weft"
	step          = 0xe0 // … 0xef: no instruction begins so
	place         = 0xf0
	firstFunction = 0x1000 // Go's number of a module's first function
)

// dropReturns packs the code section; its size is left out of the result.
func dropReturns(section []byte) ([]byte, error) {
	r := &reader{b: section}
	count := r.uint()
	out := appendUint(nil, uint64(count))
	for f := range count {
		size := r.uint()
		body := r.bytes(size)
		if r.err != nil {
			return nil, r.err
		}
		out = appendUint(out, uint64(size))
		var err error
		if out, err = packBody(out, body, firstFunction+int64(f)); err != nil {
			return nil, fmt.Errorf("function %d: %w", f, err)
		}
	}
	return out, nil
}

func packBody(out, body []byte, function int64) ([]byte, error) {
	r := &reader{b: body}
	for range r.uint() {
		r.uint()
		r.byte()
	}
	out = append(out, body[:r.at]...)
	last, open := int64(0), 1
	for r.at < len(body) && r.err == nil {
		from := r.at
		switch op := body[from]; op {
		case 0x02, 0x03, 0x04: // block, loop, if
			open++
		case 0x0b: // end
			open--
		case 0x0c, 0x0d: // br, br_if
			r.byte()
			depth := r.uint()
			if depth >= open {
				return nil, errors.New("a branch leads out of the function")
			}
			out = appendUint(append(out, op), uint64(open-1-depth))
			continue
		}
		v, isConst := r.instruction()
		if !isConst || v>>16 != function {
			out = append(out, body[from:r.at]...)
			continue
		}
		now := v & 0xffff
		if d := now - last; d >= 0 && d < 16 {
			out = append(out, byte(step+d))
		} else {
			out = appendUint(append(out, place), uint64(now))
		}
		if string(appendSint(nil, v)) != string(body[from+1:r.at]) {
			return nil, errors.New("a number is written longer than it need be")
		}
		last = now
	}
	return out, r.err
}

// instruction passes over an instruction; of an i64.const it gives the value. Go's compiler writes no other
// instructions than these.
func (r *reader) instruction() (v int64, isConst bool) {
	switch op := r.byte(); {
	case op == 0x02 || op == 0x03 || op == 0x04: // block, loop, if: the type
		r.byte()
	case op == 0x0c || op == 0x0d || op == 0x10 || op >= 0x20 && op <= 0x26: // br, br_if, call, variables, tables
		r.uint()
	case op == 0x0e: // br_table
		for range r.uint() + 1 {
			r.uint()
		}
	case op == 0x11: // call_indirect
		r.uint()
		r.uint()
	case op >= 0x28 && op <= 0x3e: // loads and stores
		r.uint()
		r.uint()
	case op == 0x3f || op == 0x40: // memory.size, memory.grow
		r.byte()
	case op == 0x41: // i32.const
		r.sint()
	case op == 0x42:
		return int64(r.sint()), true
	case op == 0x43:
		r.bytes(4)
	case op == 0x44:
		r.bytes(8)
	case op == 0xfc:
		switch sub := r.uint(); {
		case sub <= 7: // saturating conversions
		case sub == 10: // memory.copy
			r.bytes(2)
		case sub == 11: // memory.fill
			r.bytes(1)
		default:
			r.fail("instruction 0xfc %d", sub)
		}
	case op <= 0x1b || op >= 0x45 && op <= 0xc4: // without operands
	default:
		r.fail("instruction %#x", op)
	}
	return 0, false
}

func (r *reader) fail(format string, a ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("at %d: "+format+" is not one that Go's compiler was known to write", append([]any{r.at}, a...)...)
	}
}

// mark makes a packed module of the beginning of one.
func mark(module []byte) []byte { return append(append([]byte{}, module[:4]...), packedVersion...) }

// sizes is a section's beginning: its kind and its true size.
func sizes(out []byte, kind byte, size int) []byte {
	return binary.AppendUvarint(append(out, kind), uint64(size))
}
