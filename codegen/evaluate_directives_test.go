package codegen_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/evaluate"
	"github.com/weft-ml/weft/codegen/legal"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// directiveGen draws directives of every kind.
type directiveGen struct {
	*rand.Rand
	axes, values []string
}

func (g *directiveGen) one(list []string) string { return list[g.IntN(len(list))] }

// some is a random choice of axes, each once.
func (g *directiveGen) some() (out []string) {
	for _, i := range g.Perm(len(g.axes))[:1+g.IntN(min(5, len(g.axes)))] {
		out = append(out, g.axes[i])
	}
	return out
}

func (g *directiveGen) directive() codegen.Directive {
	m := codegen.Directive{Name: g.one(g.axes)}
	switch g.IntN(15) {
	case 0, 1, 2:
		m.Verb, m.N, m.Tail = codegen.Split, 2+g.IntN(7), codegen.Tail(g.IntN(4))
	case 3:
		m.Verb = codegen.Tiles
	case 4:
		m.Verb = codegen.Vectors
	case 5:
		m.Verb = []codegen.Verb{codegen.Threads, codegen.Lanes, codegen.Grids}[g.IntN(3)]
	case 6:
		m = codegen.Directive{Verb: codegen.Fuse, Axes: g.some()}
	case 7, 8:
		m = codegen.Directive{Verb: codegen.Order, Axes: g.some()}
	case 10:
		m.Verb, m.N = []codegen.Verb{codegen.Dot, codegen.Matrix}[g.IntN(2)], 2+2*g.IntN(2)
	case 9:
		m = codegen.Directive{Verb: codegen.Carry, Name: "r" + fmt.Sprint(g.IntN(3)), Axes: g.some()}
	default:
		m = codegen.Directive{Verb: codegen.Stage, Name: g.one(g.values), At: codegen.Root, Box: g.IntN(2) == 0}
		if g.IntN(3) > 0 {
			m.At = g.one(g.axes)
		}
		if !m.Box {
			m.Axes = g.some()
			if g.IntN(2) == 0 {
				m.Vector = g.one(m.Axes)
			}
			m.Shared = g.IntN(4) == 0
		}
	}
	return m
}

// anyDirectives tries directives one after the other and keeps the legal ones.
func anyDirectives(rnd *rand.Rand, s *codegen.Spec, to *codegen.Target) (directives []codegen.Directive) {
	g := &directiveGen{Rand: rnd, axes: strings.Fields("a0 a1 a2 r0.a r0.b r0.c r1.a"), values: strings.Fields("p1 p2 p3 r0 r1 p1w p2w p1s p2s")}
	for range 40 {
		m := g.directive()
		if try := append(append([]codegen.Directive{}, directives...), m); lower.Legal(s, try, to) == nil {
			directives = try
			switch m.Verb {
			case codegen.Split:
				g.axes = append(g.axes, m.Name+".0", m.Name+".1")
			case codegen.Fuse:
				g.axes = append(g.axes, m.Axes[0]+"+"+m.Axes[1])
			}
		}
	}
	return directives
}

// TestAnyDirectivesKeepValues: what Legal allows keeps values, on every kind of machine: directives and searches may ask for it.
func TestAnyDirectivesKeepValues(t *testing.T) {
	t.Parallel()
	for _, m := range tight {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			check := evaluate.New()
			check.Most = 20_000
			for seed := range uint64(80) {
				anyDirectivesKeepValues(t, check, m.t(), seed)
			}
			t.Logf("%d kernels, %d forms, %d too large", check.Kernels.Load(), check.Forms.Load(), check.TooLarge.Load())
			assert.Greater(t, check.Forms.Load(), int64(200))
		})
	}
}

func anyDirectivesKeepValues(t *testing.T, check *evaluate.Checker, to *codegen.Target, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 5))
	between := func(lo, hi int) int { return lo + rnd.IntN(min(hi-lo+1, 9)) }
	l := layers[rnd.IntN(len(layers))]
	k := l.spec(between)
	if rnd.IntN(2) == 0 {
		l.name, k = "random", randomKit(rnd)
	}
	var directives []codegen.Directive
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("seed %d, %s after %s: panic: %v\n%s", seed, l.name, codegen.DirectivesString(directives), r, uop.Print(k.s.Outs[0].Value))
		}
	}()
	for _, s := range lower.Nests(k.s, to) {
		directives = anyDirectives(rnd, s, to)
		to.Check = check.Kernel
		_, err := lower.Lower(s, directives, to)
		if lacks := new(legal.Unsupported); !errors.As(err, &lacks) {
			assert.NoError(t, err, fmt.Sprintf("seed %d, %s %v", seed, l.name, k.s.Params))
		}
		to.Check = nil
	}
}

// What instances of a tile store alike into scratch of their own is stored by each: here the zeros around a box.
func TestTilesFillTheirOwnScratch(t *testing.T) {
	t.Parallel()
	k := newKit()
	o, x := k.param(dtype.F32, true, 3), k.param(dtype.F32, false, 6, 2)
	r := k.rngs(3, 8)
	i, j := r[1].Add(k.Index(-1)), r[0].Add(k.Index(-1))
	k.out(o, r[:1], k.sum(k.loadIf(x, k.inside(i, 6).And(k.inside(j, 2)), i, j), r[1]))
	directives, err := codegen.ParseDirectives("tile a0; stage p1 at a0 by box")
	require.NoError(t, err)
	_, err = lower.Lower(k.s, directives, target())
	require.NoError(t, err)
}

// A value that is staged twice is read from the copy the second time, whose size is not that of an array.
func TestStagedTwice(t *testing.T) {
	t.Parallel()
	k := gemm(4, 5, 6, false, false)
	directives, err := codegen.ParseDirectives("stage p1 at root by box; stage p1 at a0 by box; stage p2 at root by box; stage p2 at a1 by box; stage p2 at r0.a by box")
	require.NoError(t, err)
	_, err = lower.Lower(k.s, directives, target())
	require.NoError(t, err)
}

// A reduction that is carried along one of its axes has one place for all iterations of it.
func TestCarriedAlongItsOwnAxis(t *testing.T) {
	t.Parallel()
	k := gemm(4, 5, 6, false, false)
	directives, err := codegen.ParseDirectives("order r0.a a0 a1; carry r0 in scratch layout a0,a1,r0.a")
	require.NoError(t, err)
	require.ErrorContains(t, lower.Legal(k.s, directives, target()), "its own axis")
}

// Steps of a carried reduction may go in lanes; what is behind them is added once, not in each of the steps outside.
func TestCarriedInLanes(t *testing.T) {
	t.Parallel()
	const m, n = 3, 5
	for _, steps := range []int{32, 36, 37} {
		for _, lanes := range []string{"", "vector r0.b.1;", "vector r0.b.t;", "vector r0.b.1; vector r0.b.t;"} {
			k := newKit()
			o, x, y := k.param(dtype.F32, true, m, n), k.param(dtype.F32, false, 4, m, steps), k.param(dtype.F32, false, 4, n, steps)
			r := k.rngs(m, n, 4, steps)
			k.out(o, r[:2], k.sum(k.load(x, r[2], r[0], r[3]).Mul(k.load(y, r[2], r[1], r[3])), r[2], r[3]))
			directives, err := codegen.ParseDirectives("split r0.b 16 peel;" + lanes + "order r0.a a0 a1; carry r0 in scratch layout a0,a1")
			require.NoError(t, err)
			if err := lower.Legal(k.s, directives, target()); err != nil {
				if strings.Contains(lanes, "r0.b.t") && steps%16 == 0 {
					require.ErrorContains(t, err, "there is no axis r0.b.t") // 32 steps have no tail
					continue
				}
				require.NotEmpty(t, lanes, "without lanes it is legal: %v", err)
				require.ErrorContains(t, err, "carry r0: its own lanes", "%d %s", steps, lanes)
				continue
			}
			bufs := k.random(rand.New(rand.NewPCG(1, 2)))
			want := clone(bufs)
			define(t, k.s, want)
			check(t, fmt.Sprint(steps, lanes), []*job{{k.s, directives, bufs}}, [][]array{want}, 1e-5)
		}
	}
}
