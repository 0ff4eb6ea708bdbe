package tensor_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
)

// step is a step of a loop: of what is carried and entries.
type step func(s, in []*tensor.Tensor) (next, out []*tensor.Tensor)

// apart is a loop that carries little at each place.
type apart struct {
	name    string
	carried [][]int // shapes
	along   [][]int // of entries
	back    bool
	step    step
	kernels int // that all steps take, and with gradient: those of what is made of it before and behind, too
	grad    int
}

func all(ts ...*tensor.Tensor) []*tensor.Tensor { return ts }

// column is a number for each row of what lies along the last axis.
func column(x *tensor.Tensor, i int) *tensor.Tensor { return x.Select(-1, i) }

var loopsApart = []apart{
	{"moving average", [][]int{{5}}, [][]int{{5}}, false, func(s, in []*tensor.Tensor) (next, out []*tensor.Tensor) {
		return all(s[0].Mul(0.75).Add(in[0].Mul(0.25))), nil
	}, 1, 3},
	{"filter", [][]int{{}, {}}, [][]int{{}}, false, func(s, in []*tensor.Tensor) (next, out []*tensor.Tensor) {
		y := in[0].Mul(0.5).Add(s[0])
		return all(in[0].Mul(0.25).Sub(y.Mul(0.5)).Add(s[1]), in[0].Mul(0.125).Sub(y.Mul(0.25))), all(y)
	}, 1, 5},
	{"advantages", [][]int{{4}}, [][]int{{4}, {4}}, true, func(s, in []*tensor.Tensor) (next, out []*tensor.Tensor) {
		return all(in[0].Sub(in[1].Mul(0.5)).Add(s[0].Mul(0.9))), nil
	}, 1, 3},
	{"points in space", [][]int{{6, 3}}, [][]int{{}}, false, func(s, in []*tensor.Tensor) (next, out []*tensor.Tensor) {
		x, y, z := column(s[0], 0), column(s[0], 1), column(s[0], 2)
		d := tensor.Stack(1, y.Sub(x), x.Mul(z.Neg().Add(1)).Sub(y), x.Mul(y).Sub(z))
		return all(s[0].Add(d.Mul(in[0].Square().Mul(0.1)))), nil
	}, 2, 9},
	{"state space", [][]int{{2, 5, 3}}, [][]int{{2, 5}, {2, 3}, {2, 3}}, false, func(s, in []*tensor.Tensor) (next, out []*tensor.Tensor) {
		d := in[0].Sigmoid().Unsqueeze(-1)
		h := s[0].Mul(d.Neg().Exp()).Add(d.Mul(in[1].Unsqueeze(1)))
		return all(h), all(h.Mul(in[2].Unsqueeze(1)).Sum(-1))
	}, 2, 12},
	{"small matrix", [][]int{{4, 2}, {2, 2}}, [][]int{{4, 2}}, false, func(s, in []*tensor.Tensor) (next, out []*tensor.Tensor) {
		x := s[0].MatMul(s[1]).Add(in[0]).Tanh()
		return all(x, s[1].MatMul(s[1].T()).Mul(0.25).Add(0.5)), all(x.Sum(-1), in[0].Square())
	}, 4, 20},
	{"delay line", [][]int{{3, 4}}, [][]int{{3}}, true, func(s, in []*tensor.Tensor) (next, out []*tensor.Tensor) {
		line := tensor.Cat(1, in[0].Unsqueeze(1), s[0].Narrow(1, 0, 3))
		return all(line), all(line.Mul(s[0]).Sum(-1))
	}, 3, 12},
	{"counts and means", [][]int{{3}, {}, {3, 2}}, [][]int{{3}, {3, 2}}, false, func(s, in []*tensor.Tensor) (next, out []*tensor.Tensor) {
		n := s[1].Add(1)
		m := s[0].Add(in[0].Sub(s[0]).Div(n))
		return all(m, n, s[2].Maximum(in[1])), all(m.Sub(s[0]), in[1].Sum(-1), s[2].Mul(s[0].Unsqueeze(1)))
	}, 6, 20},
}

// loop are the results of a loop of n steps, and what it is made of, on an engine or the default one.
func (l *apart) loop(t *testing.T, e *engine.Engine, n int, scan bool) (results, from []*tensor.Tensor) {
	numbers := func(i int, shape []int) *tensor.Tensor {
		v := make([]float32, uop.Shape(shape).Numel())
		for j := range v {
			v[j] = float32(math.Sin(float64(7*j + i + 1)))
		}
		if e == nil {
			return tensor.Of(v, shape...)
		}
		return array(t, e, v...).Reshape(shape...)
	}
	var s, in []*tensor.Tensor
	for i, shape := range l.carried {
		s = append(s, numbers(i, shape))
	}
	for i, shape := range l.along {
		in = append(in, numbers(i+3, append([]int{n}, shape...)))
	}
	from = slices.Concat(s, in)
	if scan {
		states, outs := tensor.Scan(l.step, s, in, tensor.ScanOptions{Back: l.back})
		return append(states, outs...), from
	}
	var every [][]*tensor.Tensor
	for i := range n {
		if l.back {
			i = n - 1 - i
		}
		var entries []*tensor.Tensor
		for _, x := range in {
			entries = append(entries, x.Select(0, i))
		}
		next, out := l.step(s, entries)
		every = append(every, append(slices.Clone(next), out...))
		s = next
	}
	if l.back {
		slices.Reverse(every)
	}
	for k := range every[0] {
		var steps []*tensor.Tensor
		for _, a := range every {
			steps = append(steps, a[k])
		}
		results = append(results, tensor.Stack(0, steps...))
	}
	return results, from
}

// gradients are the derivatives of all results.
func gradients(results, from []*tensor.Tensor) []*tensor.Tensor {
	loss := results[0].Square().Sum()
	for i, r := range results[1:] {
		loss = loss.Add(r.Sin().Mul(float64(i) + 0.5).Sum())
	}
	return loss.Grad(from...)
}

// A loop whose places are apart from each other gives what it gives written out, with its gradients, each result for itself and all of them.
func TestLoopsOfPlacesApart(t *testing.T) {
	for _, l := range loopsApart {
		t.Run(l.name, func(t *testing.T) {
			want, from := l.loop(t, nil, 9, false)
			got, over := l.loop(t, nil, 9, true)
			for k := range want {
				assert.InDeltaSlice(t, listed(t, want[k]), listed(t, got[k]), 1e-4, "result %d", k)
				assert.InDeltaSlice(t, listed(t, gradients(want[k:k+1], from)...), listed(t, gradients(got[k:k+1], over)...), 1e-3, "gradient of result %d", k)
			}
			assert.InDeltaSlice(t, listed(t, want...), listed(t, got...), 1e-4)
			assert.InDeltaSlice(t, listed(t, gradients(want, from)...), listed(t, gradients(got, over)...), 1e-3)
		})
	}
}

// All steps of such a loop are one kernel, and some for what is computed of all entries at once.
func TestLoopsOfPlacesApartAreOneKernel(t *testing.T) {
	e := alone(t, "NULL")
	for _, l := range loopsApart {
		results, from := l.loop(t, e, 1000, true)
		v, err := tensor.Schedule(results...)
		require.NoError(t, err)
		assert.LessOrEqual(t, len(v.Launches()), l.kernels, l.name)
		v, err = tensor.Schedule(gradients(results, from)...)
		require.NoError(t, err)
		assert.LessOrEqual(t, len(v.Launches()), l.grad, l.name)
	}
}

// Of a loop of which the last state alone is read no more than two are kept, whatever it does, or as many as one kernel goes through: programs that
// go on for long would take memory for all that they have been through.
func TestLoopsKeepWhatIsRead(t *testing.T) {
	const n, steps = 1 << 12, 10000
	e := alone(t, "NULL")
	for name, f := range map[string]step{
		"apart": func(s, _ []*tensor.Tensor) (next, out []*tensor.Tensor) {
			return all(s[0].Add(s[1].Mul(0.5)), s[1].Sub(s[0].Mul(0.5))), nil
		},
		"neighbours": func(s, _ []*tensor.Tensor) (next, out []*tensor.Tensor) {
			return all(s[0].Add(s[1].Mul(0.5)).Roll([]int{1}, []int{0}), s[1].Sub(s[0].Mul(0.5))), nil
		},
		"sums": func(s, _ []*tensor.Tensor) (next, out []*tensor.Tensor) {
			return all(s[0].Sub(s[0].Sum()), s[1].Mul(s[0])), all(s[0].Sum())
		},
	} {
		x, y := array(t, e, make([]float32, n)...), array(t, e, make([]float32, n)...)
		states, outs := tensor.Scan(f, all(x, y), nil, tensor.ScanOptions{Steps: steps})
		results := all(states[0].Select(0, -1))
		for _, o := range outs {
			results = append(results, o.Sum())
		}
		v, err := tensor.Schedule(results...)
		require.NoError(t, err, name)
		assert.Less(t, int(v.Plan.Peak), 4<<20, name)
	}
	few := array(t, e, make([]float32, 64)...)
	states, _ := tensor.Scan(loopsApart[0].step, all(few), all(array(t, e, make([]float32, 64*steps)...).Reshape(steps, 64)), tensor.ScanOptions{})
	v, err := tensor.Schedule(states[0].Select(0, -1))
	require.NoError(t, err)
	assert.Less(t, int(v.Plan.Peak), 3<<20)
}

// One kernel goes through the steps for all results, however many there are: another one would do all of it again.
func TestLoopsOfManyResultsAreOneKernel(t *testing.T) {
	const n, steps = 30, 1000
	e := alone(t, "NULL")
	f := func(s, in []*tensor.Tensor) (next, out []*tensor.Tensor) {
		for i, x := range s {
			y := x.Mul(0.5).Add(s[(i+1)%len(s)].Mul(0.25))
			if len(in) > 0 {
				y = y.Add(in[i])
			}
			next = append(next, y)
		}
		return next, nil
	}
	var ones, carried, along []*tensor.Tensor
	for range n {
		ones = append(ones, tensor.Ones(5).On("INTERP"))
		carried = append(carried, array(t, e, make([]float32, 5)...))
		along = append(along, array(t, e, make([]float32, 5*steps)...).Reshape(steps, 5))
	}
	states, _ := tensor.Scan(f, carried, along, tensor.ScanOptions{})
	v, err := tensor.Schedule(states...)
	require.NoError(t, err)
	assert.Len(t, v.Launches(), 1)
	few, _ := tensor.Scan(f, carried[:9], nil, tensor.ScanOptions{Steps: steps})
	v, err = tensor.Schedule(few...)
	require.NoError(t, err)
	assert.Len(t, v.Launches(), 1)
	states, _ = tensor.Scan(f, ones[:3], nil, tensor.ScanOptions{Steps: steps}) // of no array
	v, err = tensor.Schedule(states...)
	require.NoError(t, err)
	assert.Len(t, v.Launches(), 1)
}

// Where launches take little, a loop whose steps read many weights in lanes has a launch for each, and one that would do in each lane what is the same
// in all of them.
func TestLoopsThatAreBetterLaunches(t *testing.T) {
	const steps = 100
	e := alone(t, "NULL")
	numbers := func(shape ...int) *tensor.Tensor {
		return array(t, e, make([]float32, uop.Shape(shape).Numel())...).Reshape(shape...)
	}
	launches := func(f step, carried ...*tensor.Tensor) int {
		states, _ := tensor.Scan(f, carried, nil, tensor.ScanOptions{Steps: steps})
		v, err := tensor.Schedule(states...)
		require.NoError(t, err)
		return len(v.Launches())
	}
	for n, each := range map[int]bool{5: false, 9: true} { // of 25 weights, or 81
		w := numbers(n, n)
		got := launches(func(s, _ []*tensor.Tensor) (next, out []*tensor.Tensor) {
			return all(s[0].MatMul(w).Tanh()), nil
		}, numbers(4, n))
		assert.Equal(t, each, got >= steps, "%d units: %d launches", n, got)
	}
	for n, each := range map[int]bool{1: false, 4: true} { // a matrix beside a list
		got := launches(func(s, _ []*tensor.Tensor) (next, out []*tensor.Tensor) {
			return all(s[0].Mul(0.5), s[1].MatMul(s[1]).Tanh()), nil
		}, numbers(40), numbers(n, n))
		assert.Equal(t, each, got >= steps, "a matrix of %d rows: %d launches", n, got)
	}
}

// What a step reads for a result that turns out to be computed behind, it does not read.
func TestLoopsReadNothingForWhatIsBehind(t *testing.T) {
	const n, steps = 8, 100
	e := alone(t, "NULL")
	x, y := array(t, e, make([]float32, n*steps)...).Reshape(steps, n), array(t, e, make([]float32, n*steps)...).Reshape(steps, n)
	states, outs := tensor.Scan(func(s, in []*tensor.Tensor) (next, out []*tensor.Tensor) {
		return all(s[0].Mul(0.5).Add(in[0])), all(in[1].Exp().Add(s[0].CumSum(0)))
	}, all(array(t, e, make([]float32, n)...)), all(x, y), tensor.ScanOptions{})
	v, err := tensor.Schedule(append(states, outs...)...)
	require.NoError(t, err)
	assert.Len(t, v.Launches()[0].Binds, 3, "the state, as it begins and of all steps, and what is added")
}

// Lanes of a recurrence are whole vectors, of which the last goes over some again: its steps are long, and parts of vectors do as much in each as
// vectors do.
func TestLanesOfLoopsAreWholeVectors(t *testing.T) {
	e := alone(t, "CPU")
	x := array(t, e, make([]float32, 10)...)
	states, _ := tensor.Scan(func(s, _ []*tensor.Tensor) (next, out []*tensor.Tensor) {
		return all(s[0].Add(s[1].Mul(0.01)), s[1].Sub(s[0].Sin().Mul(0.01)), s[2].Add(s[0])), nil
	}, all(x, x, x), nil, tensor.ScanOptions{Steps: 100})
	v, err := tensor.Schedule(states...)
	require.NoError(t, err)
	assert.Contains(t, v.Launches()[0].Directives, "split a0 8 shift; vector a0.1")
}

// Loops in parts of which no number is right go on behind them with what is left.
func TestLoopsOfPrimeNumbersOfSteps(t *testing.T) {
	const n, steps = 2048, 257
	in := make([]float32, steps)
	for i := range in {
		in[i] = float32(math.Sin(float64(i)))
	}
	results := func(e *engine.Engine, back bool) (ended, kept *tensor.Tensor) {
		x, entries := array(t, e, slices.Repeat([]float32{1}, n)...), array(t, e, in...)
		states, _ := tensor.Scan(func(s, in []*tensor.Tensor) (next, out []*tensor.Tensor) {
			return all(s[0].Mul(0.9).Add(in[0]).Sub(s[1]), s[1].Mul(0.5).Add(in[0]), s[2].Maximum(s[0])), nil
		}, all(x, x, x), all(entries), tensor.ScanOptions{Back: back})
		last := steps - 1
		if back {
			last = 0
		}
		return states[0].Select(0, last).Add(states[2].Select(0, last)), states[1]
	}
	for _, back := range []bool{false, true} {
		a, b, c := float32(1), float32(1), float32(1)
		var want []float32
		for i := range in {
			x := in[i]
			if back {
				x = in[steps-1-i]
			}
			a, b, c = a*0.9+x-b, b*0.5+x, max(c, a)
			want = append(want, b)
		}
		if back {
			slices.Reverse(want)
		}
		ended, kept := results(alone(t, "INTERP"), back)
		assert.InDelta(t, a+c, listed(t, ended)[n-1], 1e-4, "back: %v", back)
		assert.InDeltaSlice(t, want, listed(t, kept.Select(1, n-1)), 1e-4, "back: %v", back)
		ended, kept = results(alone(t, "NULL"), back)
		for _, r := range [][]*tensor.Tensor{{ended}, {ended, kept}} {
			v, err := tensor.Schedule(r...)
			require.NoError(t, err)
			assert.Less(t, len(v.Launches()), 40)
		}
	}
}
