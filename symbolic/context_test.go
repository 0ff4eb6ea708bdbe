package symbolic_test

import (
	"testing"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/lawtest"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

func TestLawsInContexts(t *testing.T) {
	t.Parallel()
	lawtest.CheckContexts(t, symbolic.Algebra, symbolic.Rules, 1, 5)
}

// kernelTypes are the types of random expressions, those of indices and guards more often.
var kernelTypes = []dtype.DType{dtype.Index, dtype.Index, dtype.Index, dtype.Bool, dtype.Bool, dtype.F32, dtype.I32, dtype.U8, dtype.F16, dtype.I64}

// checkKernel simplifies a random expression with loads and reductions, alone and under a guard, and compares at every
// point of its ranges.
func checkKernel(t *testing.T, seed uint64) {
	s := lawtest.NewScope(seed)
	e := s.Value(kernelTypes[s.IntN(len(kernelTypes))], 1+s.IntN(4))
	after := symbolic.Simplify(s.Table, e)
	if err := s.Equal(e, after, nil); err != nil {
		t.Fatalf("seed %#x: %v\nbefore\n%safter\n%s", seed, err, uop.Print(e), uop.Print(after))
	}
	guard := s.Cond(1 + s.IntN(3))
	for _, e := range []*uop.UOp{s.Index(1 + s.IntN(3)), s.Cond(1 + s.IntN(3))} {
		after := symbolic.SimplifyUnder(s.Table, guard, e)[0]
		if err := s.Equal(e, after, guard); err != nil {
			t.Fatalf("seed %#x: %v\nguard\n%sbefore\n%safter\n%s", seed, err, uop.Print(guard), uop.Print(e), uop.Print(after))
		}
	}
}

func TestSimplifyKeepsKernels(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3500) {
		checkKernel(t, seed)
	}
}
