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
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/plan/packed"
)

// Version is the version of packed plans, which the player checks.
const Version = 2

// Pack writes what the player needs of a plan: numbers are little-endian words, sizes of memory float64, lists and
// texts begin with their length.
func Pack(p *plan.Plan) []byte {
	var w packed.Writer
	w.Word(Version)
	w.Word(len(p.Vars))
	w.Word(len(p.Kernels))
	for i := range p.Kernels {
		k := &p.Kernels[i]
		w.Text(k.Name)
		w.Text(k.Entry)
		w.Text(k.Source)
		for _, g := range k.Grid {
			w.Word(int(g))
		}
		w.Word(len(k.Binds))
		for _, b := range k.Binds {
			if b.Write || b.Mutable {
				w.Word(1)
			} else {
				w.Word(0)
			}
		}
	}
	w.Steps(p)
	w.Word(p.FirstWord())
	w.Word(len(p.Kernels))
	for i := range p.Kernels {
		parts := p.Kernels[i].Parts
		w.Word(len(parts))
		for _, part := range parts {
			w.Word(int(part.First))
			for _, g := range part.Grid {
				w.Word(int(g))
			}
		}
	}
	return w.Bytes
}

// Options are the settings of the device; the zero value works.
type Options struct {
	MemoryLimit int64 // bytes that may be live at once; 0 is no limit
	Poison      bool  // fill fresh memory with 0xA7, for tests
}
