package main

import "github.com/weft-ml/weft/tensor"

// Sets of options, each taken field by field in the order of the table.

func (c *call) conv() tensor.Conv {
	return tensor.Conv{Strides: c.integers(), Paddings: c.integers(), Dilations: c.integers(), Groups: c.integer(), OutputPadding: c.integers(), Same: c.truth()}
}

func (c *call) pool() tensor.Pool {
	return tensor.Pool{
		Size: c.integers(), Stride: c.integers(), Padding: c.integers(), Dilation: c.integers(), Axes: c.integer(), Ceil: c.truth(), ExcludePadding: c.truth(),
		Same: c.truth(),
	}
}

func (c *call) loss() tensor.Loss {
	return tensor.Loss{Reduction: tensor.LossReduction(c.word()), Weight: c.tensor(), Ignore: c.integers(), Smoothing: c.number(), PosWeight: c.tensor(), ClassAxis: c.integer()}
}

func (c *call) frames() tensor.Frames {
	return tensor.Frames{Hop: c.integer(), Window: c.tensor(), Uncentred: c.truth(), ZeroPadded: c.truth(), Normalized: c.truth(), TwoSided: c.truth(), Length: c.integer()}
}

func (c *call) triplet() tensor.Triplet {
	return tensor.Triplet{Margin: c.number(), P: c.number(), Eps: c.number(), Swap: c.truth()}
}

func (c *call) ctcOptions() tensor.CTCOptions {
	return tensor.CTCOptions{Blank: c.integer(), Reduction: tensor.LossReduction(c.word()), ZeroInfinity: c.truth()}
}

func (c *call) attention() tensor.Attention {
	return tensor.Attention{Mask: c.tensor(), Causal: c.truth(), Scale: c.number(), Dropout: c.number(), Grouped: c.truth()}
}

func (c *call) embeddingOptions() tensor.EmbeddingOptions {
	return tensor.EmbeddingOptions{Padding: c.integers(), MaxNorm: c.number(), NormType: c.number(), ScaleByFreq: c.truth()}
}

func (c *call) resizing() tensor.Resize {
	return tensor.Resize{Mode: tensor.ResizeMode(c.word()), AlignCorners: c.truth(), Antialias: c.truth(), Scales: c.numbers()}
}

func (c *call) sampling() tensor.Sample {
	return tensor.Sample{Mode: tensor.ResizeMode(c.word()), Padding: tensor.SamplePadding(c.word()), AlignCorners: c.truth()}
}
