package main

import (
	"bytes"
	"encoding/binary"
)

// Some of Go's tables follow from what they are about, since in WebAssembly all functions are equally far from each other: which function a
// piece of the program belongs to (runtime.findfunctab, 2.3 MB of numbers that grow by one), where each one begins, where its record lies. A module
// that is sent need not have them: its start function writes them. What does not follow by these rules, to the byte, stays as it is.

const (
	perFunction = 4  // bits: addresses of functions are 64 KiB apart, and findfunctab has an entry for each 4 KiB
	pieceEntry  = 20 // bytes: the number of the function, and what 16 parts of the piece add to it
)

// pieces finds findfunctab: where it is and how many entries follow the rule.
func pieces(memory []byte) (at, n int) {
	entry := func(k int) []byte {
		return binary.LittleEndian.AppendUint32(nil, uint32(k>>perFunction))
	}
	zeros := make([]byte, pieceEntry-4)
	var begin []byte
	const sure = 4 << perFunction
	for k := range sure {
		begin = append(append(begin, entry(k)...), zeros...)
	}
	if at = bytes.Index(memory, begin); at < 0 {
		return 0, 0
	}
	for n = sure; at+pieceEntry*(n+1) <= len(memory); n++ {
		e := memory[at+pieceEntry*n:][:pieceEntry]
		if !bytes.Equal(e[:4], entry(n)) || !bytes.Equal(e[4:], zeros) {
			break
		}
	}
	return at, n
}

// listed is the list of records of functions (see lines.go): where it is, how many there are, which number the first has and where in the list its
// record lies. The numbers grow by one, and records lie one behind the other.
type listed struct{ at, n, number, first int }

// records finds the list; n is 0 where it is not of this form.
func records(memory []byte) (l listed) {
	table := bytes.Index(memory, []byte(magic))
	if table < 0 {
		return l
	}
	var h header
	if _, err := binary.Decode(memory[table+len(magic):], binary.LittleEndian, &h); err != nil || h.Records > most || h.Functions > 1<<20 {
		return l
	}
	l.at, l.n = table+int(h.Records), int(h.Functions)
	if l.n == 0 || l.at+8*l.n > len(memory) {
		return listed{}
	}
	l.number = int(binary.LittleEndian.Uint32(memory[l.at:]))
	l.first = int(binary.LittleEndian.Uint32(memory[l.at+4:]))
	copied := bytes.Clone(memory)
	if !l.write(copied) || !bytes.Equal(copied, memory) {
		return listed{}
	}
	return l
}

// write does what the start function will do. It says whether all that it touched is within memory.
func (l listed) write(memory []byte) bool {
	put := binary.LittleEndian.PutUint32
	place := l.first
	for i := range l.n {
		r := l.at + place
		if r < 0 || r+recordSize > len(memory) {
			return false
		}
		put(memory[l.at+8*i:], uint32(l.number+i))
		put(memory[l.at+8*i+4:], uint32(place))
		put(memory[r:], uint32(l.number+i))
		place += recordLength(int(binary.LittleEndian.Uint32(memory[r+28:])), int(memory[r+recordSize-1]))
	}
	return true
}

// forget clears what write writes.
func (l listed) forget(memory []byte) {
	for i := range l.n {
		clear(memory[l.at+int(binary.LittleEndian.Uint32(memory[l.at+8*i+4:])):][:4])
		clear(memory[l.at+8*i:][:8])
	}
}

// recordLength is how long a record is with so many tables and data.
func recordLength(tables, data int) int { return (recordSize + 4*tables + 4*data + 7) &^ 7 }

// fill leaves out of a module what its start function can write. A module that has one already stays as it is.
func fill(module []byte) ([]byte, error) {
	m := &form{}
	if err := m.readSections(module); err != nil {
		return nil, err
	}
	first, memory, ok := image(m.section(dataSection).b)
	if !ok || m.section(startSection).err == nil {
		return module, nil
	}
	code := []byte{1, 2, i32} // two locals
	pieceAt, ps := pieces(memory)
	l := records(memory)
	if ps == 0 && l.n == 0 {
		return module, nil
	}
	if ps > 0 {
		clear(memory[pieceAt:][:pieceEntry*ps])
		code = append(code, fillPieces(pieceAt, ps)...)
	}
	if l.n > 0 {
		l.forget(memory)
		code = append(code, l.fill()...)
	}
	return m.started(append(code, end), segments(first, memory)), nil
}

// started is the module with a start function and other data.
func (m *form) started(body, data []byte) []byte {
	types, functions := m.section(typeSection).uint(), m.section(functionSection).uint()
	index := m.section(importSection).uint() + functions
	out := []byte("\x00asm\x01\x00\x00\x00")
	for _, s := range m.sections {
		switch s.id {
		case typeSection:
			s.body = extended(s.body, 1, []byte{0x60, 0, 0})
		case functionSection:
			s.body = extended(s.body, 1, appendUint(nil, uint64(types)))
		case elementSection:
			out = appendSection(out, startSection, appendUint(nil, uint64(index)))
		case codeSection:
			s.body = extended(s.body, 1, append(appendUint(nil, uint64(len(body))), body...))
		case dataSection:
			s.body = data
		}
		out = appendSection(out, s.id, s.body)
	}
	return out
}

// What the start function is made of: its locals are the number of an entry, and what a loop needs besides.
const (
	opLoop, opBrIf, opLocalSet, opLoad32, opLoad8, opStore32 = 0x03, 0x0d, 0x21, 0x28, 0x2d, 0x36
	opAdd, opMul, opAnd, opShl, opShrU, opLtU                = 0x6a, 0x6c, 0x71, 0x74, 0x76, 0x49
)

func constant(n int) []byte { return appendSint([]byte{i32Const}, int64(n)) }

func local(i byte) []byte { return []byte{opLocalGet, i} }

func code(parts ...any) (out []byte) {
	for _, p := range parts {
		switch p := p.(type) {
		case []byte:
			out = append(out, p...)
		case int:
			out = append(out, byte(p))
		}
	}
	return out
}

// loop repeats a body for the numbers below n, in local 0.
func loop(n int, body []byte) []byte {
	return code(constant(0), opLocalSet, 0, opLoop, noType, body,
		local(0), constant(1), opAdd, opLocalSet, 0, local(0), constant(n), opLtU, opBrIf, 0, end)
}

func fillPieces(at, n int) []byte {
	return loop(n, code(local(0), constant(pieceEntry), opMul, constant(at), opAdd, local(0), constant(perFunction), opShrU, opStore32, 2, 0))
}

// fill is write; local 1 is where in the list the next record lies.
func (l listed) fill() []byte {
	entry := code(local(0), constant(3), opShl, constant(l.at), opAdd)
	record := code(local(1), constant(l.at), opAdd)
	number := code(local(0), constant(l.number), opAdd)
	return code(constant(l.first), opLocalSet, 1, loop(l.n, code(
		entry, number, opStore32, 2, 0,
		entry, local(1), opStore32, 2, 4,
		record, number, opStore32, 2, 0,
		record, opLoad32, 2, 28, record, opLoad8, 0, recordSize-1, opAdd, constant(4), opMul,
		constant(recordSize+7), opAdd, constant(-8), opAnd, local(1), opAdd, opLocalSet, 1,
	)))
}
