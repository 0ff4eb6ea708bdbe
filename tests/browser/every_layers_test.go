package browser_test

import (
	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/tensor"
)

var picks1 = []example{
	is("x.at(0, [1, 3])", func(v values) one { return v.x.At(0, tensor.R(1, 3)) }), is("x.at('...', one)", func(v values) one { return v.x.At(tensor.Ellipsis, v.one) }), is("x.withAt(9, null, [0, null, 2])", func(v values) one { return v.x.WithAt(9, nil, tensor.RS(0, tensor.End, 2)) }),
	is("x.clone().setAt(7, 1)", func(v values) one { return v.x.WithAt(7, 1) }), is("x.select(1, -1)", func(v values) one { return v.x.Select(1, -1) }), is("x.at([0, 2]).gather(1, ids)", func(v values) one { return v.x.At(tensor.R(0, 2)).Gather(1, v.ids) }), is("x.indexSelect(0, one)", func(v values) one { return v.x.IndexSelect(0, v.one) }),
	is("x.takeAlong(1, ids.at([0, 1]))", func(v values) one { return v.x.TakeAlong(1, v.ids.At(tensor.R(0, 1))) }), is("x.take(ids)", func(v values) one { return v.x.Take(v.ids) }), is("x.scatter(0, ids, y)", func(v values) one { return v.x.Scatter(0, v.ids, v.y) }), is("x.scatterAdd(0, ids, 1)", func(v values) one { return v.x.ScatterAdd(0, v.ids, 1) }),
	is("x.scatterReduce(0, ids, y, {how: 'max'})", func(v values) one { return v.x.ScatterReduce(0, v.ids, v.y, tensor.MergeMax, true) }), is("x.scatterReduce(0, ids, y, {includeSelf: false})", func(v values) one { return v.x.ScatterReduce(0, v.ids, v.y, tensor.MergeSum, false) }),
	is("x.indexReduce(0, one, y.at([0, 2]), {how: 'mean'})", func(v values) one { return v.x.IndexReduce(0, v.one, v.y.At(tensor.R(0, 2)), tensor.MergeMean, true) }), is("x.indexCopy(0, one, y.at([0, 2]))", func(v values) one { return v.x.IndexCopy(0, v.one, v.y.At(tensor.R(0, 2))) }),
	is("x.indexAdd(0, one, y.at([0, 2]), {alpha: 2})", func(v values) one { return v.x.IndexAdd(0, v.one, v.y.At(tensor.R(0, 2)), 2) }), is("x.indexFill(1, one, 4)", func(v values) one { return v.x.IndexFill(1, v.one, 4) }), is("x.indexPut([one, one], y.at(0, [0, 2]), {add: true})", func(v values) one { return v.x.IndexPut(some{v.one, v.one}, v.y.At(0, tensor.R(0, 2)), true) }),
	is("x.maskedFill(y.gt(0.5), 3)", func(v values) one { return v.x.MaskedFill(v.y.Gt(0.5), 3) }), is("x.maskedScatter(y.gt(0.5), y)", func(v values) one { return v.x.MaskedScatter(v.y.Gt(0.5), v.y) }), is("x.maskedSelect(y.gt(0.5))", func(v values) one { return sure(v.x.MaskedSelect(bg, v.y.Gt(0.5))) }),
	is("i.nonZero()", func(v values) one { return sure(v.i.NonZero(bg)) }), is("ids.oneHot(4)", func(v values) one { return v.ids.OneHot(4) }), is("ids.oneHot()", func(v values) one { return sure(v.ids.OneHotMax(bg)) }), are("x.sort(0, true)", func(v values) (one, one) { return v.x.Sort(0, true) }),
	are("x.sort({descending: true})", func(v values) (one, one) { return v.x.Sort(-1, true) }), is("x.argSort()", func(v values) one { return v.x.ArgSort(-1, false) }), are("x.topK(2)", func(v values) (one, one) { return v.x.TopK(2, -1, true) }), are("x.topK(2, {axis: 0, largest: false})", func(v values) (one, one) { return v.x.TopK(2, 0, false) }),
	is("w.tensor([0.2, 0.4, 0.4]).searchSorted(x)", func(v values) one { return tensor.From([]float32{0.2, 0.4, 0.4}).SearchSorted(v.x, false) }), is("w.tensor([0.2, 0.4]).searchSorted(w.tensor([0.4]), {right: true})", func(v values) one {
		return tensor.From([]float32{0.2, 0.4}).SearchSorted(tensor.From([]float32{0.4}), true)
	}),
	is("x.clone().own().assign(y)", func(v values) one { return v.y }),
}

func half(v values) (q, k, val one) {
	return v.times.Transpose(0, 1), v.times.Transpose(0, 1).Mul(0.5), v.times.Transpose(0, 1).Add(1)
}

const halves = "times.transpose(0, 1), times.transpose(0, 1).mul(0.5), times.transpose(0, 1).add(1)"

var networks1 = []example{
	is("img.conv2d(img.reshape([1, 4, 6, 6]).at(null, null, [0, 3], [0, 3]), null, {stride: 2, padding: 1})", func(v values) one {
		return v.img.Conv2D(v.img.At(nil, nil, tensor.R(0, 3), tensor.R(0, 3)), nil, tensor.Conv{Stride: 2, Padding: 1})
	}),
	is("img.conv2d(img.reshape([4, 1, 6, 6]).at(null, null, [0, 2], [0, 2]), w.ones([4]), {groups: 4, dilation: [1, 2]})", func(v values) one {
		return v.img.Conv2D(v.img.Reshape(4, 1, 6, 6).At(nil, nil, tensor.R(0, 2), tensor.R(0, 2)), tensor.Ones(4), tensor.Conv{Groups: 4, Dilations: []int{1, 2}})
	}),
	is("img.convTranspose2d(img.reshape([4, 1, 6, 6]).at(null, null, [0, 2], [0, 2]), null, {stride: 2, outputPadding: 1})", func(v values) one {
		return v.img.ConvTranspose(v.img.Reshape(4, 1, 6, 6).At(nil, nil, tensor.R(0, 2), tensor.R(0, 2)), nil, tensor.Conv{Stride: 2, OutputPadding: []int{1, 1}})
	}),
	is("img.maxPool2d(2)", func(v values) one { return v.img.MaxPool(pool2(2)) }), is("img.maxPool2d([3, 2], {stride: 2, padding: 1, dilation: 1, ceil: true})", func(v values) one {
		return v.img.MaxPool(tensor.Pool{Size: []int{3, 2}, Axes: 2, Stride: []int{2}, Padding: []int{1}, Dilation: []int{1}, Ceil: true})
	}),
	is("img.avgPool2d(3, {padding: 1, excludePadding: true})", func(v values) one {
		return v.img.AvgPool(tensor.Pool{Size: []int{3}, Axes: 2, Padding: []int{1}, ExcludePadding: true})
	}),
	is("img.maxPool(2, {axes: 1})", func(v values) one { return v.img.MaxPool(tensor.Pool{Size: []int{2}, Axes: 1}) }), is("img.avgPool([2, 3])", func(v values) one { return v.img.AvgPool(tensor.Pool{Size: []int{2, 3}}) }), is("img.sumPool([2, 2])", func(v values) one { return v.img.SumPool(tensor.Pool{Size: []int{2, 2}}) }),
	is("img.im2col(3, {stride: 2})", func(v values) one { return v.img.Im2Col(tensor.Pool{Size: []int{3}, Stride: []int{2}}) }), is("img.lpPool(2, [2, 2])", func(v values) one { return v.img.LpPool(2, tensor.Pool{Size: []int{2, 2}}) }),
	are("img.maxPoolIndex([2, 2])", func(v values) (one, one) { return v.img.MaxPoolIndex(tensor.Pool{Size: []int{2, 2}}) }), is("(() => { const [p, at] = img.maxPoolIndex([2, 2]); return p.maxUnpool(at, [2, 2], {sizes: [6, 6]}) })()", func(v values) one {
		p, at := v.img.MaxPoolIndex(tensor.Pool{Size: []int{2, 2}})
		return p.MaxUnpool(at, tensor.Pool{Size: []int{2, 2}}, 6, 6)
	}),
	is("img.im2col([2, 2], {stride: 2}).fold([6, 6], [2, 2], {stride: 2})", func(v values) one {
		p := tensor.Pool{Size: []int{2, 2}, Stride: []int{2}}
		return v.img.Im2Col(p).Fold([]int{6, 6}, p)
	}),
	is("img.adaptiveAvgPool([2, 4])", func(v values) one { return v.img.AdaptiveAvgPool(2, 4) }), are("img.adaptiveMaxPool([2, 4])", func(v values) (one, one) { return v.img.AdaptiveMaxPool(2, 4) }),
	is("x.layerNorm()", func(v values) one { return v.x.LayerNorm(nil, nil, 1e-5, 4) }), is("x.layerNorm({w: y.at(0), eps: 0.1})", func(v values) one { return v.x.LayerNorm(v.y.At(0), nil, 0.1, 4) }), is("x.layerNorm([3, 4], y, null, 0.01)", func(v values) one { return v.x.LayerNorm(v.y, nil, 0.01, 3, 4) }),
	is("x.rmsNorm(4, y.at(0))", func(v values) one { return v.x.RMSNorm(v.y.At(0), 1e-6, 4) }), is("img.batchNorm(x.at(0), y.at(0), {b: y.at(1)})", func(v values) one { return v.img.BatchNorm(v.x.At(0), v.y.At(0), nil, v.y.At(1), 1e-5) }),
	is("img.groupNorm(2, y.at(0))", func(v values) one { return v.img.GroupNorm(2, v.y.At(0), nil, 1e-5) }), is("img.instanceNorm({b: y.at(0)})", func(v values) one { return v.img.InstanceNorm(nil, v.y.At(0), 1e-5) }), is("img.localResponseNorm(3, {alpha: 0.5})", func(v values) one { return v.img.LocalResponseNorm(3, 0.5, 0.75, 1) }),
	is("x.embedding(ids)", func(v values) one { return v.x.Embedding(v.ids, tensor.EmbeddingOptions{}) }), is("x.embedding(ids, {maxNorm: 0.5, normType: 1})", func(v values) one { return v.x.Embedding(v.ids, tensor.EmbeddingOptions{MaxNorm: 0.5, NormType: 1}) }),
	is("x.embeddingBag(ids, {mode: 'mean'})", func(v values) one {
		return v.x.EmbeddingBag(v.ids, nil, nil, tensor.BagMean, tensor.EmbeddingOptions{})
	}), is("x.embeddingBag(ids.flatten(), {offsets: w.tensor(Int32Array.of(0, 4)), padding: 1})", func(v values) one {
		return v.x.EmbeddingBag(v.ids.Flatten(), tensor.Of([]int32{0, 4}), nil, tensor.BagSum, tensor.EmbeddingOptions{Padding: []int{1}})
	}),
	is("img.resize([9, 4], {mode: 'linear', alignCorners: true})", func(v values) one {
		return v.img.Resize([]int{9, 4}, tensor.Resize{Mode: tensor.ResizeLinear, AlignCorners: true})
	}), is("img.resize([4, 4], {mode: 'cubic', antialias: true})", func(v values) one {
		return v.img.Resize([]int{4, 4}, tensor.Resize{Mode: tensor.ResizeCubic, Antialias: true})
	}),
	is("img.resize([3, 12])", func(v values) one { return v.img.Resize([]int{3, 12}, tensor.Resize{}) }), is("img.gridSample(w.affineGrid(w.tensor([[[0.5, 0.1, 0.2], [0, 1, 0]]]), [1, 4, 3, 3]), {padding: 'border'})", func(v values) one {
		return v.img.GridSample(tensor.AffineGrid(tensor.From([][][]float32{{{0.5, 0.1, 0.2}, {0, 1, 0}}}), []int{1, 4, 3, 3}, false), tensor.Sample{Mode: tensor.ResizeLinear, Padding: tensor.SampleBorder})
	}),
	is("w.attention("+halves+", {causal: true, scale: 0.3})", func(v values) one {
		q, k, x := half(v)
		return tensor.ScaledDotProduct(q, k, x, tensor.Attention{Causal: true, Scale: 0.3})
	}),
	is("w.attention("+halves+", {mask: w.tensor([[true, false, true], [false, false, false], [true, true, true]])})", func(v values) one {
		q, k, x := half(v)
		return tensor.ScaledDotProduct(q, k, x, tensor.Attention{Mask: tensor.From([][]bool{{true, false, true}, {false, false, false}, {true, true, true}})})
	}),
	is("w.attentionWeights(times, times.mul(0.5), {mask: w.tensor([[true], [false]]), causal: true})", func(v values) one {
		return tensor.AttentionWeights(v.times, v.times.Mul(0.5), tensor.Attention{Causal: true, Mask: tensor.From([][]bool{{true}, {false}})})
	}),
	is("x.crossEntropy(classes, {smoothing: 0.1, ignore: 3})", func(v values) one { return v.x.CrossEntropy(v.classes, tensor.Loss{Smoothing: 0.1, Ignore: []int{3}}) }), is("x.nll(classes, {reduction: 'none', weight: y.at(0)})", func(v values) one {
		return v.x.NLL(v.classes, tensor.Loss{Reduction: tensor.NoneLoss, Weight: v.y.At(0)})
	}),
	is("x.mse(y, {reduction: 'sum'}, undefined)", func(v values) one { return v.x.MSE(v.y, tensor.Loss{Reduction: tensor.SumLoss}) }), is("x.l1(y, {reduction: 'batchMean'})", func(v values) one { return v.x.L1(v.y, tensor.Loss{Reduction: tensor.BatchMean}) }), is("x.bce(y.div(2))", func(v values) one { return v.x.BCE(v.y.Div(2)) }),
	is("x.bceWithLogits(y, {posWeight: y.at(0)})", func(v values) one { return v.x.BCEWithLogits(v.y, tensor.Loss{PosWeight: v.y.At(0)}) }), is("a.softMargin(sign.expand([3, 3]))", func(v values) one { return v.a.SoftMargin(v.sign.Expand(3, 3)) }), is("x.multiLabelSoftMargin(y.gt(0.5).to('f32'))", func(v values) one { return v.x.MultiLabelSoftMargin(v.y.Gt(0.5).To(v.x.DType())) }),
	is("x.huber(y, 0.3)", func(v values) one { return v.x.Huber(v.y, 0.3) }), is("x.huber(y, {delta: 0.3, reduction: 'none'})", func(v values) one { return v.x.Huber(v.y, 0.3, tensor.Loss{Reduction: tensor.NoneLoss}) }), is("x.huber(y, 0.5, {reduction: 'sum'})", func(v values) one { return v.x.Huber(v.y, 0.5, tensor.Loss{Reduction: tensor.SumLoss}) }),
	is("x.smoothL1(y, {beta: 0.2})", func(v values) one { return v.x.SmoothL1(v.y, 0.2) }), is("x.klDiv(y, {reduction: 'sum'})", func(v values) one { return v.x.KLDiv(v.y, false, tensor.Loss{Reduction: tensor.SumLoss}) }), is("x.klDiv(y, {logTarget: true})", func(v values) one { return v.x.KLDiv(v.y, true) }),
	is("x.poissonNll(y, {full: true})", func(v values) one { return v.x.PoissonNLL(v.y, true, true, 1e-8) }), is("x.poissonNll(y, {logInput: false})", func(v values) one { return v.x.PoissonNLL(v.y, false, false, 1e-8) }), is("x.gaussianNll(y, y, {full: true})", func(v values) one { return v.x.GaussianNLL(v.y, v.y, true, 1e-6) }),
	is("a.at(0).hingeEmbedding(sign, {margin: 0.5})", func(v values) one { return v.a.At(0).HingeEmbedding(v.sign, 0.5) }), is("a.at(0).marginRanking(a.at(1), sign, {margin: 0.2})", func(v values) one { return v.a.At(0).MarginRanking(v.a.At(1), v.sign, 0.2) }),
	is("a.cosineEmbedding(m, sign)", func(v values) one { return v.a.CosineEmbedding(v.m, v.sign, 0) }), is("x.multiLabelMargin(w.tensor(Int32Array.of(2, 0, -1, 1, -1, 0, 0, 3, 1, 2, -1, 0), [3, 4]), {reduction: 'none'})", func(v values) one {
		return v.x.MultiLabelMargin(tensor.Of([]int32{2, 0, -1, 1, -1, 0, 0, 3, 1, 2, -1, 0}, 3, 4), tensor.Loss{Reduction: tensor.NoneLoss})
	}), is("x.multiMargin(classes, {p: 2})", func(v values) one { return v.x.MultiMargin(v.classes, 2, 1) }), is("a.tripletMargin(m, a.t(), {margin: 2, swap: true, reduction: 'sum'})", func(v values) one {
		return v.a.TripletMargin(v.m, v.a.T(), tensor.Triplet{Margin: 2, P: 2, Eps: 1e-6, Swap: true}, tensor.Loss{Reduction: tensor.SumLoss})
	}),
	is("times.logSoftmax().ctc(w.tensor(Int32Array.of(1, 2), [2, 1]), w.tensor(Int32Array.of(3, 2)), w.tensor(Int32Array.of(1, 1)), {reduction: 'sum'})", func(v values) one {
		return sure(v.times.LogSoftmax(-1).CTC(bg, tensor.Of([]int32{1, 2}, 2, 1), tensor.Of([]int32{3, 2}), tensor.Of([]int32{1, 1}), tensor.CTCOptions{Reduction: tensor.SumLoss}))
	}),
	{"w.recurrent(times, recurrentWeights)", func(v values) some { return lstm(v) }},
}

func lstm(v values) some {
	r := &nn.Recurrent{Layers: [][]*nn.Cell{{{Kind: nn.LSTMCell, Input: v.weights[0], Hidden: v.weights[1], InputBias: v.weights[2], HiddenBias: v.weights[3]}}}}
	y, s := r.Forward(v.times, nn.States{}, false)
	return some{y, s.H, s.C}
}
