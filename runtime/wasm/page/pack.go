package page

import (
	"encoding/binary"
	"math"

	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/plan/wasmmod"
)

// Version is the version of packed plans, which the player checks.
const Version = 1

// What a thread is taken to do in a nanosecond; by that the player decides which kernels threads share.
const (
	flopsPerNs = 16
	bytesPerNs = 16
)

// Pack writes what the player needs of a plan: numbers are little-endian words, sizes and times float64, lists,
// texts and bytes begin with their length. With it goes one module that has the code of fresh kernels: all of the plan's
// where the player has none.
func Pack(p *plan.Plan, fresh []plan.Kernel) []byte {
	var w packer
	w.u32(Version)
	w.u32(len(p.Vars))
	if len(fresh) == 0 {
		w.u32(0)
	} else {
		w.text(string(wasmmod.Join(fresh, wasmmod.Memory{Min: 1, Max: wasmmod.MaxPages})))
	}
	w.u32(len(p.Kernels))
	for i := range p.Kernels {
		k := &p.Kernels[i]
		w.text(k.Name)
		w.text(k.Entry)
		w.u32(int(k.Threads))
		w.size(float64(k.Scratch))
		w.size(float64(k.Flops)/flopsPerNs + float64(k.Bytes)/bytesPerNs)
	}
	w.u32(len(p.Memory))
	for _, m := range p.Memory {
		w.u32(int(m.Kind))
		w.u32(m.Arg)
		w.size(float64(m.Bytes))
	}
	w.u32(len(p.Slots))
	for _, s := range p.Slots {
		w.u32(s.Memory)
		w.size(float64(s.Offset))
		w.size(float64(s.Bytes))
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

func (w *packer) size(n float64) { w.b = binary.LittleEndian.AppendUint64(w.b, math.Float64bits(n)) }

func (w *packer) text(s string) {
	w.u32(len(s))
	w.b = append(w.b, s...)
}
