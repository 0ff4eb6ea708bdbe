package sizes

import (
	"fmt"
	"strings"
)

// dim is how long an axis is: a polynomial of the two sizes b and t that vary.
type dim struct{ c, b, t, bb, bt, tt int }

func number(n int) dim { return dim{c: n} }

// at is the number for given sizes.
func (d dim) at(b, t int) int { return d.c + d.b*b + d.t*t + d.bb*b*b + d.bt*b*t + d.tt*t*t }

// The bounds of sizes in all runs.
const (
	mostB = 6
	mostT = 40
)

func (d dim) most() int    { return max(1, d.at(mostB, mostT), d.at(1, mostT), d.at(mostB, 1)) }
func (d dim) least() int   { return d.at(1, 1) } // numbers before powers of sizes are not negative
func (d dim) fixed() bool  { return d == dim{c: d.c} }
func (d dim) linear() bool { return d.bb == 0 && d.bt == 0 && d.tt == 0 }

func (d dim) plus(o dim) dim {
	return dim{d.c + o.c, d.b + o.b, d.t + o.t, d.bb + o.bb, d.bt + o.bt, d.tt + o.tt}
}

// times is the product where it is of second degree.
func (d dim) times(o dim) (dim, bool) {
	if !(d.linear() && o.linear()) && !d.fixed() && !o.fixed() {
		return dim{}, false
	}
	if !d.linear() {
		d, o = o, d
	}
	out := dim{d.c * o.c, d.c*o.b + d.b*o.c, d.c*o.t + d.t*o.c, d.c*o.bb + d.b*o.b, d.c*o.bt + d.b*o.t + d.t*o.b, d.c*o.tt + d.t*o.t}
	return out, true
}

// over is d/k where that is exact.
func (d dim) over(k int) (dim, bool) {
	for _, x := range []int{d.c, d.b, d.t, d.bb, d.bt, d.tt} {
		if x%k != 0 {
			return d, false
		}
	}
	return dim{d.c / k, d.b / k, d.t / k, d.bb / k, d.bt / k, d.tt / k}, true
}

func (d dim) String() string {
	var parts []string
	for _, x := range []struct {
		k    int
		name string
	}{{d.tt, "t²"}, {d.bt, "bt"}, {d.bb, "b²"}, {d.t, "t"}, {d.b, "b"}, {d.c, ""}} {
		switch {
		case x.k == 0:
		case x.k == 1 && x.name != "":
			parts = append(parts, x.name)
		default:
			parts = append(parts, fmt.Sprint(x.k, x.name))
		}
	}
	if parts == nil {
		return "0"
	}
	return strings.ReplaceAll(strings.Join(parts, "+"), "+-", "-")
}
