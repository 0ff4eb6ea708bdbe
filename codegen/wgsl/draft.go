package wgsl

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/plan"
)

// draft is a kernel whose buffers are not bound yet: its statements, and how they are launched. The steps of a plan say what
// is bound where; then it is spelled.
type draft struct {
	p      *codegen.Program
	lanes  int // invocations of a workgroup, where the kernel has Lane loops; else 1
	shares int // workgroups then, else invocations: how many do something
	group  int // invocations of a workgroup
	groups int
	grid   [3]uint32
	half   bool // 16-bit floats lie in memory by themselves
	team   bool // subgroups are asked for
}

func newDraft(p *codegen.Program) *draft {
	d := &draft{p: p, lanes: codegen.GroupSize(p.Body), shares: countThreads(p.Body)}
	d.group = min(invocations, 1<<bits.Len(uint(max(d.shares, 1)-1)))
	d.groups = (d.shares + d.group - 1) / d.group
	if d.lanes > 1 {
		d.groups, d.group = d.shares, d.lanes
	}
	d.grid = spread(d.groups)
	d.half = p.Features.Has(plan.Half) && slices.ContainsFunc(p.Params, func(q codegen.Param) bool { return q.DType == dtype.F16 })
	codegen.Visit(p.Body, func(s codegen.Stmt) {
		if _, ok := s.(*codegen.Team); ok {
			d.team = true
		}
	})
	return d
}

// threads is how many invocations are launched to do something.
func (d *draft) threads() int32 {
	if d.lanes > 1 {
		return int32(max(d.groups*d.group, 1))
	}
	return int32(max(d.shares, 1))
}

// needs is what the adapter must offer.
func (d *draft) needs() (f plan.Features) {
	if d.half {
		f |= plan.Half
	}
	if d.team {
		f |= plan.Subgroups | d.p.Features&plan.Untold
	}
	return f
}

// Alone is the text of the kernel where each buffer is bound by itself, and none written but by this kernel.
func (d *draft) Alone() (entry, source string) {
	ways := make([]binding, len(d.p.Params))
	for i, q := range d.p.Params {
		ways[i] = binding{at: i, write: q.Write}
	}
	return d.spell(ways, 0)
}

// spell gives the text of the kernel, bound in these ways. If first is not 0, workgroups are numbered from u[first].x on.
// The entry's name is a hash of the text, so equal kernels have equal names.
func (d *draft) spell(ways []binding, first int) (entry, source string) {
	defer func() {
		if x := recover(); x != nil {
			panic(fmt.Errorf("wgsl: kernel %s: %v\n%s", d.p.Name, x, codegen.Dump(d.p)))
		}
	}()
	r := newRenderer(d, ways)
	r.block(d.p.Body, 2)
	workgroup, vars := "wg.x", 1+(len(d.p.Vars)+3)/4
	if first > 0 {
		workgroup, vars = fmt.Sprintf("(wg.x + u[%d].x)", first), first+1
	}
	head, text := r.declarations(vars), r.entry(workgroup)
	entry = codegen.Entry(d.p.Name, head, text)
	return entry, fmt.Sprintf("// %s\n%s@compute @workgroup_size(%d)\nfn %s%s", d.p.Name, head, d.group, entry, text)
}

// entry spells the entry's arguments and statements.
func (r *renderer) entry(workgroup string) string {
	var b strings.Builder
	b.WriteString("(@builtin(workgroup_id) wg: vec3<u32>, @builtin(local_invocation_index) li: u32")
	if r.team {
		b.WriteString(", @builtin(subgroup_invocation_id) si: u32, @builtin(subgroup_id) sg: u32, @builtin(num_subgroups) sn: u32")
	}
	b.WriteString(") {\n")
	for _, s := range r.scratch {
		fmt.Fprintf(&b, "\t%s\n", s)
	}
	at := workgroup
	if r.grid[1] > 1 {
		at = fmt.Sprintf("(wg.y * %du + %s)", r.grid[0], workgroup)
	}
	if r.draft.lanes > 1 {
		fmt.Fprintf(&b, "\tlet at = i32(%s);\n\tlet lane = i32(li);\n", at)
	} else {
		fmt.Fprintf(&b, "\tlet at = i32(%s * %du + li);\n", at, r.group)
	}
	fmt.Fprintf(&b, "\tif (at < %d) {\n%s\t}\n}\n", r.shares, r.out.String())
	return b.String()
}
