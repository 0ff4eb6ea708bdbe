package main

import (
	"bytes"
	"encoding/binary"
	"maps"
	"slices"
)

// What the linker's tables say of a function's stack frames (see lines.go) is asked where such a frame is on a stack. Of a function of the rest that
// is when the rest is there, because the function began: so what is said of these functions only is in the rest too, which writes it into memory.
// One frame is older than its function's first instruction, that of a goroutine that was made and has not run yet. Such a function is known by its
// address; what is said of functions whose addresses are anywhere in data or in the code of others stays in the first part.

// later finds what of memory only functions of the rest need. It finds nothing where tables have another form than is known here.
func (m *form) later(memory []byte, stays []bool) []span {
	l := records(memory)
	table := bytes.Index(memory, []byte(magic))
	if l.n == 0 || l.n != len(stays) {
		return nil
	}
	var h header
	if _, err := binary.Decode(memory[table+len(magic):], binary.LittleEndian, &h); err != nil || h.Tables >= h.Records {
		return nil
	}
	begun, err := m.addressed(memory, l, table)
	if err != nil {
		return nil
	}
	var out []span
	tables, data := shared{}, shared{}
	pointers := map[int]bool{} // of data: where pointers lie among arguments and in frames (internal/abi, symtab.go)
	for i, s := range stays {
		s = s || begun[i]
		r := l.at + int(binary.LittleEndian.Uint32(memory[l.at+8*i+4:]))
		nt, nd := int(binary.LittleEndian.Uint32(memory[r+28:])), int(memory[r+recordSize-1])
		if nt > 8 || r+recordLength(nt, nd) > len(memory) {
			return nil
		}
		field := func(at int) int { return int(binary.LittleEndian.Uint32(memory[r+at:])) }
		tables.note(field(16), s)
		for k := range nt {
			tables.note(field(recordSize+4*k), s)
		}
		for k := range nd {
			if at := field(recordSize + 4*(nt+k)); at != none {
				data.note(at, s)
				pointers[at] = pointers[at] || k < 2
			}
		}
		if !s { // but the fields by which the start function knows how long a record is
			out = append(out, span{r + 4, r + 28}, span{r + 32, r + recordSize - 1}, span{r + recordSize, r + recordLength(nt, nd)})
		}
	}
	pairs := table + int(h.Tables)
	for at, s := range tables {
		if at >= int(h.Records-h.Tables) {
			return nil
		}
		if n := tableLength(memory[pairs+at : table+int(h.Records)]); n > 0 && at > 0 && !s {
			out = append(out, span{pairs + at, pairs + at + n})
		}
	}
	return append(out, data.alone(memory, functionData(memory, table, h), pointers)...)
}

// shared says of tables, by their places, whether a function that stays has them.
type shared map[int]bool

func (s shared) note(at int, stays bool) { s[at] = s[at] || stays }

// alone gives what no function that stays has of the data of functions, which begins at base. One ends where the next begins; of the last nobody
// knows, so it stays. Nothing is given where one of the maps of pointers (how many rows, how many bits each, the bits) is none: base is wrong then.
func (s shared) alone(memory []byte, base int, pointers map[int]bool) (out []span) {
	places := slices.Sorted(maps.Keys(s))
	for i, at := range places[:max(len(places)-1, 0)] {
		next := places[i+1]
		if base == 0 || base+next > len(memory) {
			return nil
		}
		d := memory[base+at : base+next]
		if pointers[at] {
			if len(d) < 8 {
				return nil
			}
			rows, bits := int(binary.LittleEndian.Uint32(d)), int(binary.LittleEndian.Uint32(d[4:]))
			if rows < 1 || 8+rows*((bits+7)/8) > len(d) {
				return nil
			}
		}
		if !s[at] {
			out = append(out, span{base + at, base + next})
		}
	}
	return out
}

// functionData is where the data of functions begins (go:func.*), as runtime.moduledata of Go 1.26 has it; 0 where it is not found.
func functionData(memory []byte, table int, h header) int {
	const place = 40 // words from the beginning of moduledata
	word := binary.LittleEndian.AppendUint64
	at := bytes.Index(memory, word(word(nil, uint64(table)), uint64(table)+h.Names))
	if at < 0 || at+8*place+8 > len(memory) {
		return 0
	}
	base := binary.LittleEndian.Uint64(memory[at+8*place:])
	if base < uint64(table)+h.Records || base > uint64(len(memory)) {
		return 0
	}
	return int(base)
}

// addressed says whose addresses are in data, or in the code of other functions, there also those of later instructions.
func (m *form) addressed(memory []byte, l listed, table int) ([]bool, error) {
	out := make([]bool, len(m.bodies))
	function := func(v uint64) int { // an address is the function's number, and where in it
		if i := int(v>>16) - l.number; v < 1<<40 && i >= 0 && i < len(out) {
			return i
		}
		return -1
	}
	for at := 0; at+8 <= len(memory); at += 8 {
		if at >= table && at < l.at+8*l.n { // names and numbers of the tables themselves
			continue
		}
		if v := binary.LittleEndian.Uint64(memory[at:]); v&0xffff == 0 && function(v) >= 0 {
			out[function(v)] = true
		}
	}
	for f, body := range m.bodies {
		if err := numbers(body, func(v int64) { // a goroutine returns to the second instruction of runtime.goexit, which nobody calls
			if i := function(uint64(v)); i >= 0 && i != f {
				out[i] = true
			}
		}); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// piecesOf is the data section of a rest: what of memory it writes. Spans that nearly touch are one piece, since a piece costs bytes as well; what is
// between them is constant, too.
func piecesOf(memory []byte, spans []span) []byte {
	const near = 16
	slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	var joined []span
	for _, s := range spans {
		if n := len(joined); n > 0 && s.from <= joined[n-1].to+near {
			joined[n-1].to = max(joined[n-1].to, s.to)
		} else {
			joined = append(joined, s)
		}
	}
	b := appendUint(nil, uint64(len(joined)))
	for _, s := range joined {
		b = appendPiece(b, memory, s)
	}
	return b
}
