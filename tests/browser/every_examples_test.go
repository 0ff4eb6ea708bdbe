package browser_test

import (
	"context"
	"math"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// example is a call as a page writes it, and what it gives in Go.
type example struct {
	js   string
	want func(v values) some
}

// inputs makes what examples are called with.
const inputs = `
		const seq = (shape, by, mod, over, less = 0) => w.tensor(Float32Array.from({length: shape.reduce((n, s) => n * s, 1)}, (_, k) => (k * by % mod + 1) / over - less), shape)
		const [x, y, img, a, s] = [seq([3, 4], 7, 12, 13), seq([3, 4], 5, 12, 10), seq([1, 4, 6, 6], 37, 101, 100), seq([3, 3], 5, 7, 2, 1.5), seq([3, 8], 11, 23, 20, 0.5)]
		const m = w.tensor([[4, 1, 0.5], [1, 3, 0.25], [0.5, 0.25, 2]]), b = w.tensor([[1, 2], [3, -1], [0.5, 2]]), n = w.tensor([[1, NaN, 3, 2], [NaN, NaN, 1, 5], [4, 2, 2, 2]])
		const i = w.tensor(Int32Array.from({length: 12}, (_, k) => k * 5 % 7), [3, 4]), j = w.tensor(Int32Array.from({length: 12}, (_, k) => k % 3), [3, 4])
		const ids = w.tensor(Int32Array.of(2, 0, 1, 1, 0, 2), [2, 3]), one = w.tensor(Int32Array.of(2, 0), [2]), classes = w.tensor(Int32Array.of(1, 0, 3), [3])
		const z = seq([4, 2], 3, 7, 5, 0.5), sign = w.tensor([1, -1, 1])
		const recurrentWeights = [seq([8, 4], 3, 17, 30, 0.2), seq([8, 2], 5, 13, 30, 0.2), seq([8], 7, 11, 30), seq([8], 3, 11, 30)]
		const times = seq([3, 2, 4], 7, 19, 20)
`

// values are the same in Go.
type values struct {
	x, y, img, a, s, m, b, n, i, j, ids, one, classes, z, sign, times one
	weights                                                           some
}

func seq(shape []int, by, mod int, over, less float32) one {
	n := 1
	for _, s := range shape {
		n *= s
	}
	data := make([]float32, n)
	for k := range data {
		data[k] = float32(float64(k*by%mod+1)/float64(over) - float64(less))
	}
	return tensor.Of(data, shape...)
}

func known1() values {
	ints := func(f func(k int) int) one {
		data := make([]int32, 12)
		for k := range data {
			data[k] = int32(f(k))
		}
		return tensor.Of(data, 3, 4)
	}
	nan := float32(math.NaN())
	return values{
		x: seq([]int{3, 4}, 7, 12, 13, 0), y: seq([]int{3, 4}, 5, 12, 10, 0), img: seq([]int{1, 4, 6, 6}, 37, 101, 100, 0), a: seq([]int{3, 3}, 5, 7, 2, 1.5),
		s: seq([]int{3, 8}, 11, 23, 20, 0.5), m: tensor.From([][]float32{{4, 1, 0.5}, {1, 3, 0.25}, {0.5, 0.25, 2}}), b: tensor.From([][]float32{{1, 2}, {3, -1}, {0.5, 2}}),
		n: tensor.From([][]float32{{1, nan, 3, 2}, {nan, nan, 1, 5}, {4, 2, 2, 2}}), i: ints(func(k int) int { return k * 5 % 7 }), j: ints(func(k int) int { return k % 3 }),
		ids: tensor.Of([]int32{2, 0, 1, 1, 0, 2}, 2, 3), one: tensor.Of([]int32{2, 0}), classes: tensor.Of([]int32{1, 0, 3}),
		z: seq([]int{4, 2}, 3, 7, 5, 0.5), sign: tensor.From([]float32{1, -1, 1}), times: seq([]int{3, 2, 4}, 7, 19, 20, 0),
		weights: some{seq([]int{8, 4}, 3, 17, 30, 0.2), seq([]int{8, 2}, 5, 13, 30, 0.2), seq([]int{8}, 7, 11, 30, 0), seq([]int{8}, 3, 11, 30, 0)},
	}
}

// by gives a value by its name in a page.
func (v values) by(name string) one {
	return map[string]one{"x": v.x, "y": v.y, "m": v.m, "i": v.i, "j": v.j}[name]
}

func is(js string, f func(v values) one) example {
	return example{js, func(v values) some { return some{f(v)} }}
}

func are(js string, f func(v values) (one, one)) example {
	return example{js, func(v values) some { a, b := f(v); return some{a, b} }}
}

func sure(x one, err error) one {
	if err != nil {
		panic(&tensor.ArgumentError{Op: "example", Reason: err.Error()})
	}
	return x
}

// pool2 is a window over two axes.
func pool2(size int) tensor.Pool { return tensor.Pool{Size: []int{size}, Axes: 2} }

// examples call what simple does not, each with options that are not the usual ones, and mean each option at least once.
var examples = slices.Concat(numbers1, moves1, picks1, networks1, merged1, new1)

var bg = context.Background()

var numbers1 = []example{
	is("x.lerp(y, 0.25)", func(v values) one { return v.x.Lerp(v.y, 0.25) }), is("x.clamp(0.2, 0.5)", func(v values) one { return v.x.Clamp(0.2, 0.5) }),
	is("x.clamp({high: 0.5})", func(v values) one { return v.x.Clamp(nil, 0.5) }), is("x.clamp({low: null, high: y})", func(v values) one { return v.x.Clamp(nil, v.y) }),
	is("x.addCMul(y, y, {value: 2})", func(v values) one { return v.x.AddCMul(v.y, v.y, 2) }), is("x.addCDiv(y, y.add(1))", func(v values) one { return v.x.AddCDiv(v.y, v.y.Add(1), 1) }),
	is("x.roundTo(1)", func(v values) one { return v.x.RoundTo(1) }), is("n.nanToNum()", func(v values) one { return v.n.NanToNum(0, 1, 1) }),
	is("n.div(0).nanToNum({nan: 7, posInf: 5})", func(v values) one { return v.n.Div(0).NanToNum(7, 5, 0) }), is("x.logit(0.2)", func(v values) one { return v.x.Logit(0.2) }),
	is("x.logit()", func(v values) one { return v.x.Logit(-1) }), is("s.leakyRelu({slope: 0.2})", func(v values) one { return v.s.LeakyReLU(0.2) }),
	is("s.leakyRelu()", func(v values) one { return v.s.LeakyReLU(0.01) }), is("s.elu(2)", func(v values) one { return v.s.ELU(2) }), is("s.celu()", func(v values) one { return v.s.CELU(1) }),
	is("s.softplus(2)", func(v values) one { return v.s.Softplus(2) }), is("s.softplus({threshold: 0.1})", func(v values) one { return v.s.SoftplusUpTo(1, 0.1) }),
	is("s.hardTanh({high: 0.1})", func(v values) one { return v.s.HardTanh(-1, 0.1) }), is("s.hardShrink(0.2)", func(v values) one { return v.s.HardShrink(0.2) }),
	is("s.softShrink()", func(v values) one { return v.s.SoftShrink(0.5) }), is("s.threshold(0.1, 9)", func(v values) one { return v.s.Threshold(0.1, 9) }),
	is("s.prelu(w.tensor([0.5]))", func(v values) one { return v.s.PReLU(tensor.From([]float32{0.5})) }), is("s.rrelu({low: 0.1, high: 0.2})", func(v values) one { return v.s.RReLU(0.1, 0.2) }),
	is("s.glu()", func(v values) one { return v.s.GLU(-1) }), is("s.softmax(0)", func(v values) one { return v.s.Softmax(0) }), is("s.logSoftmax({axis: 0})", func(v values) one { return v.s.LogSoftmax(0) }),
	is("s.softmin()", func(v values) one { return v.s.Softmin(-1) }), is("x.dropout(0.3)", func(v values) one { return v.x.Dropout(0.3) }), is("img.channelDropout()", func(v values) one { return v.img.ChannelDropout(0.5) }),
	is("x.isClose(y, {rtol: 0.5})", func(v values) one { return v.x.IsClose(v.y, 0.5, 1e-8, false) }), is("n.isClose(n, {equalNaN: true})", func(v values) one { return v.n.IsClose(v.n, 1e-5, 1e-8, true) }),
	is("i.isIn(one)", func(v values) one { return v.i.IsIn(v.one) }), is("x.gt(0.5).where(x, y)", func(v values) one { return v.x.Gt(0.5).Where(v.x, v.y) }),
	is("x.sum({axis: 1, keep: true})", func(v values) one { return v.x.SumKeep(1) }), is("i.sum({dtype: 'i64', axis: -1, keep: true})", func(v values) one { return v.i.SumOf(dtype.I64, -1).Unsqueeze(1) }),
	is("x.prod([0, 1])", func(v values) one { return v.x.Prod(0, 1) }), is("i.prod({dtype: 'f32'})", func(v values) one { return v.i.ProdOf(dtype.F32) }), is("x.mean({keep: true})", func(v values) one { return v.x.MeanKeep() }),
	is("x.max(0)", func(v values) one { return v.x.Max(0) }), is("x.min({axis: [0]})", func(v values) one { return v.x.Min(0) }), is("i.any({axis: 0, keep: true})", func(v values) one { return v.i.Any(0).Unsqueeze(0) }),
	is("i.all(1)", func(v values) one { return v.i.All(1) }), is("x.logSumExp({axis: 0, keep: true})", func(v values) one { return v.x.LogSumExp(0).Unsqueeze(0) }), is("n.nanSum(1)", func(v values) one { return v.n.NanSum(1) }),
	is("n.nanMean({axis: 0})", func(v values) one { return v.n.NanMean(0) }), is("i.countNonZero({axis: 1})", func(v values) one { return v.i.CountNonZero(1) }),
	is("x.var({axis: 1, correction: 0, keep: true})", func(v values) one { return v.x.VarKeep(0, 1) }), is("x.std(0)", func(v values) one { return v.x.Std(1, 0) }), is("x.norm()", func(v values) one { return v.x.Norm(2) }),
	is("x.norm({p: 1, axis: 0, keep: true})", func(v values) one { return v.x.NormKeep(1, 0) }), is("x.norm(Infinity, 1)", func(v values) one { return v.x.Norm(math.Inf(1), 1) }), is("x.argMax()", func(v values) one { return v.x.ArgMax() }),
	is("x.argMax({axis: 0, keep: true})", func(v values) one { return v.x.ArgMax(0).Unsqueeze(0) }), is("x.argMin(1)", func(v values) one { return v.x.ArgMin(1) }),
	are("x.maxIndex()", func(v values) (one, one) { return v.x.MaxIndex(-1) }), are("x.minIndex(0)", func(v values) (one, one) { return v.x.MinIndex(0) }), are("x.median({axis: 0})", func(v values) (one, one) { return v.x.Median(0) }),
	are("n.nanMedian()", func(v values) (one, one) { return v.n.NanMedian(-1) }), are("i.mode({axis: 1, keep: true})", func(v values) (one, one) { a, b := v.i.Mode(1); return a.Unsqueeze(1), b.Unsqueeze(1) }),
	are("x.kthValue(2, {axis: 0})", func(v values) (one, one) { return v.x.KthValue(2, 0) }), is("x.quantile([0.25, 0.5])", func(v values) one { return v.x.Quantile([]float64{0.25, 0.5}, -1, tensor.BetweenLinear, false) }),
	is("x.quantile(0.3, {axis: 0, interpolation: 'midpoint'})", func(v values) one { return v.x.Quantile([]float64{0.3}, 0, tensor.BetweenMidpoint, false).Select(0, 0) }),
	is("n.quantile(0.5, {interpolation: 'lower', skipNaN: true})", func(v values) one { return v.n.Quantile([]float64{0.5}, -1, tensor.BetweenLower, true).Select(0, 0) }),
	is("s.normalize({p: 1, axis: 1})", func(v values) one { return v.s.Normalize(1, 1e-12, 1) }), is("x.cumSum(0)", func(v values) one { return v.x.CumSum(0) }), is("i.cumSum({dtype: 'u8'})", func(v values) one { return v.i.CumSumOf(dtype.U8, -1) }),
	is("x.cumProd()", func(v values) one { return v.x.CumProd(-1) }), are("x.cumMax(0)", func(v values) (one, one) { return v.x.CumMax(0) }), are("x.cumMin({axis: 1})", func(v values) (one, one) { return v.x.CumMin(1) }),
	is("x.logCumSumExp(1)", func(v values) one { return v.x.LogCumSumExp(1) }), is("x.trapezoid({dx: 2})", func(v values) one { return v.x.Trapezoid(2, -1) }), is("x.trapezoid({x: y, axis: 0})", func(v values) one { return v.x.TrapezoidAt(v.y, 0) }),
	is("x.cumulativeTrapezoid()", func(v values) one { return v.x.CumulativeTrapezoid(1, -1) }), is("x.cumulativeTrapezoid({x: y})", func(v values) one { return v.x.CumulativeTrapezoidAt(v.y, -1) }), is("x.diff(2, 1)", func(v values) one { return v.x.Diff(2, 1) }),
	is("x.diff({axis: 0})", func(v values) one { return v.x.Diff(1, 0) }), are("img.channelMoments(0)", func(v values) (one, one) { return v.img.ChannelMoments(0) }), is("x.cov({correction: 0})", func(v values) one { return v.x.Cov(0, nil, nil) }),
	is("x.cov({weights: y.at(0)})", func(v values) one { return v.x.Cov(1, nil, v.y.At(0)) }), is("x.histogram(w.tensor([0, 0.3, 0.6, 1]))", func(v values) one { return v.x.Histogram(tensor.From([]float32{0, 0.3, 0.6, 1}), nil) }),
	is("x.histogram(w.tensor([0, 0.3, 0.6, 1]), y)", func(v values) one { return v.x.Histogram(tensor.From([]float32{0, 0.3, 0.6, 1}), v.y) }), is("x.histogramEdges(4, {high: 2})", func(v values) one { return v.x.HistogramEdges(4, 0, 2, false) }),
	is("ids.flatten().binCount({least: 5})", func(v values) one { return sure(v.ids.Flatten().BinCount(bg, nil, 5)) }),
	{"i.unique()", func(v values) some { u, err := v.i.Unique(bg); return some{sure(u.Values, err), u.Inverse, u.Counts} }},
	{"j.unique({axis: 1, runs: true})", func(v values) some {
		u, err := v.j.UniqueRunsAlong(bg, 1)
		return some{sure(u.Values, err), u.Inverse, u.Counts}
	}},
	is("x.matmul(y.t())", func(v values) one { return v.x.MatMul(v.y.T()) }), is("x.dot(y.t())", func(v values) one { return v.x.Dot(v.y.T()) }), is("x.at(0).outer(y.at(1))", func(v values) one { return v.x.At(0).Outer(v.y.At(1)) }),
	is("b.kron(m)", func(v values) one { return v.b.Kron(v.m) }), is("x.linear(y)", func(v values) one { return v.x.Linear(v.y, nil) }), is("x.linear(y, x.at(null, 0))", func(v values) one { return v.x.Linear(v.y, v.x.At(nil, 0)) }),
	is("x.tensorDot(y, [1], [1])", func(v values) one { return v.x.TensorDot(v.y, []int{1}, []int{1}) }), is("a.cross(m, 1)", func(v values) one { return v.a.Cross(v.m, 1) }), is("m.solve(b)", func(v values) one { return v.m.Solve(v.b) }),
	is("m.cholesky().choleskySolve(b)", func(v values) one { return v.m.Cholesky().CholeskySolve(v.b) }), is("m.solveTriangular(b, {upper: true})", func(v values) one { return v.m.SolveTriangular(v.b, true, false) }),
	is("m.solveTriangular(b, {unit: true})", func(v values) one { return v.m.SolveTriangular(v.b, false, true) }), are("a.slogDet()", func(v values) (one, one) { return v.a.SlogDet() }), are("b.qr()", func(v values) (one, one) { return v.b.QR(false) }),
	are("b.qr({complete: true})", func(v values) (one, one) { return v.b.QR(true) }), {"b.svd()", func(v values) some { u, s, vt := v.b.SVD(false); return some{u, s, vt} }}, are("m.eigh()", func(v values) (one, one) { return v.m.Eigh(false) }),
	are("m.eigh({upper: true})", func(v values) (one, one) { return v.m.Eigh(true) }), is("m.eigvalsh({upper: true})", func(v values) one { return v.m.Eigvalsh(true) }), is("b.pinv()", func(v values) one { return v.b.PInv(-1, -1) }), is("b.matrixRank({rtol: 0.9})", func(v values) one { return v.b.MatrixRank(-1, 0.9) }),
	{"b.lu()", func(v values) some { p, l, u := v.b.LU(); return some{p, l, u} }}, is("b.lstsq(m.at(0))", func(v values) one { return v.b.Lstsq(v.m.At(0)) }), is("m.tensorSolve(m.at(0))", func(v values) one { return v.m.TensorSolve(v.m.At(0)) }),
	is("m.tensorInv(1)", func(v values) one { return v.m.TensorInv(1) }), is("x.pdist(1)", func(v values) one { return v.x.PDist(1) }), is("x.renorm(2, 0, 1)", func(v values) one { return v.x.Renorm(2, 0, 1) }),
	is("x.at(0).combinations({r: 3, repeat: true})", func(v values) one { return v.x.At(0).Combinations(3, true) }), {"i.unravelIndex([2, 4])", func(v values) some { return v.i.UnravelIndex(2, 4) }},
	is("x.narrow(1, 0, 2).bilinear(b, seq([2, 2, 2], 3, 7, 5), one.to('f32'))", func(v values) one {
		return v.x.Narrow(1, 0, 2).Bilinear(v.b, seq([]int{2, 2, 2}, 3, 7, 5, 0), v.one.To(dtype.F32))
	}),
	is("a.ndtr()", func(v values) one { return v.a.Ndtr() }), is("a.mul(20).logNdtr()", func(v values) one { return v.a.Mul(20).LogNdtr() }), is("a.i0()", func(v values) one { return v.a.I0() }), is("a.i0e()", func(v values) one { return v.a.I0e() }),
	is("a.i1()", func(v values) one { return v.a.I1() }), is("a.mul(9).i1e()", func(v values) one { return v.a.Mul(9).I1e() }), are("a.frexp()", func(v values) (one, one) { return v.a.Frexp() }), is("a.ldexp(w.tensor([1, -2, 3]))", func(v values) one { return v.a.Ldexp(tensor.From([]float32{1, -2, 3})) }),
	is("a.nextAfter(0).sub(a)", func(v values) one { return v.a.NextAfter(0).Sub(v.a) }), is("w.kaiserWindow(5, {periodic: false})", func(values) one { return tensor.KaiserWindow(5, false, 12, dtype.F32) }),
	is("a.matrixPower(3)", func(v values) one { return v.a.MatrixPower(3) }), is("a.matrixNorm()", func(v values) one { return v.a.MatrixNorm(tensor.Frobenius, -2, -1) }), is("a.matrixNorm({kind: 'columnSum'})", func(v values) one { return v.a.MatrixNorm(tensor.ColumnSum, -2, -1) }),
	is("m.cond()", func(v values) one { return v.m.Cond(tensor.Spectral) }), is("m.cond('rowSum')", func(v values) one { return v.m.Cond(tensor.RowSum) }), is("x.cdist(y, 1)", func(v values) one { return v.x.CDist(v.y, 1) }),
	is("x.cdist(y)", func(v values) one { return v.x.CDist(v.y, 2) }), is("x.pairwiseDistance(y, {p: 3})", func(v values) one { return v.x.PairwiseDistance(v.y, 3, 1e-6) }), is("x.cosineSimilarity(y, {axis: 0})", func(v values) one { return v.x.CosineSimilarity(v.y, 0, 1e-8) }),
	is("z.fft({axis: 0})", func(v values) one { return v.z.FFT(-1, 0, tensor.Backward) }), is("z.ifft({axis: 0, norm: 'ortho'})", func(v values) one { return v.z.IFFT(-1, 0, tensor.Ortho) }), is("x.rfft({n: 6, axis: 1})", func(v values) one { return v.x.RFFT(6, 1, tensor.Backward) }),
	is("z.irfft({axis: 0})", func(v values) one { return v.z.IRFFT(-1, 0, tensor.Backward) }), is("z.hfft({axis: 0, norm: 'forward'})", func(v values) one { return v.z.HFFT(-1, 0, tensor.Forward) }), is("x.ihfft({axis: 1})", func(v values) one { return v.x.IHFFT(-1, 1, tensor.Backward) }),
	is("z.fftn()", func(v values) one { return v.z.FFTN(nil, nil, tensor.Backward) }), is("z.ifftn({axes: 0})", func(v values) one { return v.z.IFFTN(nil, []int{0}, tensor.Backward) }), is("x.rfftn({sizes: [2, 4]})", func(v values) one { return v.x.RFFTN([]int{2, 4}, nil, tensor.Backward) }),
	is("x.rfftn().irfftn({sizes: [3, 4]})", func(v values) one {
		return v.x.RFFTN(nil, nil, tensor.Backward).IRFFTN([]int{3, 4}, nil, tensor.Backward)
	}), is("x.fftShift(1)", func(v values) one { return v.x.FFTShift(1) }), is("x.ifftShift()", func(v values) one { return v.x.IFFTShift() }),
}

var moves1 = []example{
	is("x.at(true)", func(v values) one { return v.x.At(true) }), is("x.at(null, false)", func(v values) one { return v.x.At(nil, false) }), is("x.at(null, true, w.tensor(new Int32Array([2, 0])))", func(v values) one { return v.x.At(nil, true, []int{2, 0}) }),
	is("x.reshape([2, -1])", func(v values) one { return v.x.Reshape(2, -1) }), is("x.unsqueeze(0).expand([2, 3, 4])", func(v values) one { return v.x.Unsqueeze(0).Expand(2, 3, 4) }), is("x.at(0).expandAs(y)", func(v values) one { return v.x.At(0).ExpandAs(v.y) }),
	is("x.permute([1, 0])", func(v values) one { return v.x.Permute(1, 0) }), is("x.transpose()", func(v values) one { return v.x.Transpose(-2, -1) }), is("img.transpose({a: 1})", func(v values) one { return v.img.Transpose(1, -1) }), is("img.moveAxis(1, 3)", func(v values) one { return v.img.MoveAxis(1, 3) }),
	is("x.flip(0)", func(v values) one { return v.x.Flip(0) }), is("img.squeeze()", func(v values) one { return v.img.Squeeze() }), is("img.flatten([1, 2])", func(v values) one { return v.img.Flatten(1, 2) }), is("x.unflatten(1, [2, -1])", func(v values) one { return v.x.Unflatten(1, 2, -1) }),
	is("x.atLeast(3)", func(v values) one { return v.x.AtLeast(3) }), is("x.shrink([0, 1], [2, 3])", func(v values) one { return v.x.Shrink([]int{0, 1}, []int{2, 3}) }), is("x.narrow(1, 1, 2)", func(v values) one { return v.x.Narrow(1, 1, 2) }), is("x.pad([1], [2])", func(v values) one { return v.x.Pad([]int{1}, []int{2}) }),
	is("x.pad([0, 1], [1, 0], -Infinity)", func(v values) one { return v.x.PadWith(math.Inf(-1), []int{0, 1}, []int{1, 0}) }), is("x.pad([2], [1], {mode: 'reflect'})", func(v values) one { return v.x.PadMode(tensor.Reflect, []int{2}, []int{1}) }),
	is("x.pad([2], [1], {mode: 'replicate'})", func(v values) one { return v.x.PadMode(tensor.Replicate, []int{2}, []int{1}) }), is("x.pad([2], [1], 0, 'circular')", func(v values) one { return v.x.PadMode(tensor.Circular, []int{2}, []int{1}) }),
	is("x.roll([1, 2], [0, 1])", func(v values) one { return v.x.Roll([]int{1, 2}, []int{0, 1}) }), is("x.rot90({k: 3})", func(v values) one { return v.x.Rot90(3, 0, 1) }), is("x.repeat([2, 1])", func(v values) one { return v.x.Repeat(2, 1) }), is("x.repeatInterleave(2, 0)", func(v values) one { return v.x.RepeatInterleave(2, 0) }),
	is("x.repeatEach(w.tensor(Int32Array.of(1, 0, 2)), 0)", func(v values) one { return sure(v.x.RepeatEach(bg, tensor.Of([]int32{1, 0, 2}), 0)) }), is("x.tril(-1)", func(v values) one { return v.x.Tril(-1) }), is("x.triu({diagonal: 1})", func(v values) one { return v.x.Triu(1) }), is("x.diagonal(1)", func(v values) one { return v.x.Diagonal(1) }),
	is("img.diagonal({offset: -1, first: 1, second: 2})", func(v values) one { return v.img.DiagonalOf(-1, 1, 2) }), is("x.diagMatrix({offset: 1})", func(v values) one { return v.x.DiagMatrix(1, -2, -1) }),
	{"x.split(1, [1, 3])", func(v values) some { return v.x.Split(1, 1, 3) }}, {"x.splitAt(1, [1, 2])", func(v values) some { return v.x.SplitAt(1, 1, 2) }}, {"x.splitEvenly(1, 3)", func(v values) some { return v.x.SplitEvenly(1, 3) }}, {"x.chunk(1, 2)", func(v values) some { return v.x.Chunk(1, 2) }},
	{"x.splitEvery(1, 3)", func(v values) some { return v.x.SplitEvery(1, 3) }}, {"x.unbind()", func(v values) some { return v.x.Unbind(0) }}, {"x.unbind({axis: 1})", func(v values) some { return v.x.Unbind(1) }}, is("x.unfold(1, 2)", func(v values) one { return v.x.Unfold(1, 2, 1) }), is("x.unfold(1, 2, {step: 2})", func(v values) one { return v.x.Unfold(1, 2, 2) }),
	is("img.pixelShuffle(2)", func(v values) one { return v.img.PixelShuffle(2) }), is("img.pixelUnshuffle(3)", func(v values) one { return v.img.PixelUnshuffle(3) }), is("img.channelShuffle(2)", func(v values) one { return v.img.ChannelShuffle(2) }), is("x.at(0).vander(3)", func(v values) one { return v.x.At(0).Vander(3, false) }),
	is("x.at(0).vander(3, {rising: true})", func(v values) one { return v.x.At(0).Vander(3, true) }), is("x.to('f16')", func(v values) one { return v.x.To(dtype.F16) }), is("x.bitcast('i32')", func(v values) one { return v.x.Bitcast(dtype.I32) }),
	{"x.mul(y).sum().grad([x, y])", func(v values) some { return v.x.Mul(v.y).Sum().Grad(v.x, v.y) }}, {"x.mul(y).grad([x], x)", func(v values) some { return v.x.Mul(v.y).GradWith(v.x, v.x) }},
	is("(() => { const p = x.clone(); p.square().sum().backward([p]); p.mul(y).backward([p], y); return p.gradient() })()", func(v values) one { return v.x.Mul(2).Add(v.y.Square()) }),
	is("w.full([2], 7, {dtype: 'i64'})", func(values) one { return tensor.Full(7, dtype.I64, 2) }), is("w.empty([2], {dtype: 'u8'}).mul(0)", func(values) one { return tensor.Full(0, dtype.U8, 2) }), is("w.emptyLike(i).mul(0)", func(v values) one { return v.i.Mul(0) }), is("w.zerosLike(i)", func(v values) one { return tensor.ZerosLike(v.i) }),
	is("w.onesLike(x)", func(v values) one { return tensor.OnesLike(v.x) }), is("w.randLike(x)", func(v values) one { return tensor.RandLike(v.x) }), is("w.randnLike(x)", func(v values) one { return tensor.RandnLike(v.x) }), is("w.fullLike(x, 3)", func(v values) one { return tensor.FullLike(v.x, 3) }), is("w.eye(2, {m: 3, dtype: 'i32'})", func(values) one { return tensor.Eye(2, 3).To(dtype.I32) }),
	is("w.eye(3)", func(values) one { return tensor.Eye(3) }), is("w.arange(1, 7, 2)", func(values) one { return tensor.ArangeOf(dtype.I32, 1, 7, 2) }), is("w.tensor([1, 2], {dtype: 'i8'})", func(values) one { return tensor.Of([]int8{1, 2}) }), is("w.linspace(0, 1, 5, {dtype: 'f16'})", func(values) one { return tensor.LinspaceOf(dtype.F16, 0, 1, 5) }),
	is("w.rand([3])", func(values) one { return tensor.Rand(3) }), is("w.randn([3], {dtype: 'f16'})", func(values) one { return tensor.Randn(3).To(dtype.F16) }), is("w.randint([4], 0, 9, {dtype: 'u8'})", func(values) one { return tensor.RandIntOf(dtype.U8, 0, 9, 4) }), is("w.randint([4], -3, 9)", func(values) one { return tensor.RandInt(-3, 9, 4) }),
	is("w.uniform([3], {low: -1})", func(values) one { return tensor.Uniform(-1, 1, 3) }), is("w.normal([3], 5, 2)", func(values) one { return tensor.Normal(5, 2, 3) }), is("w.scaledUniform([3])", func(values) one { return tensor.ScaledUniform(3) }), is("w.glorotUniform([3, 2])", func(values) one { return tensor.GlorotUniform(3, 2) }),
	is("w.kaimingUniform([3, 2])", func(values) one { return tensor.KaimingUniform(0, 3, 2) }), is("w.kaimingNormal([3, 2], {slope: 0.5})", func(values) one { return tensor.KaimingNormal(0.5, 3, 2) }), is("w.randPerm(6)", func(values) one { return tensor.RandPerm(6) }),
	is("w.bartlettWindow(5)", func(values) one { return tensor.BartlettWindow(5, true, dtype.F32) }), is("w.blackmanWindow(5, {periodic: false})", func(values) one { return tensor.BlackmanWindow(5, false, dtype.F32) }), is("w.hannWindow(5)", func(values) one { return tensor.HannWindow(5, true, dtype.F32) }),
	is("w.hammingWindow(5, {alpha: 0.5, beta: 0.5})", func(values) one { return tensor.HammingWindow(5, true, 0.5, 0.5, dtype.F32) }), is("w.fftFreq(4, {d: 0.5})", func(values) one { return tensor.FFTFreq(4, 0.5, dtype.F32) }), is("w.rfftFreq(4, {dtype: 'f16'})", func(values) one { return tensor.RFFTFreq(4, 1, dtype.F16) }),
	is("w.triangleIndices(3, 4, {diagonal: -1, lower: false})", func(values) one { return tensor.TriangleIndices(3, 4, -1, false) }), is("w.affineGrid(w.tensor([[[1, 0, 0.5], [0, 1, 0]]]), [1, 1, 2, 3], {alignCorners: true})", func(values) one {
		return tensor.AffineGrid(tensor.From([][][]float32{{{1, 0, 0.5}, {0, 1, 0}}}), []int{1, 1, 2, 3}, true)
	}),
	is("w.complex(x, y)", func(v values) one { return tensor.Complex(v.x, v.y) }), is("w.cat([x, y], 1)", func(v values) one { return tensor.Cat(1, v.x, v.y) }), is("w.stack([x, y], {axis: 1})", func(v values) one { return tensor.Stack(1, v.x, v.y) }), is("w.hstack([x, y])", func(v values) one { return tensor.HStack(v.x, v.y) }), is("w.vstack([x, y])", func(v values) one { return tensor.VStack(v.x, v.y) }),
	is("w.dstack([x, y])", func(v values) one { return tensor.DStack(v.x, v.y) }), is("w.blockDiag([m, b])", func(v values) one { return tensor.BlockDiag(v.m, v.b) }), is("w.cartesianProduct([one, classes])", func(v values) one { return tensor.CartesianProduct(v.one, v.classes) }), {"w.broadcast([x, w.tensor([[1], [2], [3]])])", func(v values) some { return tensor.Broadcast(v.x, tensor.From([][]float32{{1}, {2}, {3}})) }},
	{"w.meshgrid([one, classes])", func(v values) some { return tensor.Meshgrid(v.one, v.classes) }}, is("w.einsum('ij,kj->ik', x, y)", func(v values) one { return tensor.Einsum("ij,kj->ik", v.x, v.y) }),
}
