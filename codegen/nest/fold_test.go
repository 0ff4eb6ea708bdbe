package nest

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// TestFoldedDivisionsAreNotNegative: folding an index runs after divisions were made safe, so it must not divide anything
// that may be negative where it was not before.
func TestFoldedDivisionsAreNotNegative(t *testing.T) {
	a := uop.NewArena()
	i, j := a.Range(0, 9, ""), a.Range(1, 16, "")
	spec := &codegen.Spec{Home: a, Params: []codegen.Param{{DType: dtype.I32, Dims: []int{9, 16}, Write: true}},
		Outs: []codegen.Out{{Param: 0, Axes: []*uop.UOp{i, j}, Index: []*uop.UOp{i, j}, Value: i.Mul(a.Index(-3)).Add(j).Cast(dtype.I32)}}}
	k := New(spec, &codegen.Target{Total: true, Has: func(uop.Op, dtype.DType) bool { return true }, VectorLen: func(dtype.DType) int { return 8 }})
	for _, c := range []int{0, 110, 128, 1000, 1024, 1151} {
		for _, f := range []int{-16, -8, 3} {
			x := i.Mul(a.Index(f)).Add(j).Add(a.Index(c))
			for _, e := range []*uop.UOp{x.IDiv(a.Index(128)), x.Mod(a.Index(128))} {
				got := k.Fold(e)
				for _, u := range uop.Topo(got) {
					if u.Op() == uop.IDiv || u.Op() == uop.Mod {
						assert.GreaterOrEqual(t, affine.Bound(u.At(0)).Lo, 0, "%v", uop.Print(got))
					}
				}
				for vi := range 9 {
					for vj := range 16 {
						env := map[*uop.UOp]uop.Value{i: uop.Value(vi), j: uop.Value(vj)}
						assert.Equal(t, value(e, env), value(got, env))
					}
				}
			}
		}
	}
}

// TestZeroUnlessLooksAtAFactorOnce: squares of squares have 2⁶⁰ factors, and 60 nodes.
func TestZeroUnlessLooksAtAFactorOnce(t *testing.T) {
	a := uop.NewArena()
	i := a.Range(0, 9, "")
	c, d := i.Less(a.Index(5)), i.Less(a.Index(6))
	p := a.Param(0, 9, dtype.F32)
	squares := func(u *uop.UOp) *uop.UOp {
		for range 60 {
			u = u.Mul(u)
		}
		return u
	}
	x, y := a.Load(p, c, i), a.Load(p, d, i)
	assert.True(t, zeroUnless(c, squares(x)))
	assert.False(t, zeroUnless(d, squares(x)))
	assert.True(t, zeroUnless(c, squares(x.Mul(x)).Mul(x)))
	assert.False(t, zeroUnless(c, squares(x.Mul(y))))
	assert.False(t, zeroUnless(c, squares(x).Mul(y)))
	assert.False(t, zeroUnless(c, squares(x.Add(x))))
}

// value evaluates an index.
func value(u *uop.UOp, env map[*uop.UOp]uop.Value) uop.Value {
	known := map[*uop.UOp]uop.Value{}
	for _, v := range uop.Topo(u) {
		x, ok := env[v]
		if !ok {
			x, ok = v.ConstValue()
		}
		if !ok {
			x = uop.Eval(v.Op(), v.At(0).DType(), v.DType(), known[v.At(0)], known[v.At(1)])
		}
		known[v] = x
	}
	return known[u]
}
