package main

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
	"io"
	"sync"
)

// The begin of a PNG file, and the header of a picture of 28 × 28 with 8 bits of gray, not interlaced (https://www.w3.org/TR/png-3/).
const (
	signature = "\x89PNG\r\n\x1a\n"
	header    = "\x00\x00\x00\x1c\x00\x00\x00\x1c\x08\x00\x00\x00\x00"
)

// readGray takes what most pictures of digits are: gray, and all pixels in one chunk. What is otherwise, or wrong, is left to package png, which makes a reader
// of 40 KiB for each picture.
func readGray(body []byte) ([]byte, bool) {
	rest, ok := bytes.CutPrefix(body, []byte(signature))
	if !ok {
		return nil, false
	}
	chunk := func(kind string) ([]byte, bool) {
		if len(rest) < 12 || string(rest[4:8]) != kind {
			return nil, false
		}
		n := int64(binary.BigEndian.Uint32(rest))
		if n > int64(len(rest)-12) || crc32.ChecksumIEEE(rest[4:8+n]) != binary.BigEndian.Uint32(rest[8+n:]) {
			return nil, false
		}
		data := rest[8 : 8+n]
		rest = rest[12+n:]
		return data, true
	}
	if h, ok := chunk("IHDR"); !ok || string(h) != header {
		return nil, false
	}
	packed, ok := chunk("IDAT")
	if !ok {
		return nil, false
	}
	if end, ok := chunk("IEND"); !ok || len(end) > 0 {
		return nil, false
	}
	var rows [side * (1 + side)]byte
	if !inflate(rows[:], packed) {
		return nil, false
	}
	out := make([]byte, side*side)
	above := make([]byte, side)
	for y := range side {
		row := out[y*side:][:side]
		if !unfilter(row, above, rows[y*(1+side):][:1+side]) {
			return nil, false
		}
		above = row
	}
	return out, true
}

var inflaters sync.Pool // of zlib's readers, which go from picture to picture

// inflate makes exactly to of from.
func inflate(to, from []byte) bool {
	source := bytes.NewReader(from)
	r, ok := inflaters.Get().(io.Reader)
	var err error
	if ok {
		err = r.(zlib.Resetter).Reset(source, nil)
	} else {
		r, err = zlib.NewReader(source)
	}
	if err != nil {
		return false
	}
	defer inflaters.Put(r)
	if _, err := io.ReadFull(r, to); err != nil {
		return false
	}
	n, err := r.Read(make([]byte, 1))
	return n == 0 && err == io.EOF && source.Len() == 0
}

// unfilter makes a row of the row above and what PNG has of it, of which the first byte says how.
func unfilter(row, above, from []byte) bool {
	how, from := from[0], from[1:]
	var left, corner byte
	for x, v := range from {
		up := above[x]
		switch how {
		case 0:
		case 1:
			v += left
		case 2:
			v += up
		case 3:
			v += byte((int(left) + int(up)) / 2)
		case 4:
			v += paeth(left, up, corner)
		default:
			return false
		}
		row[x], left, corner = v, v, up
	}
	return true
}

// paeth gives which of three is nearest to left + up − corner, the first of those that are equally near.
func paeth(left, up, corner byte) byte {
	p := int(left) + int(up) - int(corner)
	a, b, c := distance(p, left), distance(p, up), distance(p, corner)
	switch {
	case a <= b && a <= c:
		return left
	case b <= c:
		return up
	}
	return corner
}

func distance(p int, v byte) int { return max(p-int(v), int(v)-p) }
