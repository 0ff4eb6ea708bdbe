package tensor_test

import (
	"context"
	"encoding/binary"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/weft-ml/weft/backends"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

var ctx = context.Background()

func TestMain(m *testing.M) {
	configure()
	os.Exit(m.Run())
}

// configure sets the device that tests use which name none.
func configure() {
	device := os.Getenv("WEFT_DEVICE")
	if device == "" {
		device = "REF"
	}
	engine.Configure(engine.Options{}, device)
}

// values reads any tensor as float64.
func values(t testing.TB, x *tensor.Tensor) []float64 {
	t.Helper()
	v, err := tensor.Data[float64](ctx, x.To(dtype.F64))
	require.NoError(t, err)
	return v
}

// alone is a device that no other test uses: what the collector frees of theirs does not change its memory.
func alone(t testing.TB, device string) *engine.Engine {
	e, err := engine.Open(device, engine.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// array lies on e.
func array(t testing.TB, e *engine.Engine, values ...float32) *tensor.Tensor {
	var raw []byte
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	u, err := e.FromBytes(dtype.F32, []int{len(values)}, raw)
	require.NoError(t, err)
	return tensor.FromNode(u, e)
}

// same compares exactly, NaN with NaN.
func same(t testing.TB, want []float64, x *tensor.Tensor, msg ...any) {
	t.Helper()
	got := values(t, x)
	require.Len(t, got, len(want), msg...)
	for i := range want {
		if !(got[i] == want[i] || got[i] != got[i] && want[i] != want[i]) {
			require.Equal(t, want, got, msg...)
		}
	}
}

// near compares with a relative and absolute tolerance.
func near(t testing.TB, want []float64, x *tensor.Tensor, tol float64, msg ...any) {
	t.Helper()
	got := values(t, x)
	require.Len(t, got, len(want), msg...)
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= tol*(1+math.Abs(want[i])) || got[i] == want[i] || got[i] != got[i] && want[i] != want[i]) {
			require.InDelta(t, want[i], got[i], tol, msg...)
		}
	}
}

func f32(v ...float32) *tensor.Tensor { return tensor.Of(v) }

func TestCreation(t *testing.T) {
	x := tensor.From([][]int{{1, 2, 3}, {4, 5, 6}})
	require.Equal(t, []int{2, 3}, x.Shape())
	require.Equal(t, dtype.I32, x.DType())
	list, err := x.ToList(ctx)
	require.NoError(t, err)
	require.Equal(t, []any{[]any{int64(1), int64(2), int64(3)}, []any{int64(4), int64(5), int64(6)}}, list)
	require.Equal(t, dtype.F32, tensor.From([]any{1, 2.5}).DType())
	require.Equal(t, dtype.Bool, tensor.From(true).DType())
	require.Equal(t, []int{0}, tensor.From([]float32{}).Shape())
	same(t, []float64{0, 1, 2, 3}, tensor.Arange(4))
	same(t, []float64{5, 3, 1}, tensor.ArangeOf(dtype.F32, 5, 0, -2))
	near(t, []float64{0, .25, .5, .75, 1}, tensor.Linspace(0, 1, 5), 0)
	same(t, []float64{1, 0, 0, 0, 1, 0}, tensor.Eye(2, 3))
	same(t, []float64{7, 7}, tensor.Full(7, dtype.I64, 2))
	v, err := tensor.Of([]float64{42}).Item(ctx)
	require.NoError(t, err)
	require.Equal(t, 42.0, v)
	var half *tensor.Tensor = tensor.Of([]float32{1, 2.5}).To(dtype.F16)
	h, err := tensor.Data[float32](ctx, half)
	require.NoError(t, err)
	require.Equal(t, []float32{1, 2.5}, h)
	_, err = tensor.Data[int32](ctx, half)
	require.Error(t, err)
}

// Steps that float32 does not hold do not add up to an error where the numbers pass 0.
func TestArangeOfFractions(t *testing.T) {
	var want []float64
	for i := range 74 {
		want = append(want, -19+0.3*float64(i))
	}
	for i, v := range values(t, tensor.ArangeOf(dtype.F32, -19., 3., 0.3)) {
		require.InEpsilon(t, want[i], v, 2e-7)
	}
}

func TestErrorsNameTheLine(t *testing.T) {
	for want, f := range map[string]func(){
		"inner sizes 3 and 4 differ":     func() { tensor.Zeros(2, 3).MatMul(tensor.Zeros(4, 5)) },
		"sizes 2 and 3 do not broadcast": func() { tensor.Zeros(2).Add(tensor.Zeros(3)) },
		"ragged":                         func() { tensor.From([][]int{{1, 2}, {3}}) },
		"negative size":                  func() { tensor.Zeros(2, -3) },
		"axis 5 is outside rank 2":       func() { tensor.Zeros(2, 3).Sum(5) },
		"do not become":                  func() { tensor.Zeros(2, 3).Reshape(4) },
		"must be a *Tensor":              func() { tensor.Zeros(2).Add("x") },
		"condition must be bool":         func() { tensor.Zeros(2).Where(1, 2) },
		"index 7 is outside axis 0":      func() { tensor.Zeros(2).At(7) },
	} {
		err := tensor.Try(f)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "(tensor_test.go:")
	}
	require.PanicsWithValue(t, "other", func() { _ = tensor.Try(func() { panic("other") }) })
}

func TestLazyAndShared(t *testing.T) {
	x := tensor.From([]int{1, 2, 3, 4})
	a, b := x.Mul(4), x.Mul(4)
	require.Same(t, a.Node(), b.Node())
	require.False(t, a.IsRealized())
	require.NoError(t, a.Realize(ctx))
	require.True(t, b.IsRealized())
	same(t, []float64{8, 9, 10, 11}, x.Add(3).Add(4))
	require.Equal(t, "<Tensor [4] int32 (buffer) on "+x.Device()+", grad none>", x.String())
	require.Equal(t, "<Tensor [4] int32 (add) on "+x.Device()+", grad none>", x.Add(1).String())
}

func TestMovement(t *testing.T) {
	x := tensor.Arange(6).Reshape(2, -1)
	same(t, []float64{0, 3, 1, 4, 2, 5}, x.T())
	same(t, []float64{3, 4, 5, 0, 1, 2}, x.Flip(0))
	same(t, []float64{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5}, x.RepeatInterleave(2, 1))
	same(t, []float64{0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}, x.Repeat(1, 2))
	same(t, []float64{2, 0, 1, 5, 3, 4}, x.Roll([]int{1}, []int{1}))
	same(t, []float64{0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5}, tensor.Cat(0, x, x))
	same(t, []float64{0, 1, 2, 9, 3, 4, 5, 9}, tensor.Cat(1, x, tensor.Full(9, dtype.I32, 2, 1)))
	same(t, []float64{0, 4}, x.Diagonal(0))
	same(t, []float64{1, 5}, x.Diagonal(1))
	same(t, []float64{3}, x.Diagonal(-1))
	same(t, []float64{1, 0, 0, 2}, f32(1, 2).Diag())
	same(t, []float64{0, 0, 0, 3, 4, 0}, x.Tril(0))
	same(t, []float64{0, 1, 2, 0, 4, 5}, x.Triu(0))
	same(t, []float64{0, 1, 2, 2, 3, 4, 4, 5, 6}, tensor.Arange(8).Unfold(0, 3, 2))
	same(t, []float64{0, 1, 2, 3, 4, 5}, tensor.Arange(7).Unfold(0, 2, 2))
	same(t, []float64{0, 1, 2, 3, 4, 5}, x.Squeeze().Unsqueeze(0).Flatten())
	parts := tensor.Arange(7).Chunk(0, 3)
	require.Len(t, parts, 3)
	same(t, []float64{6}, parts[2])
	same(t, []float64{7, 0, 1, 2, 3, 7, 7}, tensor.Arange(4).PadWith(7, []int{1}, []int{2}))
	same(t, []float64{1, 2, 0}, tensor.Arange(3).Pad([]int{-1}, []int{1}))
	same(t, []float64{2, 1, 0, 1, 2, 3, 2}, tensor.Arange(4).PadMode(tensor.Reflect, []int{2}, []int{1}))
	same(t, []float64{0, 0, 0, 1, 2, 2}, tensor.Arange(3).PadMode(tensor.Replicate, []int{2}, []int{1}))
	same(t, []float64{1, 2, 0, 1, 2, 0}, tensor.Arange(3).PadMode(tensor.Circular, []int{2}, []int{1}))
	g := tensor.Meshgrid(tensor.Arange(2), tensor.Arange(3))
	same(t, []float64{0, 0, 0, 1, 1, 1}, g[0])
	same(t, []float64{0, 1, 2, 0, 1, 2}, g[1])
}

func TestIndex(t *testing.T) {
	x := tensor.Arange(24).Reshape(2, 3, 4)
	same(t, []float64{12, 13, 14, 15}, x.At(1, 0))
	same(t, []float64{3, 7, 11, 15, 19, 23}, x.At(tensor.Ellipsis, -1))
	same(t, []float64{5, 6}, x.At(0, 1, tensor.R(1, -1)))
	same(t, []float64{3, 2, 1, 0}, x.At(0, 0, tensor.RS(tensor.End, tensor.Begin, -1)))
	same(t, []float64{3, 1}, x.At(0, 0, tensor.RS(tensor.End, tensor.Begin, -2)))
	same(t, []float64{0, 2}, x.At(0, 0, tensor.RS(0, 4, 2)))
	require.Equal(t, []int{2, 1, 4}, x.At(nil, tensor.NewAxis, 1).Shape())
	idx := tensor.From([]int{2, -1, 0})
	same(t, []float64{8, 9, 10, 11, 8, 9, 10, 11, 0, 1, 2, 3}, x.At(0, idx))
	y := x.At(tensor.All, []int{0, 2}, []int{1, 3})
	require.Equal(t, []int{2, 2}, y.Shape())
	same(t, []float64{1, 11, 13, 23}, y)
	z := x.At([]int{0, 1}, tensor.All, []int{1, 3})
	require.Equal(t, []int{2, 3}, z.Shape())
	same(t, []float64{1, 5, 9, 15, 19, 23}, z)
	require.Equal(t, []int{2, 2, 3, 4}, x.At(tensor.From([][]int{{0, 1}, {1, 0}})).Shape())
}

func TestWrite(t *testing.T) {
	x := tensor.Arange(6).Reshape(2, 3)
	same(t, []float64{0, 9, 2, 3, 9, 5}, x.WithAt(9, tensor.All, 1))
	same(t, []float64{7, 1, 8, 3, 4, 5}, x.WithAt(tensor.From([]int{7, 8}), 0, tensor.RS(0, 3, 2)))
	same(t, []float64{8, 1, 7, 3, 4, 5}, x.WithAt(tensor.From([]int{7, 8}), 0, tensor.RS(tensor.End, tensor.Begin, -2)))
	same(t, []float64{0, 9, 2, 8, 4, 5}, x.WithAt(tensor.From([]int{9, 8}), []int{0, 1}, []int{1, 0}))
	same(t, []float64{0, 1, 5, 3, 4, 6}, x.WithAt(tensor.From([]int{5, 6}), tensor.All, []int{2}[0]))
	same(t, []float64{0, 0, 0, 3, 4, 5}, x.WithAt(0, x.Lt(3)))
	wide := tensor.Arange(6).Reshape(2, 3).Add(10) // a source may be larger than the index
	same(t, []float64{0, 10, 2, 3, 4, 13}, x.Scatter(1, tensor.From([][]int{{1}, {2}}), wide))
	a := tensor.From([]int{1, 2, 3})
	a.SetAt(10, 1)
	same(t, []float64{1, 10, 3}, a)
}

func TestAssign(t *testing.T) {
	x := f32(1, 2, 3)
	old := x.Mul(2)
	x.Assign(x.Add(1))
	x.Assign(x.Mul(10))
	require.NoError(t, tensor.Realize(ctx, x, old))
	same(t, []float64{20, 30, 40}, x)
	same(t, []float64{2, 4, 6}, old)
	late := x.Mul(2)
	require.NoError(t, x.Assign(0).Realize(ctx))
	_, err := late.Item(ctx)
	require.Error(t, err)
	_, err = tensor.Data[float32](ctx, late)
	var stale *engine.StaleError
	require.ErrorAs(t, err, &stale)
	require.ErrorContains(t, err, "built on a tensor, float32 [3], before it was assigned")

	a, b := tensor.Zeros(2), tensor.Zeros(2) // equal nodes, not one memory
	require.NoError(t, tensor.Realize(ctx, a, b))
	require.NoError(t, a.Assign(5).Realize(ctx))
	same(t, []float64{5, 5}, a)
	same(t, []float64{0, 0}, b)
	c := a.Clone()
	require.NoError(t, tensor.Realize(ctx, c, a.Assign(6)))
	same(t, []float64{5, 5}, c)
}

func TestRandomCheckValues(t *testing.T) {
	tensor.Seed(42)
	near(t, []float64{0.53342068, 0.67015517, 0.76307893, 0.43205523}, tensor.Rand(4), 1e-7)
	tensor.Seed(42)
	near(t, []float64{0.62258416, 0.17057616, 0.82970929, 0.30674064}, tensor.Randn(4), 1e-6)
	tensor.Seed(42)
	same(t, []float64{5, 6, 7, 4}, tensor.RandInt(0, 10, 4))
	a, b := tensor.Rand(100), tensor.Rand(100)
	require.NotEqual(t, values(t, a), values(t, b))
	for _, d := range []dtype.DType{dtype.F16, dtype.BF16, dtype.F64} {
		v := values(t, tensor.RandOf(d, 1000))
		m := 0.0
		for _, x := range v {
			require.True(t, x >= 0 && x < 1)
			m += x / 1000
		}
		require.InDelta(t, 0.5, m, 0.05, d.String())
	}
}
