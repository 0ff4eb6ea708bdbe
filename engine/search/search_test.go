package search_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/interp"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/codegen/tune"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine/search"
	"github.com/weft-ml/weft/plan"
	machine "github.com/weft-ml/weft/runtime/interp"
	"github.com/weft-ml/weft/uop"
)

func open(t *testing.T) *search.Machine {
	dev, err := machine.Open(machine.Options{Threads: 2, Poison: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dev.Close()) })
	return &search.Machine{Device: dev, Target: interp.Target(false), Render: interp.Render}
}

// sums adds c to the sums of the rows of n×m numbers.
func sums(d dtype.DType, n, m int, c float64) *codegen.Spec {
	t := uop.NewArena()
	s := &codegen.Spec{Home: t, Params: []codegen.Param{{DType: d, Dims: []int{n}, Write: true}, {DType: d, Dims: []int{n, m}}}}
	i, j := t.Range(0, n, ""), t.Range(1, m, "")
	x := t.Load(t.Param(1, n*m, d), t.True(), i, j)
	sum := t.ReduceRanges(uop.Sum, []*uop.UOp{x}, []*uop.UOp{j})
	s.Outs = []codegen.Out{{Param: 0, Axes: []*uop.UOp{i}, Index: []*uop.UOp{i}, Value: sum.Add(sum.Float(c))}}
	return s
}

// Plain loops are many times slower than lanes here, so that any clock tells them apart, unless something else has the processor while
// the lanes are timed: then the next search does.
func TestFindsWhatIsFaster(t *testing.T) {
	m := open(t)
	s := sums(dtype.F32, 300, 700, 1)
	var heard []float64
	var r search.Result
	for range 5 {
		var err error
		r, err = m.Search(context.Background(), search.Task{Spec: s, Width: 1, Time: time.Minute, Progress: func(_ int, best float64) { heard = append(heard, best) }})
		require.NoError(t, err)
		if len(r.Best) > 0 {
			break
		}
	}
	assert.True(t, r.Complete)
	assert.Empty(t, r.Faults)
	assert.NotEmpty(t, r.Best)
	assert.Less(t, r.BestSeconds, r.ModelSeconds/2)
	require.NotEmpty(t, heard)
	assert.NoError(t, tune.Allowed(s, m.Target, r.Best))
}

// What is fast and wrong is not taken, and told.
func TestWrongResultsDoNotCount(t *testing.T) {
	m := open(t)
	s, other := sums(dtype.F32, 300, 700, 1), sums(dtype.F32, 300, 700, 2)
	m.Render = func(p *codegen.Program) (plan.Kernel, error) {
		if p.Directives == "" {
			return interp.Render(p)
		}
		directives, err := codegen.ParseDirectives(p.Directives)
		require.NoError(t, err)
		wrong, err := lower.Lower(other, directives, m.Target)
		require.NoError(t, err)
		return interp.Render(wrong)
	}
	r, err := m.Search(context.Background(), search.Task{Spec: s, Width: 1, Time: time.Minute})
	require.NoError(t, err)
	assert.Empty(t, r.Best)
	require.NotEmpty(t, r.Faults)
	assert.Contains(t, r.Faults[0], "element 0 of p0[300] is")
}

func TestCancelled(t *testing.T) {
	m := open(t)
	ctx, cancel := context.WithCancel(context.Background())
	r, err := m.Search(ctx, search.Task{Spec: sums(dtype.F32, 300, 700, 1), Width: 2, Time: time.Minute, Progress: func(int, float64) { cancel() }})
	require.ErrorIs(t, err, context.Canceled)
	assert.False(t, r.Complete)
	assert.Positive(t, r.Tried)
	assert.Empty(t, r.Best, "nothing has stood before the model's yet")
}

// A search ends in time, whatever it has found; arrays that are too large are refused in words.
func TestBounds(t *testing.T) {
	m := open(t)
	r, err := m.Search(context.Background(), search.Task{Spec: sums(dtype.F32, 300, 700, 1), Width: 64, Time: time.Nanosecond})
	require.NoError(t, err)
	assert.Zero(t, r.Tried)
	_, err = m.Search(context.Background(), search.Task{Spec: sums(dtype.F32, 1<<14, 1<<14, 1), Width: 1, Time: time.Second})
	require.ErrorContains(t, err, "a search uses at most")
}

func TestChoices(t *testing.T) {
	key := strings.Repeat("0a", 32)
	list := []search.Choice{
		{Key: key, Machine: "a machine, gcc 12", Name: "r_300_700", ModelSeconds: 1e-3, BestSeconds: 2.5e-4, Model: "vector a0", Best: "split a0 8 shift; vector a0.1", Complete: true},
		{Key: key, Machine: "another", Name: "E_2", Model: "", Best: ""},
	}
	got, err := search.ParseChoices(search.FormatChoices(list))
	require.NoError(t, err)
	assert.Equal(t, list, got)
	assert.Equal(t, 0.25, list[0].Ratio())
	assert.Equal(t, 1., list[1].Ratio())
	assert.Equal(t, "a b c", search.Word("a\tb\n\x00c "))
	assert.LessOrEqual(t, len(search.Word(strings.Repeat("ö", 400))), 200)
	good := string(search.FormatChoices(list[:1]))
	for what, text := range map[string]string{
		"nothing":              "",
		"another version":      strings.Replace(good, "directives 1", "directives 2", 1),
		"7 fields":             strings.Replace(good, "\twhole", "", 1),
		"a key of other signs": strings.Replace(good, "0a0a", "0A0a", 1),
		"a short key":          strings.Replace(good, "0a0a", "", 1),
		"no time":              strings.Replace(good, "0.001", "NaN", 1),
		"an infinite time":     strings.Replace(good, "0.001", "+Inf", 1),
		"a time below 0":       strings.Replace(good, "0.001", "-1", 1),
		"no directive":         strings.Replace(good, "vector a0\t", "rm -rf\t", 1),
		"many directives":      strings.Replace(good, "vector a0\t", strings.Repeat("vector a0;", 60)+"\t", 1),
		"a long list":          strings.Replace(good, "vector a0\t", "vector a"+strings.Repeat("0", 5000)+"\t", 1),
		"a long line":          strings.Replace(good, "gcc", strings.Repeat("g", 20000), 1),
		"no text":              strings.Replace(good, "gcc", "\xff", 1),
		"control characters":   strings.Replace(good, "gcc", "\x1b[2J", 1),
	} {
		_, err := search.ParseChoices([]byte(text))
		assert.ErrorContains(t, err, "kept directives: ", what)
	}
	_, err = search.ParseChoices(make([]byte, search.MostBytes+1))
	require.ErrorContains(t, err, "are more than")
}

// Whatever a file says: no panic, and what is read is written as it was.
func FuzzChoices(f *testing.F) {
	f.Add([]byte("weft directives 1\n" + strings.Repeat("0a", 32) + "\tm\tr_2\t1\t0.5\tvector a0\tsplit a0 8 shift; vector a0.1\twhole\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := search.ParseChoices(text)
		if err != nil {
			return
		}
		again, err := search.ParseChoices(search.FormatChoices(list))
		require.NoError(t, err)
		require.Len(t, again, len(list))
		s, target := sums(dtype.F32, 30, 70, 1), interp.Target(false)
		for i, c := range list {
			require.Equal(t, c.Best, again[i].Best)
			directives, err := tune.Parse(c.Best)
			require.NoError(t, err)
			if tune.Allowed(s, target, directives) == nil {
				_, err := lower.Lower(s, directives, target)
				_ = err // or it says why
			}
		}
	})
}
