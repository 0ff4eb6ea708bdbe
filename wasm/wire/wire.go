// Package wire is the form in which values cross between a page and the engine in its worker: the values of
// JavaScript that mean something to tensors, as bytes. wasm/js/wire.js is the other end.
//
// It knows bytes and refuses to know what requests mean. Values are nil, bool, float64, string, []any, Record,
// Array and Ref; Append also takes ints and Parcels.
package wire

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Record is an object: its fields in order.
type Record []Field

// Field is one property of an object.
type Field struct {
	Name  string
	Value any
}

// Get gives a field, or nil.
func (r Record) Get(name string) any {
	for _, f := range r {
		if f.Name == name {
			return f.Value
		}
	}
	return nil
}

// Array is a typed array: elements in little-endian order. Type is the short name of an element type, "f32".
type Array struct {
	Type string
	Data []byte
}

// Parcel is a typed array that goes beside the bytes: N of them, which the worker keeps under a number. Only the engine sends them.
type Parcel struct {
	Type   string
	N      int
	Number int32
}

// Ref is a tensor that the engine holds, by the number that the page gave it.
type Ref uint32

// The tags of values.
const (
	tagNil = iota
	tagFalse
	tagTrue
	tagNumber
	tagString
	tagList
	tagRecord
	tagArray
	tagRef
	tagParcel
)

// Append adds a value to b.
func Append(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, tagNil)
	case bool:
		if v {
			return append(b, tagTrue)
		}
		return append(b, tagFalse)
	case int:
		return Append(b, float64(v))
	case float64:
		return binary.LittleEndian.AppendUint64(append(b, tagNumber), math.Float64bits(v))
	case string:
		return text(append(b, tagString), v)
	case []any:
		b = size(append(b, tagList), len(v))
		for _, x := range v {
			b = Append(b, x)
		}
		return b
	case Record:
		b = size(append(b, tagRecord), len(v))
		for _, f := range v {
			b = Append(text(b, f.Name), f.Value)
		}
		return b
	case Array:
		b = size(text(append(b, tagArray), v.Type), len(v.Data))
		return append(b, v.Data...)
	case Ref:
		return size(append(b, tagRef), int(v))
	case Parcel:
		return size(text(append(b, tagParcel), v.Type), v.N)
	}
	panic(fmt.Sprintf("BUG: wasm/wire: a %T cannot cross", v))
}

func size(b []byte, n int) []byte { return binary.LittleEndian.AppendUint32(b, uint32(n)) }

func text(b []byte, s string) []byte { return append(size(b, len(s)), s...) }

// Reader takes values from bytes. Bytes that no writer made stop it: Err then says so, and everything read is nil.
type Reader struct {
	b    []byte
	at   int
	deep int // lists and records that are open
	err  error
}

// mostDeep is how many lists and records may lie within each other: a stack is not endless.
const mostDeep = 256

// NewReader reads b. Arrays alias it.
func NewReader(b []byte) *Reader { return &Reader{b: b} }

// More says whether values are left.
func (r *Reader) More() bool { return r.err == nil && r.at < len(r.b) }

// Err is what was wrong with the bytes, or nil.
func (r *Reader) Err() error { return r.err }

func (r *Reader) take(n int) []byte {
	if r.err != nil {
		return nil
	}
	if n < 0 || n > len(r.b)-r.at {
		r.err = fmt.Errorf("wasm/wire: %d bytes are wanted at %d of %d", n, r.at, len(r.b))
		return nil
	}
	r.at += n
	return r.b[r.at-n : r.at : r.at]
}

func (r *Reader) size() int {
	if b := r.take(4); b != nil {
		return int(binary.LittleEndian.Uint32(b))
	}
	return 0
}

// count takes the number of parts of a list or record, each of which takes least bytes or more, and enters it.
func (r *Reader) count(least int) int {
	n := r.size()
	if r.deep++; r.deep > mostDeep && r.err == nil {
		r.err = fmt.Errorf("wasm/wire: more than %d lists and records lie within each other (at %d)", mostDeep, r.at-1)
	}
	if r.err == nil && n > (len(r.b)-r.at)/least {
		r.err = fmt.Errorf("wasm/wire: %d parts are promised at %d of %d bytes", n, r.at, len(r.b))
	}
	if r.err != nil {
		return 0
	}
	return n
}

func (r *Reader) leave() { r.deep-- }

func (r *Reader) text() string { return string(r.take(r.size())) }

// Value takes the next value.
func (r *Reader) Value() any {
	tag := r.take(1)
	if tag == nil {
		return nil
	}
	switch tag[0] {
	case tagNil:
		return nil
	case tagFalse, tagTrue:
		return tag[0] == tagTrue
	case tagNumber:
		if b := r.take(8); b != nil {
			return math.Float64frombits(binary.LittleEndian.Uint64(b))
		}
		return nil
	case tagString:
		return r.text()
	case tagList:
		n := r.count(1)
		defer r.leave()
		list := make([]any, 0, min(n, 16))
		for range n {
			if r.err != nil {
				return nil
			}
			list = append(list, r.Value())
		}
		return list
	case tagRecord:
		n := r.count(5)
		defer r.leave()
		rec := make(Record, 0, min(n, 16))
		for range n {
			if r.err != nil {
				return nil
			}
			name := r.text()
			rec = append(rec, Field{name, r.Value()})
		}
		return rec
	case tagArray:
		name := r.text()
		return Array{name, r.take(r.size())}
	case tagRef:
		return Ref(r.size())
	}
	r.err = fmt.Errorf("wasm/wire: there is no tag %d (at %d)", tag[0], r.at-1)
	return nil
}
