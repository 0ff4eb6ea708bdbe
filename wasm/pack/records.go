package main

import (
	"bytes"
	"encoding/binary"
	"errors"
)

// The records of functions (see lines.go), their index, and the table that finds a function by an address are a tenth
// of the compressed engine, and most of it follows from what comes before: their numbers grow from one record to the
// next. They are taken out of the data section and written column by column, as differences.
//
// A packed data section is its length; where in the plain section the tables, the index and the buckets begin; how many
// functions and buckets there are (0: they were not taken out); the columns; and the section without what was taken
// out. Numbers are varints, signed ones zigzag. The columns are
//
//	the address, less the one before and 1; the offset of the record, less the end of the one before;
//	fields 2 and 3; the number of tables; the last field;
//	for each table, that of frames first: 0 for none, 1 for the next new one, 2+n for the n-th before that;
//	for each piece of data: 0 for none, else 1 + the zigzag difference to the last of that column.

// fields of a record, as words.
const (
	fieldArgs   = 2
	fieldDefer  = 3
	fieldFrames = 4
	fieldTables = 7
	fieldLast   = 10
	words       = 11
)

// maxColumns is more tables or data than any function has.
const maxColumns = 16

var errRecords = errors.New("records have another form than Go's linker wrote before")

// region is where the parts of the table of functions lie: first in memory, then in the section.
type region struct{ records, tables, functions int }

// packData packs a data section. What has an unknown form stays.
func packData(section []byte, at region) []byte {
	var columns []byte
	size := 0
	if at.functions > 0 {
		var err error
		if columns, size, err = columnsOf(section[at.records:], at.functions); err != nil {
			columns, size, at = nil, 0, region{}
		}
	}
	b, count := buckets(section[at.records+size:])
	b += at.records + size
	var out []byte
	for _, v := range []int{at.tables, at.records, b, at.functions, count} {
		out = appendUint(out, uint64(v))
	}
	out = append(out, columns...)
	out = append(out, section[:at.records]...)
	out = append(out, section[at.records+size:b]...)
	out = append(out, section[b+bucketSize*count:]...)
	return append(appendUint(nil, uint64(len(out))), out...)
}

// A bucket says which function an address belongs to: a number and differences, which are zero because a function has
// 16 buckets of its own in WebAssembly.
const bucketSize = 20

func bucket(k int) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(k/16)), make([]byte, bucketSize-4)...)
}

// buckets finds the table of buckets.
func buckets(b []byte) (at, count int) {
	second := bytes.Repeat(bucket(16), 16)
	begin := bytes.Repeat(bucket(0), 16)
	at = bytes.Index(b, append(second, bucket(32)...)) - len(begin)
	if at < 0 || !bytes.Equal(b[at:at+len(begin)], begin) {
		return 0, 0
	}
	for bytes.HasPrefix(b[at+bucketSize*count:], bucket(count)) {
		count++
	}
	return at, count
}

// column collects numbers.
type column []byte

func (c *column) uint(v uint32) { *c = appendUint(*c, uint64(v)) }

func (c *column) zigzag(v int64) { *c = appendUint(*c, zigzag(v)) }

// columns are those of records, and what they are made of.
type columns struct {
	address, offset, args, deferred, count, last column
	tables, data                                 [maxColumns]column
	before                                       [maxColumns]uint32 // the last piece of data of its column
	seen                                         map[uint32]int     // tables, by when they were new
}

// columnsOf writes index and records as columns, and gives how many bytes they had.
func columnsOf(b []byte, functions int) (out []byte, size int, err error) {
	if len(b) < 8*functions+8 {
		return nil, 0, errRecords
	}
	word := func(at int) uint32 { return binary.LittleEndian.Uint32(b[at:]) }
	c := columns{seen: map[uint32]int{}}
	end, last := 8*functions+8, uint32(0)
	for i := range functions {
		a, o := word(8*i), int(word(8*i+4))
		c.address.zigzag(int64(a) - int64(last) - 1)
		last = a
		c.offset.zigzag(int64(o - end))
		if o < end || o > min(end+64, len(b)) || !zero(b[end:o]) {
			return nil, 0, errRecords
		}
		n, ok := c.record(b[o:], a)
		if !ok {
			return nil, 0, errRecords
		}
		end = o + n
	}
	// Between index and records there is the end of the last function, and nothing.
	if word(8*functions+4) != 0 {
		return nil, 0, errRecords
	}
	out = appendUint(nil, uint64(word(8*functions)))
	for _, c := range append(append([]column{c.address, c.offset, c.args, c.deferred, c.count, c.last}, c.tables[:]...), c.data[:]...) {
		out = append(out, c...)
	}
	return out, end, nil
}

// record takes the record of the function at an address apart, and gives its length.
func (c *columns) record(b []byte, address uint32) (size int, ok bool) {
	if len(b) < 4*words {
		return 0, false
	}
	r := func(field int) uint32 { return binary.LittleEndian.Uint32(b[4*field:]) }
	tables, data := int(r(fieldTables)), int(r(fieldLast)>>24)
	if r(0) != address || r(1)|r(5)|r(6)|r(8)|r(9) != 0 || tables >= maxColumns || data > maxColumns || len(b) < 4*(words+tables+data) {
		return 0, false
	}
	c.args.uint(r(fieldArgs))
	c.deferred.uint(r(fieldDefer))
	c.count.uint(uint32(tables))
	c.last.uint(r(fieldLast))
	c.table(0, r(fieldFrames))
	for k := range tables {
		c.table(1+k, r(words+k))
	}
	for k := range data {
		v := r(words + tables + k)
		if v == none {
			c.data[k].uint(0)
			continue
		}
		c.data[k] = appendUint(c.data[k], 1+zigzag(int64(v)-int64(c.before[k])))
		c.before[k] = v
	}
	return 4 * (words + tables + data), true
}

// table writes which table it is.
func (c *columns) table(k int, v uint32) {
	n, known := c.seen[v]
	switch {
	case v == 0:
		c.tables[k].uint(0)
	case !known:
		c.tables[k].uint(1)
		c.seen[v] = len(c.seen)
	default:
		c.tables[k].uint(uint32(2 + len(c.seen) - n))
	}
}

func zero(b []byte) bool { return len(bytes.TrimLeft(b, "\x00")) == 0 }
