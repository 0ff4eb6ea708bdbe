package main

import (
	"context"
	"math"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

const (
	pencilHigh, pencilWide = 192, 256
	radius                 = 6 // of the blur, in pixels

	fieldHigh, fieldWide = 36, 54
	reach                = 80 // pixels along a line over which its ends know of each other
)

// pencil is a function of a picture in colours that gives a drawing of it: how light each pixel is beside what lies around it.
func pencil(ctx context.Context, _ options) (*tensor.Captured, error) {
	weights, sum := make([]float32, 2*radius+1), 0.0
	for i := range weights {
		d := float64(i-radius) / (radius / 2.0)
		weights[i] = float32(math.Exp(-d * d / 2))
		sum += float64(weights[i])
	}
	const n = 2*radius + 1
	bell := tensor.Of(weights, n).Div(sum)
	down, across := bell.Reshape(1, 1, n, 1), bell.Reshape(1, 1, 1, n)
	colours := tensor.Of([]float32{0.299, 0.587, 0.114}, 3) // ITU-R BT.601
	c, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor {
		light := in[0].To(dtype.F32).Div(255).Mul(colours).Sum(-1).Reshape(1, 1, pencilHigh, pencilWide).Contiguous()
		blurred := light.PadMode(tensor.Replicate, []int{0, 0, radius, radius}, []int{0, 0, radius, radius}).Conv(down, nil, tensor.Conv{}).Conv(across, nil, tensor.Conv{})
		drawn := light.Add(0.02).Div(blurred.Add(0.02)).Clamp(0, 1)
		return []*tensor.Tensor{drawn.Square().Reshape(pencilHigh, pencilWide)}
	}, tensor.Zeros(pencilHigh, pencilWide, 3).To(dtype.U8))
	if err != nil {
		return nil, err
	}
	return c.Named([]string{"image"}, []string{"drawing"}), nil
}

// boxes is a function of a drawing, white on black, that gives the box of each connected line, and how surely it is high, wide or even. Whatever is drawn takes the
// largest coordinates of its neighbours until all of a line has the same ones; of a line the pixel with the largest number speaks.
func boxes(ctx context.Context, _ options) (*tensor.Captured, error) {
	const n = fieldHigh * fieldWide
	c, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor {
		ink := in[0].Gt(64).To(dtype.F32).Reshape(1, 1, fieldHigh, fieldWide).Contiguous()
		grid := func(t *tensor.Tensor, shape ...int) *tensor.Tensor {
			return t.To(dtype.F32).Reshape(shape...).Expand(1, 1, fieldHigh, fieldWide)
		}
		x, y := grid(tensor.Arange(fieldWide), 1, 1, 1, fieldWide), grid(tensor.Arange(fieldHigh), 1, 1, fieldHigh, 1)
		own := grid(tensor.Arange(n), 1, 1, fieldHigh, fieldWide).Add(1).Mul(ink)
		ends := tensor.Cat(1, x.Neg().Add(fieldWide), y.Neg().Add(fieldHigh), x.Add(1), y.Add(1), own).Mul(ink).Contiguous()
		for range reach {
			ends = ends.MaxPool(tensor.Pool{Size: []int{3, 3}, Stride: []int{1}, Padding: []int{1}}).Mul(ink).Contiguous()
		}
		end := func(i int) *tensor.Tensor { return ends.Select(1, i).Reshape(n) }
		left, top := end(0).Neg().Add(fieldWide), end(1).Neg().Add(fieldHigh)
		right, bottom := end(2), end(3)
		first := own.Reshape(n).Eq(end(4)).And(end(4).Gt(0)).To(dtype.F32)
		slant := right.Sub(left).Add(1).Div(bottom.Sub(top).Add(1)).Log().Mul(4) // 0 for what is as high as wide
		kind := tensor.Stack(1, slant.Neg().Sub(3), slant.Sub(3), slant.Mul(0)).Softmax(-1)
		return []*tensor.Tensor{
			tensor.Stack(1, left.Div(fieldWide), top.Div(fieldHigh), right.Div(fieldWide), bottom.Div(fieldHigh)),
			kind.Mul(first.Unsqueeze(1)),
		}
	}, tensor.Zeros(fieldHigh, fieldWide).To(dtype.U8))
	if err != nil {
		return nil, err
	}
	return c.Named([]string{"drawing"}, []string{"boxes", "scores"}), nil
}
