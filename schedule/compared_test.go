package schedule_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Sums that are compared with each other are computed once, as two loops might add in two orders; those that are only
// compared with themselves in place, or exact, may be computed again.
func TestComparedSumsAreStored(t *testing.T) {
	rank := func(key *uop.UOp) *uop.UOp {
		i, j := key.Reshape(4, 1).Expand(4, 4), key.Reshape(1, 4).Expand(4, 4)
		return j.Less(i).Cast(dtype.I32).Reduce(uop.Sum, 1)
	}
	for name, c := range map[string]struct {
		d      dtype.DType
		f      func(sum *uop.UOp) *uop.UOp
		stored bool
	}{
		"ranked":     {dtype.F32, rank, true},
		"by its key": {dtype.F32, func(s *uop.UOp) *uop.UOp { return rank(s.Neg().Bitcast(dtype.I32)) }, true},
		"maximum": {dtype.F32, func(s *uop.UOp) *uop.UOp {
			return s.Equal(s.Reduce(uop.MaxOf, 0).Reshape(1).Expand(4)).Cast(dtype.I32)
		}, true},
		"in place": {dtype.F32, func(s *uop.UOp) *uop.UOp { return s.Less(s.Trunc()).Cast(dtype.I32) }, false},
		"exact":    {dtype.I32, rank, false},
	} {
		w := newWorld(3)
		r := w.check(t, c.f(w.input(c.d, 4, 13).Reduce(uop.Sum, 1)))
		var why string
		for _, d := range r.Reasons {
			why += d.Why + "\n"
		}
		require.Equal(t, c.stored, strings.Contains(why, "compared with each other"), "%s:\n%s", name, r)
	}
}
