package data

import (
	_ "embed"
	"encoding/binary"
)

// outlines are the digits of all faces as lines and curves: what the fonts say of them, without the rest of the
// fonts, which is a hundred times larger. TestOutlines compares them with the fonts and, with -update, writes them.
//
// For each face of TrainFaces, then of TestFaces, for each digit: the number of segments, then each segment as its
// kind and its points, as differences to the point before, in 1/64 cell; all numbers are varints.
//
//go:embed outlines.bin
var outlines []byte

// The kinds of segments, and how many points each has.
const (
	moveTo  = 0
	lineTo  = 1
	curveTo = 2 // quadratic: a control point, then the end
)

// segment is a piece of an outline.
type segment struct {
	kind int
	args [2]point
}

func (s segment) points() int { return max(1, s.kind) }

// readOutlines takes the outlines of n faces, ten digits each, from b and gives what is left.
func readOutlines(b []byte, n int) (faces [][Classes][]segment, rest []byte) {
	unsigned := func() int {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			panic("BUG: data: outlines.bin ends early")
		}
		b = b[n:]
		return int(v)
	}
	signed := func() int {
		v, n := binary.Varint(b)
		if n <= 0 {
			panic("BUG: data: outlines.bin ends early")
		}
		b = b[n:]
		return int(v)
	}
	faces = make([][Classes][]segment, n)
	for f := range faces {
		for d := range faces[f] {
			var at point
			list := make([]segment, unsigned())
			for i := range list {
				list[i].kind = unsigned()
				for k := range list[i].points() {
					at = point{at.x + signed(), at.y + signed()}
					list[i].args[k] = at
				}
			}
			faces[f][d] = list
		}
	}
	return faces, b
}

// appendOutline is what readOutlines reads of one digit.
func appendOutline(b []byte, list []segment) []byte {
	var at point
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, s := range list {
		b = binary.AppendUvarint(b, uint64(s.kind))
		for _, p := range s.args[:s.points()] {
			b = binary.AppendVarint(b, int64(p.x-at.x))
			b = binary.AppendVarint(b, int64(p.y-at.y))
			at = p
		}
	}
	return b
}
