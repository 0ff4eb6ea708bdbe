package sizes

import (
	"maps"

	"github.com/weft-ml/weft/uop"
)

// polynomial is a product of forms: coefficients by the powers of the variables.
type polynomial map[[uop.MaxVars]int]int

func product(fs []form) polynomial {
	p := polynomial{{}: 1}
	for _, f := range fs {
		p = p.times(f)
	}
	return p
}

func (p polynomial) times(f form) polynomial {
	out := polynomial{}
	for powers, c := range p {
		out[powers] += c * f.C
		for i, k := range f.K {
			up := powers
			up[i]++
			out[up] += c * k
		}
	}
	maps.DeleteFunc(out, func(_ [uop.MaxVars]int, c int) bool { return c == 0 })
	return out
}

func (p polynomial) equal(q polynomial) bool { return maps.Equal(p, q) }

// multiple says whether p is d · q, and what d is.
func (p polynomial) multiple(q polynomial) (d int, ok bool) {
	if len(p) != len(q) {
		return 0, false
	}
	for powers, c := range p {
		x := q[powers]
		if x == 0 || c%x != 0 || d != 0 && c/x != d {
			return 0, false
		}
		d = c / x
	}
	return d, d > 0
}
