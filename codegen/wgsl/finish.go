package wgsl

import (
	"fmt"
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

// declared takes apart the declaration of a storage buffer: its binding and its type.
func declared(line string) (binding int, typ string, ok bool) {
	rest, ok := strings.CutPrefix(line, "@group(0) @binding(")
	number, rest, found := strings.Cut(rest, ") var<storage, ")
	if !ok || !found {
		return 0, "", false
	}
	n, err := strconv.Atoi(number)
	_, rest, found = strings.Cut(rest, "> p")
	name, typ, colon := strings.Cut(rest, ": ")
	return n, typ, err == nil && found && colon && digits(name)
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// renumbered is a line in which the buffers p0, p1, … and the functions load_p0, store_p0, … have other numbers.
func renumbered(line string, place []int) string {
	var b strings.Builder
	letter := func(c byte) bool {
		return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
	}
	for at := 0; at < len(line); {
		end := at
		for end < len(line) && letter(line[end]) == letter(line[at]) {
			end++
		}
		word := line[at:end]
		at = end
		for _, prefix := range []string{"load_p", "store_p", "p"} {
			if number, ok := strings.CutPrefix(word, prefix); ok && digits(number) {
				n, _ := strconv.Atoi(number)
				word = prefix + strconv.Itoa(place[n])
				break
			}
		}
		b.WriteString(word)
	}
	return b.String()
}

// types are those of the bindings that are left, by the first that each was. Where several become one, it is as long as the
// longest of them, and is read by four if all of them were.
func types(k *plan.Kernel, ways []binding) []string {
	out, most, one := make([]string, len(ways)), make([]int64, len(ways)), make([]bool, len(ways))
	for line := range strings.Lines(k.Source) {
		if n, typ, ok := declared(strings.TrimSuffix(line, "\n")); ok {
			at := ways[n-1].at
			if _, four := byFour(typ); !four {
				one[at] = true
			}
			if out[at] == "" || k.Binds[n-1].Bytes > most[at] {
				out[at], most[at] = typ, k.Binds[n-1].Bytes
			}
		}
	}
	for at, typ := range out {
		if elements, four := byFour(typ); four && one[at] {
			out[at] = elements
		}
	}
	return out
}

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
	typed := types(k, ways)
	for line := range strings.Lines(k.Source) {
		if n, _, ok := declared(strings.TrimSuffix(line, "\n")); ok {
			typ := typed[n-1]
			if i := n - 1; ways[i].at == i {
				access := "read"
				if ways[i].write || ways[i].mutable {
					access = "read_write"
				}
				fmt.Fprintf(&b, "@group(0) @binding(%d) var<storage, %s> p%d: %s\n", place[i]+1, access, place[i], typ)
			}
			continue
		}
		if p, ok := quadOf(line); ok {
			if _, four := byFour(typed[ways[p].at]); !four {
				line = oneByOne(line)
			}
		}
		line = renumbered(line, place)
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
