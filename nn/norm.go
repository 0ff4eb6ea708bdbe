package nn

import (
	"fmt"

	"github.com/weft-ml/weft/tensor"
)

// BatchNorm normalises each channel (axis 1) over all other axes: by the statistics of the batch while
// training, by running averages of them otherwise. The averages are assigned lazily while training; an
// optimiser's Step carries that out together with the step. Without running averages (nil) the statistics are always the batch's. A batch of
// one value for each channel has none, and is an *ArgumentError where they are needed.
type BatchNorm struct {
	Weight, Bias *tensor.Tensor // [channels]; nil: 1 and 0
	RunningMean  *tensor.Tensor `weft:"state"`
	RunningVar   *tensor.Tensor `weft:"state"`
	Batches      *tensor.Tensor `weft:"state"` // float32 []: how many batches the averages are of, where all count alike; nil: Momentum says how they count
	Eps          float64
	Momentum     float64 // share of the newest batch in the averages
}

// NewBatchNorm makes a layer with eps 1e-5 and momentum 0.1.
func NewBatchNorm(channels int) *BatchNorm {
	return &BatchNorm{
		Weight: fresh(tensor.Ones(channels)), Bias: fresh(tensor.Zeros(channels)),
		RunningMean: tensor.Zeros(channels).Clone(), RunningVar: tensor.Ones(channels).Clone(),
		Eps: 1e-5, Momentum: 0.1,
	}
}

// Cumulative has the averages be means of all batches, each counting alike, from the next batch on.
func (l *BatchNorm) Cumulative() *BatchNorm {
	l.Batches = tensor.Zeros().Clone()
	return l
}

// Untracked leaves the layer without running averages.
func (l *BatchNorm) Untracked() *BatchNorm {
	l.RunningMean, l.RunningVar, l.Batches = nil, nil, nil
	return l
}

// channels is how many the layer is for; −1 where nothing says.
func (l *BatchNorm) channels() int {
	for _, t := range []*tensor.Tensor{l.RunningMean, l.Weight, l.Bias} {
		if t != nil {
			return t.Numel()
		}
	}
	return -1
}

// Forward returns x[n,channels,…] normalised.
func (l *BatchNorm) Forward(x *tensor.Tensor, training bool) *tensor.Tensor {
	if n := l.channels(); x.Rank() < 2 || n >= 0 && x.Dim(1) != n {
		panic(&tensor.ArgumentError{Op: "BatchNorm", Reason: fmt.Sprintf(
			"input %v of a layer for %d channels, which belong on axis 1", x.Shape(), n), At: tensor.Caller()})
	}
	if !training && l.RunningMean != nil && l.RunningVar != nil {
		return x.BatchNorm(l.RunningMean, l.RunningVar, l.Weight, l.Bias, l.Eps)
	}
	if n := numel(x.Sizes()); n > 0 && n == x.Dim(1) {
		panic(&tensor.ArgumentError{Op: "BatchNorm", Reason: fmt.Sprintf("input %v has one value for each channel, which normalised by its own mean is always 0; "+
			"take more examples, or training false with running averages", x.Shape()), At: tensor.Caller()})
	}
	mean, variance := l.batch(x)
	// (x − mean)·scale + bias is written as (x − c)·scale + bias − (mean − c)·scale, which is the same for
	// every constant c, here the mean itself. The gradient of the mean is then scale times the gradient of the
	// bias, instead of another pass over x.
	c := mean.Detach()
	bias := mean.Sub(c).Mul(variance.Add(l.Eps).Rsqrt()).Neg()
	if l.Weight != nil {
		bias = bias.Mul(l.Weight)
	}
	if l.Bias != nil {
		bias = bias.Add(l.Bias)
	}
	return x.BatchNorm(c, variance, l.Weight, bias, l.Eps)
}

// numel is the number of elements of these sizes; −1 where one varies.
func numel(sizes []tensor.Size) int {
	n := 1
	for _, s := range sizes {
		k, known := s.Value()
		if !known {
			return -1
		}
		n *= k
	}
	return n
}

// batch gives mean and variance of x over all axes but 1, and moves the averages. The averages take the
// variance as an estimate for the population, divided by one less.
func (l *BatchNorm) batch(x *tensor.Tensor) (mean, variance *tensor.Tensor) {
	mean, variance = x.ChannelMoments(0)
	if l.RunningMean == nil || l.RunningVar == nil || x.Numel() == 0 { // nothing says nothing of the population
		return mean, variance
	}
	n := x.Numel() / x.Dim(1)
	m := l.Momentum
	move := func(average, now *tensor.Tensor, scale float64) {
		average.Assign(average.Mul(1 - m).Add(now.Detach().Mul(m * scale)).To(average.DType()))
	}
	if l.Batches != nil {
		count := l.Batches.Add(1)
		move = func(average, now *tensor.Tensor, scale float64) {
			average.Assign(average.Add(now.Detach().Mul(scale).Sub(average).Div(count)).To(average.DType()))
		}
		defer l.Batches.Assign(count)
	}
	move(l.RunningMean, mean, 1)
	move(l.RunningVar, variance, float64(n)/float64(max(n-1, 1)))
	return mean, variance
}

// LayerNorm normalises over the last axes.
type LayerNorm struct {
	Weight, Bias *tensor.Tensor // of the shape of the last axes; nil: 1 and 0
	Shape        []int          // the last axes
	Eps          float64
}

// NewLayerNorm normalises over last axes of this shape, with eps 1e-5.
func NewLayerNorm(shape ...int) *LayerNorm {
	return &LayerNorm{fresh(tensor.Ones(shape...)), fresh(tensor.Zeros(shape...)), shape, 1e-5}
}

// Forward returns x normalised.
func (l *LayerNorm) Forward(x *tensor.Tensor) *tensor.Tensor {
	return x.LayerNorm(l.Weight, l.Bias, l.Eps, l.Shape...)
}

// GroupNorm normalises groups of channels (axis 1) over all axes after, each example alone (Wu and He, 2018).
type GroupNorm struct {
	Weight, Bias *tensor.Tensor // [channels]; nil: 1 and 0
	Groups       int
	Eps          float64
}

// NewGroupNorm makes a layer for channels that the groups divide, with eps 1e-5.
func NewGroupNorm(groups, channels int) *GroupNorm {
	return &GroupNorm{fresh(tensor.Ones(channels)), fresh(tensor.Zeros(channels)), groups, 1e-5}
}

// Forward returns x[n,channels,…] normalised. One value in all for each group is an *ArgumentError, as in PyTorch.
func (l *GroupNorm) Forward(x *tensor.Tensor) *tensor.Tensor {
	if n := numel(x.Sizes()); n > 0 && n == l.Groups {
		panic(&tensor.ArgumentError{Op: "GroupNorm", Reason: fmt.Sprintf("input %v has one value for each of %d groups, which normalised by its own mean is always 0", x.Shape(), l.Groups), At: tensor.Caller()})
	}
	return x.GroupNorm(l.Groups, l.Weight, l.Bias, l.Eps)
}

// InstanceNorm normalises each channel (axis 1) of each example over all axes after (Ulyanov and others, 2016). It is the same in training and
// after it.
type InstanceNorm struct {
	Weight, Bias *tensor.Tensor // [channels]; nil: 1 and 0
	Eps          float64
}

// NewInstanceNorm makes a layer with a weight and a bias for each channel and eps 1e-5.
func NewInstanceNorm(channels int) *InstanceNorm {
	return &InstanceNorm{fresh(tensor.Ones(channels)), fresh(tensor.Zeros(channels)), 1e-5}
}

// Forward returns x[n,channels,s…] normalised; it needs at least one axis after the channels, and more than one value there.
func (l *InstanceNorm) Forward(x *tensor.Tensor) *tensor.Tensor {
	if x.Rank() > 2 && numel(x.Sizes()[2:]) == 1 && numel(x.Sizes()) > 0 {
		panic(&tensor.ArgumentError{Op: "InstanceNorm", Reason: fmt.Sprintf("input %v has one value for each channel of an example, which normalised by its own mean is always 0", x.Shape()), At: tensor.Caller()})
	}
	return x.InstanceNorm(l.Weight, l.Bias, l.Eps)
}

// RMSNorm divides by the root of the mean square over the last axes (Zhang and Sennrich, 2019).
type RMSNorm struct {
	Weight *tensor.Tensor // of the shape of the last axes; nil: 1
	Shape  []int          // the last axes
	Eps    float64
}

// NewRMSNorm normalises over last axes of this shape, with eps 1e-6.
func NewRMSNorm(shape ...int) *RMSNorm { return &RMSNorm{fresh(tensor.Ones(shape...)), shape, 1e-6} }

// Forward returns x normalised.
func (l *RMSNorm) Forward(x *tensor.Tensor) *tensor.Tensor {
	return x.RMSNorm(l.Weight, l.Eps, l.Shape...)
}

// LayerNorm2d normalises the channels (axis 1) at each place of each example.
type LayerNorm2d struct {
	Weight, Bias *tensor.Tensor // [channels]; nil: 1 and 0
	Eps          float64
}

// NewLayerNorm2d makes a layer with eps 1e-5.
func NewLayerNorm2d(channels int) *LayerNorm2d {
	return &LayerNorm2d{fresh(tensor.Ones(channels)), fresh(tensor.Zeros(channels)), 1e-5}
}

// Forward returns x[n,channels,s…] normalised.
func (l *LayerNorm2d) Forward(x *tensor.Tensor) *tensor.Tensor {
	last := x.MoveAxis(1, -1)
	return last.LayerNorm(l.Weight, l.Bias, l.Eps, last.Dim(-1)).MoveAxis(-1, 1)
}
