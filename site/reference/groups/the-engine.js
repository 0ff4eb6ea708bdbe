// Made of wasm/face/methods.txt, the comments of package tensor, and wasm/face/examples.txt: go generate ./wasm/face

export const methods = [
  {
    name: "seed", form: "w.seed(n: number)", gives: "a promise",
    says: "seed restarts the random numbers of DefaultGenerator.",
  },
  {
    name: "realize", form: "w.realize(...tensors: Tensor[])", gives: "a promise",
    says: "realize computes tensors together, so that what they share is computed once. Afterwards each is a buffer and its history is dropped: gradients must have been asked for before. Constants come to lie on the device of the others, or on the default device.",
    uses: ["x"],
    run: ({ w, x }) => x.exp().realize(),
  },
  {
    name: "save", form: "w.save(model: model, options?: SaveOptions)", gives: "a promise",
    says: "",
  },
  {
    name: "load", form: "w.load(from: file, model?: model, options?: LoadOptions)", gives: "a promise",
    says: "",
  },
  {
    name: "saveFunctions", form: "w.saveFunctions(functions: functions)", gives: "a promise",
    says: "saveFunctions writes captured functions of one device to a file for loadFunctions, by name. Tensors and generators that several of them use, such as the weights that one trains and another reads, are one there too.",
  },
  {
    name: "loadFunctions", form: "w.loadFunctions(from: file, options?: SavedOptions)", gives: "a promise",
    says: "loadFunctions makes captured functions of a file of saveFunctions, or of Save, where the name is \"main\".",
  },
  {
    name: "loadCaptured", form: "w.loadCaptured(from: file, options?: SavedOptions)", gives: "a promise",
    says: "loadCaptured makes a captured function of a file of Save, on a device (\"\": the default one), whichever it was saved on. It goes on where the saved one stood, and gives the same bits on the same kind of device. It assigns tensors of its own: see States.",
  },
  {
    name: "profile", form: "w.profile(f: function)", gives: "a promise",
    says: "",
  },
  {
    name: "stats", form: "w.stats()", gives: "a promise",
    says: "",
    uses: [],
    run: ({ w }) => w.stats(),
  },
  {
    name: "inspect", form: "w.inspect(text: string, options?: InspectOptions)", gives: "a promise",
    says: "",
    uses: [],
    run: ({ w }) => w.inspect('relu(x[4, 4] @ w[4, 4])'),
  },
  {
    name: "onnx", form: "w.onnx(source: files, options?: ModelOptions)", gives: "a promise",
    says: "",
  },
  {
    name: "llm", form: "w.llm(source: files, options?: LanguageOptions)", gives: "a promise",
    says: "",
  },
  {
    name: "kept", form: "w.kept()", gives: "a promise",
    says: "",
  },
  {
    name: "clearKept", form: "w.clearKept(address?: string | URL)", gives: "a promise",
    says: "",
  },
]
