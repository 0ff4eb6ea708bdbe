// Package page is the WEBGPU device in a browser: plans are packed into bytes and handed to the player, a JavaScript
// module beside this file, which alone speaks to navigator.gpu. One call plays a plan, however many steps it has:
// going from Go to JavaScript for each would cost more than the work.
//
// It knows plans, bytes and the player. It refuses to know graphs and what kernels say. Outside browsers Open is
// an error; package webgpu with its transports is the same device there.
//
//	dev, adapter, err := page.Open(page.Options{})
package page

import (
	"encoding/binary"
	"math"

	"github.com/weft-ml/weft/plan"
)

// Version is the version of packed plans, which the player checks.
const Version = 1

// Pack writes what the player needs of a plan: numbers are little-endian words, sizes of memory float64, lists and
// texts begin with their length.
func Pack(p *plan.Plan) []byte {
	var w packer
	w.u32(Version)
	w.u32(len(p.Vars))
	w.u32(len(p.Kernels))
	for i := range p.Kernels {
		k := &p.Kernels[i]
		w.text(k.Name)
		w.text(k.Entry)
		w.text(k.Source)
		for _, g := range k.Grid {
			w.u32(int(g))
		}
		w.u32(len(k.Binds))
		for _, b := range k.Binds {
			if b.Write || b.Mutable {
				w.u32(1)
			} else {
				w.u32(0)
			}
		}
	}
	w.u32(len(p.Memory))
	for _, m := range p.Memory {
		w.u32(int(m.Kind))
		w.u32(m.Arg)
		w.size(m.Bytes)
	}
	w.u32(len(p.Slots))
	for _, s := range p.Slots {
		w.u32(s.Memory)
		w.size(s.Offset)
		w.size(s.Bytes)
	}
	w.u32(len(p.Steps))
	for _, s := range p.Steps {
		w.u32(int(s.Kind))
		w.u32(s.Kernel)
		w.u32(len(s.Slots))
		for _, slot := range s.Slots {
			w.u32(slot)
		}
	}
	return w.b
}

type packer struct{ b []byte }

func (w *packer) u32(n int) { w.b = binary.LittleEndian.AppendUint32(w.b, uint32(n)) }

func (w *packer) size(n int64) {
	w.b = binary.LittleEndian.AppendUint64(w.b, math.Float64bits(float64(n)))
}

func (w *packer) text(s string) {
	w.u32(len(s))
	w.b = append(w.b, s...)
}

// Options are the settings of the device; the zero value works.
type Options struct {
	MemoryLimit int64 // bytes that may be live at once; 0 is no limit
	Poison      bool  // fill fresh memory with 0xA7, for tests
}
