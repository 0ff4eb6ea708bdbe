package nn_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/tensor"
)

// ramp is an array of the sines of 0, 0.37, 0.74 …
func ramp(shape ...int) *tensor.Tensor {
	n := 1
	for _, k := range shape {
		n *= k
	}
	return tensor.Arange(n).To(dtype.F64).Mul(0.37).Sin().To(dtype.F32).Reshape(shape...)
}

type layer interface {
	Forward(x *tensor.Tensor) *tensor.Tensor
}

// training runs a Sequential as a layer.
type training struct{ nn.Sequential }

func (l training) Forward(x *tensor.Tensor) *tensor.Tensor { return l.Sequential.Forward(x, true) }

// Layers whose parameters are all ramps give what those of torch.nn give.
func TestLayers(t *testing.T) {
	linear, corners := tensor.Resize{Mode: tensor.ResizeLinear}, tensor.Resize{Mode: tensor.ResizeLinear, AlignCorners: true}
	for _, c := range []struct {
		name string
		l    layer
		x    *tensor.Tensor
		want []float64
	}{
		{"Conv1d, same", nn.NewConv1d(2, 3, 4, tensor.Conv{Dilation: 2, Same: true}), ramp(1, 2, 6), []float64{
			1.36539, 1.97859, 1.53071, 1.46018, 0.676135, 0.0306599, -0.88958, -1.39241, -0.768871, -0.766305, 0.146237, 0.650242,
			1.77014, 2.14607, 1.36737, 1.43286, 0.421827, 0.0758659,
		}},
		{"Conv2d, groups", nn.NewConv2d(4, 2, 2, tensor.Conv{Groups: 2, Stride: 2}), ramp(1, 4, 4, 3), []float64{
			-1.00839, 1.9046, -1.58788, 1.93014,
		}},
		{"Conv3d", nn.NewConv3d(1, 2, 2, tensor.Conv{}), ramp(1, 1, 3, 2, 3), []float64{
			2.49692, 1.63021, -3.04649, -3.13774, -1.74503, -0.672348, 3.68405, 3.50373,
		}},
		{"ConvTranspose1d", nn.NewConvTranspose1d(2, 2, 3, tensor.Conv{Stride: 2, Padding: 1, OutputPadding: []int{1}}), ramp(1, 2, 3), []float64{
			0.469386, 0.955044, 0.652651, 1.1894, 0.747584, 0.628267, -0.112958, -0.218166, 0.194088, 0.335776, 0.523807, 0.240131,
		}},
		{"ConvTranspose2d", nn.NewConvTranspose2d(2, 2, 2, tensor.Conv{Stride: 2, Groups: 2}), ramp(1, 2, 2, 2), []float64{
			0, 0, 0, 0.130766, 0, 0, 0.243833, 0.323898, 0, 0.243833, 0, 0.323898, 0.454664, 0.603959, 0.603959, 0.802276, 1.35339,
			1.31893, 1.31893, 1.28567, 1.1549, 0.883501, 1.12733, 0.865366, 1.1549, 1.12733, 0.883501, 0.865366, 0.996132, 0.779051,
			0.779051, 0.636238,
		}},
		{"ConvTranspose3d", nn.NewConvTranspose3d(1, 1, 2, tensor.Conv{}), ramp(1, 1, 2, 1, 2), []float64{
			0, 0, 0.130766, 0, 0.243833, 0.323898, 0, 0.603959, 0.67151, 0.454664, 1.49597, 0.991779, 0.67151, 1.54019, 0.861013,
			0.537115, 1.06684, 0.469386,
		}},
		{"GroupNorm", nn.NewGroupNorm(2, 4), ramp(2, 4, 3), []float64{
			0, 0, 0, 0.60941, 0.709682, 0.675045, 1.63242, 1.30576, 0.894078, 0.601878, 0.0564607, -0.374774, 0, 0, 0, 0.337314, 0.649304,
			1.00907, -0.635182, 0.348605, 1.04188, 1.79436, 1.63863, 0.937891,
		}},
		{"InstanceNorm", nn.NewInstanceNorm(3), ramp(2, 3, 4), []float64{
			0, 0, 0, 0, 0.703796, 0.636683, 0.317251, -0.211267, 1.61703, 0.943447, 0.316273, -0.179603, 0, 0, 0, 0, -0.132768, 0.204994,
			0.541896, 0.83234, 0.560539, 1.41348, 1.08981, -0.366677,
		}},
		{"RMSNorm", nn.NewRMSNorm(5), ramp(2, 5), []float64{
			0, 0.189556, 0.659074, 1.16297, 1.43767, 0, 0.46717, 0.573086, 0.262348, -0.30251,
		}},
		{"LayerNorm2d", nn.NewLayerNorm2d(3), ramp(1, 3, 2, 2), []float64{
			0, 0, 0, 0, 0.865543, 0.810869, 0.653359, 0.519403, 0.345005, -0.139096, -0.275964, -0.258353,
		}},
		{"PReLU", nn.NewPReLU(2), ramp(1, 2, 4).Neg(), []float64{
			-0, -0, -0, -0, -0.360126, -0.347612, -0.28805, -0.189503,
		}},
		{"Upsample", &nn.Upsample{Scale: 1.5}, ramp(1, 1, 3, 4), []float64{
			0, 0, 0.361615, 0.674288, 0.674288, 0.895699, 0, 0, 0.361615, 0.674288, 0.674288, 0.895699, 0.995881, 0.995881, 0.961275,
			0.796565, 0.796565, 0.524044, 0.180596, 0.180596, -0.187295, -0.529836, -0.529836, -0.800667,
		}},
		{"Upsample, linear", &nn.Upsample{Scale: 1.7, Options: linear}, ramp(1, 1, 2, 3), []float64{
			0, 0.138265, 0.35098, 0.536344, 0.674288, 0.342473, 0.442518, 0.596433, 0.704655, 0.784018, 0.869355, 0.9106, 0.974053,
			0.963595, 0.952834,
		}},
		{"Upsample, to sizes", &nn.Upsample{Sizes: []int{3, 2}, Options: corners}, ramp(1, 1, 2, 3), []float64{
			0, 0.674288, 0.447849, 0.817782, 0.895699, 0.961275,
		}},
		{"Sequential", training{nn.Sequential{nn.NewConv2d(1, 2, 3, tensor.Conv{Padding: 1}), (*tensor.Tensor).ReLU,
			&nn.MaxPool{Options: tensor.Pool{Size: []int{2}}}, &nn.Flatten{}, &nn.Dropout{}, nn.NewLinear(8, 3)}}, ramp(1, 1, 4, 4), []float64{
			6.16421, -5.52951, 6.0986,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, s := range nn.State(c.l) {
				assert.True(t, s.Parameter && s.Tensor.RequiresGrad(), s.Name)
				s.Tensor.Assign(ramp(s.Tensor.Shape()...))
			}
			want := make([]float32, len(c.want))
			for i, v := range c.want {
				want[i] = float32(v)
			}
			near(t, want, c.l.Forward(c.x), 2e-5)
		})
	}
}

func TestAverageLayer(t *testing.T) {
	near(t, []float32{2.5}, (&nn.AvgPool{Options: tensor.Pool{Size: []int{2}}}).Forward(tensor.Of([]float32{1, 2, 3, 4}, 1, 1, 2, 2)), 0)
}

// A transformer layer that has the batch first gives what the other one gives of swapped inputs.
func TestTransformerBatchFirst(t *testing.T) {
	l := nn.NewTransformerLayer(4, 2, 6, true)
	require.NoError(t, nn.Realize(ctx, l))
	x, memory := ramp(3, 2, 4), ramp(5, 2, 4)
	want := values(t, l.Forward(x, memory, nn.Attending{}, nn.Attending{}).Transpose(0, 1))
	l.BatchFirst = true
	near(t, want, l.Forward(x.Transpose(0, 1), memory.Transpose(0, 1), nn.Attending{}, nn.Attending{}), 1e-6)
}

// An error in a layer names the layer, those that it is in, and the line of the caller.
func TestErrorsNameLayers(t *testing.T) {
	nested := nn.Sequential{nn.NewLinear(4, 3), nn.Sequential{(*tensor.Tensor).ReLU, nn.NewLinear(2, 2)}}
	for want, f := range map[string]func(){
		"Linear [2 3] [2 4]: inner sizes 3 and 4 differ, in nn.Linear (layers_test.go:": func() { nn.NewLinear(4, 2).Forward(ramp(2, 3)) },
		"inner sizes 3 and 2 differ, in nn.Sequential[1], nn.Sequential[1], nn.Linear (layers_test.go:": func() {
			nested.Forward(ramp(1, 4), false)
		},
		"inner sizes 5 and 2 differ, in nn.Recurrent (layers_test.go:": func() {
			nn.NewRecurrent(nn.LSTMCell, 2, 3, 1, false).Forward(ramp(3, 2, 5), nn.States{}, false)
		},
		"in nn.TransformerLayer, nn.Linear (layers_test.go:": func() {
			l := nn.NewTransformerLayer(4, 2, 6, false)
			l.Narrow = nn.NewLinear(5, 4)
			l.Forward(ramp(3, 2, 4), nil, nn.Attending{}, nn.Attending{})
		},
		"Sequential: a int is no layer: it has no Forward(x) or Forward(x, training), nor is it a function of a tensor, in nn.Sequential[0] (": func() {
			nn.Sequential{1}.Forward(ramp(2), false)
		},
		"BatchNorm: input [2 3] of a layer for 2 channels, which belong on axis 1, in nn.Sequential[0] (": func() {
			nn.Sequential{nn.NewBatchNorm(2)}.Forward(ramp(2, 3), true)
		},
		"reshape [2 3]: cannot become [5], in nn.Sequential[0] (layers_test.go:": func() {
			nn.Sequential{func(x *tensor.Tensor) *tensor.Tensor { return tensor.FromNode(x.Node().Reshape(5), nil) }}.Forward(ramp(2, 3), true)
		},
		"Upsample: input [2 3], scale 0, sizes []": func() { (&nn.Upsample{}).Forward(ramp(2, 3)) },
	} {
		assert.ErrorContains(t, tensor.Try(f), want)
	}
}

// The averages of all batches alike, and a layer without averages. The numbers are PyTorch's (momentum=None, track_running_stats=False).
func TestBatchNormAverages(t *testing.T) {
	a := tensor.Arange(12).To(dtype.F32).Reshape(4, 3)
	b := a.Square().Sub(3)
	l := nn.NewBatchNorm(3).Cumulative()
	for _, x := range []*tensor.Tensor{a, b, a} {
		l.Forward(x, true)
	}
	near(t, []float32{12.5, 16.5, 21.166667}, l.RunningMean, 1e-4)
	near(t, []float32{451, 651, 891}, l.RunningVar, 1e-2)
	near(t, []float32{3}, l.Batches.Reshape(1), 0)
	near(t, []float32{-0.588602, -0.607493, -0.642107}, l.Forward(a, false).At(0), 1e-5)

	u := nn.NewBatchNorm(3).Untracked()
	u.Forward(b, true)
	near(t, []float32{-1.34164, -1.34164, -1.34164}, u.Forward(a, false).At(0), 1e-5)
}

// A batch of nothing leaves the averages, and their number, as they are.
func TestBatchNormOfNothing(t *testing.T) {
	for _, l := range []*nn.BatchNorm{nn.NewBatchNorm(3), nn.NewBatchNorm(3).Cumulative()} {
		require.NoError(t, nn.Realize(ctx, l))
		l.Forward(tensor.Arange(6).To(dtype.F32).Reshape(2, 3), true)
		mean, variance := values(t, l.RunningMean), values(t, l.RunningVar)
		y := l.Forward(tensor.Zeros(0, 3, 5), true)
		require.Equal(t, []int{0, 3, 5}, y.Shape())
		require.NoError(t, tensor.Realize(ctx, y))
		near(t, mean, l.RunningMean, 0)
		near(t, variance, l.RunningVar, 0)
		if l.Batches != nil {
			near(t, []float32{1}, l.Batches.Reshape(1), 0)
		}
	}
	require.Equal(t, []int{4, 0}, nn.NewBatchNorm(0).Forward(tensor.Zeros(4, 0), true).Shape())
}

// A negative axis of Flatten stands for the first, as 0 for the second.
func TestFlattenFrom(t *testing.T) {
	for from, want := range map[int][]int{-1: {24}, 0: {2, 12}, 1: {2, 12}, 2: {2, 3, 4}} {
		assert.Equal(t, want, (&nn.Flatten{From: from}).Forward(ramp(2, 3, 4)).Shape(), "%d", from)
	}
}

// Weights, sequences and states of several types give states of the widest, and a sequence of nothing leaves them.
func TestRecurrentTypes(t *testing.T) {
	for _, kind := range []nn.CellKind{nn.GRUCell, nn.LSTMCell} {
		for _, c := range []struct{ x, w, state, want dtype.DType }{
			{dtype.F32, dtype.F16, dtype.F16, dtype.F32}, {dtype.F32, dtype.F32, dtype.F16, dtype.F32}, {dtype.F16, dtype.F16, dtype.F32, dtype.F32},
			{dtype.F16, dtype.F16, dtype.F16, dtype.F16},
		} {
			r := nn.NewRecurrent(kind, 3, 4, 1, false)
			cell := r.Layers[0][0]
			for _, w := range []**tensor.Tensor{&cell.Input, &cell.Hidden, &cell.InputBias, &cell.HiddenBias} {
				*w = (*w).To(c.w)
			}
			for _, n := range []int{0, 2, 6} {
				start := tensor.Full(0.5, c.state, 1, 2, 4)
				s := nn.States{H: start}
				if kind == nn.LSTMCell {
					s.C = start
				}
				y, last := r.Forward(tensor.Ones(n, 2, 3).To(c.x), s, false)
				assert.Equal(t, []dtype.DType{c.want, c.want}, []dtype.DType{y.DType(), last.H.DType()}, "%v of %v", kind, c)
				assert.Equal(t, []int{n, 2, 4}, y.Shape())
				want := start
				if n > 0 {
					want = y.Select(0, n-1).Unsqueeze(0)
				}
				near(t, values(t, want.To(dtype.F32)), last.H.To(dtype.F32), 0)
			}
		}
	}
}
