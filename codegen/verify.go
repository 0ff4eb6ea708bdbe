package codegen

import (
	"fmt"

	"github.com/weft-ml/weft/uop"
)

// promise is what a pass leaves true.
type promise uint8

const (
	noReductions promise = 1 << iota
	targetOps            // only ops that the target has
	noTiles              // no Tile loops
	oneIndex             // one linear offset an access
)

// verifier checks the scope of ranges, registers and scratch, that vectors do not lie in vectors, and what the pass
// promises.
type verifier struct {
	in      map[*uop.UOp]bool
	promise promise
	legal   *Legalizer
}

func verify(stmts []Stmt, p promise, target *Target) error {
	v := &verifier{map[*uop.UOp]bool{}, p, &Legalizer{target: target}}
	return v.block(stmts, false)
}

func (v *verifier) declare(u *uop.UOp, mine *[]*uop.UOp) error {
	if v.in[u] {
		return fmt.Errorf("%v is declared twice", u)
	}
	v.in[u] = true
	*mine = append(*mine, u)
	return nil
}

func (v *verifier) block(stmts []Stmt, vector bool) error {
	var mine []*uop.UOp
	for _, s := range stmts {
		if err := v.exprs(s); err != nil {
			return err
		}
		if err := v.stmt(s, vector, &mine); err != nil {
			return err
		}
	}
	for _, u := range mine {
		delete(v.in, u)
	}
	return nil
}

func (v *verifier) exprs(s Stmt) (err error) {
	walk(exprs(s), func(*uop.UOp) bool { return false }, func(u *uop.UOp) {
		switch u.Op() {
		case uop.Range, uop.Reg:
			if !v.in[u] {
				err = fmt.Errorf("%v is used outside of its block", u)
			}
		case uop.Reduce, uop.Scan, uop.Part, uop.After:
			if v.promise&noReductions != 0 {
				err = fmt.Errorf("%v is left", u)
			}
		case uop.Load:
			if v.promise&oneIndex != 0 && len(u.Src()) != 3 {
				err = fmt.Errorf("%v has %d indices", u, len(u.Src())-2)
			}
		}
		if v.promise&targetOps != 0 && u.Op().Elementwise() && u.Op() != uop.Cast && u.Op() != uop.MulAdd && !v.legal.has(u.Op(), asked(u)) {
			err = fmt.Errorf("the target has no %s of %s", u.Op(), asked(u))
		}
	})
	return err
}

func (v *verifier) stmt(s Stmt, vector bool, mine *[]*uop.UOp) error {
	switch s := s.(type) {
	case *Let:
		return v.declare(s.Reg, mine)
	case *Alloc:
		return v.declare(s.Buf, mine)
	case *Splat:
		return v.assigned([]*uop.UOp{s.Of})
	case *Four:
		for _, r := range s.Regs {
			if err := v.declare(r, mine); err != nil {
				return err
			}
		}
	case *MatrixProduct:
		return v.assigned([]*uop.UOp{s.Acc, s.A, s.B})
	case *Set:
		return v.assigned(s.Regs)
	case *HorizontalReduce:
		return v.assigned(s.Regs)
	case *SubgroupReduce:
		return v.assigned([]*uop.UOp{s.Reg})
	case *Team:
		for _, r := range []*uop.UOp{s.Lane, s.ID, s.Count} {
			if err := v.declare(r, mine); err != nil {
				return err
			}
		}
	case *If:
		return v.block(s.Body, vector)
	case *Loop:
		if s.Kind == Tile && v.promise&noTiles != 0 {
			return fmt.Errorf("tile %v is left", s.Range)
		}
		if s.Kind == Vector && vector {
			return fmt.Errorf("a vector loop lies in another")
		}
		if err := v.assigned(s.Splats); err != nil {
			return err
		}
		var own []*uop.UOp
		if err := v.declare(s.Range, &own); err != nil {
			return err
		}
		defer delete(v.in, s.Range)
		return v.block(s.Body, vector || s.Kind == Vector)
	}
	return nil
}

func (v *verifier) assigned(regs []*uop.UOp) error {
	for _, r := range regs {
		if !v.in[r] {
			return fmt.Errorf("%v is assigned outside of its block", r)
		}
	}
	return nil
}
