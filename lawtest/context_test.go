package lawtest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/rewrite"
	"github.com/weft-ml/weft/uop"
)

// Wrong laws, and rules that lose a gate, are found within few contexts.
func TestContextsFindWhatIsWrong(t *testing.T) {
	x, y, a := rewrite.Any("x"), rewrite.Any("y"), rewrite.Any("a")
	zero := rewrite.Int(0)
	none := rewrite.Rules("none", rewrite.Law("nothing", x.Neg().Neg().Neg().Neg().Neg(), x.Neg()))
	first := func(r *rewrite.Rule, full *rewrite.RuleSet) error {
		for seed := range uint64(20) {
			if err := inContexts(r, full, seed<<32); err != nil {
				return err
			}
		}
		return nil
	}
	for _, r := range []*rewrite.Rule{
		rewrite.Law("a mask is dropped", a.Where(x, zero), x),
		rewrite.Law("a conjunct is dropped", a.And(x), a),
		rewrite.Law("a quotient is moved", x.Add(y).IDiv(y), x.IDiv(y)),
		rewrite.Law("zero times what is no number", x.Mul(zero), zero),
	} {
		assert.Error(t, first(r, none), r.Name)
	}
	right := rewrite.Law("the same", a.Where(x, x), x)
	require.NoError(t, first(right, none))
	ungated := rewrite.Rules("ungated", rewrite.Step("a gate is dropped", rewrite.OneOf(uop.Load), func(m *rewrite.Match) *uop.UOp {
		if m.Root.At(1).Op() == uop.Const {
			return nil
		}
		return m.Table.Load(m.Root.At(0), m.Table.True(), m.Root.Src()[2:]...)
	}))
	assert.ErrorContains(t, first(right, ungated), "load of element")
}

// A load outside of its array is an error where its gate holds, even if a mask hides it, and 0 where it does not.
func TestProgramsGuardMemory(t *testing.T) {
	s := NewScope(3)
	r, a := s.Ranges[0], s.arrays[0]
	far := s.Table.Load(a.param, s.Table.True(), r.Add(s.Table.Index(1000)))
	if len(a.dims) == 2 {
		far = s.Table.Load(a.param, s.Table.True(), r.Add(s.Table.Index(1000)), s.Table.Index(0))
	}
	at := map[*uop.UOp]uop.Value{r: 0}
	_, err := s.Compile(s.Table.True().Not().Where(far, far.Int(0))).At(at)
	require.ErrorContains(t, err, "load of element 1000")
	v, err := s.Compile(s.Table.Load(far.At(0), s.Table.ConstOf(dtype.Bool, 0), far.Src()[2:]...)).At(at)
	require.NoError(t, err)
	require.Equal(t, uop.Value(0), v)
}
