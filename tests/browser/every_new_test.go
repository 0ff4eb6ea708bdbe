package browser_test

import (
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// merged1 are methods that are several functions in Go, by their options, and those that change tensors.
var merged1 = []example{
	is("w.scalar(2.5)", func(values) one { return tensor.Scalar(2.5) }), is("x.mul(w.scalar(w.variable('n', 1, 8).bind(3).plus(1)))", func(v values) one { return v.x.Mul(4) }),
	is("s.selu()", func(v values) one { return v.s.SELU() }), is("s.selu({alpha: 2, scale: 0.5})", func(v values) one { return v.s.SELUWith(2, 0.5) }),
	is("s.mul(8).hardSigmoid()", func(v values) one { return v.s.Mul(8).HardSigmoid() }), is("s.hardSigmoid({alpha: 2})", func(v values) one { return v.s.HardSigmoidWith(2, 0.5) }),
	is("x.allClose(y)", func(v values) one { return v.x.AllClose(v.y, 1e-5, 1e-8, false) }), is("x.allClose(y, {atol: 9})", func(v values) one { return v.x.AllClose(v.y, 1e-5, 9, false) }),
	are("x.varMean(1)", func(v values) (one, one) { return v.x.VarMean(1, 1) }), are("x.varMean({axis: 0, correction: 0, keep: true})", func(v values) (one, one) { return v.x.VarMeanKeep(0, 0) }),
	are("x.stdMean()", func(v values) (one, one) { return v.x.StdMean(1) }), are("x.stdMean({axis: [1], keep: true})", func(v values) (one, one) { return v.x.StdMeanKeep(1, 1) }),
	are("x.kthValue(2, {axis: 0, keep: true})", func(v values) (one, one) { return v.x.KthValueKeep(2, 0) }),
	is("x.quantile([0.25, 0.5], {axis: 0, keep: true})", func(v values) one { return v.x.QuantileKeep([]float64{0.25, 0.5}, 0, tensor.BetweenLinear, false) }),
	is("x.quantile(0.3, {keep: true})", func(v values) one {
		return v.x.QuantileKeep([]float64{0.3}, -1, tensor.BetweenLinear, false).Select(0, 0)
	}),
	is("x.maskedSelect(y.gt(0.5), {size: 9, fill: -2})", func(v values) one { return v.x.MaskedSelectSized(v.y.Gt(0.5), 9, -2) }), is("x.maskedSelect(y.gt(0.5), {size: 2})", func(v values) one { return v.x.MaskedSelectSized(v.y.Gt(0.5), 2, 0) }),
	is("i.nonZero({size: 14, fill: -1})", func(v values) one { return v.i.NonZeroSized(14, -1) }), is("i.nonZero({size: 0})", func(v values) one { return v.i.NonZeroSized(0, 0) }),
	is("img.layerNorm({axes: 1, w: w.tensor([1, 2, 3, 4]), b: w.tensor([4, 3, 2, 1])})", func(v values) one {
		return v.img.LayerNormAlong([]int{1}, tensor.From([]float32{1, 2, 3, 4}), tensor.From([]float32{4, 3, 2, 1}), 1e-5)
	}),
	is("img.rmsNorm(null, null, {axes: [1, 3], eps: 0.25})", func(v values) one { return v.img.RMSNormAlong([]int{1, 3}, nil, 0.25) }),
	is("x.batchNorm(x.mean(0), x.var(0), {axes: -1})", func(v values) one { return v.x.BatchNormAlong([]int{-1}, v.x.Mean(0), v.x.Var(1, 0), nil, nil, 1e-5) }),
	is("img.conv2d(img.reshape([1, 4, 6, 6]).at(null, null, [0, 2], [0, 3]), null, {stride: 2, same: true})", func(v values) one {
		return v.img.Conv2D(v.img.At(nil, nil, tensor.R(0, 2), tensor.R(0, 3)), nil, tensor.Conv{Stride: 2, Same: true})
	}),
	is("img.maxPool2d(3, {stride: 2, same: true})", func(v values) one {
		return v.img.MaxPool(tensor.Pool{Size: []int{3}, Axes: 2, Stride: []int{2}, Same: true})
	}),
	is("img.avgPool([2, 3], {stride: 1, same: true, excludePadding: true})", func(v values) one {
		return v.img.AvgPool(tensor.Pool{Size: []int{2, 3}, Stride: []int{1}, Same: true, ExcludePadding: true})
	}),
	is("img.moveAxis(1, 3).crossEntropy(w.full([1, 6, 6], 2, {dtype: 'i32'}), {classAxis: -1})", func(v values) one {
		return v.img.MoveAxis(1, 3).CrossEntropy(tensor.Full(2, dtype.I32, 1, 6, 6), tensor.Loss{ClassAxis: -1})
	}),
	is("x.clone().own().addAssign(y)", func(v values) one { return v.x.Add(v.y) }), is("x.clone().subAssign(1)", func(v values) one { return v.x.Sub(1) }),
	is("i.clone().mulAssign(j)", func(v values) one { return v.i.Mul(v.j) }), is("x.clone().own().divAssign(y)", func(v values) one { return v.x.Div(v.y) }), is("x.clone().replace(y)", func(v values) one { return v.y }),
}

// new1 are methods that are one function in Go.
var new1 = []example{
	is("x.shrinkTo([2, -1])", func(v values) one { return v.x.ShrinkTo(2, -1) }), is("x.padTo([-1, 6])", func(v values) one { return v.x.PadTo(-1, 6) }),
	is("img.rearrange('b c (h p) (w q) -> b (h w) (p q c)', {sizes: {p: 2, q: 3}})", func(v values) one {
		return v.img.Rearrange("b c (h p) (w q) -> b (h w) (p q c)", map[string]int{"p": 2, "q": 3})
	}),
	is("x.rearrange('a b -> b a')", func(v values) one { return v.x.Rearrange("a b -> b a", nil) }), is("x.einRepeat('h w -> (h 2) w c', {sizes: {c: 3}})", func(v values) one { return v.x.EinRepeat("h w -> (h 2) w c", map[string]int{"c": 3}) }),
	is("img.einReduce('b c (h 2) (w 2) -> b c h w', 'max')", func(v values) one { return v.img.EinReduce("b c (h 2) (w 2) -> b c h w", one.Max, nil) }),
	is("x.einReduce('a b -> b')", func(v values) one { return v.x.EinReduce("a b -> b", one.Sum, nil) }), is("x.einReduce('a (b c) -> a', 'mean', {sizes: {c: 2}})", func(v values) one { return v.x.EinReduce("a (b c) -> a", one.Mean, map[string]int{"c": 2}) }),
	is("x.einReduce('a b -> a', {how: 'logSumExp'})", func(v values) one { return v.x.EinReduce("a b -> a", one.LogSumExp, nil) }),
	is("y.div(y.max()).abs().clamp(0, 1).bernoulli()", func(v values) one { return v.y.Div(v.y.Max()).Abs().Clamp(0, 1).Bernoulli() }), is("x.alphaDropout(0.3)", func(v values) one { return v.x.AlphaDropout(0.3) }),
	is("x.gumbelSoftmax()", func(v values) one { return v.x.GumbelSoftmax(-1, tensor.Gumbel{}) }), is("x.gumbelSoftmax(0, {temperature: 0.5, hard: true})", func(v values) one {
		return v.x.GumbelSoftmax(0, tensor.Gumbel{Temperature: 0.5, Hard: true})
	}),
	is("x.flatten().stft(4, {window: w.hannWindow(4)})", func(v values) one {
		return v.x.Flatten().STFT(4, tensor.Frames{Window: tensor.HannWindow(4, true, dtype.F32)})
	}), is("x.stft(3, {hop: 2, twoSided: true, normalized: true, zeroPadded: true})", func(v values) one {
		return v.x.STFT(3, tensor.Frames{Hop: 2, TwoSided: true, Normalized: true, ZeroPadded: true})
	}),
	is("x.stft(4, {hop: 1, uncentred: true}).istft(4, {hop: 1, uncentred: true})", func(v values) one {
		return v.x.STFT(4, tensor.Frames{Hop: 1, Uncentred: true}).ISTFT(4, tensor.Frames{Hop: 1, Uncentred: true})
	}), is("x.flatten().stft(4).istft(4, {length: 9})", func(v values) one {
		return v.x.Flatten().STFT(4, tensor.Frames{}).ISTFT(4, tensor.Frames{Length: 9})
	}),
	is("x.mul(3).categorical()", func(v values) one { return v.x.Mul(3).Categorical(-1) }), is("x.categorical(0)", func(v values) one { return v.x.Categorical(0) }),
	is("x.multinomial(3)", func(v values) one { return v.x.Multinomial(3, tensor.Sampling{}) }), is("x.at(0).multinomial(9, {replace: true})", func(v values) one { return v.x.At(0).Multinomial(9, tensor.Sampling{Replace: true}) }),
	is("b.newtonSchulz()", func(v values) one { return v.b.NewtonSchulz(5, [3]float64{3.4445, -4.775, 2.0315}, 1e-7) }),
	is("a.newtonSchulz(3, {coefficients: [2, -1.5, 0.5], eps: 0.1})", func(v values) one { return v.a.NewtonSchulz(3, [3]float64{2, -1.5, 0.5}, 0.1) }),
	is("i.pack4().unpack4('i8')", func(v values) one { return v.i.To(dtype.I8) }), is("w.tensor(Uint8Array.of(0x7f, 0x80)).unpack4('i32')", func(values) one { return tensor.Of([]int32{-1, 7, 0, -8}) }),
	is("i.hash()", func(v values) one { sum, err := v.i.Hash(bg); return sure(tensor.Of(sum[:]), err) }), is("i.keccak()", func(v values) one { return sure(v.i.Keccak(bg, tensor.SHA3_256)) }),
	is("w.tensor(Uint8Array.of(1, 2)).keccak('shake128')", func(values) one { return sure(tensor.Of([]uint8{1, 2}).Keccak(bg, tensor.SHAKE128)) }), is("x.keccak({kind: 'sha3_512'})", func(v values) one { return sure(v.x.Keccak(bg, tensor.SHA3_512)) }),
	is("w.tensor(BigUint64Array.of(1n, 5n << 40n)).threefry(7)", func(values) one { return tensor.Of([]uint64{1, 5 << 40}).Threefry(7) }), is("w.randomBits([5])", func(values) one { return tensor.RandomBits(5) }),
	is("w.uSum([x, 2, y])", func(v values) one { return tensor.USum(v.x, 2, v.y) }), is("w.uProd([2, x, 0.5, y])", func(v values) one { return tensor.UProd(2, v.x, 0.5, v.y) }),
	{"w.meshgridXY([one, classes])", func(v values) some { return tensor.MeshgridXY(v.one, v.classes) }},
	is("x.mul(9).to('f8e4m3')", func(v values) one { return v.x.Mul(9).To(dtype.F8E4M3) }), is("w.tensor([1.1, -300, 1e6], {dtype: 'f8e5m2'})", func(values) one { return tensor.From([]float32{1.1, -300, 1e6}).To(dtype.F8E5M2) }),
	is("x.to('f8e5m2').add(y.to('f8e4m3'))", func(v values) one { return v.x.To(dtype.F8E5M2).Add(v.y.To(dtype.F8E4M3)) }), is("x.to('f8e4m3').bitcast('u8')", func(v values) one { return v.x.To(dtype.F8E4M3).Bitcast(dtype.U8) }),
	is("w.randn([3], {dtype: 'f8e5m2'})", func(values) one { return tensor.Randn(3).To(dtype.F8E5M2) }),
}
