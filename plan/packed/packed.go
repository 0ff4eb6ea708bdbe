// Package packed writes plans as bytes for the players of a page: numbers are little-endian words, sizes and times
// float64, lists, texts and bytes begin with their length.
//
// It knows what all players need alike: memory, slots and steps. It refuses to know what a kernel is to a device; the
// devices write that themselves.
package packed

import (
	"encoding/binary"
	"math"

	"github.com/weft-ml/weft/plan"
)

// Writer collects the bytes.
type Writer struct{ Bytes []byte }

// Word writes an integer of 32 bits.
func (w *Writer) Word(n int) { w.Bytes = binary.LittleEndian.AppendUint32(w.Bytes, uint32(n)) }

// Float writes a number that may be large.
func (w *Writer) Float(f float64) {
	w.Bytes = binary.LittleEndian.AppendUint64(w.Bytes, math.Float64bits(f))
}

// Text writes a text or bytes.
func (w *Writer) Text(s string) {
	w.Word(len(s))
	w.Bytes = append(w.Bytes, s...)
}

// Steps writes a plan's memory, slots and steps.
func (w *Writer) Steps(p *plan.Plan) {
	w.Word(len(p.Memory))
	for _, m := range p.Memory {
		w.Word(int(m.Kind))
		w.Word(m.Arg)
		w.Float(float64(m.Bytes))
	}
	w.Word(len(p.Slots))
	for _, s := range p.Slots {
		w.Word(s.Memory)
		w.Float(float64(s.Offset))
		w.Float(float64(s.Bytes))
	}
	w.Word(len(p.Steps))
	for _, s := range p.Steps {
		w.Word(int(s.Kind))
		w.Word(s.Kernel)
		w.Word(len(s.Slots))
		for _, slot := range s.Slots {
			w.Word(slot)
		}
	}
}
