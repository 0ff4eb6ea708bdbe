package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// Expected numbers in this file are PyTorch 2.15's, of the calls named.

func cube() *tensor.Tensor {
	return f32(-2, -0.29999995, 1.4, -1.8999996, -0.19999981, 1.5, -1.7999992, -0.09999943, 1.6000004, -1.6999998, 0, 1.7000008).Reshape(2, 3, 2)
}

func TestNormsAlongAxes(t *testing.T) {
	w, b := f32(1, 2, 0.5, -1).Reshape(2, 2), f32(0, 1, 2, 3).Reshape(2, 2)
	want := []float64{-1.1099846363067627, 2.752606153488159, 0.9376716613769531, -1.1173231601715088, -1.109984040260315, 2.75260591506958,
		1.5618486404418945, 1.8900153636932373, 2.5293307304382324, 3.937671661376953, 1.5618482828140259, 1.8900153636932373}
	near(t, want, cube().LayerNormAlong([]int{0, 2}, w, b, 1e-5), 1e-6)
	near(t, want, cube().LayerNormAlong([]int{-1, 0}, w, b, 1e-5), 1e-6)
	last, bias := f32(1, 2), f32(0.5, 0)
	same(t, values(t, cube().LayerNorm(last, bias, 1e-5, 2)), cube().LayerNormAlong([]int{2}, last, bias, 1e-5))
	near(t, []float64{-1.4142099618911743, -0.2130209356546402, 1.9798941612243652, -2.6982650756835938, -0.4242626130580902, 3.195314407348633,
		-1.294547200202942, -0.07198096066713333, 2.3014187812805176, -2.44736647605896, 0, 3.6710519790649414},
		cube().RMSNormAlong([]int{1}, f32(1, 2, 3), 1e-5), 1e-6)
	// torch.nn.functional.batch_norm with the channels last
	near(t, []float64{-2.5516438484191895, 0.25773459672927856, 1.0545918941497803, 2.1052427291870117, -0.6424599885940552, -1.8207125663757324,
		-2.3395113945007324, 0.0267954021692276, 1.2667236328125, 1.8743045330047607, -0.43032875657081604, -2.051651954650879},
		cube().BatchNormAlong([]int{-1}, f32(0.5, -0.25), f32(2, 0.75), f32(1.5, -1), f32(0.1, 0.2), 1e-5), 1e-6)
	c := f32(1, 2, 3)
	same(t, values(t, cube().BatchNorm(c, c, c, nil, 1e-5)), cube().BatchNormAlong([]int{1}, c, c, c, nil, 1e-5))
	var shape *tensor.ShapeError
	require.ErrorAs(t, tensor.Try(func() { cube().LayerNormAlong([]int{0, 2}, w.Flatten(), nil, 1e-5) }), &shape)
	require.ErrorAs(t, tensor.Try(func() { cube().LayerNormAlong([]int{0, 0}, nil, nil, 1e-5) }), &shape)
	var argument *tensor.ArgumentError
	require.ErrorAs(t, tensor.Try(func() { cube().RMSNormAlong(nil, nil, 1e-5) }), &argument)
}

// One size is that of windows over all axes after the second, as when the indices were found.
func TestUnpoolingBySize(t *testing.T) {
	x := tensor.Arange(16).To(dtype.F32).Reshape(1, 1, 4, 4)
	p := tensor.Pool{Size: []int{2}}
	v, i := x.MaxPoolIndex(p)
	y := v.MaxUnpool(i, p)
	require.Equal(t, []int{1, 1, 4, 4}, y.Shape())
	same(t, []float64{0, 0, 0, 0, 0, 5, 0, 7, 0, 0, 0, 0, 0, 13, 0, 15}, y)
	require.Equal(t, []int{1, 1, 5, 4}, v.MaxUnpool(i, p, 5, 4).Shape())
}

func TestUnevenPadding(t *testing.T) {
	x := tensor.Arange(20).Add(1).To(dtype.F32).Reshape(1, 1, 4, 5)
	p := tensor.Pool{Size: []int{3}, Stride: []int{2}, Padding: []int{1, 0, 0, 1}, Axes: 2} // before: rows 1, columns 0; after: 0 and 1
	same(t, []float64{8, 10, 18, 20}, x.MaxPool(p))
	near(t, []float64{3, 4.333333492279053, 12, 14}, x.AvgPool(p), 1e-6)
	v, i := x.MaxPoolIndex(p)
	same(t, []float64{8, 10, 18, 20}, v)
	same(t, []float64{7, 9, 17, 19}, i)
	same(t, []float64{27, 39, 108, 126}, x.SumPool(p))
	same(t, values(t, x.Pad([]int{0, 0, 1, 0}, []int{0, 0, 0, 1}).Im2Col(tensor.Pool{Size: []int{3}, Stride: []int{2}, Axes: 2})), x.Im2Col(p))
	require.Equal(t, []int{1, 1, 4, 5}, v.MaxUnpool(i, p, 4, 5).Shape())
	p.ExcludePadding = true
	near(t, []float64{4.5, 6.5, 12, 14}, x.AvgPool(p), 1e-6)
	for _, bad := range []tensor.Pool{{Size: []int{3}, Padding: []int{3}, Axes: 2}, {Size: []int{3}, Padding: []int{0, 0, 0, -1}, Axes: 2},
		{Size: []int{3}, Padding: []int{1, 2, 3}, Axes: 2}, {Size: []int{3}, Padding: []int{1}, Same: true, Axes: 2}} {
		require.Error(t, tensor.Try(func() { x.MaxPool(bad) }), "%v", bad)
	}
}

// Windows that lie between the elements have none: the maximum of nothing, wherever it is asked for.
func TestWindowOfNothing(t *testing.T) {
	x := f32(5).Reshape(1, 1, 1)
	p := tensor.Pool{Size: []int{2}, Dilation: []int{3}, Padding: []int{2}, Axes: 1}
	v, i := x.MaxPoolIndex(p)
	same(t, values(t, x.MaxPool(p)), v)
	require.Equal(t, x.MaxPool(p).Shape(), i.Shape())
}

func TestSamePadding(t *testing.T) {
	x := tensor.Arange(20).Add(1).To(dtype.F32).Reshape(1, 1, 4, 5)
	w := tensor.Arange(12).Add(1).Div(10).Reshape(1, 1, 3, 4)
	near(t, []float64{27.7, 39, 45.8, 34.6, 23.1, 56.7, 76, 83.8, 61.2, 39.5, 88.2, 115, 122.8, 88.2, 56, 46.9, 59, 62.6, 43, 25.9},
		x.Conv2D(w, nil, tensor.Conv{Same: true}), 1e-6) // padding='same'
	near(t, []float64{44.2, 60, 66.8, 49.6, 32.6, 71.2, 94, 100.8, 73.6, 47.6, 27.4, 36, 39.6, 28, 17.4, 42.4, 54, 57.6, 40, 24.4},
		x.Conv2D(w, nil, tensor.Conv{Same: true, Dilations: []int{2, 1}}), 1e-6) // padding='same', dilation=(2, 1)
	for _, s := range []struct{ stride, dilation int }{{1, 1}, {2, 1}, {3, 1}, {7, 2}} {
		h, v := (4+s.stride-1)/s.stride, (5+s.stride-1)/s.stride
		require.Equal(t, []int{1, 1, h, v}, x.Conv2D(w, nil, tensor.Conv{Same: true, Stride: s.stride, Dilation: s.dilation}).Shape())
		p := tensor.Pool{Size: []int{3}, Stride: []int{s.stride}, Dilation: []int{s.dilation}, Same: true, Axes: 2}
		require.Equal(t, []int{1, 1, h, v}, x.MaxPool(p).Shape())
		require.Equal(t, []int{1, 9, h * v}, x.Im2Col(p).Shape())
	}
	require.Error(t, tensor.Try(func() { x.Conv2D(w, nil, tensor.Conv{Same: true, Padding: 1}) }))
	require.Error(t, tensor.Try(func() { x.ConvTranspose(w, nil, tensor.Conv{Same: true}) }))
}

func TestClassAxis(t *testing.T) {
	target := tensor.Of([]int32{0, 1, 1, 1, 0, 0}, 2, 3)
	last := tensor.Loss{ClassAxis: -1, Reduction: tensor.NoneLoss}
	near(t, []float64{1.8677860498428345, 3.336219072341919, 0.16778607666492462, 0.16778607666492462, 0.03621920943260193, 1.8677866458892822},
		cube().CrossEntropy(target, last), 1e-6)
	near(t, []float64{1.2322638034820557}, cube().CrossEntropy(target, tensor.Loss{ClassAxis: -1, Smoothing: 0.1, Weight: f32(1, 3)}), 1e-6)
	same(t, values(t, cube().LogSoftmax(2).Permute(0, 2, 1).NLL(target)), cube().LogSoftmax(2).NLL(target, tensor.Loss{ClassAxis: 2}))
	p := cube().Permute(1, 0, 2).Softmax(0)
	same(t, values(t, cube().CrossEntropy(p.Permute(1, 0, 2))), cube().Permute(1, 0, 2).CrossEntropy(p, tensor.Loss{ClassAxis: -3}))
	require.Error(t, tensor.Try(func() { cube().CrossEntropy(target, tensor.Loss{ClassAxis: 3}) }))
}

func TestSizedSelections(t *testing.T) {
	x := tensor.Of([]int32{0, 3, 0, 4, 0, 5}, 2, 3)
	same(t, []float64{0, 1, 1, 0, 1, 2}, x.NonZeroSized(3, -1))
	same(t, []float64{0, 1, 1, 0}, x.NonZeroSized(2, -1))
	same(t, []float64{0, 1, 1, 0, 1, 2, -1, -1, -1, -1}, x.NonZeroSized(5, -1)) // jax.numpy.nonzero(x, size=5, fill_value=-1), stacked
	require.Equal(t, []int{0, 2}, x.NonZeroSized(0, 0).Shape())
	require.Equal(t, []int{4, 0}, tensor.Scalar(3).NonZeroSized(4, 0).Shape())
	same(t, []float64{9, 9}, tensor.Zeros(0).NonZeroSized(2, 9))
	same(t, []float64{3, 4, 5, 8}, x.MaskedSelectSized(x.Gt(0), 4, 8))
	same(t, []float64{3, 4}, x.MaskedSelectSized(x.Gt(0), 2, 8))
	same(t, []float64{3, 0, 0, 5, 9}, x.MaskedSelectSized(tensor.Of([]bool{false, true, true}), 5, 9))
	f := x.To(dtype.F32)
	same(t, []float64{0, 0, 0, 2, 0, 2}, f.MaskedSelectSized(x.Gt(3), 4, 8).Mul(2).Sum().Grad(f)[0])
}

func TestOneHotNeedsNoContext(t *testing.T) {
	x := tensor.Of([]int64{2, 0})
	same(t, []float64{0, 0, 1, 0, 1, 0, 0, 0}, x.OneHot(4))
	y, err := x.OneHotMax(ctx)
	require.NoError(t, err)
	same(t, []float64{0, 0, 1, 1, 0, 0}, y)
	require.Equal(t, []int{0, 3}, tensor.Of([]int64{}, 0).OneHot(3).Shape())
	require.Error(t, tensor.Try(func() { x.OneHot(-1) }))
}

func TestNewtonSchulz(t *testing.T) {
	near(t, []float64{-0.7391362190246582, -0.08629083633422852, 0.5438380241394043, -0.7227917909622192, -0.09308755397796631, 0.5592803955078125,
		-0.6694004535675049, -0.05398058891296387, 0.5782867074012756, -0.6164218187332153, 0.015904545783996582, 0.6313909292221069},
		cube().NewtonSchulz(5, [3]float64{3.4445, -4.775, 2.0315}, 1e-7), 1e-4)
	near(t, []float64{-1.5201665163040161, -0.6917581558227539, 0, 1.5760514736175537}, f32(-2, -0.5, 0, 1.5).SELU(), 1e-6)
	near(t, []float64{-2 * 0.8646647167633873, 3}, f32(-2, 1.5).SELUWith(1, 2), 1e-6)
	near(t, []float64{0, 0.25, 0.5, 1, nan}, f32(-9, -1, 0, 9, float32(nan)).HardSigmoidWith(0.25, 0.5), 1e-6)
	near(t, values(t, f32(-9, -1, 0, 9).HardSigmoid()), f32(-9, -1, 0, 9).HardSigmoidWith(1./6, 0.5), 1e-6)
}

// What From is given is what its errors speak of.
func TestFromOfAStruct(t *testing.T) {
	err := tensor.Try(func() { tensor.From(struct{ X int }{1}) })
	require.ErrorContains(t, err, "tensor: From: ")
	require.ErrorContains(t, err, "struct { X int }")
}

func TestSizesTo(t *testing.T) {
	x := stepped(2, 3)
	same(t, []float64{0, 1, 2, 0, 3, 4, 5, 0}, x.PadTo(-1, 4))
	same(t, []float64{0, 1, 2, 3, 4, 5, 0, 0, 0}, x.PadTo(3, 3))
	same(t, []float64{0, 1}, x.ShrinkTo(1, 2))
	same(t, []float64{1, 4}, x.ShrinkTo(-1, 2).At(tensor.All, 1))
	for _, f := range []func(){func() { x.PadTo(1, 3) }, func() { x.PadTo(2) }, func() { x.PadTo(2, -2) }, func() { x.ShrinkTo(3, 1) }, func() { x.ShrinkTo(1, 1, 1) }} {
		var shape *tensor.ShapeError
		require.ErrorAs(t, tensor.Try(f), &shape)
	}
	g := tensor.MeshgridXY(f32(1, 2, 3), f32(4, 5)) // numpy.meshgrid
	same(t, []float64{1, 2, 3, 1, 2, 3}, g[0])
	same(t, []float64{4, 4, 4, 5, 5, 5}, g[1])
	require.Equal(t, []int{2, 3}, g[0].Shape())
	require.Equal(t, []int{3}, tensor.MeshgridXY(f32(1, 2, 3))[0].Shape())
}
