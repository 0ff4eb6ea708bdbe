package codegen_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/c"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/codegen/wasm"
	"github.com/weft-ml/weft/dtype"
)

// Short loops are written out, others in copies that leave a small rest or none, and long bodies are not copied; where a
// compiler follows, only short ones are.
func TestUnroll(t *testing.T) {
	copies := func(n int, target *codegen.Target) (out []int) {
		k := newKit()
		o, x := k.param(dtype.F32, true, 5000), k.param(dtype.F32, false, 5000, n)
		a := k.rngs(5000, n)
		k.out(o, a[:1], k.sum(k.load(x, a...), a[1]))
		p, err := lower.Lower(k.s, nil, target)
		require.NoError(t, err)
		codegen.Visit(p.Body, func(s codegen.Stmt) {
			if l, ok := s.(*codegen.Loop); ok && l.Reduce {
				out = append(out, l.Copies)
			}
		})
		return out
	}
	few := *wasm.Target(wasm.Machine{})
	few.Unroll.Ops = 3
	for n, want := range map[int]int{3: 3, 8: 8, 9: 3, 10: 2, 11: 0, 1000: 4, 1001: 4} {
		assert.Equal(t, []int{want}, copies(n, wasm.Target(wasm.Machine{})), n)
		assert.Equal(t, []int{0}, copies(n, &few), n)
		if n > 8 { // compilers see to longer ones
			want = 0
		}
		assert.Equal(t, []int{want}, copies(n, c.Target(c.Machine{})), n)
	}
}

// A scalar that vectors are computed with is said to be one, for targets that repeat it by instructions.
func TestSplats(t *testing.T) {
	k := newKit()
	o, x, y := k.param(dtype.F32, true, 6, 64), k.param(dtype.F32, false, 6, 10), k.param(dtype.F32, false, 64)
	a := k.rngs(6, 64, 10)
	k.out(o, a[:2], k.sum(k.load(x, a[0], a[2]), a[2]).Mul(k.load(y, a[1])))
	directives, err := codegen.ParseDirectives("split a1 4; vector a1.1; stage r0 at a0 by ranges")
	require.NoError(t, err)
	said := func(target *codegen.Target) (splats, loops int) {
		p, err := lower.Lower(k.s, directives, target)
		require.NoError(t, err)
		codegen.Visit(p.Body, func(s codegen.Stmt) {
			switch s := s.(type) {
			case *codegen.Splat:
				splats++
			case *codegen.Loop:
				loops += len(s.Splats)
			}
		})
		return splats, loops
	}
	splats, loops := said(wasm.Target(wasm.Machine{}))
	assert.Positive(t, splats+loops)
	splats, loops = said(c.Target(c.Machine{}))
	assert.Zero(t, splats+loops)
}
