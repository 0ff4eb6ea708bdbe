package codegen_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/codegen/model"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// guardedLoops counts the outermost loops of reductions that stand under a condition on the loops around them.
func guardedLoops(stmts []codegen.Stmt, under bool) (n int) {
	for _, s := range stmts {
		switch s := s.(type) {
		case *codegen.If:
			n += guardedLoops(s.Body, true)
		case *codegen.Loop:
			if s.Reduce && s.Kind == codegen.Serial && under {
				n++
				continue
			}
			n += guardedLoops(s.Body, under)
		}
	}
	return n
}

// Blocks of scores that a mask of loop indices leaves out are not computed; what a mask from memory leaves out is, and so is
// what somebody else looks at.
func TestMaskedBlocksAreSkipped(t *testing.T) {
	t.Parallel()
	product := func(value func(k *kit, a []*uop.UOp, s *uop.UOp) *uop.UOp) *codegen.Spec {
		k := newKit()
		o, x, y := k.param(dtype.F32, true, 64, 512), k.param(dtype.F32, false, 64, 32), k.param(dtype.F32, false, 512, 32)
		a := k.rngs(64, 512, 32)
		k.out(o, a[:2], value(k, a, k.sum(k.load(x, a[0], a[2]).Mul(k.load(y, a[1], a[2])), a[2])))
		return k.s
	}
	for name, c := range map[string]struct {
		spec    *codegen.Spec
		guarded bool
	}{
		"causal attention": {attention(1, 256, 64, 64, true).s, true},
		"attention":        {attention(1, 256, 64, 64, false).s, false},
		"a triangle of a product": {product(func(k *kit, a []*uop.UOp, s *uop.UOp) *uop.UOp {
			return a[1].Less(a[0].Add(k.Index(1))).Where(s.Mul(s.Float(0.5)), s.Int(0))
		}), true},
		"a band": {product(func(k *kit, a []*uop.UOp, s *uop.UOp) *uop.UOp {
			return a[1].Less(a[0]).And(a[0].Less(a[1].Add(k.Index(20)))).Where(s, s.Int(0))
		}), true},
		"a triangle that begins where an array says": {product(func(k *kit, a []*uop.UOp, s *uop.UOp) *uop.UOp {
			return a[1].Less(a[0].Add(k.load(k.param(dtype.I32, false, 1), k.Index(0)).Cast(dtype.Index))).Where(s, s.Int(0))
		}), true},
		"one that begins elsewhere in each row": {product(func(k *kit, a []*uop.UOp, s *uop.UOp) *uop.UOp {
			return a[1].Less(a[0].Add(k.load(k.param(dtype.I32, false, 64), a[0]).Cast(dtype.Index))).Where(s, s.Int(0))
		}), false},
		"what is chosen either way": {product(func(k *kit, a []*uop.UOp, s *uop.UOp) *uop.UOp {
			return a[1].Less(a[0]).Where(s, s.Neg())
		}), false},
		"a mask from memory": {product(func(k *kit, a []*uop.UOp, s *uop.UOp) *uop.UOp {
			return k.load(k.param(dtype.Bool, false, 64, 512), a[0], a[1]).Where(s, s.Int(0))
		}), false},
	} {
		t.Run(name, func(t *testing.T) {
			directives := model.Choose(c.spec, target())
			p, err := lower.Lower(c.spec, directives, target())
			require.NoError(t, err)
			assert.Equal(t, c.guarded, guardedLoops(p.Body, false) > 0, "directives %s", codegen.DirectivesString(directives))
		})
	}
}
