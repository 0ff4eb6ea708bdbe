package lawtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/weft-ml/weft/rewrite"
	"github.com/weft-ml/weft/uop"
)

// CheckContexts puts both sides of every law into random contexts, as many as tries for each typing, and rewrites the whole with
// the full rules, as all would be used: left, right and rewritten, it has one value at every point of its ranges, and loads
// nothing outside of an array, also where a mask hides it. Seeds are the given one and a fresh one.
func CheckContexts(t *testing.T, laws, full *rewrite.RuleSet, seed uint64, tries int) {
	t.Helper()
	for i, r := range laws.All() {
		if r.Right == nil {
			continue
		}
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			for k := range tries {
				for _, from := range []uint64{seed, rand.Uint64()} {
					if k > tries/4 && from != seed {
						continue
					}
					if err := inContexts(r, full, from^uint64(i)<<32^uint64(k)<<16); err != nil {
						t.Fatalf("%s: law %q, seed %#x: %v", r.At(), r.Name, from, err)
					}
				}
			}
		})
	}
}

// inContexts tries a law once for each of its typings.
func inContexts(r *rewrite.Rule, full *rewrite.RuleSet, seed uint64) error {
	holes, _ := r.Left.Holes()
	for i, typing := range r.Typings(Types) {
		s := NewScope(seed + uint64(i))
		nodes := map[*rewrite.Pattern]*uop.UOp{}
		for _, h := range holes {
			if d := typing.Nodes[h]; h.IsConst() || s.IntN(6) == 0 {
				nodes[h] = s.Const(d)
			} else {
				nodes[h] = s.Value(d, s.IntN(3))
			}
		}
		m, ok := instance(r, s.Table, nodes, typing)
		if !ok || !m.Applies() {
			continue
		}
		around := s.Context(m.Root.DType(), s.IntN(4))
		left, right := around(m.Root), around(m.Right())
		rewritten := full.Rewrite(s.Table, left)[0]
		for _, c := range []struct {
			how string
			e   *uop.UOp
		}{{"right side", right}, {"rewritten", rewritten}} {
			if err := s.Equal(left, c.e, nil); err != nil {
				return fmt.Errorf("%s in its context: %w\nbefore\n%safter\n%s", c.how, err, uop.Print(left), uop.Print(c.e))
			}
		}
	}
	return nil
}

// Equal compares two expressions at every point of the scope's ranges at which a guard holds (nil: everywhere).
func (s *Scope) Equal(before, after, guard *uop.UOp) (err error) {
	if before.DType() != after.DType() {
		return fmt.Errorf("%v becomes %v", before.DType(), after.DType())
	}
	if before == after {
		return nil
	}
	p, q := s.Compile(before), s.Compile(after)
	var g *Program
	if guard != nil {
		g = s.Compile(guard)
	}
	s.Points(func(at map[*uop.UOp]uop.Value) bool {
		if g != nil {
			if v, failed := g.At(at); failed != nil || v == 0 {
				return true
			}
		}
		want, failed := p.At(at)
		if failed != nil {
			if !errors.Is(failed, errInexact) {
				err = fmt.Errorf("before, at %v: %w", at, failed)
			}
			return err == nil
		}
		got, failed := q.At(at)
		switch {
		case errors.Is(failed, errInexact): // a constant, not computed at this point before
		case failed != nil:
			err = fmt.Errorf("at %v: %w", at, failed)
		case !Same(before.DType(), want, got):
			err = fmt.Errorf("at %v it was %s and is %s", at, format(before.DType(), want), format(before.DType(), got))
		}
		return err == nil
	})
	return err
}
