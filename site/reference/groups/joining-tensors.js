// Made of wasm/face/methods.txt, the comments of package tensor, and wasm/face/examples.txt: go generate ./wasm/face

export const methods = [
  {
    name: "cat", form: "w.cat(tensors: Tensor[], axis?: number)", gives: "Tensor",
    says: "cat joins tensors along an axis. Their types are promoted; an empty tensor of one axis is left out. Unless given: axis 0.",
    uses: ["x", "y"],
    run: ({ w, x, y }) => w.cat([x, y], 1),
  },
  {
    name: "stack", form: "w.stack(tensors: Tensor[], axis?: number)", gives: "Tensor",
    says: "stack joins tensors of one shape along a new axis. Unless given: axis 0.",
    uses: ["x", "y"],
    run: ({ w, x, y }) => w.stack([x, y], {axis: 1}),
  },
  {
    name: "hstack", form: "w.hstack(tensors: Tensor[])", gives: "Tensor",
    says: "hstack joins along the second axis, or the only one.",
    uses: ["x", "y"],
    run: ({ w, x, y }) => w.hstack([x, y]),
  },
  {
    name: "vstack", form: "w.vstack(tensors: Tensor[])", gives: "Tensor",
    says: "vstack joins along the first axis; tensors of one axis are rows.",
    uses: ["x", "y"],
    run: ({ w, x, y }) => w.vstack([x, y]),
  },
  {
    name: "dstack", form: "w.dstack(tensors: Tensor[])", gives: "Tensor",
    says: "dstack joins along the third axis.",
    uses: ["x", "y"],
    run: ({ w, x, y }) => w.dstack([x, y]),
  },
  {
    name: "blockDiag", form: "w.blockDiag(tensors: Tensor[])", gives: "Tensor",
    says: "blockDiag puts matrices along the diagonal of a larger one; a tensor of one axis is a row.",
    uses: ["m", "b"],
    run: ({ w, m, b }) => w.blockDiag([m, b]),
  },
  {
    name: "cartesianProduct", form: "w.cartesianProduct(tensors: Tensor[])", gives: "Tensor",
    says: "cartesianProduct of tensors of one axis is a row for each choice of one element of each; of a single tensor it is the tensor.",
    uses: ["one", "classes"],
    run: ({ w, one, classes }) => w.cartesianProduct([one, classes]),
  },
  {
    name: "uSum", form: "w.uSum(values: Operand[])", gives: "Tensor",
    says: "The sum of tensors and numbers, from the first to the last.",
    uses: ["x", "y"],
    run: ({ w, x, y }) => w.uSum([x, 2, y]),
  },
  {
    name: "uProd", form: "w.uProd(values: Operand[])", gives: "Tensor",
    says: "The product of tensors and numbers, from the first to the last.",
    uses: ["x", "y"],
    run: ({ w, x, y }) => w.uProd([2, x, 0.5, y]),
  },
  {
    name: "broadcast", form: "w.broadcast(tensors: Tensor[])", gives: "Tensor[]",
    says: "broadcast gives tensors their common shape.",
    uses: ["x"],
    run: ({ w, x }) => w.broadcast([x, w.tensor([[1], [2], [3]])]),
  },
  {
    name: "meshgrid", form: "w.meshgrid(tensors: Tensor[])", gives: "Tensor[]",
    says: "meshgrid spreads tensors of one axis over a grid; the i-th varies along axis i (\"ij\" order).",
    uses: ["one", "classes"],
    run: ({ w, one, classes }) => w.meshgrid([one, classes]),
  },
  {
    name: "meshgridXY", form: "w.meshgridXY(tensors: Tensor[])", gives: "Tensor[]",
    says: "meshgridXY is meshgrid with the first two axes exchanged, as for points of a picture: the first list runs along axis 1, the second along axis 0, further ones along their own.",
    uses: ["one", "classes"],
    run: ({ w, one, classes }) => w.meshgridXY([one, classes]),
  },
  {
    name: "einsum", form: "w.einsum(formula: string, ...tensors: Tensor[])", gives: "Tensor",
    says: "einsum multiplies operands and sums over the letters that do not appear after \"->\", as in \"bij,bjk->bik\". Without \"->\" the letters that appear once remain, in alphabetical order, after the axes of an ellipsis.",
    uses: ["x", "y"],
    run: ({ w, x, y }) => w.einsum('ij,kj->ik', x, y),
  },
  {
    name: "attention", form: "w.attention(q: Tensor, k: Tensor, v: Tensor, options?: Attention)", gives: "Tensor",
    says: "softmax(q·kᵀ·scale + mask)·v for queries q[…, n, d], keys k[…, m, d] and values v[…, m, e]. A query that a mask lets see no key gives 0.",
    uses: ["times"],
    run: ({ w, times }) => w.attention(times, times, times),
  },
  {
    name: "attentionWeights", form: "w.attentionWeights(q: Tensor, k: Tensor, options?: Attention)", gives: "Tensor",
    says: "What attention weighs values with: softmax(q·kᵀ·scale + mask)[…, n, m].",
  },
  {
    name: "recurrent", form: "w.recurrent(x: Tensor, weights: Tensor[], options?: RecurrentOptions)", gives: "Tensor[]",
    says: "Runs layers of recurrent cells over a sequence: gives the outputs of the last layer at all times, the last states and, of LSTM, the last cells. weights are those of each layer and direction: of inputs, of states, their biases unless biases is false, and perhaps a projection. w.nn.lstm holds them.",
  },
]
