package codegen

import (
	"errors"
	"fmt"

	"github.com/weft-ml/weft/uop"
)

// pass is one step of lowering. Its comment says what it expects and what it leaves.
type pass struct {
	name string
	run  func(b *builder, body []Stmt) []Stmt
	only func(t *Target) bool
}

// passes is the lowering after a Spec is canonical and its moves are applied to expressions and axes
// (newKernel, apply), top to bottom.
var passes = []pass{
	// Statements from order and places: stages, accumulators, guards of tails. Leaves Reduce nowhere.
	{"tree", func(b *builder, _ []Stmt) []Stmt { return b.tree() }, nil},
	// Only ops that the target has.
	{"legalise", (*builder).legalise, nil},
	// No Tile loops; Vector loops of machine width. Targets with vectors of any length keep both.
	{"expand", (*builder).expand, machineVectors},
	// One linear offset an access.
	{"index", (*builder).linearise, nil},
	// Values computed in the outermost block that defines what they need; names for what is used twice.
	{"place", (*builder).placeAll, nil},
}

func machineVectors(t *Target) bool { return t.VectorLen(widest) > 0 }

// Lower makes a kernel's tree of statements. The moves are those that Choose or a search gave, or none.
func Lower(spec *Spec, moves []Move, target *Target) (p *Program, err error) {
	at := "canonical"
	defer func() {
		if r := recover(); r != nil {
			err = failure(r, at)
		}
	}()
	k := newKernel(spec, target)
	at = "moves"
	if err := k.apply(moves); err != nil {
		return nil, err
	}
	b := &builder{kernel: k}
	var body []Stmt
	for _, ps := range passes {
		if ps.only != nil && !ps.only(target) {
			continue
		}
		at = ps.name
		body = ps.run(b, body)
		if err := verify(body); err != nil {
			panic(fmt.Sprintf("BUG: %v\n%s", err, dumpStmts(body)))
		}
	}
	return b.program(body, moves), nil
}

// failure makes an error of what a target cannot do, and re-raises everything else with its place.
func failure(r any, at string) error {
	switch r := r.(type) {
	case tooManyLoops:
		return fmt.Errorf("codegen: the kernel has more than %d loops; store more of its intermediate values", maxRanges)
	case illegal:
		return errors.New("codegen: " + r.why)
	case *Unsupported:
		return r
	case error:
		panic(fmt.Errorf("codegen: pass %q: %w", at, r))
	}
	panic(errors.New(fmt.Sprintf("codegen: pass %q: %v", at, r)))
}

// Legal says why moves cannot be applied to a Spec, or nil. It has no effect.
func Legal(spec *Spec, moves []Move, target *Target) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = failure(r, "moves")
		}
	}()
	k := newKernel(spec, target)
	if err := k.apply(moves); err != nil {
		return err
	}
	(&builder{kernel: k}).tree()
	return nil
}

func (b *builder) legalise(stmts []Stmt) []Stmt {
	return mapStmts(b.roundSums(stmts), NewLegalizer(b.t, b.target).Do)
}

// verify checks the scope of ranges and registers, and that no reduction is left.
func verify(stmts []Stmt) error {
	in := map[*uop.UOp]bool{}
	var seen uop.Map[bool]
	var check func(stmts []Stmt, vector bool) error
	check = func(stmts []Stmt, vector bool) error {
		var mine []*uop.UOp
		declare := func(u *uop.UOp) error {
			if in[u] {
				return fmt.Errorf("%v is declared twice", u)
			}
			in[u] = true
			mine = append(mine, u)
			return nil
		}
		for _, s := range stmts {
			var bad error
			walk(exprs(s), func(u *uop.UOp) bool { ok, _ := seen.Get(u); return ok }, func(u *uop.UOp) {
				switch u.Op() {
				case uop.Range, uop.Reg:
					if !in[u] {
						bad = fmt.Errorf("%v is used outside of its block", u)
					}
				case uop.Reduce, uop.Part, uop.After:
					bad = fmt.Errorf("%v is left", u)
				}
			})
			if bad != nil {
				return bad
			}
			var err error
			switch s := s.(type) {
			case *Let:
				err = declare(s.Reg)
			case *Alloc:
				err = declare(s.Buf)
			case *Set:
				for _, r := range s.Regs {
					if !in[r] {
						err = fmt.Errorf("%v is assigned outside of its block", r)
					}
				}
			case *If:
				err = check(s.Body, vector)
			case *Loop:
				if s.Kind == Vector && vector {
					return fmt.Errorf("a vector loop lies in another")
				}
				if err = declare(s.Range); err == nil {
					err = check(s.Body, vector || s.Kind == Vector)
				}
				delete(in, s.Range)
			}
			if err != nil {
				return err
			}
		}
		for _, u := range mine {
			delete(in, u)
		}
		return nil
	}
	return check(stmts, false)
}
