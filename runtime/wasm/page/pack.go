package page

import (
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/plan/packed"
	"github.com/weft-ml/weft/plan/wasmmod"
)

// Version is the version of packed plans, which the player checks.
const Version = 1

// What a thread is taken to do in a nanosecond; by that the player decides which kernels threads share.
const (
	flopsPerNs = 16
	bytesPerNs = 16
)

// Module has the code of kernels, for the player's add: that of plans which are packed without.
func Module(kernels []plan.Kernel) []byte {
	return wasmmod.Join(kernels, wasmmod.Memory{Min: 1, Max: wasmmod.MaxPages})
}

// Pack writes what the player needs of a plan: numbers are little-endian words, sizes and times float64, lists,
// texts and bytes begin with their length. With it goes one module that has the code of fresh kernels: all of the plan's
// where the player has none.
func Pack(p *plan.Plan, fresh []plan.Kernel) []byte {
	var w packed.Writer
	w.Word(Version)
	w.Word(len(p.Vars))
	if len(fresh) == 0 {
		w.Word(0)
	} else {
		w.Text(string(Module(fresh)))
	}
	w.Word(len(p.Kernels))
	for i := range p.Kernels {
		k := &p.Kernels[i]
		w.Text(k.Name)
		w.Text(k.Entry)
		w.Word(int(k.Threads))
		w.Float(float64(k.Scratch))
		w.Float(float64(k.Flops)/flopsPerNs + float64(k.Bytes)/bytesPerNs)
	}
	w.Steps(p)
	return w.Bytes
}
