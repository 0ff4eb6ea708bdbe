package rewrite_test

import (
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/lawtest"
	"github.com/weft-ml/weft/rewrite"
	"github.com/weft-ml/weft/uop"
)

var (
	x, y = rewrite.Any("x"), rewrite.Any("y")
	c, k = rewrite.Const("c"), rewrite.Const("k")
	s, d = rewrite.TypeOf("s"), rewrite.TypeOf("d")
	zero = rewrite.Int(0)
	one  = rewrite.Int(1)
)

func reg(t *uop.Table, id int, d dtype.DType) *uop.UOp { return t.Make(uop.Reg, d, uop.RegArg{ID: id}) }

func TestCommutedForms(t *testing.T) {
	t.Parallel()
	rules := rewrite.Rules("test", rewrite.Law("gather", x.Add(c).Add(k), x.Add(c.Mul(k))))
	a := uop.NewArena()
	v, two, three := reg(a, 0, dtype.I32), a.Int(dtype.I32, 2), a.Int(dtype.I32, 3)
	for _, e := range []*uop.UOp{v.Add(two).Add(three), two.Add(v).Add(three), three.Add(v.Add(two)), three.Add(two.Add(v))} {
		require.Same(t, v.Add(two.Mul(three)), rules.Rewrite(a, e)[0])
	}
}

func TestRepeatedHoleMatchesOneNode(t *testing.T) {
	t.Parallel()
	rules := rewrite.Rules("test", rewrite.Law("same", x.Sub(x), zero))
	a := uop.NewArena()
	p, q := reg(a, 0, dtype.I32), reg(a, 1, dtype.I32)
	out := rules.Rewrite(a, p.Sub(p), p.Neg().Add(p), p.Sub(q))
	require.True(t, out[0].IsConst(0) && out[1].IsConst(0))
	require.Same(t, p.Sub(q), out[2])
}

func TestTypesAndLiterals(t *testing.T) {
	t.Parallel()
	rules := rewrite.Rules("test",
		rewrite.Law("casts", x.Cast(s).Cast(d), x.Cast(d)),
		rewrite.Law("choice", one.Where(x, y), x),
		rewrite.Law("compare", x.Add(one).Less(y), x.Less(y.Sub(one))))
	a := uop.NewArena()
	v := reg(a, 0, dtype.I8)
	require.Same(t, v.Cast(dtype.F32), rules.Rewrite(a, v.Cast(dtype.I64).Cast(dtype.F32))[0])
	require.Same(t, v, rules.Rewrite(a, v.Cast(dtype.I64).Cast(dtype.I8))[0])
	require.Same(t, v, rules.Rewrite(a, a.True().Where(v, v.Neg()))[0])
	w := reg(a, 1, dtype.I8)
	require.Same(t, v.Less(w.Add(w.Int(1).Neg())), rules.Rewrite(a, v.Add(v.Int(1)).Less(w))[0])
}

func TestArraysKeepTheirShape(t *testing.T) {
	t.Parallel()
	rules := rewrite.Rules("test", rewrite.Law("mul zero", x.Mul(zero), zero).If(rewrite.Exact))
	a := uop.NewArena()
	v := a.Param(0, 6, dtype.I32).Reshape(2, 3)
	out := rules.Rewrite(a, v.Mul(v.Int(0)))[0]
	require.Equal(t, uop.Shape{2, 3}, out.Shape())
	f := a.Param(1, 6, dtype.F32)
	require.Same(t, f.Mul(f.Int(0)), rules.Rewrite(a, f.Mul(f.Int(0)))[0])
}

func TestStartUpChecks(t *testing.T) {
	t.Parallel()
	func() {
		defer func() {
			require.Regexp(t, `^BUG: rewrite/rewrite_test.go:\d+: rule "loose": hole y is not bound on the left$`, recover())
		}()
		rewrite.Rules("test", rewrite.Law("loose", x.Neg(), y)).All()
	}()
	require.Panics(t, func() { rewrite.Rules("test", rewrite.Law("loose type", x.Neg(), x.Cast(d))).All() })
	require.Panics(t, func() { rewrite.Rules("test", rewrite.Law("no op", x, zero)).All() })
	require.Panics(t, func() {
		rewrite.Rules("test", rewrite.Law("twice", x.Neg(), x), rewrite.Law("twice", x.Sqrt(), x)).All()
	})
}

func TestUnsettledRulesAreNamed(t *testing.T) {
	t.Parallel()
	swap := rewrite.Rules("swap", rewrite.Law("there", x.Max(y), x.And(y)), rewrite.Law("back", x.And(y), x.Max(y)))
	grow := rewrite.Rules("grow", rewrite.Law("nest", x.Neg(), x.Add(one).Neg()))
	for _, rules := range []*rewrite.RuleSet{swap, grow} {
		a := uop.NewArena()
		v := reg(a, 0, dtype.I32)
		e := v.Max(reg(a, 1, dtype.I32)).Neg()
		var got *rewrite.Unsettled
		func() {
			defer func() { got, _ = recover().(*rewrite.Unsettled) }()
			rules.Rewrite(a, e)
		}()
		require.NotNil(t, got)
		require.Equal(t, rules.Name, got.Set)
		require.Contains(t, got.Error(), rules.All()[0].Name)
		require.Same(t, v, rules.Rewrite(a, v)[0], "the arena stays usable")
	}
}

func TestDeepAndSharedGraphs(t *testing.T) {
	t.Parallel()
	rules := rewrite.Rules("test", rewrite.Law("negate twice", x.Neg().Neg(), x), rewrite.Law("add zero", x.Add(zero), x).If(rewrite.Exact))
	a := uop.NewArena()
	v := reg(a, 0, dtype.I32)
	chain, want := v, v
	for i := range 100_000 {
		n := a.Int(dtype.I32, i%3)
		chain = chain.Add(n)
		if i%3 != 0 {
			want = want.Add(n)
		}
	}
	require.Same(t, want, rules.Rewrite(a, chain)[0])
	ladder := v
	for range 60 { // 2^60 paths
		ladder = ladder.Neg().Neg().Mul(ladder)
	}
	want = v
	for range 60 {
		want = want.Mul(want)
	}
	require.Same(t, want, rules.Rewrite(a, ladder)[0])
}

func TestTraceAndCounts(t *testing.T) {
	t.Parallel()
	rules := rewrite.Rules("test", rewrite.Law("negate twice", x.Neg().Neg(), x))
	a := uop.NewArena()
	var events []rewrite.Event
	rewrite.Trace(a, func(e rewrite.Event) { events = append(events, e) })
	v := reg(a, 0, dtype.I32)
	rules.Rewrite(a, v.Neg().Neg(), v.Neg().Neg())
	require.Len(t, events, 1)
	require.Equal(t, "negate twice", events[0].Rule.Name)
	require.Regexp(t, `^rewrite/rewrite_test.go:\d+$`, events[0].Rule.At())
	require.Same(t, v, events[0].After)
	require.EqualValues(t, 1, rules.All()[0].Fired())
}

func TestOtherTables(t *testing.T) {
	t.Parallel()
	rules := rewrite.Rules("test", rewrite.Law("negate twice", x.Neg().Neg(), x))
	from, to := uop.NewArena(), uop.NewArena()
	e := reg(from, 0, dtype.F32).Neg().Neg().Sqrt()
	out := rules.Rewrite(to, e)[0]
	require.Same(t, reg(to, 0, dtype.F32).Sqrt(), out)
	var wg sync.WaitGroup
	for range 4 { // the global table serves many goroutines
		wg.Go(func() {
			b := uop.NewInt(dtype.I32, 7)
			for range 100 {
				rules.Rewrite(b.Home(), b.Neg().Neg().Neg())
			}
		})
	}
	wg.Wait()
}

func TestLawtestFindsWrongLaws(t *testing.T) {
	t.Parallel()
	for _, r := range []*rewrite.Rule{
		rewrite.Law("minus zero", x.Add(zero), x),
		rewrite.Law("NaN", x.Mul(zero), zero),
		rewrite.Law("inf", x.Sub(x), zero).If(func(m *rewrite.Match) bool { return m.Root.DType().IsFloat() }),
		rewrite.Law("overflow", x.Add(one).Less(y.Add(one)), x.Less(y)),
		rewrite.Law("lossy", x.Cast(s).Cast(d), x.Cast(d)),
		rewrite.Law("wrong constant", x.Add(c).Add(k), x.Add(c.Mul(k))),
	} {
		_, err := lawtest.Law(r)
		require.ErrorContains(t, err, r.Name)
	}
	tried, err := lawtest.Law(rewrite.Law("right", x.Neg().Neg(), x))
	require.NoError(t, err)
	require.Greater(t, tried, 100)
	require.True(t, lawtest.Same(dtype.F32, uop.FloatValue(dtype.F32, math.NaN()), uop.FloatValue(dtype.F32, -math.NaN())))
}

// BenchmarkVisit is the cost of a node that no rule matches, in a graph seen for the first time.
func BenchmarkVisit(b *testing.B) {
	rules := rewrite.Rules("test",
		rewrite.Law("a", x.Add(zero), x), rewrite.Law("b", x.Neg().Neg(), x), rewrite.Law("c", x.Add(c).Add(k), x.Add(c.Add(k))))
	const n = 10_000
	for b.Loop() {
		b.StopTimer()
		a := uop.NewArena()
		e := reg(a, 0, dtype.F32)
		for i := range n / 2 {
			e = e.Sqrt().Add(reg(a, i, dtype.F32))
		}
		b.StartTimer()
		rules.Rewrite(a, e)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(1.5*n), "ns/node")
}
