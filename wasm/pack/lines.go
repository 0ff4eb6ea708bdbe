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

// forgetLines empties what serves people. Where the table has another form than this, nothing is changed: the
// module is larger then, but as good.
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
	f := forgetter{names: t[h.Names:h.Units], tables: t[h.Tables:h.Records], records: t[h.Records:]}
	f.used = make([]bool, len(f.tables))
	for i := range h.Functions {
		at := uint64(binary.LittleEndian.Uint32(f.records[8*i+4:]))
		if at+recordSize > uint64(len(f.records)) || !f.function(f.records[at:]) {
			return
		}
	}
	for i, used := range f.used {
		if !used {
			f.tables[i] = 0
		}
	}
	for _, at := range f.found {
		forgetRecord(f.records[at:])
	}
	clear(f.names[1:])
	clear(t[h.Units:h.Tables])
}

type forgetter struct {
	names, tables, records []byte
	used                   []bool // bytes of tables that frames need
	found                  []int
}

// function notes which tables of a record are needed.
func (f *forgetter) function(r []byte) bool {
	f.found = append(f.found, len(f.records)-len(r))
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

// keep marks a table: pairs of varints, ended by a first one that is zero (except the very first).
func (f *forgetter) keep(at uint32) bool {
	if at == 0 {
		return true
	}
	next := func() (v byte, ok bool) {
		for {
			if int(at) >= len(f.tables) {
				return 0, false
			}
			c := f.tables[at]
			f.used[at] = true
			at++
			v |= c
			if c < 0x80 {
				return v, true
			}
		}
	}
	for first := true; ; first = false {
		v, ok := next()
		if !ok {
			return false
		}
		if v == 0 && !first {
			return true
		}
		if _, ok := next(); !ok {
			return false
		}
	}
}

// forgetRecord clears name, file and line of a function, and which tables serve people.
func forgetRecord(r []byte) {
	clear(r[4:8])   // name
	clear(r[20:28]) // tables of files and lines
	clear(r[32:40]) // unit, first line
	tables, data := int(binary.LittleEndian.Uint32(r[28:])), int(r[recordSize-1])
	for i := range tables {
		if vainTables[i] {
			clear(r[recordSize+4*i : recordSize+4*i+4])
		}
	}
	for i := range data {
		if vainData[i] {
			binary.LittleEndian.PutUint32(r[recordSize+4*(tables+i):], none)
		}
	}
}
