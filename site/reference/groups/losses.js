// Made of wasm/face/methods.txt, the comments of package tensor, and wasm/face/examples.txt: go generate ./wasm/face

export const methods = [
  {
    name: "crossEntropy", form: "x.crossEntropy(target: Tensor, options?: Loss)", gives: "Tensor",
    says: "crossEntropy is −Σ target·logSoftmax(t) over the classes, which lie on axis 1 (on axis 0 of a single sample), or where Loss.ClassAxis says. target holds class indices, or probabilities in the shape of t.",
    uses: ["img"],
    run: ({ w, img }) => img.moveAxis(1, 3).crossEntropy(w.full([1, 6, 6], 2, {dtype: 'i32'}), {classAxis: -1}),
  },
  {
    name: "nll", form: "x.nll(target: Tensor, options?: Loss)", gives: "Tensor",
    says: "nll is −t at the class indices of target, for log-probabilities t with classes on axis 1 (on axis 0 of a single sample), or where Loss.ClassAxis says. An index of no class that is not ignored is a error when the result is read.",
    uses: ["x", "classes", "y"],
    run: ({ w, x, classes, y }) => x.nll(classes, {reduction: 'none', weight: y.at(0)}),
  },
  {
    name: "mse", form: "x.mse(target: Tensor, options?: Loss)", gives: "Tensor",
    says: "mse is (t − target)².",
    uses: ["x", "y"],
    run: ({ w, x, y }) => x.mse(y, {reduction: 'sum'}, undefined),
  },
  {
    name: "l1", form: "x.l1(target: Tensor, options?: Loss)", gives: "Tensor",
    says: "l1 is |t − target|.",
    uses: ["x", "y"],
    run: ({ w, x, y }) => x.l1(y, {reduction: 'batchMean'}),
  },
  {
    name: "bce", form: "x.bce(target: Tensor, options?: Loss)", gives: "Tensor",
    says: "bce is −(target·log t + (1 − target)·log(1 − t)) of probabilities t; logarithms are at least −100. Of what is no probability it is NaN or some number, where PyTorch raises.",
    uses: ["x", "y"],
    run: ({ w, x, y }) => x.bce(y.div(2)),
  },
  {
    name: "bceWithLogits", form: "x.bceWithLogits(target: Tensor, options?: Loss)", gives: "Tensor",
    says: "bceWithLogits is bce of sigmoid(t) without loss.",
    uses: ["x", "y"],
    run: ({ w, x, y }) => x.bceWithLogits(y, {posWeight: y.at(0)}),
  },
  {
    name: "softMargin", form: "x.softMargin(target: Tensor, options?: Loss)", gives: "Tensor",
    says: "softMargin is log(1 + e^(−target·t)).",
    uses: ["a", "sign"],
    run: ({ w, a, sign }) => a.softMargin(sign.expand([3, 3])),
  },
  {
    name: "multiLabelSoftMargin", form: "x.multiLabelSoftMargin(target: Tensor, options?: Loss)", gives: "Tensor",
    says: "multiLabelSoftMargin is the mean over classes (the last axis) of bceWithLogits; a weight is one for each class.",
    uses: ["x", "y"],
    run: ({ w, x, y }) => x.multiLabelSoftMargin(y.gt(0.5).to('f32')),
  },
  {
    name: "huber", form: "x.huber(target: Tensor, delta?: number, options?: Loss)", gives: "Tensor",
    says: "huber is delta·(|t − target| − delta/2) beyond delta and (t − target)²/2 within. Unless given: delta 1.",
    uses: ["x", "y"],
    run: ({ w, x, y }) => x.huber(y, 0.3),
  },
  {
    name: "smoothL1", form: "x.smoothL1(target: Tensor, options?: Loss & { beta?: number })", gives: "Tensor",
    says: "smoothL1 is |t − target| − beta/2 beyond beta and (t − target)²/(2·beta) within. Unless given: beta 1.",
    uses: ["x", "y"],
    run: ({ w, x, y }) => x.smoothL1(y, {beta: 0.2}),
  },
  {
    name: "klDiv", form: "x.klDiv(target: Tensor, options?: Loss & { logTarget?: boolean })", gives: "Tensor",
    says: "klDiv is target·(log target − t) for log-probabilities t; with logTarget the target is a logarithm too.",
    uses: ["x", "y"],
    run: ({ w, x, y }) => x.klDiv(y, {reduction: 'sum'}),
  },
  {
    name: "poissonNll", form: "x.poissonNll(target: Tensor, options?: Loss & { logInput?: boolean; full?: boolean; eps?: number })", gives: "Tensor",
    says: "poissonNll is the negative log-likelihood of counts target for a rate eᵗ, or t where logInput is not set; full adds Stirling's approximation of the constant term. Unless given: logInput true, eps 1e-8.",
    uses: ["x", "y"],
    run: ({ w, x, y }) => x.poissonNll(y, {full: true}),
  },
  {
    name: "gaussianNll", form: "x.gaussianNll(target: Tensor, variance: Tensor, options?: Loss & { full?: boolean; eps?: number })", gives: "Tensor",
    says: "gaussianNll is the negative log-likelihood of target under normal distributions of mean t and the given variance, which counts as at least eps; full adds the constant term. variance has t's shape, or the last axis of size 1, or is without it. Unless given: eps 1e-6.",
    uses: ["x", "y"],
    run: ({ w, x, y }) => x.gaussianNll(y, y, {full: true}),
  },
  {
    name: "hingeEmbedding", form: "x.hingeEmbedding(target: Tensor, options?: Loss & { margin?: number })", gives: "Tensor",
    says: "hingeEmbedding is t where target is 1, and margin − t, at least 0, where it is −1; elsewhere it is both. Unless given: margin 1.",
    uses: ["a", "sign"],
    run: ({ w, a, sign }) => a.at(0).hingeEmbedding(sign, {margin: 0.5}),
  },
  {
    name: "marginRanking", form: "x.marginRanking(other: Tensor, target: Tensor, options?: Loss & { margin?: number })", gives: "Tensor",
    says: "marginRanking is margin − target·(t − other), at least 0: target is 1 where t should be the larger one, else −1. Unless given: margin 0.",
    uses: ["a", "sign"],
    run: ({ w, a, sign }) => a.at(0).marginRanking(a.at(1), sign, {margin: 0.2}),
  },
  {
    name: "cosineEmbedding", form: "x.cosineEmbedding(other: Tensor, target: Tensor, options?: Loss & { margin?: number })", gives: "Tensor",
    says: "cosineEmbedding is 1 − c where target is 1, and c − margin, at least 0, where it is −1, for the cosine c of rows. Unless given: margin 0.",
    uses: ["a", "m", "sign"],
    run: ({ w, a, m, sign }) => a.cosineEmbedding(m, sign),
  },
  {
    name: "multiLabelMargin", form: "x.multiLabelMargin(target: Tensor, options?: Loss)", gives: "Tensor",
    says: "multiLabelMargin is the mean over all classes of (1 − t[target] + t[class], at least 0), summed over the targets of a sample and, for each, the classes that are no targets.",
  },
  {
    name: "multiMargin", form: "x.multiMargin(target: Tensor, options?: Loss & { p?: number; margin?: number })", gives: "Tensor",
    says: "multiMargin is the mean over the other classes of (margin − t[target] + t[class], at least 0)^p, times the target's weight. Classes are the last axis, target their indices. Unless given: p 1, margin 1.",
    uses: ["x", "classes"],
    run: ({ w, x, classes }) => x.multiMargin(classes, {p: 2}),
  },
  {
    name: "tripletMargin", form: "x.tripletMargin(positive: Tensor, negative: Tensor, options?: Triplet & Loss)", gives: "Tensor",
    says: "tripletMargin is margin + distance(t, positive) − distance(t, negative), at least 0, of rows.",
    uses: ["a", "m"],
    run: ({ w, a, m }) => a.tripletMargin(m, a.t(), {margin: 2, swap: true, reduction: 'sum'}),
  },
  {
    name: "ctc", form: "x.ctc(targets: Tensor, inputs: Tensor, lengths: Tensor, options?: CtcOptions)", gives: "Tensor",
    says: "ctc is the connectionist temporal classification loss of log-probabilities t[time, n, classes] (or [time, classes]) for targets [n, length], or a list of all targets in a row, with the lengths of inputs and targets.",
    uses: ["times"],
    run: ({ w, times }) => times.logSoftmax().ctc(w.tensor(Int32Array.of(1, 2), [2, 1]), w.tensor(Int32Array.of(3, 2)), w.tensor(Int32Array.of(1, 1)), {reduction: 'sum'}),
  },
]
