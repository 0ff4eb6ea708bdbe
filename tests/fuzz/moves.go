package fuzz

import (
	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/uop"
)

// randomMoves adds random moves to those that are chosen, or to none, and keeps what is legal.
func randomMoves(seed uint64, s *codegen.Spec, t *codegen.Target) []codegen.Move {
	chosen := codegen.Choose(s, t)
	if t.Grid { // a graphics processor's moves stand together
		return chosen
	}
	r := newRand(seed ^ shapeOf(s))
	var moves []codegen.Move
	if r.One(3) {
		moves = chosen
	}
	names := []string{"a0", "a1", "a2", "b0", "r0.a", "r0.b", "r1.a", "r2.a", "a0.0", "a0.1", "a1.0", "a1.1", "r0.a.1"}
	for range 10 {
		n := pick(r, names...)
		m := codegen.Move{Name: n}
		switch r.N(7) {
		case 0, 1, 2:
			m.Verb, m.N, m.Tail = codegen.Split, pick(r, 2, 3, 4, 5, 8, 16), codegen.Tail(r.N(4))
			if m.Tail == codegen.Shift && once(s) {
				m.Tail = codegen.Peel
			}
		case 3:
			m.Verb = codegen.Tiles
		case 4, 5:
			m.Verb = codegen.Vectors
		case 6:
			with := pick(r, names...)
			if nest(n) != nest(with) {
				continue
			}
			m = codegen.Move{Verb: codegen.Fuse, Axes: []string{n, with}}
		}
		try := append(append([]codegen.Move{}, moves...), m)
		if legal(s, try, t) {
			moves = try
		}
	}
	return moves
}

// legal asks codegen, which panics about some moves that make no sense instead of refusing them.
func legal(s *codegen.Spec, moves []codegen.Move, t *codegen.Target) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	return codegen.Legal(s, moves, t) == nil
}

// once says that an element must not be computed twice: it is merged into memory, or reads what is written. Codegen leaves
// that to those who choose.
func once(s *codegen.Spec) bool {
	written := map[int]bool{}
	for _, o := range s.Outs {
		if o.Merge != nil {
			return true
		}
		written[o.Param] = true
	}
	for _, o := range s.Outs {
		for _, u := range uop.Topo(o.Value) {
			if u.Op() == uop.Load && written[u.At(0).Arg().(uop.ParamArg).Slot] {
				return true
			}
		}
	}
	return false
}

// nest is which loops an axis belongs to: those of a nest of outputs, or of a reduction.
func nest(axis string) string {
	if axis[0] == 'r' {
		return axis[:2]
	}
	return axis[:1]
}

// shapeOf tells kernels apart.
func shapeOf(s *codegen.Spec) uint64 {
	h := uint64(1)
	for _, p := range s.Params {
		for _, n := range p.Dims {
			h = (h + uint64(n)) * 0x9e3779b97f4a7c15
		}
	}
	return h
}
