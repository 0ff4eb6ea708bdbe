package codegen

import (
	"fmt"
	"strconv"
	"strings"
)

// Verb is what a directive does.
type Verb uint8

// The directives. Their text form is in the comment; axes are called a0, a1 … in the first nest of
// outputs, b0, b1 … in the second, and r0.a, r0.b … in the first reduction; a split of k makes k.0
// and k.1, a peeled reduction's tail r0 is r0t. Loads are called p0, p0.1 … after their parameter.
const (
	Split   Verb = iota // split k 256 exact|guard|shift|peel
	Fuse                // fuse a0 a1: one axis a0+a1 of both, a0 outer
	Nest                // nest r0 k.1: reduce k.1 first, in a reduction of its own, r0n
	Order               // order n.0 k.0 m.0 n.1 k.1: loops of one nest, outermost first
	Threads             // thread n.0
	Grids               // grid n.0: workgroups
	Lanes               // lane n.1: invocations of a workgroup; of a reduction, each has a part of it
	Tiles               // tile m.1
	Vectors             // vector n.1
	Stage               // stage p1 at k.0|root by ranges|box layout k.1,n.1 [tile k.1] [vector n.1] [workgroup]
	Carry               // carry r0 in scratch layout m,n
	Dot                 // dot r0.a 4: products of four steps of a sum at once; p1w, p2w become words of these steps' factors, p1s is the sum of p1
	Matrix              // matrix r0.a 4: as dot; a stage of r0 with a layout of two axes is then multiplied by the machine's instruction for matrices
	Finite              // finite p2: while no element of its array is infinite or NaN, p2 needs no gate
)

var verbNames = [...]string{"split", "fuse", "nest", "order", "thread", "grid", "lane", "tile", "vector", "stage", "carry", "dot", "matrix", "finite"}

func (v Verb) String() string { return verbNames[v] }

// Tail is what happens where a split does not divide.
type Tail uint8

// Exact refuses it. Guard tests each iteration (serial loops of reductions). Shift moves the last tile
// inwards, so that some elements are computed twice. Peel gives the rest a loop of its own.
const (
	Exact Tail = iota
	Guard
	Shift
	Peel
)

var tailNames = [...]string{"exact", "guard", "shift", "peel"}

func (t Tail) String() string { return tailNames[t] }

// Root is the place outside all loops of a nest.
const Root = "root"

// Directive is one decision about how a kernel runs. It is plain data; which fields count depends on the Verb.
type Directive struct {
	Verb   Verb
	Name   string   // the axis, value or reduction that the directive is about
	N      int      // split: size of the inner axis; dot, matrix: steps
	Tail   Tail     // split
	Axes   []string // order, fuse: axes; nest: the inner axes; stage, carry: layout, outermost first
	At     string   // stage: the loop inside which it happens, or root
	Box    bool     // stage: by box
	Tile   string   // stage: axis of the copy nest that is unrolled
	Vector string   // stage: axis of the copy nest that is a vector
	Shared bool     // stage: in memory of the workgroup, which all its invocations fill
}

// String is the text form that ParseDirectives reads.
func (m Directive) String() string {
	switch m.Verb {
	case Split:
		return fmt.Sprintf("split %s %d %s", m.Name, m.N, m.Tail)
	case Dot, Matrix:
		return fmt.Sprintf("%s %s %d", m.Verb, m.Name, m.N)
	case Fuse, Order:
		return m.Verb.String() + " " + strings.Join(m.Axes, " ")
	case Nest:
		return "nest " + m.Name + " " + strings.Join(m.Axes, " ")
	case Stage:
		s := "stage " + m.Name + " at " + m.At + " by ranges"
		if m.Box {
			s = "stage " + m.Name + " at " + m.At + " by box"
		}
		if len(m.Axes) > 0 {
			s += " layout " + strings.Join(m.Axes, ",")
		}
		if m.Tile != "" {
			s += " tile " + m.Tile
		}
		if m.Vector != "" {
			s += " vector " + m.Vector
		}
		if m.Shared {
			s += " workgroup"
		}
		return s
	case Carry:
		return "carry " + m.Name + " in scratch layout " + strings.Join(m.Axes, ",")
	}
	return m.Verb.String() + " " + m.Name
}

// DirectivesString joins directives with semicolons.
func DirectivesString(directives []Directive) string {
	s := make([]string, len(directives))
	for i, m := range directives {
		s[i] = m.String()
	}
	return strings.Join(s, "; ")
}

// ParseDirectives reads what DirectivesString writes.
func ParseDirectives(text string) ([]Directive, error) {
	var out []Directive
	for _, part := range strings.Split(text, ";") {
		f := strings.Fields(part)
		if len(f) == 0 {
			continue
		}
		m, ok := parseDirective(f)
		if !ok {
			return nil, fmt.Errorf("codegen: cannot read the directive %q; directives look like %q", strings.TrimSpace(part), "split a0 8 shift")
		}
		out = append(out, m)
	}
	return out, nil
}

func parseDirective(f []string) (m Directive, ok bool) {
	v := find(verbNames[:], f[0])
	if v < 0 || len(f) < 2 {
		return m, false
	}
	m.Verb = Verb(v)
	switch m.Verb {
	case Split:
		return parseSplit(f)
	case Dot, Matrix:
		if len(f) != 3 {
			return m, false
		}
		n, err := strconv.Atoi(f[2])
		m.Name, m.N = f[1], n
		return m, err == nil
	case Fuse, Order:
		m.Axes = f[1:]
		return m, true
	case Nest:
		m.Name, m.Axes = f[1], f[2:]
		return m, len(m.Axes) > 0
	case Stage:
		return parseStage(f)
	case Carry:
		m.Name = f[1]
		if len(f) != 6 || f[2] != "in" || f[3] != "scratch" || f[4] != "layout" {
			return m, false
		}
		m.Axes = strings.Split(f[5], ",")
		return m, true
	}
	m.Name = f[1]
	return m, len(f) == 2
}

func parseSplit(f []string) (m Directive, ok bool) {
	m.Verb = Split
	if len(f) < 3 || len(f) > 4 {
		return m, false
	}
	n, err := strconv.Atoi(f[2])
	if err != nil || n < 1 {
		return m, false
	}
	m.Name, m.N = f[1], n
	if len(f) == 4 {
		t := find(tailNames[:], f[3])
		if t < 0 {
			return m, false
		}
		m.Tail = Tail(t)
	}
	return m, true
}

func parseStage(f []string) (m Directive, ok bool) {
	m.Verb = Stage
	if len(f) < 6 || f[2] != "at" || f[4] != "by" || f[5] != "ranges" && f[5] != "box" {
		return m, false
	}
	m.Name, m.At, m.Box = f[1], f[3], f[5] == "box"
	f = f[6:]
	if n := len(f); n > 0 && f[n-1] == "workgroup" {
		m.Shared, f = true, f[:n-1]
	}
	for ; len(f) >= 2; f = f[2:] {
		switch f[0] {
		case "layout":
			m.Axes = strings.Split(f[1], ",")
		case "tile":
			m.Tile = f[1]
		case "vector":
			m.Vector = f[1]
		default:
			return m, false
		}
	}
	return m, len(f) == 0
}

func find(list []string, s string) int {
	for i, x := range list {
		if x == s {
			return i
		}
	}
	return -1
}
