// Made of wasm/face/methods.txt, the comments of package tensor, and wasm/face/examples.txt: go generate ./wasm/face

export const methods = [
  {
    name: "data", form: "x.data()", gives: "a promise",
    says: "",
    uses: ["x"],
    run: ({ w, x }) => x.data(),
  },
  {
    name: "item", form: "x.item()", gives: "a promise",
    says: "item computes t, which has one element, and gives it as a f64 (a bool as 0 or 1).",
    uses: ["x"],
    run: ({ w, x }) => x.sum().item(),
  },
  {
    name: "list", form: "x.list()", gives: "a promise",
    says: "",
    uses: ["x"],
    run: ({ w, x }) => x.list(),
  },
  {
    name: "realize", form: "x.realize()", gives: "a promise",
    says: "realize computes t.",
    uses: ["x"],
    run: ({ w, x }) => x.exp().realize(),
  },
]
