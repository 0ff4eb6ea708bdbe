package wgsl

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/plan"
)

// Finish spells the kernels of a plan for the memory that its steps bind. WebGPU tracks use by buffer and not by
// range, so a buffer that any step of the plan writes must be bound read_write in every step; and two bindings of
// one range, one of them read_write, are an error, so equal slots of a launch become one binding.
func Finish(p *plan.Plan) { Finisher(plan.Limits{})(p) }

// Finisher is Finish for an adapter with these limits: kernels that would keep it busy for too long are launched in parts.
// Such a kernel finds the number of its first workgroup in the uniform block.
func Finisher(l plan.Limits) func(p *plan.Plan) {
	return func(p *plan.Plan) {
		f := finisher{limits: l, plan: p, kernels: p.Kernels, variants: map[string]int{}}
		p.Kernels = nil
		for i := range p.Steps {
			if s := &p.Steps[i]; s.Kind == plan.Launch {
				f.launch(s)
			}
		}
	}
}

// unspelled is a kernel that is spelled when it is known how its arrays are bound. If first is not 0, workgroups are numbered from the first
// word of that vector of the uniform block on.
type unspelled interface {
	spell(ways []binding, first int) (entry, source string)
}

type finisher struct {
	limits   plan.Limits
	plan     *plan.Plan
	kernels  []plan.Kernel  // as they were
	variants map[string]int // kernel and way of binding → kernel
}

func (f *finisher) launch(s *plan.Step) {
	k := &f.kernels[s.Kernel]
	ways := make([]binding, len(s.Slots))
	for i, slot := range s.Slots {
		first := slices.Index(s.Slots, slot)
		ways[i] = binding{at: first, write: k.Binds[i].Write, mutable: f.plan.Memory[f.plan.Slots[slot].Memory].Kind != plan.Input}
		ways[first].write = ways[first].write || k.Binds[i].Write
	}
	var slots []int
	for i, slot := range s.Slots {
		if ways[i].at == i {
			slots = append(slots, slot)
		}
	}
	s.Slots = slots
	key := fmt.Sprint(s.Kernel, ways)
	v, ok := f.variants[key]
	if !ok {
		v = len(f.plan.Kernels)
		f.variants[key] = v
		f.plan.Kernels = append(f.plan.Kernels, f.variant(k, ways))
	}
	s.Kernel = v
}

// variant is a kernel bound in one way.
func (f *finisher) variant(k *plan.Kernel, ways []binding) plan.Kernel {
	out := *k
	out.Binds, out.Draft = nil, nil
	place := places(ways)
	for i, w := range ways {
		if w.at != i {
			out.Binds[place[i]].Bytes = max(out.Binds[place[i]].Bytes, k.Binds[i].Bytes)
			continue
		}
		out.Binds = append(out.Binds, plan.Bind{Write: w.write, Bytes: k.Binds[i].Bytes, Mutable: w.mutable && !w.write})
	}
	first := 0
	if out.Parts = out.Cut(f.limits); out.Parts != nil {
		first = f.plan.FirstWord() / 4
	}
	out.Entry, out.Source = k.Draft.(unspelled).spell(ways, first)
	return out
}
