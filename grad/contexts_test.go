package grad

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/lawtest"
	"github.com/weft-ml/weft/uop"
)

// effects have laws and no value on the reference: their laws are those of the value that passes through. Calls have tests of their own.
var effects = map[uop.Op]bool{uop.Check: true, uop.Extent: true, uop.After: true, uop.Copy: true, uop.Foreign: true, uop.Call: true, uop.Loop: true}

// Every law is right inside random graphs, too.
func TestLawsInContexts(t *testing.T) {
	var ops []uop.Op
	for o := uop.Invalid + 1; o < uop.NumOps; o++ {
		if reflect.ValueOf(lawOf(o)).Pointer() != reflect.ValueOf(law(none)).Pointer() && !effects[o] {
			ops = append(ops, o)
		}
	}
	require.Greater(t, len(ops), 20)
	lawtest.CheckGradients(t, Of, ops, 1, 40)
}

// Wrong laws are found within few graphs.
func TestWrongLawsAreFound(t *testing.T) {
	right := laws
	defer func() { laws = right }()
	for _, c := range []struct {
		name string
		op   uop.Op
		law  law
	}{
		{"a flip is forgotten", uop.Flip, func(u, g *uop.UOp) grads { return grads{g} }},
		{"padding is cut off at the wrong end", uop.Pad, func(u, g *uop.UOp) grads {
			return grads{g.Shrink(make([]int, len(u.Shape())), u.At(0).Shape())}
		}},
		{"a slide goes the same way back", uop.Slide, func(u, g *uop.UOp) grads {
			a := u.Arg().(uop.SlideArg)
			return grads{g.Slide(a.Axis, a.By, a.Step, -a.Lo, u.At(0).Shape()[a.Axis])}
		}},
		{"a mask is dropped", uop.Where, func(u, g *uop.UOp) grads { return grads{nil, g, u.At(0).Where(g.Int(0), g)} }},
		{"ties count on one side", uop.Max, func(u, g *uop.UOp) grads {
			l := u.At(0).Less(u.At(1))
			return grads{l.Where(g.Int(0), g).Mul(g.Float(0.999)), l.Where(g, g.Int(0))}
		}},
		{"a factor is missing", uop.Mul, func(u, g *uop.UOp) grads { return grads{g.Mul(u.At(1)), g} }},
		{"every value written counts", uop.Scatter, func(u, g *uop.UOp) grads {
			a := u.Arg().(uop.ScatterArg)
			if a.Monoid != uop.Last {
				return scatter(u, g)
			}
			return grads{lastWins(u, g)[0], nil, g.Gather(u.At(1), a.Axis)}
		}},
	} {
		laws = right
		laws[c.op] = c.law
		found := false
		for seed := uint64(0); seed < 40 && !found; seed++ {
			_, err := lawtest.Gradient(Of, c.op, seed<<16)
			found = err != nil
		}
		require.True(t, found, c.name)
	}
}
