package main

import (
	"bytes"
	"encoding/binary"
)

// The table of functions that Go's linker writes (runtime.pclntab, as of Go 1.20): a header, names, files, tables
// of program counters, and a record for each function. Stack frames need some of the tables (how large a frame is,
// where its pointers lie); others serve people only: names, files, lines, what was inlined.

// header is the first fields of the table; offsets count from its beginning.
type header struct {
	Functions, Files, _                  uint64
	Names, Units, Paths, Tables, Records uint64
}

const (
	magic      = "\xf1\xff\xff\xff\x00\x00\x01\x08"
	recordSize = 44
	none       = 0xffffffff // where a record has no data
)

// What of a record serves people only, or what js/wasm has not: tables of what was inlined, of arguments that are
// alive, and of places where a thread may be interrupted; and the data that goes with them (internal/abi, symtab.go).
var (
	vainTables = map[int]bool{0: true, 2: true, 3: true}
	vainData   = map[int]bool{3: true, 5: true, 6: true, 7: true}
)

// forgetLines empties what serves people. Where the table has another form than this,
// nothing is changed: the module is larger then, but as good.
func forgetLines(memory []byte) {
	table := bytes.Index(memory, []byte(magic))
	if table < 0 {
		return
	}
	var h header
	if _, err := binary.Decode(memory[table+len(magic):], binary.LittleEndian, &h); err != nil {
		return
	}
	t := memory[table:]
	size := uint64(len(t))
	if !(h.Names < h.Units && h.Units < h.Paths && h.Paths < h.Tables && h.Tables < h.Records && h.Records < size) ||
		h.Functions > 1<<20 || h.Records+8*h.Functions > size {
		return
	}
	f := forgetter{tables: t[h.Tables:h.Records], records: t[h.Records:], moved: map[uint32]uint32{0: 0}, packed: []byte{0}}
	var found []int
	for i := range h.Functions {
		at := uint64(binary.LittleEndian.Uint32(f.records[8*i+4:]))
		if at+recordSize > uint64(len(f.records)) || !f.function(f.records[at:]) {
			return
		}
		found = append(found, int(at))
	}
	for _, at := range found {
		f.forget(f.records[at:])
	}
	clear(f.tables[copy(f.tables, f.packed):])
	clear(t[h.Names+1 : h.Tables])
}

// forgetter goes through the records twice: first it puts the tables that are needed side by side, in the order in
// which records name them; then it changes the records.
type forgetter struct {
	tables, records []byte
	packed          []byte            // the tables that are needed
	moved           map[uint32]uint32 // where they were and where they are
}

// function notes which tables of a record are needed.
func (f *forgetter) function(r []byte) bool {
	n := int(binary.LittleEndian.Uint32(r[28:]))
	if recordSize+4*(n+int(r[recordSize-1])) > len(r) {
		return false
	}
	ok := f.keep(binary.LittleEndian.Uint32(r[16:])) // sizes of frames
	for i := range n {
		if !vainTables[i] {
			ok = ok && f.keep(binary.LittleEndian.Uint32(r[recordSize+4*i:]))
		}
	}
	return ok
}

// keep takes a table over, unless it was.
func (f *forgetter) keep(at uint32) bool {
	if _, known := f.moved[at]; known {
		return true
	}
	if int(at) >= len(f.tables) {
		return false
	}
	n := tableLength(f.tables[at:])
	f.moved[at] = uint32(len(f.packed))
	f.packed = append(f.packed, f.tables[at:int(at)+n]...)
	return n > 0
}

// tableLength is how many bytes a table has: pairs of varints, ended by a first one that is zero (except the very
// first). 0 says that it does not end.
func tableLength(b []byte) int {
	r := &reader{b: b}
	for first := true; r.err == nil; first = false {
		if r.uint() == 0 && !first && r.err == nil {
			return r.at
		}
		r.uint()
	}
	return 0
}

// forget clears name, file and line of a function, and which tables serve people; the others have moved.
func (f *forgetter) forget(r []byte) {
	move := func(field []byte) {
		binary.LittleEndian.PutUint32(field, f.moved[binary.LittleEndian.Uint32(field)])
	}
	move(r[16:20])
	clear(r[4:8])   // name
	clear(r[20:28]) // tables of files and lines
	clear(r[32:40]) // unit, first line
	tables, data := int(binary.LittleEndian.Uint32(r[28:])), int(r[recordSize-1])
	for i := range tables {
		if field := r[recordSize+4*i : recordSize+4*i+4]; vainTables[i] {
			clear(field)
		} else {
			move(field)
		}
	}
	for i := range data {
		if vainData[i] {
			binary.LittleEndian.PutUint32(r[recordSize+4*(tables+i):], none)
		}
	}
}
