package tensor_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tensor"
)

// onDevices are the reference evaluator, which keeps the nodes that it is given, and a device that plays plans.
var onDevices = []string{"REF", "INTERP"}

// onEach runs a test on each of them.
func onEach(t *testing.T, test func(t *testing.T, device string)) {
	for _, device := range onDevices {
		t.Run(device, func(t *testing.T) { test(t, device) })
	}
}

// An assignment that another follows is not carried out where that one will be.
func TestAssignmentsThatOthersFollow(t *testing.T) {
	onEach(t, assignmentsThatOthersFollow)
}

func assignmentsThatOthersFollow(t *testing.T, device string) {
	ctx := context.Background()
	for order, realize := range map[string]func(a, b *tensor.Tensor) error{
		"together":    func(a, b *tensor.Tensor) error { return tensor.Realize(ctx, b, a) },
		"other first": func(a, b *tensor.Tensor) error { return tensor.Realize(ctx, a, b) },
		"one by one":  func(a, b *tensor.Tensor) error { return errors.Join(b.Realize(ctx), a.Realize(ctx)) },
		"read": func(a, b *tensor.Tensor) error {
			_, err := tensor.Data[int64](ctx, b)
			return errors.Join(err, a.Realize(ctx))
		},
	} {
		for view, f := range map[string]func(a *tensor.Tensor) *tensor.Tensor{
			"reshaped": func(a *tensor.Tensor) *tensor.Tensor { return a.Reshape(3, 1) },
			"the same": func(a *tensor.Tensor) *tensor.Tensor { return a.Reshape(3) },
		} {
			t.Run(order+" "+view, func(t *testing.T) {
				a := tensor.Of([]int64{1, 2, 3}, 3).On(device)
				a.Assign(a.Add(10))
				b := f(a)
				a.SetAt(0, 0)
				require.NoError(t, realize(a, b))
				for range 2 {
					got, err := tensor.Data[int64](ctx, b)
					require.NoError(t, err)
					assert.Equal(t, []int64{11, 12, 13}, got)
					a.Assign(a.Mul(2))
					require.NoError(t, a.Realize(ctx))
				}
				got, err := tensor.Data[int64](ctx, a)
				require.NoError(t, err)
				assert.Equal(t, []int64{0, 48, 52}, got)
			})
		}
	}
}

// What was realized keeps its elements, also where it is a view of an array that is assigned afterwards, in the same run or in
// a run that was built before.
func TestRealizedViewsOutliveAssignments(t *testing.T) {
	onEach(t, realizedViewsOutliveAssignments)
}

func realizedViewsOutliveAssignments(t *testing.T, device string) {
	ctx := context.Background()
	old, now := []int64{1, 2, 3, 4, 5, 6}, []int64{0, 0, 0, 4, 5, 6}
	set := func(a *tensor.Tensor) { a.SetAt(0, tensor.RS(0, 3, 1)) }
	views := map[string]func(a *tensor.Tensor) *tensor.Tensor{
		"reshaped": func(a *tensor.Tensor) *tensor.Tensor { return a.Reshape(3, 2) },
		"the same": func(a *tensor.Tensor) *tensor.Tensor { return a.Reshape(6) },
		"flipped":  func(a *tensor.Tensor) *tensor.Tensor { return a.Flip(0).Flip(0) },
	}
	orders := map[string]func(a, b *tensor.Tensor) error{
		"before": func(a, b *tensor.Tensor) error {
			err := b.Realize(ctx)
			set(a)
			return err
		},
		"both before": func(a, b *tensor.Tensor) error {
			err := tensor.Realize(ctx, a, b)
			set(a)
			return err
		},
		"between":        func(a, b *tensor.Tensor) error { set(a); return b.Realize(ctx) },
		"with it":        func(a, b *tensor.Tensor) error { set(a); return tensor.Realize(ctx, a, b) },
		"with it, first": func(a, b *tensor.Tensor) error { set(a); return tensor.Realize(ctx, b, a) },
		"read between": func(a, b *tensor.Tensor) error {
			set(a)
			_, err := tensor.Data[int64](ctx, b)
			return err
		},
	}
	for view, f := range views {
		for order, realize := range orders {
			t.Run(view+" "+order, func(t *testing.T) {
				a := tensor.Of(old, 6).On(device)
				b := f(a)
				require.NoError(t, realize(a, b))
				require.NoError(t, a.Realize(ctx))
				got, err := tensor.Data[int64](ctx, b)
				require.NoError(t, err)
				assert.Equal(t, old, got)
				got, err = tensor.Data[int64](ctx, a)
				require.NoError(t, err)
				assert.Equal(t, now, got)
				a.Assign(a.Add(1))
				require.NoError(t, a.Realize(ctx))
				got, err = tensor.Data[int64](ctx, b)
				require.NoError(t, err)
				assert.Equal(t, old, got)
			})
		}
	}
}

// Several assignments and one Realize, again and again, stay in the memory of the first.
func TestAssignmentsStayInPlace(t *testing.T) {
	ctx := context.Background()
	for _, device := range onDevices {
		t.Run(device, func(t *testing.T) {
			e := alone(t, device)
			a := tensor.FromNode(tensor.Zeros(1000).Node(), e)
			a.Assign(a.Add(1))
			require.NoError(t, a.Realize(ctx))
			live := e.Stats().LiveBytes
			require.EqualValues(t, 4000, live)
			for i := range 10 {
				a.Assign(a.Add(1))
				a.SetAt(3, i)
				a.Assign(a.Mul(1))
				require.NoError(t, a.Realize(ctx))
				require.Equal(t, live, e.Stats().LiveBytes, "round %d", i)
			}
			same(t, []float64{4, 3, 11}, a.Narrow(0, 8, 3))
		})
	}
}

// What has nothing to do still gives another tensor: an assignment to either leaves the other as it was, whatever the arguments.
func TestNothingToDoGivesAnotherTensor(t *testing.T) {
	ctx := context.Background()
	data := func(x *tensor.Tensor) []byte {
		v, err := x.Bytes(ctx)
		require.NoError(t, err)
		return v
	}
	first := func(v, _ *tensor.Tensor) *tensor.Tensor { return v }
	scalar := func() *tensor.Tensor { return tensor.Of([]float64{3}).Reshape() }
	matrix := func() *tensor.Tensor { return tensor.Of([]float64{1, 2, 3, 4}, 2, 2) }
	row := func() *tensor.Tensor { return tensor.Of([]float64{1, 2, 3}) }
	counts := func() *tensor.Tensor { return tensor.Of([]uint8{1, 2, 3}) }
	truth := func() *tensor.Tensor { return tensor.Of([]bool{false, true}) }
	type T = tensor.Tensor
	for name, c := range map[string]struct {
		x func() *T
		f func(x *T) *T
	}{
		"Abs":                {counts, (*T).Abs},
		"AlphaDropout":       {row, func(x *T) *T { return x.AlphaDropout(0) }},
		"AtLeast":            {row, func(x *T) *T { return x.AtLeast(1) }},
		"CartesianProduct":   {row, func(x *T) *T { return tensor.CartesianProduct(x) }},
		"Ceil":               {counts, (*T).Ceil},
		"ContiguousBackward": {counts, (*T).ContiguousBackward},
		"CumMax":             {scalar, func(x *T) *T { return first(x.CumMax(0)) }},
		"CumMin":             {scalar, func(x *T) *T { return first(x.CumMin(0)) }},
		"Diff":               {row, func(x *T) *T { return x.Diff(0, 0) }},
		"Dropout":            {row, func(x *T) *T { return x.Dropout(0) }},
		"Flip":               {row, func(x *T) *T { return x.Flip() }},
		"Floor":              {counts, (*T).Floor},
		"MatrixPower":        {matrix, func(x *T) *T { return x.MatrixPower(1) }},
		"NanToNum":           {counts, func(x *T) *T { return x.NanToNum(0, 1, 2) }},
		"On":                 {row, func(x *T) *T { return x.On(x.Device()) }},
		"ReLU":               {counts, (*T).ReLU},
		"ReLU6":              {truth, (*T).ReLU6},
		"Roll":               {row, func(x *T) *T { return x.Roll([]int{-3}, []int{0}) }},
		"Rot90":              {matrix, func(x *T) *T { return x.Rot90(4, 0, 1) }},
		"Round":              {counts, (*T).Round},
		"RoundTo":            {counts, func(x *T) *T { return x.RoundTo(1) }},
		"Shard":              {row, func(x *T) *T { return x.Shard([]string{x.Device()}, 0) }},
		"Sign":               {truth, (*T).Sign},
		"Sort":               {scalar, func(x *T) *T { return first(x.Sort(0, false)) }},
		"Trunc":              {counts, (*T).Trunc},
		"UnravelIndex":       {counts, func(x *T) *T { return x.UnravelIndex(9)[0] }},
	} {
		t.Run(name, func(t *testing.T) {
			x := c.x().On("INTERP")
			old := data(x)
			y := c.f(x)
			other := tensor.ZerosLike(x)
			x.Assign(other)
			require.NoError(t, tensor.Realize(ctx, x, y))
			assert.Equal(t, old, data(y))
			assert.Equal(t, make([]byte, len(old)), data(x))
			x = c.x().On("INTERP")
			c.f(x).Assign(other)
			assert.Equal(t, old, data(x))
		})
	}
	empty := tensor.Zeros(0)
	assert.NotSame(t, empty, empty.SplitEvery(0, 2)[0])
}

// A tensor that is moved to where it lies, or replaced by what it is, keeps the memory of its own.
func TestMovesToTheSameDeviceKeepMemory(t *testing.T) {
	ctx := context.Background()
	one := tensor.Of([]float32{1}).On("INTERP")
	for _, move := range []func(w *tensor.Tensor){
		func(w *tensor.Tensor) { w.MoveTo(w.Device()) },
		func(w *tensor.Tensor) { w.ShardTo(w.Devices(), 0) },
		func(w *tensor.Tensor) { w.Replace(w.To(w.DType())) },
	} {
		w := tensor.Of([]float32{0, 0}).On("INTERP").Own()
		require.NoError(t, w.Realize(ctx))
		move(w)
		step, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{w.AddAssign(in[0])} }, one)
		require.NoError(t, err)
		_, err = step.Run(ctx, one)
		require.NoError(t, err)
		v, err := tensor.Data[float32](ctx, w)
		require.NoError(t, err)
		require.Equal(t, []float32{1, 1}, v)
	}
}

// A view that changes nothing of a state that is assigned afterwards, and is realized with it, keeps its elements as any other expression does.
func TestViewsOfAllOfAState(t *testing.T) { onEach(t, viewsOfAllOfAState) }

func viewsOfAllOfAState(t *testing.T, device string) {
	ctx := context.Background()
	for name, view := range map[string]func(s *tensor.Tensor) *tensor.Tensor{
		"reshape": func(s *tensor.Tensor) *tensor.Tensor { return s.Reshape(4) },
		"shape":   func(s *tensor.Tensor) *tensor.Tensor { return s.Reshape(2, 2) },
		"narrow":  func(s *tensor.Tensor) *tensor.Tensor { return s.Narrow(0, 0, 4) },
		"detach":  func(s *tensor.Tensor) *tensor.Tensor { return s.Detach() },
		"part":    func(s *tensor.Tensor) *tensor.Tensor { return s.Narrow(0, 1, 3) },
	} {
		for order, realize := range map[string]func(s, v *tensor.Tensor) error{
			"together":   func(s, v *tensor.Tensor) error { return tensor.Realize(ctx, s, v) },
			"view first": func(s, v *tensor.Tensor) error { return tensor.Realize(ctx, v, s) },
		} {
			s := tensor.Of([]float32{1, 2, 3, 4}).On(device).Own()
			require.NoError(t, s.Realize(ctx))
			v := view(s)
			want := []float32{1, 2, 3, 4}
			if name == "part" {
				want = want[1:]
			}
			s.Assign(s.Mul(10))
			require.NoError(t, realize(s, v), "%s %s", name, order)
			got, err := tensor.Data[float32](ctx, v)
			require.NoError(t, err, "%s %s", name, order)
			require.Equal(t, want, got, "%s %s", name, order)
			got, err = tensor.Data[float32](ctx, s)
			require.NoError(t, err)
			require.Equal(t, []float32{10, 20, 30, 40}, got, "%s %s", name, order)
		}
	}
}
