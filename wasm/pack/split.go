package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// A module is split in two parts. The first has the functions that a first result needs, and data; the rest has the other functions, and what
// tables say of their stack frames (later.go).
// A function that is in the rest leaves one in its place that has the rest loaded if it is not yet, and calls it. Both parts share
// memory, table and globals, and all functions keep their places in the table, by which Go's code knows them: so nothing in the program changes
// but where its code is, and a function is where it was for whoever calls it. This is what Binaryen's wasm-split does; that one renumbers.
//
// The rest fits only the first part that it was split from: it imports a global whose name is a hash of the whole.

// stay says which functions stay in the first part: those of hot, those whose type is another one than that of all of Go's functions, and those that
// call functions of JavaScript.
func (m *form) stay(hot func(i int) bool) ([]bool, error) {
	stays := make([]bool, len(m.types))
	for i, body := range m.bodies {
		stays[i] = hot(i) || !m.goes[m.types[i]]
		if stays[i] {
			continue
		}
		if _, err := calls(body, func(f int) []byte {
			stays[i] = stays[i] || f < len(m.imported)
			return nil
		}); err != nil {
			return nil, fmt.Errorf("function %d: %w", i, err)
		}
	}
	return stays, nil
}

// split makes two modules of one. hot says which functions stay in the first.
func split(module []byte, hot func(i int) bool) (first, rest []byte, err error) {
	m, err := formOf(module)
	if err != nil {
		return nil, nil, err
	}
	stays, err := m.stay(hot)
	if err != nil {
		return nil, nil, err
	}
	sum := sha256.Sum256(module)
	id := hex.EncodeToString(sum[:8])
	data, written := m.section(dataSection).b, []byte(nil)
	if from, memory, ok := image(data); ok {
		if late := m.later(memory, stays); len(late) > 0 {
			written = piecesOf(memory, late)
			for _, s := range late {
				clear(memory[s.from:s.to])
			}
			data = segments(from, memory)
		}
	}
	if rest, err = m.rest(stays, id, written); err != nil {
		return nil, nil, err
	}
	return m.part(stays, id, data), rest, nil
}

// part is the first part, with its data.
func (m *form) part(stays []bool, id string, data []byte) []byte {
	out := []byte("\x00asm\x01\x00\x00\x00")
	for _, s := range m.sections {
		switch s.id {
		case globalSection: // whether the rest is there
			s.body = extended(s.body, 1, []byte{i32, 1, i32Const, 0, end})
		case exportSection:
			more := append(appendName(nil, "table"), 1, 0)
			for i := range len(m.globals) + 1 {
				more = appendUint(append(appendName(more, m.globalName(i, id)), 3), uint64(i))
			}
			s.body = extended(s.body, len(m.globals)+2, more)
		case codeSection:
			code := appendUint(nil, uint64(len(m.bodies)))
			for i, body := range m.bodies {
				if !stays[i] {
					body = m.stub(i)
				}
				code = append(appendUint(code, uint64(len(body))), body...)
			}
			s.body = code
		case dataSection:
			s.body = data
		}
		out = appendSection(out, s.id, s.body)
	}
	return out
}

// globalName is what both parts call a global; the last one says whether the rest is there.
func (m *form) globalName(i int, id string) string {
	if i == len(m.globals) {
		return id
	}
	return fmt.Sprintf("g%d", i)
}

// stub is what stands for a function that is in the rest.
func (m *form) stub(i int) []byte {
	b := appendUint([]byte{0, opGlobalGet}, uint64(len(m.globals)))
	b = append(b, opEqz, opIf, noType, i32Const, 0, opCall)
	b = append(appendUint(b, uint64(m.hook)), end, opLocalGet, 0)
	return append(m.indirect(b, i), end)
}

// indirect calls a function by its place in the table.
func (m *form) indirect(b []byte, i int) []byte {
	b = appendSint(append(b, i32Const), int64(m.first+i))
	return append(appendUint(append(b, opCallIndirect), uint64(m.types[i])), 0)
}

// rest is the second part. When it is instantiated its functions are put into the table and its data, if there is any, into memory, and then it says
// that it is there.
func (m *form) rest(stays []bool, id string, data []byte) ([]byte, error) {
	place := map[int]int{} // of functions that are in it
	for i, s := range stays {
		if !s {
			place[i] = len(place)
		}
	}
	functions, code := appendUint(nil, uint64(len(place)+1)), appendUint(nil, uint64(len(place)+1))
	for i, body := range m.bodies {
		if stays[i] {
			continue
		}
		body, err := calls(body, func(f int) []byte {
			if f -= len(m.imported); stays[f] {
				return m.indirect(nil, f)
			}
			return appendUint([]byte{opCall}, uint64(place[f]))
		})
		if err != nil {
			return nil, fmt.Errorf("function %d: %w", i, err)
		}
		functions = appendUint(functions, uint64(m.types[i]))
		code = append(appendUint(code, uint64(len(body))), body...)
	}
	start := append(appendUint([]byte{0, i32Const, 1, opGlobalSet}, uint64(len(m.globals))), end)
	functions = appendUint(functions, uint64(len(m.goes)))
	code = append(appendUint(code, uint64(len(start))), start...)

	out := appendSection([]byte("\x00asm\x01\x00\x00\x00"), typeSection, extended(m.section(typeSection).b, 1, []byte{0x60, 0, 0}))
	out = appendSection(out, importSection, m.shared(id))
	out = appendSection(out, functionSection, functions)
	out = appendSection(out, startSection, appendUint(nil, uint64(len(place))))
	out = appendSection(out, elementSection, m.elements(stays))
	out = appendSection(out, codeSection, code)
	if data != nil {
		out = appendSection(out, dataSection, data)
	}
	return out, nil
}

// shared is what the rest imports of the first part.
func (m *form) shared(id string) []byte {
	b := appendUint(nil, uint64(len(m.globals)+3))
	one := func(name string, what ...byte) { b = append(appendName(appendName(b, "first"), name), what...) }
	one("mem", 2, 0, 0)
	one("table", 1, 0x70, 0, 0)
	for i, g := range append(append([][]byte{}, m.globals...), []byte{i32, 1}) {
		one(m.globalName(i, id), 3, g[0], g[1])
	}
	return b
}

// elements puts the functions of the rest into the table, a row of neighbours at a time.
func (m *form) elements(stays []bool) []byte {
	var b []byte
	rows, placed := 0, 0
	for i := 0; i < len(stays); i++ {
		if stays[i] {
			continue
		}
		from := i
		for i < len(stays) && !stays[i] {
			i++
		}
		b = append(appendSint(append(b, 0, i32Const), int64(m.first+from)), end)
		b = appendUint(b, uint64(i-from))
		for range i - from {
			b = appendUint(b, uint64(placed))
			placed++
		}
		rows++
	}
	return append(appendUint(nil, uint64(rows)), b...)
}

func extended(section []byte, n int, more []byte) []byte {
	r := &reader{b: section}
	b := appendUint(nil, uint64(r.uint()+n))
	return append(append(b, section[r.at:]...), more...)
}

func appendSection(b []byte, id byte, body []byte) []byte {
	return append(appendUint(append(b, id), uint64(len(body))), body...)
}

func appendName(b []byte, name string) []byte {
	return append(appendUint(b, uint64(len(name))), name...)
}
