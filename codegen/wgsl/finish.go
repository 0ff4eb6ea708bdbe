package wgsl

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-ml/weft/plan"
)

// Finish adapts the kernels of a plan to the memory that its steps bind. WebGPU tracks use by buffer and not by
// range, so a buffer that any step of the plan writes must be bound read_write in every step; and two bindings of
// one range, one of them read_write, are an error, so equal slots of a launch become one binding.
func Finish(p *plan.Plan) {
	f := finisher{plan: p, kernels: p.Kernels, variants: map[string]int{}}
	p.Kernels = nil
	for i := range p.Steps {
		if s := &p.Steps[i]; s.Kind == plan.Launch {
			f.launch(s)
		}
	}
}

type finisher struct {
	plan     *plan.Plan
	kernels  []plan.Kernel  // as they were
	variants map[string]int // kernel and way of binding → kernel
}

// binding is what becomes of one of a kernel's buffers.
type binding struct {
	at      int // position of the first of the kernel's buffers that lies in the same slot
	write   bool
	mutable bool
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
		f.plan.Kernels = append(f.plan.Kernels, variant(k, ways))
	}
	s.Kernel = v
}

var (
	declaration = regexp.MustCompile(`^@group\(0\) @binding\((\d+)\) var<storage, \w+> p\d+: (.*)$`)
	mention     = regexp.MustCompile(`\b(load_p|store_p|p)(\d+)\b`)
)

// variant is a kernel with other declarations.
func variant(k *plan.Kernel, ways []binding) plan.Kernel {
	out := *k
	out.Binds = nil
	place := make([]int, len(ways)) // in the new list
	for i, w := range ways {
		if place[i] = len(out.Binds); w.at != i {
			place[i] = place[w.at]
			out.Binds[place[i]].Bytes = max(out.Binds[place[i]].Bytes, k.Binds[i].Bytes)
			continue
		}
		out.Binds = append(out.Binds, plan.Bind{Write: w.write, Bytes: k.Binds[i].Bytes, Mutable: w.mutable && !w.write})
	}
	var b strings.Builder
	seen := map[string]bool{}
	for line := range strings.Lines(k.Source) {
		if m := declaration.FindStringSubmatch(strings.TrimSuffix(line, "\n")); m != nil {
			n, _ := strconv.Atoi(m[1])
			if i := n - 1; ways[i].at == i {
				access := "read"
				if ways[i].write || ways[i].mutable {
					access = "read_write"
				}
				fmt.Fprintf(&b, "@group(0) @binding(%d) var<storage, %s> p%d: %s\n", place[i]+1, access, place[i], m[2])
			}
			continue
		}
		line = mention.ReplaceAllStringFunc(line, func(s string) string {
			m := mention.FindStringSubmatch(s)
			n, _ := strconv.Atoi(m[2])
			return m[1] + strconv.Itoa(place[n])
		})
		if strings.HasPrefix(line, "fn load_p") {
			if seen[line] {
				continue
			}
			seen[line] = true
		}
		b.WriteString(line)
	}
	out.Source = b.String()
	return out
}
