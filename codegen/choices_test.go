package codegen_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/codegen/model"
	"github.com/weft-ml/weft/codegen/wasm"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// joined is an element of two arrays that are joined at an index.
func (k *kit) joined(first, second, n int, i *uop.UOp, rest ...*uop.UOp) *uop.UOp {
	in, at := i.Less(k.Index(n)), append([]*uop.UOp{i}, rest...)
	behind := append([]*uop.UOp{i.Add(k.Index(-n))}, rest...)
	return in.Where(k.loadIf(first, in, at...), k.loadIf(second, k.Index(n-1).Less(i), behind...))
}

// Lanes that all read of one array or all of another do not load of both: where arrays are joined along the rows of a matrix, along what is
// summed, and along both.
func TestJoinedArraysAreReadOneByOne(t *testing.T) {
	t.Parallel()
	for name, build := range map[string]func(k *kit){
		"rows": func(k *kit) {
			o, x, y, q := k.param(dtype.F32, true, 256), k.param(dtype.F32, false, 255, 64), k.param(dtype.F32, false, 1, 64), k.param(dtype.F32, false, 64)
			a := k.rngs(256, 64)
			k.out(o, a[:1], k.sum(k.load(q, a[1]).Mul(k.joined(x, y, 255, a[0], a[1])), a[1]))
		},
		"rows and one that is there for all of them": func(k *kit) { // whose load needs no condition: what is chosen has it
			o, x, y, q := k.param(dtype.F32, true, 256), k.param(dtype.F32, false, 255, 64), k.param(dtype.F32, false, 3, 64), k.param(dtype.F32, false, 64)
			a := k.rngs(256, 64)
			in, behind := a[0].Less(k.Index(255)), k.Index(254).Less(a[0])
			row := k.load(y, k.Index(1), a[1])
			k.out(o, a[:1], k.sum(k.load(q, a[1]).Mul(in.Where(k.loadIf(x, in, a[0], a[1]), behind.Where(row, row.Float(0)))), a[1]))
		},
		"what is summed": func(k *kit) {
			o, x, y, w := k.param(dtype.F32, true, 64), k.param(dtype.F32, false, 250, 64), k.param(dtype.F32, false, 6, 64), k.param(dtype.F32, false, 256)
			a := k.rngs(64, 256)
			k.out(o, a[:1], k.sum(k.load(w, a[1]).Mul(k.joined(x, y, 250, a[1], a[0])), a[1]))
		},
		"elements": func(k *kit) {
			o, x, y := k.param(dtype.F32, true, 100, 64), k.param(dtype.F32, false, 30, 64), k.param(dtype.F32, false, 70, 64)
			a := k.rngs(100, 64)
			k.out(o, a, k.joined(x, y, 30, a[0], a[1]).Exp2())
		},
		"two of them": func(k *kit) {
			o, x, y := k.param(dtype.F32, true, 100, 64), k.param(dtype.F32, false, 30, 64), k.param(dtype.F32, false, 70, 64)
			z, w := k.param(dtype.F32, false, 60, 64), k.param(dtype.F32, false, 40, 64)
			a := k.rngs(100, 64)
			k.out(o, a, k.joined(x, y, 30, a[0], a[1]).Mul(k.joined(z, w, 60, a[0], a[1])))
		},
	} {
		t.Run(name, func(t *testing.T) {
			k, target := newKit(), checked(wasm.Target(wasm.Machine{}))
			build(k)
			p, err := lower.Lower(k.s, model.Choose(k.s, target), target)
			require.NoError(t, err)
			codegen.Visit(p.Body, func(s codegen.Stmt) {
				for _, u := range uop.Topo(codegen.Exprs(s)...) {
					if u.Op() == uop.Load {
						assert.True(t, u.At(1).IsConst(1), "a load has a condition of its own:\n%s", codegen.Dump(p))
					}
				}
			})
		})
	}
}

// Vectors that lie within a picture with all their lanes ask no lane whether it does: a part of the kernel has no masks.
func TestVectorsInsideHaveNoMasks(t *testing.T) {
	t.Parallel()
	for name, build := range map[string]func(k *kit){
		"windows of each channel": func(k *kit) {
			o, x, w := k.param(dtype.F32, true, 4, 24, 24), k.param(dtype.F32, false, 4, 24, 24), k.param(dtype.F32, false, 4, 3, 3)
			a := k.rngs(4, 24, 24, 3, 3)
			i, j := a[1].Add(a[3]).Add(k.Index(-1)), a[2].Add(a[4]).Add(k.Index(-1))
			k.out(o, a[:3], k.sum(k.loadIf(x, k.inside(i, 24).And(k.inside(j, 24)), a[0], i, j).Mul(k.load(w, a[0], a[3], a[4])), a[3], a[4]))
		},
		"what is shifted": func(k *kit) {
			o, x, y := k.param(dtype.F32, true, 64, 100), k.param(dtype.F32, false, 64, 100), k.param(dtype.F32, false, 64, 100)
			a := k.rngs(64, 100)
			at := a[1].Add(k.Index(-3))
			k.out(o, a, k.loadIf(x, k.inside(at, 100), a[0], at).Add(k.load(y, a[0], a[1])))
		},
	} {
		t.Run(name, func(t *testing.T) {
			whole, masked, p := loadsOf(t, build)
			assert.Positive(t, whole)
			assert.GreaterOrEqual(t, whole, masked, codegen.Dump(p))
		})
	}
}

// loadsOf counts loads of the first array read, without and with a condition.
func loadsOf(t *testing.T, build func(k *kit)) (whole, masked int, p *codegen.Program) {
	k, target := newKit(), checked(wasm.Target(wasm.Machine{}))
	build(k)
	p, err := lower.Lower(k.s, model.Choose(k.s, target), target)
	require.NoError(t, err)
	codegen.Visit(p.Body, func(s codegen.Stmt) {
		for _, u := range uop.Topo(codegen.Exprs(s)...) {
			if u.Op() == uop.Load && u.At(0).Arg().(uop.ParamArg).Slot == 1 {
				if u.At(1).IsConst(1) {
					whole++
				} else {
					masked++
				}
			}
		}
	})
	return whole, masked, p
}

// Where a window meets the border, steps in its middle have no masks, and in the first and last only vectors at the border have some.
func TestStepsOfWindowsAtTheBorder(t *testing.T) {
	t.Parallel()
	whole, masked, p := loadsOf(t, func(k *kit) {
		o, x, w := k.param(dtype.F32, true, 4, 24, 24), k.param(dtype.F32, false, 4, 24, 24), k.param(dtype.F32, false, 4, 3, 3)
		a := k.rngs(4, 24, 24, 3, 3)
		i, j := a[1].Add(a[3]).Add(k.Index(-1)), a[2].Add(a[4]).Add(k.Index(-1))
		k.out(o, a[:3], k.sum(k.loadIf(x, k.inside(i, 24).And(k.inside(j, 24)), a[0], i, j).Mul(k.load(w, a[0], a[3], a[4])), a[3], a[4]))
	})
	assert.GreaterOrEqual(t, whole, 30, codegen.Dump(p)) // a third of them where the picture is not left at all
	assert.LessOrEqual(t, masked, 24)
}
