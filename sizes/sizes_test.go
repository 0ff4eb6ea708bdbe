package sizes

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// program is what a case is made of: the inputs have those shapes.
type program func(in ...*uop.UOp) []*uop.UOp

// made is a program's case for some shapes of floats.
func made(f program, shapes ...uop.Shape) Case {
	t := uop.NewArena()
	var c Case
	for i, s := range shapes {
		c.Ins = append(c.Ins, t.Param(i, s.Numel(), dtype.F32).Reshape(s...))
	}
	c.Roots = f(c.Ins...)
	return c
}

// of are the cases of one input's shapes.
func of(f program, shapes ...uop.Shape) (list []Case) {
	for _, s := range shapes {
		list = append(list, made(f, s))
	}
	return list
}

func alone(f func(x *uop.UOp) *uop.UOp) program {
	return func(in ...*uop.UOp) []*uop.UOp { return []*uop.UOp{f(in[0])} }
}

// full is a number everywhere.
func full(like *uop.UOp, c *uop.UOp) *uop.UOp {
	ones := make([]int, len(like.Shape()))
	for i := range ones {
		ones[i] = 1
	}
	return c.Reshape(ones...).Expand(like.Shape()...)
}

func TestCasesOfOneGraph(t *testing.T) {
	double := alone(func(x *uop.UOp) *uop.UOp { return x.Add(x) })
	g := Between(of(double, uop.Shape{3, 4}, uop.Shape{5, 4}, uop.Shape{9, 4})...)
	require.NotNil(t, g)
	require.Len(t, g.Vars, 1)
	assert.Equal(t, 16, g.Vars[0].Hi)
	n, _, ok := g.Of(made(double, uop.Shape{12, 4}))
	require.True(t, ok)
	assert.Equal(t, Values{12}, n)
	count, room := g.Out(0, n)
	assert.Equal(t, []uop.Shape{{12, 4}, {16, 4}}, []uop.Shape{count, room})
	count, room = g.In(0, n)
	assert.Equal(t, []uop.Shape{{12, 4}, {16, 4}}, []uop.Shape{count, room})
	for name, c := range map[string]Case{
		"too long":          made(double, uop.Shape{17, 4}),
		"another axis":      made(double, uop.Shape{12, 5}),
		"another rank":      made(double, uop.Shape{12, 4, 1}),
		"another op":        made(alone(func(x *uop.UOp) *uop.UOp { return x.Mul(x) }), uop.Shape{12, 4}),
		"other operands":    made(func(in ...*uop.UOp) []*uop.UOp { return []*uop.UOp{in[0].Add(in[1])} }, uop.Shape{12, 4}, uop.Shape{12, 4}),
		"one result more":   made(func(in ...*uop.UOp) []*uop.UOp { return []*uop.UOp{in[0].Add(in[0]), in[0]} }, uop.Shape{12, 4}),
		"a code of a check": {Ins: made(double, uop.Shape{12, 4}).Ins, Roots: made(double, uop.Shape{12, 4}).Roots, Codes: 1},
	} {
		_, _, ok := g.Of(c)
		assert.False(t, ok, name)
	}
}

// looped is a loop along the rows of an array, which carries one of another.
func looped(back bool, f func(state, entry *uop.UOp) *uop.UOp) func(x, y *uop.UOp) *uop.UOp {
	return func(x, y *uop.UOp) *uop.UOp {
		state, entry := uop.NewStandIn(dtype.F32, 4), uop.NewStandIn(dtype.F32, 4)
		body := uop.LoopBody{Params: []*uop.UOp{state, entry}, Carried: 1, Along: 1, Outs: []*uop.UOp{f(state, entry).Exp2()}}
		first := y.Shrink([]int{0, 0}, []int{1, 4}).Reshape(4)
		return uop.NewLoop(body, x.Shape()[0], back, first, x)[0]
	}
}

// An input that nothing is made of varies too, as all others do: there is room for it.
func TestRoomOfWhatIsNotUsed(t *testing.T) {
	first := func(in ...*uop.UOp) []*uop.UOp { return []*uop.UOp{in[0].Neg()} }
	g := Between(made(first, uop.Shape{4}, uop.Shape{120}), made(first, uop.Shape{38}, uop.Shape{8892}), made(first, uop.Shape{15}, uop.Shape{1440}))
	require.NotNil(t, g)
	n, _, ok := g.Of(made(first, uop.Shape{7}, uop.Shape{99}))
	require.True(t, ok)
	count, room := g.In(1, n)
	require.Equal(t, uop.Shape{99}, count)
	require.GreaterOrEqual(t, room[0], 1440)
}

// What differs in one thing alone is no case.
func TestAlmostACase(t *testing.T) {
	for _, c := range []struct {
		name       string
		yes, other func(x, y *uop.UOp) *uop.UOp
	}{
		{"what is merged", func(x, _ *uop.UOp) *uop.UOp { return x.Reduce(uop.Sum, 1) }, func(x, _ *uop.UOp) *uop.UOp { return x.Reduce(uop.MaxOf, 1) }},
		{"the order of operands", func(x, y *uop.UOp) *uop.UOp { return x.Div(y) }, func(x, y *uop.UOp) *uop.UOp { return y.Div(x) }},
		{"which operand comes twice", func(x, y *uop.UOp) *uop.UOp { return x.Exp2().Mul(y.Neg()).Add(x.Exp2()) }, func(x, y *uop.UOp) *uop.UOp { return x.Exp2().Mul(y.Neg()).Add(y.Exp2()) }},
		{"the order of axes", func(x, _ *uop.UOp) *uop.UOp { return x.Reshape(x.Shape()[0], 2, 2).Permute(0, 1, 2).Neg() }, func(x, _ *uop.UOp) *uop.UOp { return x.Reshape(x.Shape()[0], 2, 2).Permute(0, 2, 1).Neg() }},
		{"what is cut", func(x, _ *uop.UOp) *uop.UOp { return x.Shrink([]int{0, 0}, []int{x.Shape()[0], 2}) }, func(x, _ *uop.UOp) *uop.UOp { return x.Shrink([]int{0, 1}, []int{x.Shape()[0], 3}) }},
		{"where zeros come", func(x, _ *uop.UOp) *uop.UOp { return x.Pad([]int{0, 0}, []int{1, 0}) }, func(x, _ *uop.UOp) *uop.UOp { return x.Pad([]int{1, 0}, []int{0, 0}) }},
		{"the type", func(x, _ *uop.UOp) *uop.UOp { return x.Cast(dtype.F16) }, func(x, _ *uop.UOp) *uop.UOp { return x.Cast(dtype.I32) }},
		{"what a step does", looped(false, (*uop.UOp).Add), looped(false, (*uop.UOp).Mul)},
		{"which step comes first", looped(false, (*uop.UOp).Add), looped(true, (*uop.UOp).Add)},
		{"which operand of a step comes twice", looped(false, (*uop.UOp).Add), looped(false, func(a, _ *uop.UOp) *uop.UOp { return a.Add(a) })},
	} {
		two := func(f func(x, y *uop.UOp) *uop.UOp) program {
			return func(in ...*uop.UOp) []*uop.UOp { return []*uop.UOp{f(in[0], in[1])} }
		}
		at := func(f func(x, y *uop.UOp) *uop.UOp, n int) Case {
			return made(two(f), uop.Shape{n, 4}, uop.Shape{n, 4})
		}
		g := Between(at(c.yes, 3), at(c.yes, 5), at(c.yes, 9))
		if !assert.NotNil(t, g, c.name) {
			continue
		}
		_, _, ok := g.Of(at(c.yes, 7))
		assert.True(t, ok, c.name)
		_, _, ok = g.Of(at(c.other, 7))
		assert.False(t, ok, c.name)
		if c.name != "what is cut" && c.name != "where zeros come" { // where a part begins may be any number
			assert.Nil(t, Between(at(c.yes, 3), at(c.yes, 5), at(c.other, 9)), "%s: nor is there a graph", c.name)
		}
	}
}

// A number that is linear in the size in the cases of which a graph was made must be so in each case.
func TestNumbersOfACase(t *testing.T) {
	plus := func(k func(n int) int) program {
		return alone(func(x *uop.UOp) *uop.UOp {
			i := x.Cast(dtype.I32)
			return i.Add(full(i, x.Home().ConstOf(dtype.I32, uop.ValueOf(dtype.I32, k(x.Shape()[0])))))
		})
	}
	linear := plus(func(n int) int { return 2*n - 1 })
	g := Between(of(linear, uop.Shape{3}, uop.Shape{5}, uop.Shape{9})...)
	require.NotNil(t, g)
	_, numbers, ok := g.Of(made(linear, uop.Shape{7}))
	assert.True(t, ok)
	assert.Empty(t, numbers, "it is made of the size")
	_, _, ok = g.Of(made(plus(func(n int) int { return n * n }), uop.Shape{7}))
	assert.False(t, ok, "49 is not 13")

	square := plus(func(n int) int { return n * n })
	g = Between(of(square, uop.Shape{3}, uop.Shape{5}, uop.Shape{9})...)
	require.NotNil(t, g)
	require.Equal(t, []dtype.DType{dtype.I32}, g.Types())
	_, numbers, ok = g.Of(made(square, uop.Shape{7}))
	require.True(t, ok)
	assert.Equal(t, [][]uop.Value{{uop.ValueOf(dtype.I32, 49)}}, numbers)

	same := plus(func(int) int { return 4 })
	g = Between(of(same, uop.Shape{3}, uop.Shape{5}, uop.Shape{9})...)
	require.NotNil(t, g)
	_, _, ok = g.Of(made(plus(func(int) int { return 5 }), uop.Shape{7}))
	assert.False(t, ok, "what is equal in all cases is a part of the graph")
}

func TestReshapesOfWhatVaries(t *testing.T) {
	for _, c := range []struct {
		name   string
		shapes []uop.Shape
		f      func(x *uop.UOp) *uop.UOp
		ok     bool
	}{
		{"rows of two that vary", []uop.Shape{{2, 3, 4}, {3, 9, 4}, {5, 7, 4}}, func(x *uop.UOp) *uop.UOp {
			s := x.Shape()
			return x.Add(x).Reshape(s[0]*s[1], 4).Reduce(uop.Sum, 1).Reshape(s[0], s[1])
		}, true},
		{"rows whose number is a sum too, by chance", []uop.Shape{{2, 3, 4}, {3, 5, 4}, {5, 7, 4}}, func(x *uop.UOp) *uop.UOp { // 11·b − t − 13
			s := x.Shape()
			return x.Add(x).Reshape(s[0]*s[1], 4).Reduce(uop.Sum, 1).Reshape(s[0], s[1])
		}, true},
		{"rows of a part", []uop.Shape{{2, 5, 4}, {3, 10, 4}, {5, 8, 4}}, func(x *uop.UOp) *uop.UOp {
			s := x.Shape()
			return x.Shrink([]int{0, 1, 0}, s).Neg().Reshape(s[0]*(s[1]-1), 4).Reduce(uop.Sum, 1).Reshape(s[0], s[1]-1)
		}, true},
		{"a fixed axis before", []uop.Shape{{3, 4}, {3, 5}, {3, 7}}, func(x *uop.UOp) *uop.UOp {
			return x.Add(x).Reshape(3 * x.Shape()[1]).Neg()
		}, true},
		{"the other way round", []uop.Shape{{2, 3, 4}, {3, 9, 4}, {5, 7, 4}}, func(x *uop.UOp) *uop.UOp {
			s := x.Shape()
			return x.Flip(1).Reshape(s[0]*s[1], 4).Flip(0, 1)
		}, true},
		{"halves", []uop.Shape{{4}, {6}, {10}}, func(x *uop.UOp) *uop.UOp {
			return x.Neg().Reshape(2, x.Shape()[0]/2).Exp2()
		}, false},
		{"an order that is not that of memory", []uop.Shape{{2, 3}, {3, 5}, {5, 7}}, func(x *uop.UOp) *uop.UOp {
			return x.Neg().Reshape(x.Shape()[1], x.Shape()[0]).Exp2()
		}, false},
	} {
		g := Between(of(alone(c.f), c.shapes...)...)
		assert.Equal(t, c.ok, g != nil, c.name)
	}
}

// What is added to rows of a table leaves out what does not count.
func TestRowsAreAdded(t *testing.T) {
	add := alone(func(x *uop.UOp) *uop.UOp {
		n, t := x.Shape()[0], x.Home()
		table := t.ConstOf(dtype.F32, 0).Reshape(1, 1).Expand(5, 2)
		index := t.Iota(n).Cast(dtype.I32).Reshape(n, 1).Expand(n, 2)
		return table.Scatter(index, x, 0, uop.Sum)
	})
	g := Between(of(add, uop.Shape{3, 2}, uop.Shape{5, 2}, uop.Shape{9, 2})...)
	require.NotNil(t, g)
	require.Equal(t, uop.Shape{5, 2}, g.Roots[0].Shape())
	n, _, ok := g.Of(made(add, uop.Shape{7, 2}))
	require.True(t, ok)
	count, room := g.Out(0, n)
	require.Equal(t, room, count)
}

// What is written to may vary, along the axis of the index and along others: so the gradient of picking one element of each row.
func TestWhatIsWrittenToVaries(t *testing.T) {
	for _, axis := range []int{0, 1} {
		write := alone(func(x *uop.UOp) *uop.UOp {
			n := x.Shape()[0]
			index := x.Home().Iota(2).Cast(dtype.I32).Reshape(1, 2).Expand(n, 2)
			return full(x, x.Home().ConstOf(dtype.F32, 0)).Scatter(index, x, axis, uop.Sum)
		})
		g := Between(of(write, uop.Shape{3, 2}, uop.Shape{5, 2}, uop.Shape{9, 2})...)
		require.NotNil(t, g, "axis %d", axis)
		n, _, ok := g.Of(made(write, uop.Shape{7, 2}))
		require.True(t, ok)
		count, room := g.Out(0, n)
		require.Equal(t, uop.Shape{7, 2}, count)
		require.Equal(t, room, g.Roots[0].Shape())
	}
	// Where an axis is two of which the inner varies, elements of the index lie elsewhere than the base's.
	apart := alone(func(x *uop.UOp) *uop.UOp {
		n := x.Shape()[1]
		row := x.Reshape(4*n, 1)
		index := x.Home().Iota(1).Cast(dtype.I32).Reshape(1, 1).Expand(4*n, 1)
		return full(row, x.Home().ConstOf(dtype.F32, 0)).Scatter(index, row, 1, uop.Sum)
	})
	require.Nil(t, Between(of(apart, uop.Shape{4, 3}, uop.Shape{4, 5}, uop.Shape{4, 9})...))
}

// Rows are sorted alike, however many there are.
func TestRowsAreSorted(t *testing.T) {
	order := alone(func(x *uop.UOp) *uop.UOp { return x.Cast(dtype.I32).ArgSort() })
	g := Between(of(order, uop.Shape{3, 4}, uop.Shape{5, 4}, uop.Shape{9, 4})...)
	require.NotNil(t, g)
	n, _, ok := g.Of(made(order, uop.Shape{7, 4}))
	require.True(t, ok)
	count, _ := g.Out(0, n)
	require.Equal(t, uop.Shape{7, 4}, count)
}

func TestWhatRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		shapes []uop.Shape
		f      func(x *uop.UOp) *uop.UOp
	}{
		{"nothing varies", []uop.Shape{{3}, {3}, {3}}, (*uop.UOp).Neg},
		{"other ranks", []uop.Shape{{3}, {3, 1}, {4}}, (*uop.UOp).Neg},
		{"more variables than a size may have", []uop.Shape{{2, 3, 5, 9, 2, 3, 2, 5, 6}, {3, 3, 4, 8, 7, 2, 9, 1, 5}, {4, 7, 7, 2, 4, 9, 3, 3, 2}}, (*uop.UOp).Neg},
		{"a size that is not linear", []uop.Shape{{3}, {5}, {9}}, func(x *uop.UOp) *uop.UOp {
			n := x.Shape()[0]
			return x.Pad([]int{0}, []int{n*n/16 + 1})
		}},
		{"an array of nothing", []uop.Shape{{3}, {1}, {9}}, func(x *uop.UOp) *uop.UOp {
			return x.Shrink([]int{1}, []int{x.Shape()[0]}).Neg()
		}},
		{"a number beyond 32 bits", []uop.Shape{{3}, {5}, {9}}, func(x *uop.UOp) *uop.UOp {
			c := x.Home().ConstOf(dtype.I64, uop.ValueOf(dtype.I64, x.Shape()[0]<<32))
			return x.Cast(dtype.I64).Add(full(x, c))
		}},
	} {
		assert.Nil(t, Between(of(alone(c.f), c.shapes...)...), c.name)
	}
	row := func(in ...*uop.UOp) []*uop.UOp { // a row of as many elements as a product, from a place that varies
		b, n := in[0].Shape()[0], in[0].Shape()[1]
		return []*uop.UOp{in[1].Shrink([]int{n}, []int{n + b*n}).Add(in[0].Reshape(b * n))}
	}
	assert.Nil(t, Between(made(row, uop.Shape{2, 3}, uop.Shape{64}), made(row, uop.Shape{3, 5}, uop.Shape{64}), made(row, uop.Shape{5, 7}, uop.Shape{64})), "part of a row")
	assert.Nil(t, Between(made(alone((*uop.UOp).Neg), uop.Shape{3}), made(alone((*uop.UOp).Exp2), uop.Shape{4})), "other ops")
}

func key(n int) string { return fmt.Sprint(n) }

func TestFamilyGivesPlans(t *testing.T) {
	double := alone(func(x *uop.UOp) *uop.UOp { return x.Add(x) })
	f := &Family{Early: true}
	with := func(n int) *Instance { return f.Instance(key(n), made(double, uop.Shape{n})) }
	assert.Nil(t, with(3), "the first has a plan of its own")
	assert.Nil(t, with(4), "and the second")
	x := with(5)
	require.NotNil(t, x, "the third shares one")
	assert.Equal(t, Values{5}, x.N)
	assert.Same(t, x.Graph, with(11).Graph, "as do others that there is room for")
	far := with(40)
	require.NotNil(t, far)
	assert.NotSame(t, x.Graph, far.Graph, "there is no room in the first")
	assert.Equal(t, 64, far.Vars[0].Hi)
	assert.Same(t, x.Graph, with(6).Graph, "the least room that there is")
	assert.Same(t, far.Graph, with(20).Graph)
	big := with(200)
	require.NotNil(t, big)
	assert.NotSame(t, big.Graph, with(30).Graph, "far too much room")
}

func TestFamilyGivesSizesThatComeAgainTheirOwn(t *testing.T) {
	double := alone(func(x *uop.UOp) *uop.UOp { return x.Add(x) })
	f := &Family{Early: true}
	with := func(n int) *Instance { return f.Instance(key(n), made(double, uop.Shape{n})) }
	for n := range 5 {
		with(n + 3)
	}
	for range 4 {
		assert.NotNil(t, with(7))
	}
	assert.Nil(t, with(7), "it came more often than there are other sizes")
	assert.NotNil(t, with(6))
	assert.False(t, f.Again(key(5)))
}

// Sizes that come in turns share a plan, however often: compiling for each would take longer than all that it saves.
func TestSizesInTurnsShare(t *testing.T) {
	double := alone(func(x *uop.UOp) *uop.UOp { return x.Add(x) })
	f := &Family{Early: true}
	for round := range 100 {
		for n := range 20 {
			if x := f.Instance(key(n+20), made(double, uop.Shape{n + 20})); round > 0 {
				require.NotNil(t, x, "round %d, size %d", round, n+20)
			}
		}
	}
	for range 400 {
		f.Instance(key(25), made(double, uop.Shape{25}))
	}
	require.Nil(t, f.Instance(key(25), made(double, uop.Shape{25})), "most runs are of this size")
	require.NotNil(t, f.Instance(key(26), made(double, uop.Shape{26})))
}

// A first case that is another one does not keep later ones from having a graph.
func TestFamilyOfLaterCases(t *testing.T) {
	f := &Family{Early: true}
	prompt := alone(func(x *uop.UOp) *uop.UOp {
		return x.Add(full(x, x.Home().ConstOf(dtype.F32, uop.ValueOf(dtype.F32, 2))))
	})
	double := alone(func(x *uop.UOp) *uop.UOp { return x.Add(x) })
	assert.Nil(t, f.Instance("a", made(prompt, uop.Shape{9})))
	assert.Nil(t, f.Instance("b", made(double, uop.Shape{3})))
	assert.NotNil(t, f.Instance("c", made(double, uop.Shape{4})))
}

// Cases of a few kernels, which are compiled soon, have plans of their own if they are the first, or when they have come three times, as long as there are few.
func TestFamilyOfFewKernels(t *testing.T) {
	double := alone(func(x *uop.UOp) *uop.UOp { return x.Add(x) })
	sums := alone(func(x *uop.UOp) *uop.UOp {
		for range fewKernels + 1 {
			x = x.Add(full(x, x.Reduce(uop.Sum, 0)))
		}
		return x
	})
	for _, c := range []struct {
		p     program
		cases int
		first int // cases that have plans of their own at once,
		own   int // and at the third round
	}{{double, ownSmall, ownNew, ownSmall}, {double, ownSmall + 1, ownNew, ownNew}, {sums, ownSmall, ownPlans, ownPlans}} {
		f := &Family{}
		own := map[int]bool{}
		for round := range oftenSmall {
			for n := range c.cases {
				if own[n] {
					continue
				}
				own[n] = f.Instance(key(n), made(c.p, uop.Shape{n + 3})) == nil
				assert.Equal(t, n < c.first || round == oftenSmall-1 && n < c.own, own[n], "round %d, case %d of %d", round, n, c.cases)
			}
		}
	}
}

// Parts of an array that does not change in size are cases: how long they are is a variable, where they begin is a number.
func TestPartsOfAnArray(t *testing.T) {
	part := func(from, n int) Case {
		return made(alone(func(x *uop.UOp) *uop.UOp { return x.Shrink([]int{from, 0}, []int{from + n, 4}).Exp2() }), uop.Shape{20, 4})
	}
	g := Between(part(3, 5), part(0, 9), part(11, 7))
	require.NotNil(t, g)
	n, numbers, ok := g.Of(part(6, 13))
	require.True(t, ok)
	assert.Equal(t, Values{13}, n)
	assert.Equal(t, [][]uop.Value{{uop.ValueOf(dtype.I32, 6)}}, numbers)
	_, _, ok = g.Of(part(1, 19))
	assert.False(t, ok, "there is room for 16")
	g = Between(part(0, 5), part(0, 17), part(0, 18))
	require.NotNil(t, g, "room for 32 is more than there is")
	n, _, ok = g.Of(part(0, 19))
	assert.True(t, ok)
	assert.Equal(t, Values{19}, n)
}

// A plan with room for more is not worth it where that takes longer than to compile one without.
func TestRoomThatIsTooDear(t *testing.T) {
	sums := alone(func(x *uop.UOp) *uop.UOp { return x.Mul(x).Reduce(uop.Sum, 1) })
	shared := func(compiling, rows int) bool {
		f := &Family{Compiling: compiling}
		var x *Instance
		for n := range 20 {
			x = f.Instance(fmt.Sprint(n), made(sums, uop.Shape{rows + n, 100}))
		}
		return x != nil
	}
	assert.True(t, shared(0, 100), "nothing is known of the device")
	assert.True(t, shared(900, 100), "119 rows in room for 128, of 100 terms each")
	assert.False(t, shared(800, 100))
	assert.False(t, shared(900, 110), "129 rows in room for 256")
}

// Rows that take much arithmetic beside what all of them share have room for a power of two of them, or three quarters of it, others for 16.
func TestRoomOfDearRows(t *testing.T) {
	products := func(in ...*uop.UOp) []*uop.UOp { // each of the places of a row by a matrix
		n, places := in[0].Shape()[0], in[0].Shape()[1]
		x := in[0].Reshape(n, places, 8, 1).Expand(n, places, 8, 640)
		return []*uop.UOp{x.Mul(in[1].Reshape(1, 1, 8, 640).Expand(n, places, 8, 640)).Reduce(uop.Sum, 2)}
	}
	most := func(n, places int) int {
		with := func(n int) Case { return made(products, uop.Shape{n, places, 8}, uop.Shape{8, 640}) }
		g := Between(with(2), with(7), with(n))
		require.NotNil(t, g)
		return g.Vars[0].Hi
	}
	assert.Equal(t, 16, most(3, 1))
	assert.Equal(t, 2, most(1, 400))
	assert.Equal(t, 3, most(3, 400))
	assert.Equal(t, 6, most(5, 400))
	assert.Equal(t, 8, most(8, 400))
	assert.Equal(t, 16, most(3, 100), "these are soon computed")
}
