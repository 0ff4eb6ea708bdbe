package grad

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/lawtest"
	"github.com/weft-ml/weft/uop"
)

func TestEveryOpHasAForwardLaw(t *testing.T) {
	for o := uop.Invalid + 1; o < uop.NumOps; o++ {
		require.NotNil(t, forwardOf(o, nil), "no forward law for %v", o)
		backward := reflect.ValueOf(lawOf(o)).Pointer() != reflect.ValueOf(law(none)).Pointer()
		require.Equal(t, backward, reflect.ValueOf(forwardOf(o, nil)).Pointer() != reflect.ValueOf(forward(still)).Pointer(), "%v", o)
	}
}

func withLaws() (ops []uop.Op) {
	for o := uop.Invalid + 1; o < uop.NumOps; o++ {
		if reflect.ValueOf(lawOf(o)).Pointer() != reflect.ValueOf(law(none)).Pointer() && !effects[o] {
			ops = append(ops, o)
		}
	}
	return ops
}

func along(y *uop.UOp, moving map[*uop.UOp]*uop.UOp) *uop.UOp { return Forward(moving, y)[0] }

func TestTangentsInContexts(t *testing.T) { lawtest.CheckTangents(t, Of, along, withLaws(), 2, 60) }

func TestWrongForwardLawsAreFound(t *testing.T) {
	right := forwards
	defer func() { forwards = right }()
	for o, wrong := range map[uop.Op]forward{
		uop.Flip:    func(_ *uop.UOp, t []*uop.UOp) *uop.UOp { return t[0] },
		uop.Mul:     linear,
		uop.Scan:    func(u *uop.UOp, t []*uop.UOp) *uop.UOp { return t[0] },
		uop.Scatter: linear,
		uop.Reduce:  linear,
		uop.Part: func(u *uop.UOp, t []*uop.UOp) *uop.UOp {
			if d := pushPart(u, t); d != nil {
				return d.Mul(d.Float(1.001))
			}
			return nil
		},
	} {
		forwards = right
		forwards[o] = wrong
		found := false
		for seed := uint64(0); seed < 40 && !found; seed++ {
			found = lawtest.Tangent(Of, along, o, seed<<16) != nil
		}
		require.True(t, found, "%v", o)
	}
}

// Gradients have gradients through every op that has a law.
func TestSecondDerivativesInContexts(t *testing.T) { lawtest.CheckSecond(t, Of, withLaws(), 3, 12) }

// The value of a stated function is its own, its gradient is what was stated, in both directions and twice.
func TestStatedFunctions(t *testing.T) {
	x, w := input(1, 2), input(2, 2)
	seed := uop.NewStandIn(dtype.F64, 2)
	make := func(value *uop.UOp, slot int, pairs ...*uop.UOp) *uop.UOp {
		return value.Home().Make(uop.Detach, value.DType(), uop.FunctionArg{Name: "f", Slot: slot}, append([]*uop.UOp{value}, pairs...)...)
	}
	// Says of x² + w that its gradients are x³·g, summed over both elements, and 5·g.
	y := make(x.Mul(x).Add(w), seed.Slot(), x, expand(x.Mul(x).Mul(x).Mul(seed).Reduce(uop.Sum, 0), uop.Shape{2}), w, seed.Mul(seed.Int(5)))
	require.Equal(t, []float64{6, 12}, eval(y, 2, 3))
	g := Of(y, x.Int(1), x, w)
	require.Equal(t, []float64{35, 35}, eval(g[0], 2, 3))
	require.Equal(t, []float64{5, 5}, eval(g[1], 2, 3))
	require.Equal(t, []float64{24, 54}, eval(Of(g[0], x.Int(1), x)[0], 2, 3))
	one := x.Int(1).Reshape(1).Expand(2)
	require.Equal(t, []float64{16, 54}, eval(Forward(map[*uop.UOp]*uop.UOp{x: one}, y)[0], 2, 3))
	require.Equal(t, []float64{21, 59}, eval(Forward(map[*uop.UOp]*uop.UOp{x: one, w: one}, y)[0], 2, 3))
	require.Contains(t, uop.Print(y), "detach     f64   [2] f ")
	// Without a statement it only has a name.
	named := make(x.Mul(x), 0)
	require.Equal(t, []float64{4, 6}, eval(Of(named, x.Int(1), x)[0], 2, 3))
	require.Equal(t, []float64{4, 6}, eval(Forward(map[*uop.UOp]*uop.UOp{x: one}, named)[0], 2, 3))
	require.Contains(t, Dependent(named), x)
	require.NotContains(t, Dependent(x.Detach()), x)
}
