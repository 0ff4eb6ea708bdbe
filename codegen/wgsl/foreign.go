package wgsl

import (
	"fmt"
	"strings"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/plan"
)

// text is the draft of a kernel whose source a program wrote, for which arrays are declared and which an entry calls.
type text struct {
	p    *codegen.Program
	grid [3]uint32
}

// foreignKernel is foreign where there are such kernels. A page has none and does not link it.
var foreignKernel func(p *codegen.Program) plan.Kernel

// AllowForeign is called by whoever brings devices for such kernels.
func AllowForeign() { foreignKernel = foreign }

func foreign(p *codegen.Program) plan.Kernel {
	k := codegen.ForeignKernel(p)
	k.Grid = spread(p.Foreign.Threads)
	k.Draft = &text{p, k.Grid}
	return k
}

// Alone is the text where no other kernel writes its arrays.
func (t *text) Alone() (entry, source string) {
	ways := make([]binding, len(t.p.Params))
	for i, q := range t.p.Params {
		ways[i] = binding{at: i, write: q.Write}
	}
	return t.spell(ways, 0)
}

func (t *text) spell(ways []binding, first int) (entry, source string) {
	f := t.p.Foreign
	group := "wg.x"
	if first > 0 {
		group = fmt.Sprintf("(wg.x + weft_uniform[%d].x)", first)
	}
	var head strings.Builder
	fmt.Fprintf(&head, "@group(0) @binding(0) var<uniform> weft_uniform: array<vec4<u32>, %d>;\n", first+1)
	for i, q := range t.p.Params {
		if ways[i].at != i {
			panic("BUG: wgsl: an array is bound twice to the kernel " + t.p.Name)
		}
		access, word, n := "read", value(q.DType), elements(q)
		if ways[i].write || ways[i].mutable {
			access = "read_write"
		}
		if size := q.DType.Size(); size < 4 { // several share a word
			word, n = "u32", (n*int64(size)+3)/4
		}
		fmt.Fprintf(&head, "@group(0) @binding(%d) var<storage, %s> %s: array<%s, %d>;\n", i+1, access, t.p.ForeignName(i), word, n)
	}
	body := fmt.Sprintf("(@builtin(workgroup_id) wg: vec3<u32>, @builtin(local_invocation_index) li: u32) {\n"+
		"\tlet at = wg.y * %du + %s;\n\tif (at < %du) {\n\t\tkernel(at, li);\n\t}\n}\n", t.grid[0], group, f.Threads)
	entry = codegen.Entry("wgsl", t.p.Name, head.String(), f.Text, body, fmt.Sprint(f.Group))
	return entry, fmt.Sprintf("// %s\n%s%s\n@compute @workgroup_size(%d)\nfn %s%s", t.p.Name, head.String(), f.Text, f.Group, entry, body)
}
