package lower

import (
	"github.com/weft-ml/weft/uop"

	"github.com/weft-ml/weft/codegen"
)

// unroll says of each Serial loop how many copies of its body are written one after the other (Loop.Copies): all iterations
// of a short one, so that no loop is left, and some of others. Copies save the counting and give a machine more to reorder; what they
// may amount to is the target's. It changes no value.
func (b *builder) unroll(stmts []codegen.Stmt) []codegen.Stmt {
	u := &unroller{b.Target.Unroll, map[*codegen.Loop]int{}}
	return u.block(stmts)
}

type unroller struct {
	codegen.Unroll
	weights map[*codegen.Loop]int
}

func (u *unroller) block(stmts []codegen.Stmt) []codegen.Stmt {
	out := make([]codegen.Stmt, len(stmts))
	for i, s := range stmts {
		out[i] = s
		inside := codegen.Body(s)
		if inside == nil {
			continue
		}
		out[i] = codegen.WithBody(s, u.block(inside))
		if l, ok := s.(*codegen.Loop); ok && l.Kind == codegen.Serial {
			out[i].(*codegen.Loop).Copies = u.copies(l)
		}
	}
	return out
}

func (u *unroller) copies(l *codegen.Loop) int {
	n, w := codegen.Extent(l.Range), u.of(l)
	switch {
	case n == 0 || w == 0:
		return 0
	case u.whole(l):
		return n
	case u.Whole:
		return 0
	}
	k := u.Copies
	if codegen.Bound(l.Body) {
		k = max(k, u.Bound)
	}
	k = min(k, n, u.Ops/w)
	for k > 1 && n%k > 0 && n < 8*k { // the rest would be much of it
		k--
	}
	if k <= 1 {
		return 0
	}
	return k
}

// whole says that a loop is so short that it is written out.
func (u *unroller) whole(l *codegen.Loop) bool {
	n := codegen.Extent(l.Range)
	if l.Kind != codegen.Serial || n == 0 || n > 2*u.Copies {
		return false
	}
	w := u.of(l)
	return w > 0 && n*w <= u.Ops
}

// of is the weight of a loop's body.
func (u *unroller) of(l *codegen.Loop) int {
	w, known := u.weights[l]
	if !known {
		w = u.weight(l.Body)
		u.weights[l] = w
	}
	return w
}

// weight counts the operations of a body; 0 where it has longer loops, or makes scratch.
func (u *unroller) weight(stmts []codegen.Stmt) int {
	n := 1
	for _, s := range stmts {
		for _, x := range codegen.Exprs(s) {
			n += len(uop.Topo(x))
		}
		w := 1
		switch s := s.(type) {
		case *codegen.Alloc, *codegen.HorizontalReduce, *codegen.MatrixProduct:
			return 0
		case *codegen.If:
			w = u.weight(s.Body)
		case *codegen.Loop:
			switch w = u.of(s); {
			case u.whole(s):
				w *= codegen.Extent(s.Range)
			case s.Kind != codegen.Vector:
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
