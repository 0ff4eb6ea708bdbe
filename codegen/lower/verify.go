package lower

import (
	"fmt"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/legal"
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
	target  *codegen.Target
}

func verify(stmts []codegen.Stmt, p promise, target *codegen.Target) error {
	v := &verifier{map[*uop.UOp]bool{}, p, target}
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

func (v *verifier) block(stmts []codegen.Stmt, vector bool) error {
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

func (v *verifier) exprs(s codegen.Stmt) (err error) {
	uop.Walk(codegen.Exprs(s), func(*uop.UOp) bool { return false }, func(u *uop.UOp) {
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
		if v.promise&targetOps != 0 && u.Op().Elementwise() && u.Op() != uop.Cast && u.Op() != uop.MulAdd && !legal.Has(v.target, u.Op(), legal.Asked(u)) {
			err = fmt.Errorf("the target has no %s of %s", u.Op(), legal.Asked(u))
		}
	})
	return err
}

func (v *verifier) stmt(s codegen.Stmt, vector bool, mine *[]*uop.UOp) error {
	switch s := s.(type) {
	case *codegen.Let:
		return v.declare(s.Reg, mine)
	case *codegen.Alloc:
		return v.declare(s.Buf, mine)
	case *codegen.Splat:
		return v.assigned([]*uop.UOp{s.Of})
	case *codegen.Four:
		for _, r := range s.Regs {
			if err := v.declare(r, mine); err != nil {
				return err
			}
		}
	case *codegen.MatrixProduct:
		if s.Block < 1 || s.Block > codegen.MatrixWords || s.Steps%s.Block != 0 {
			return fmt.Errorf("a product of matrices has %d steps in blocks of %d", s.Steps, s.Block)
		}
		return v.assigned([]*uop.UOp{s.Acc, s.A, s.B})
	case *codegen.Set:
		return v.assigned(s.Regs)
	case *codegen.HorizontalReduce:
		return v.assigned(s.Regs)
	case *codegen.SubgroupReduce:
		return v.assigned([]*uop.UOp{s.Reg})
	case *codegen.Team:
		for _, r := range []*uop.UOp{s.Lane, s.ID, s.Count} {
			if err := v.declare(r, mine); err != nil {
				return err
			}
		}
	case *codegen.If:
		return v.block(s.Body, vector)
	case *codegen.Loop:
		if s.Kind == codegen.Tile && v.promise&noTiles != 0 {
			return fmt.Errorf("tile %v is left", s.Range)
		}
		if s.Kind == codegen.Vector && vector {
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
		return v.block(s.Body, vector || s.Kind == codegen.Vector)
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
