// Made of wasm/face/methods.txt, the comments of package tensor, and wasm/face/examples.txt: go generate ./wasm/face

export const methods = [
  {
    name: "to", form: "x.to(dtype: DType)", gives: "Tensor",
    says: "to converts the elements: floats to integers truncate and saturate (NaN gives 0), integers wrap, to bool is \"not zero\".",
    uses: ["x"],
    run: ({ w, x }) => x.to('f16'),
  },
  {
    name: "bitcast", form: "x.bitcast(dtype: DType)", gives: "Tensor",
    says: "bitcast reads the bits of the elements as another type. Of another size, the last axis grows or shrinks; little-endian.",
    uses: ["x"],
    run: ({ w, x }) => x.bitcast('i32'),
  },
  {
    name: "unpack4", form: "x.unpack4(dtype: DType)", gives: "Tensor",
    says: "unpack4 gives the integers of 4 bits that the bytes of t, u8, hold, the lower half of each first: [… n] gives [… 2n] of type d. Of an unsigned type they are 0 … 15, of others −8 … 7 in two's complement.",
    uses: ["i"],
    run: ({ w, i }) => i.pack4().unpack4('i8'),
  },
  {
    name: "contiguous", form: "x.contiguous()", gives: "Tensor",
    says: "contiguous asks for t to be computed and stored as a whole, not fused into what uses it.",
    uses: ["x"],
    run: ({ w, x }) => x.contiguous(),
  },
  {
    name: "contiguousBackward", form: "x.contiguousBackward()", gives: "Tensor",
    says: "contiguousBackward is t, whose gradient is computed and kept in memory before anything is done with it, as contiguous does with a value.",
    uses: ["x"],
    run: ({ w, x }) => x.contiguousBackward(),
  },
  {
    name: "detach", form: "x.detach()", gives: "Tensor",
    says: "detach is t outside differentiation.",
    uses: ["x"],
    run: ({ w, x }) => x.detach(),
  },
  {
    name: "clone", form: "x.clone()", gives: "Tensor",
    says: "clone is a copy of t with memory of its own.",
    uses: ["x"],
    run: ({ w, x }) => x.clone(),
  },
  {
    name: "pack4", form: "x.pack4()", gives: "Tensor",
    says: "pack4 stores the lower 4 bits of integers, two in a byte: [… 2n] of any integer type gives u8 [… n]. It is the reverse of unpack4 for −8 … 7 and 0 … 15.",
    uses: ["i"],
    run: ({ w, i }) => i.pack4(),
  },
  {
    name: "grad", form: "x.grad(ws: Tensor[], seed?: Tensor)", gives: "Tensor[]",
    says: "The gradients of a scalar, or of its product with a seed, with respect to tensors.",
    uses: ["x"],
    run: ({ w, x }) => x.square().sum().grad([x]),
  },
  {
    name: "assign", form: "x.assign(value: Operand)", gives: "this",
    says: "Replaces the elements, in place.",
    uses: ["x", "y"],
    run: ({ w, x, y }) => x.clone().own().assign(y),
  },
  {
    name: "addAssign", form: "x.addAssign(value: Operand)", gives: "this",
    says: "addAssign adds v to the elements, as assign: v is broadcast, and the sum must have t's type.",
    uses: ["x", "y"],
    run: ({ w, x, y }) => x.clone().own().addAssign(y),
  },
  {
    name: "subAssign", form: "x.subAssign(value: Operand)", gives: "this",
    says: "subAssign subtracts v from the elements, as assign: v is broadcast, and the difference must have t's type.",
    uses: ["x"],
    run: ({ w, x }) => x.clone().subAssign(1),
  },
  {
    name: "mulAssign", form: "x.mulAssign(value: Operand)", gives: "this",
    says: "mulAssign multiplies the elements by v, as assign: v is broadcast, and the product must have t's type.",
    uses: ["i", "j"],
    run: ({ w, i, j }) => i.clone().mulAssign(j),
  },
  {
    name: "divAssign", form: "x.divAssign(value: Operand)", gives: "this",
    says: "divAssign divides the elements by v, as assign: v is broadcast, and the quotient must have t's type, so t holds floats.",
    uses: ["x", "y"],
    run: ({ w, x, y }) => x.clone().own().divAssign(y),
  },
  {
    name: "replace", form: "x.replace(y: Tensor)", gives: "this",
    says: "Has the tensor stand for what another stands for, of the same shape and type. Nothing is computed or written: tensors that were built on it before keep its old elements.",
    uses: ["x", "y"],
    run: ({ w, x, y }) => x.clone().replace(y),
  },
  {
    name: "hash", form: "x.hash()", gives: "Tensor",
    says: "SHA3-256 of all bytes, row-major, elements little-endian, a bool a byte: u8 [32].",
    uses: ["i"],
    run: ({ w, i }) => i.hash(),
  },
  {
    name: "keccak", form: "x.keccak(kind?: 'sha3_256' | 'sha3_224' | 'sha3_384' | 'sha3_512' | 'shake128' | 'shake256')", gives: "Tensor",
    says: "keccak hashes the bytes of each row, the last axis of t (a scalar is one row): [rows…, n] of any type gives u8 [rows…, length]. Elements are little-endian, a bool is a byte. Unless given: kind sha3_256.",
    uses: ["i"],
    run: ({ w, i }) => i.keccak(),
  },
  {
    name: "threefry", form: "x.threefry(key: Operand)", gives: "Tensor",
    says: "threefry is the function that random numbers are made of, threefry-2x32 with 20 rounds: of counters t, u64, and of a key, u64 or a number, that broadcast. The lower 32 bits of each are the first word and the upper 32 the second.",
    uses: ["n"],
    run: ({ w, n }) => w.tensor(BigUint64Array.of(1n, 5n << 40n)).threefry(7),
  },
  {
    name: "own", form: "x.own()", gives: "this",
    says: "Gets memory of its own, so that assignments change it in place.",
    uses: ["x"],
    run: ({ w, x }) => x.clone().own(),
  },
  {
    name: "toImageData", form: "x.toImageData()", gives: "a promise",
    says: "",
  },
]
