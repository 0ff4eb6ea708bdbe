package wasm

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

// kind is the type of a value on WebAssembly's stack.
type kind byte

const (
	i32  kind = 0x7F
	i64  kind = 0x7E
	f32  kind = 0x7D
	f64  kind = 0x7C
	v128 kind = 0x7B
)

func (k kind) String() string {
	return map[kind]string{i32: "i32", i64: "i64", f32: "f32", f64: "f64", v128: "v128"}[k]
}

// encoder writes instructions twice: as bytes, and as text to read.
type encoder struct {
	bytes  []byte
	text   strings.Builder
	depth  int    // of open blocks, for indentation
	locals []kind // beyond the parameters
}

// The parameters of a kernel.
const (
	paramBuf = iota
	paramVar
	paramScratch
	paramLo
	paramHi
	params
)

// local makes a new local variable.
func (e *encoder) local(k kind) uint32 {
	e.locals = append(e.locals, k)
	return uint32(params + len(e.locals) - 1)
}

func appendU(b []byte, n uint64) []byte { return binary.AppendUvarint(b, n) }

// appendS is signed LEB128.
func appendS(b []byte, n int64) []byte {
	for {
		low := byte(n & 0x7F)
		n >>= 7
		if n == 0 && low&0x40 == 0 || n == -1 && low&0x40 != 0 {
			return append(b, low)
		}
		b = append(b, low|0x80)
	}
}

func (e *encoder) opcode(name string) {
	c, ok := opcodes[name]
	switch {
	case !ok:
		panic("BUG: no instruction " + name)
	case c.prefix != 0:
		e.bytes = appendU(append(e.bytes, c.prefix), uint64(c.n))
	default:
		e.bytes = append(e.bytes, byte(c.n))
	}
}

func (e *encoder) line(format string, a ...any) {
	e.text.WriteString(strings.Repeat("  ", e.depth+1))
	fmt.Fprintf(&e.text, format, a...)
	e.text.WriteByte('\n')
}

// op writes instructions without immediates.
func (e *encoder) op(names ...string) {
	for _, n := range names {
		e.opcode(n)
		e.line("%s", n)
	}
}

// with writes an instruction with one unsigned immediate: a local, a depth, a lane.
func (e *encoder) with(name string, n uint32) {
	e.opcode(name)
	e.bytes = appendU(e.bytes, uint64(n))
	e.line("%s %d", name, n)
}

func (e *encoder) get(l uint32) { e.with("local.get", l) }
func (e *encoder) set(l uint32) { e.with("local.set", l) }
func (e *encoder) tee(l uint32) { e.with("local.tee", l) }

func (e *encoder) i32(n int32) {
	e.opcode("i32.const")
	e.bytes = appendS(e.bytes, int64(n))
	e.line("i32.const %d", n)
}

func (e *encoder) i64(n int64) {
	e.opcode("i64.const")
	e.bytes = appendS(e.bytes, n)
	e.line("i64.const %d", n)
}

func (e *encoder) f32(bits uint32) {
	e.opcode("f32.const")
	e.bytes = binary.LittleEndian.AppendUint32(e.bytes, bits)
	e.line("f32.const %v", math.Float32frombits(bits))
}

func (e *encoder) f64(bits uint64) {
	e.opcode("f64.const")
	e.bytes = binary.LittleEndian.AppendUint64(e.bytes, bits)
	e.line("f64.const %v", math.Float64frombits(bits))
}

// v128 writes a constant of four 32-bit words.
func (e *encoder) v128(w [4]uint32) {
	e.opcode("v128.const")
	for _, x := range w {
		e.bytes = binary.LittleEndian.AppendUint32(e.bytes, x)
	}
	e.line("v128.const i32x4 %#x %#x %#x %#x", w[0], w[1], w[2], w[3])
}

// shuffle rearranges the bytes of the vector on the stack.
func (e *encoder) shuffle(lanes [16]byte) {
	l := e.local(v128)
	e.tee(l)
	e.get(l)
	e.opcode("i8x16.shuffle")
	e.bytes = append(e.bytes, lanes[:]...)
	text := "i8x16.shuffle"
	for _, l := range lanes {
		text += fmt.Sprintf(" %d", l)
	}
	e.line("%s", text)
}

// mem writes an access to memory at the address on the stack plus offset. Nothing is promised about alignment.
func (e *encoder) mem(name string, offset uint32) {
	e.opcode(name)
	e.bytes = appendU(append(e.bytes, 0), uint64(offset))
	e.line("%s offset=%d", name, offset)
}

// memLane is mem for one lane of a vector.
func (e *encoder) memLane(name string, offset uint32, lane byte) {
	e.opcode(name)
	e.bytes = append(appendU(append(e.bytes, 0), uint64(offset)), lane)
	e.line("%s offset=%d %d", name, offset, lane)
}

const noResult = 0x40

// open begins a block, loop or if without result.
func (e *encoder) open(name string) {
	e.opcode(name)
	e.bytes = append(e.bytes, noResult)
	e.line("%s", name)
	e.depth++
}

func (e *encoder) end() {
	e.depth--
	e.op("end")
}

// body is the function: declarations of locals and code, as the code section holds it, without its length.
func (e *encoder) body() []byte {
	var runs []byte
	n := uint64(0)
	for i := 0; i < len(e.locals); {
		j := i
		for j < len(e.locals) && e.locals[j] == e.locals[i] {
			j++
		}
		runs = append(appendU(runs, uint64(j-i)), byte(e.locals[i]))
		n++
		i = j
	}
	return append(append(append(appendU(nil, n), runs...), e.bytes...), 0x0B)
}
