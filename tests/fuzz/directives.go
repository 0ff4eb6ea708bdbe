package fuzz

import (
	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/model"

	"github.com/weft-ml/weft/codegen/lower"
)

// randomDirectives adds random directives to those that are chosen, or to none, and keeps what is legal.
func randomDirectives(seed uint64, s *codegen.Spec, t *codegen.Target) []codegen.Directive {
	chosen := model.Choose(s, t)
	if t.Grid { // a graphics processor's directives stand together
		return chosen
	}
	r := newRand(seed ^ shapeOf(s))
	var directives []codegen.Directive
	if r.One(3) {
		directives = chosen
	}
	names := []string{"a0", "a1", "a2", "b0", "r0.a", "r0.b", "r1.a", "r2.a", "a0.0", "a0.1", "a1.0", "a1.1", "r0.a.1"}
	for range 10 {
		n := pick(r, names...)
		m := codegen.Directive{Name: n}
		switch r.N(7) {
		case 0, 1, 2:
			m.Verb, m.N, m.Tail = codegen.Split, pick(r, 2, 3, 4, 5, 8, 16), codegen.Tail(r.N(4))
		case 3:
			m.Verb = codegen.Tiles
		case 4, 5:
			m.Verb = codegen.Vectors
		case 6:
			m = codegen.Directive{Verb: codegen.Fuse, Axes: []string{n, pick(r, names...)}}
		}
		try := append(append([]codegen.Directive{}, directives...), m)
		if lower.Legal(s, try, t) == nil {
			directives = try
		}
	}
	return directives
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
