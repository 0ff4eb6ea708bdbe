package wgsl

import (
	"fmt"
	"strings"

	"github.com/weft-ml/weft/plan"
)

// Finisher is Finish for an adapter with these limits: kernels that would keep it busy for too long are launched in parts.
// Such a kernel finds the number of its first workgroup in the uniform block.
func Finisher(l plan.Limits) func(p *plan.Plan) {
	return func(p *plan.Plan) {
		Finish(p)
		for i := range p.Kernels {
			k := &p.Kernels[i]
			if k.Parts = k.Cut(l); k.Parts != nil {
				k.Source = fromFirst(k.Source, p.FirstWord()/4)
			}
		}
	}
}

const (
	block       = "@group(0) @binding(0) var<uniform> u: array<vec4<u32>, "
	workgroup   = "\tlet at = i32("
	ofOneLaunch = "wg.x"
)

// fromFirst is a kernel that numbers its workgroups from u[at].x on.
func fromFirst(source string, at int) string {
	var b strings.Builder
	for line := range strings.Lines(source) {
		switch {
		case strings.HasPrefix(line, block):
			line = fmt.Sprintf("%s%d>;\n", block, at+1)
		case strings.HasPrefix(line, workgroup):
			line = strings.Replace(line, ofOneLaunch, fmt.Sprintf("(wg.x + u[%d].x)", at), 1)
		}
		b.WriteString(line)
	}
	return b.String()
}
