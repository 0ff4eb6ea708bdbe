package codegen_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/c"
	"github.com/weft-ml/weft/codegen/evaluate"
	"github.com/weft-ml/weft/codegen/interp"
	"github.com/weft-ml/weft/codegen/legal"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/codegen/model"
	"github.com/weft-ml/weft/codegen/wasm"
	"github.com/weft-ml/weft/codegen/wgsl"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/uop"
)

// checker evaluates every small kernel that the tests of this package lower, before and after each pass.
var checker = func() *evaluate.Checker { c := evaluate.New(); c.Most = 20_000; return c }()

func checked(t *codegen.Target) *codegen.Target {
	t.Check = checker.Kernel
	return t
}

// passTargets are kinds of machines whose lowerings differ.
var passTargets = []struct {
	name string
	t    func() *codegen.Target
}{
	{"C 64", func() *codegen.Target { return c.Target(c.Machine{VectorBytes: 64, L1: 48 << 10, L2: 1 << 20}) }},
	{"C 16", func() *codegen.Target { return c.Target(c.Machine{VectorBytes: 16, L1: 32 << 10, L2: 256 << 10}) }},
	{"WASM", func() *codegen.Target { return wasm.Target(wasm.Machine{Wazero: true}) }},
	{"INTERP", func() *codegen.Target { return interp.Target(false) }},
	{"WGSL", func() *codegen.Target { return wgsl.Target(wgsl.Machine{}) }},
	{"WGSL software", func() *codegen.Target { return wgsl.Target(wgsl.Machine{CPUBacked: true}) }},
	{"WGSL subgroups", func() *codegen.Target { return wgsl.Target(wgsl.Machine{Features: plan.Subgroups}) }},
}

// TestPassesKeepValues lowers random Specs for all kinds of machines: plainly, with the directives that are chosen, and with
// random ones.
func TestPassesKeepValues(t *testing.T) {
	t.Parallel()
	for _, m := range passTargets {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			check := evaluate.New()
			check.Most = 30_000
			for seed := range uint64(40) {
				passesKeepValues(t, check, m.t, seed)
			}
			t.Logf("%d kernels, %d forms, %d too large", check.Kernels.Load(), check.Forms.Load(), check.TooLarge.Load())
			assert.Greater(t, check.Forms.Load(), int64(400))
		})
	}
}

func passesKeepValues(t *testing.T, check *evaluate.Checker, target func() *codegen.Target, seed uint64) {
	now := ""
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("seed %d, %s: panic: %v", seed, now, r)
		}
	}()
	for _, kind := range []string{"none", "chosen", "random"} {
		k := randomKit(rand.New(rand.NewPCG(seed, 99)))
		to := target()
		for _, s := range lower.Nests(k.s, to) {
			var directives []codegen.Directive
			switch kind {
			case "chosen":
				directives = model.Choose(s, to)
			case "random":
				directives = randomDirectives(rand.New(rand.NewPCG(seed, 77)), s)
				now = codegen.DirectivesString(directives)
				if lower.Legal(s, directives, to) != nil {
					continue
				}
			}
			now = kind + " directives " + codegen.DirectivesString(directives)
			to.Check = check.Kernel
			_, err := lower.Lower(s, directives, to)
			if lacks := new(legal.Unsupported); !errors.As(err, &lacks) {
				assert.NoError(t, err, fmt.Sprintf("seed %d, %s directives", seed, kind))
			}
			to.Check = nil
		}
	}
}

// A guard speaks of both parts of a split axis. What peels one of them would lose it.
func TestGuardedAxesAreNotPeeled(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"split r0.a 2 guard; split r0.a.0 4 peel", "split r0.a 4 guard; split r0.a.1 3 peel"} {
		k := newKit()
		o, x := k.param(dtype.F32, true, 5), k.param(dtype.F32, false, 5, 17)
		r := k.rngs(5, 17)
		k.out(o, r[:1], k.sum(k.load(x, r[0], r[1]), r[1]))
		directives, err := codegen.ParseDirectives(text)
		require.NoError(t, err)
		assert.ErrorContains(t, lower.Legal(k.s, directives, target()), "guard", text)
	}
}

// A reduction of one element is what merging it with nothing is: of a key that is masked by −inf nothing is left.
func TestReductionsOfOneElement(t *testing.T) {
	t.Parallel()
	for _, m := range []uop.Monoid{uop.Sum, uop.MaxOf, uop.ArgMax, uop.SumExp, uop.Moments} {
		k := reduced(m, dtype.F32, 40, 1)
		_, err := lower.Lower(k.s, nil, target())
		assert.NoError(t, err, m.String())
	}
}

// Products of the least numbers are rounded as others are, and what is lost of them is less than any number: their sum in another
// order is right as well.
func TestSumsOfSubnormalProducts(t *testing.T) {
	t.Parallel()
	k := newKit()
	o, x, y := k.param(dtype.F64, true, 40), k.param(dtype.I64, false, 40, 6), k.param(dtype.F64, false, 40, 6)
	r := k.rngs(40, 6)
	k.out(o, r[:1], k.sum(k.load(x, r...).Bitcast(dtype.F64).Mul(k.load(y, r...)), r[1]))
	to := checked(interp.Target(false))
	_, err := lower.Lower(k.s, model.Choose(k.s, to), to)
	assert.NoError(t, err)
}
