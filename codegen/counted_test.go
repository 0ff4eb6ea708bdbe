package codegen_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Blocks of a reduction that end before they begin, because the size of an axis varies, are left out, as far as they end so in every row;
// where elements count as something else they are not.
func TestBlocksThatDoNotCountAreSkipped(t *testing.T) {
	t.Parallel()
	sum := func(where func(k *kit, n *uop.UOp, a []*uop.UOp) *uop.UOp, other int) *codegen.Spec {
		k := newKit()
		n := k.s.Home.Make(uop.Var, dtype.Index, uop.VarArg{Name: "n0", Lo: 1, Hi: 512})
		k.s.Vars = []*uop.UOp{n}
		o, x := k.param(dtype.F32, true, 8), k.param(dtype.F32, false, 8, 512)
		a := k.rngs(8, 512)
		v := k.load(x, a[0], a[1])
		k.out(o, a[:1], k.sum(where(k, n, a).Where(v, v.Int(other)), a[1]))
		return k.s
	}
	before := func(k *kit, n *uop.UOp, a []*uop.UOp) *uop.UOp { return a[1].Less(n) }
	for name, c := range map[string]struct {
		spec    *codegen.Spec
		guarded bool
	}{
		"a size":                          {sum(before, 0), true},
		"ones beyond it":                  {sum(before, 1), false},
		"a row's own number, at its most": {sum(func(k *kit, n *uop.UOp, a []*uop.UOp) *uop.UOp { return a[1].Less(a[0].Mul(k.Index(64)).Add(n)) }, 0), true},
	} {
		list, err := codegen.ParseDirectives("split r0.a 16; vector r0.a.1")
		require.NoError(t, err)
		p, err := lower.Lower(c.spec, list, target())
		require.NoError(t, err, name)
		n := 0
		var look func(stmts []codegen.Stmt, in bool)
		look = func(stmts []codegen.Stmt, in bool) {
			for _, s := range stmts {
				switch s := s.(type) {
				case *codegen.Loop:
					look(s.Body, in || s.Reduce && s.Kind == codegen.Serial)
				case *codegen.If:
					if in {
						n++
					}
				}
			}
		}
		look(p.Body, false)
		assert.Equal(t, c.guarded, n > 0, name)
	}
}
