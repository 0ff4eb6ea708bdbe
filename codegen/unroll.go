package codegen

import "github.com/weft-ml/weft/uop"

// unroll says of each Serial loop how many copies of its body are written one after the other (Loop.Copies): all iterations
// of a short one, so that no loop is left, and some of others. Copies save the counting and give a machine more to reorder; what they
// may amount to is the target's. It changes no value.
func (b *builder) unroll(stmts []Stmt) []Stmt {
	u := &unroller{b.target.Unroll, map[*Loop]int{}}
	return u.block(stmts)
}

// Unroll is how far a language unrolls: 0 copies for not at all.
type Unroll struct {
	Copies int  // of a body; of a loop that is written out twice as many
	Ops    int  // operations of all copies
	Whole  bool // only loops of which none is left
}

type unroller struct {
	Unroll
	weights map[*Loop]int
}

func (u *unroller) block(stmts []Stmt) []Stmt {
	out := make([]Stmt, len(stmts))
	for i, s := range stmts {
		out[i] = s
		inside := body(s)
		if inside == nil {
			continue
		}
		out[i] = withBody(s, u.block(inside))
		if l, ok := s.(*Loop); ok && l.Kind == Serial {
			out[i].(*Loop).Copies = u.copies(l)
		}
	}
	return out
}

func (u *unroller) copies(l *Loop) int {
	n, w := extent(l.Range), u.of(l)
	switch {
	case n == 0 || w == 0:
		return 0
	case u.whole(l):
		return n
	case u.Whole:
		return 0
	}
	k := min(u.Copies, n, u.Ops/w)
	for k > 1 && n%k > 0 && n < 8*k { // the rest would be much of it
		k--
	}
	if k <= 1 {
		return 0
	}
	return k
}

// whole says that a loop is so short that it is written out.
func (u *unroller) whole(l *Loop) bool {
	n := extent(l.Range)
	if l.Kind != Serial || n == 0 || n > 2*u.Copies {
		return false
	}
	w := u.of(l)
	return w > 0 && n*w <= u.Ops
}

// of is the weight of a loop's body.
func (u *unroller) of(l *Loop) int {
	w, known := u.weights[l]
	if !known {
		w = u.weight(l.Body)
		u.weights[l] = w
	}
	return w
}

// weight counts the operations of a body; 0 where it has longer loops, or makes scratch.
func (u *unroller) weight(stmts []Stmt) int {
	n := 1
	for _, s := range stmts {
		for _, x := range exprs(s) {
			n += len(uop.Topo(x))
		}
		w := 1
		switch s := s.(type) {
		case *Alloc, *HorizontalReduce, *MatrixProduct:
			return 0
		case *If:
			w = u.weight(s.Body)
		case *Loop:
			switch w = u.of(s); {
			case u.whole(s):
				w *= extent(s.Range)
			case s.Kind != Vector:
				w = 0
			}
		}
		if w == 0 {
			return 0
		}
		n += w
	}
	return n
}
