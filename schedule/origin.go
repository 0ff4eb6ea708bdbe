package schedule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-ml/weft/uop"
)

// made lists the origins of what the kernel of a stored node computes, operands first; nil where nobody said where nodes were made.
func (s *scheduler) made(root *uop.UOp) (out []*uop.Origin) {
	if s.told == nil {
		told := slices.ContainsFunc(s.graph.Roots, func(r Root) bool { return r.Value.Origin() != nil })
		s.told = &told
	}
	if !*s.told {
		return nil
	}
	type visit struct {
		u *uop.UOp
		i int // operands that were visited
	}
	seen := map[*uop.UOp]bool{root: true}
	for stack := []visit{{u: root}}; len(stack) > 0; {
		at := &stack[len(stack)-1]
		if at.i < len(at.u.Src()) {
			v := at.u.Src()[at.i]
			at.i++
			if _, stored := s.stored[v]; !stored && !seen[v] {
				seen[v] = true
				stack = append(stack, visit{u: v})
			}
			continue
		}
		if o := at.u.Origin(); o != nil && len(at.u.Src()) > 0 {
			out = joinedOrigins(out, []*uop.Origin{o})
		}
		stack = stack[:len(stack)-1]
	}
	return out
}

// joinedOrigins is a, then what of b is not among them.
func joinedOrigins(a, b []*uop.Origin) []*uop.Origin {
	for _, o := range b {
		if !slices.ContainsFunc(a, func(p *uop.Origin) bool { return *p == *o }) {
			a = append(a, o)
		}
	}
	return a
}

// mostMade is how many origins are named of one kernel.
const mostMade = 8

// MadeString names origins, each once, those after the eighth by their number.
func MadeString(origins []*uop.Origin) string {
	all := joinedOrigins(nil, origins)
	words := make([]string, 0, mostMade+1)
	for i, o := range all {
		if i == mostMade {
			words = append(words, fmt.Sprintf("%d more", len(all)-mostMade))
			break
		}
		words = append(words, o.String())
	}
	return strings.Join(words, ", ")
}
