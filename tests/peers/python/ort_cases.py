"""The cases in ONNX Runtime. Weights of layers are constants of the model, which it packs once; operands of products are inputs."""

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

FILES = "onnx-ultraface onnx-silero onnx-resnet18 onnx-bert onnx-gpt2 onnx-gpt2-4bit".split()  # cases that are models in files
CASES = dict.fromkeys(FILES)
THREADS = 0


def start(threads):
    global THREADS
    THREADS = threads


def about():
    return f"{ort.__version__}, {THREADS} threads"


class Graph:
    """A model that grows by calls: g("Add", x, y) adds a node and gives the name of its result."""

    def __init__(self, inputs, model):
        self.model, self.inputs = model, inputs
        self.nodes, self.constants, self.kept = [], [], {}

    def __call__(self, op, *args, results=1, **attributes):
        names = [f"v{len(self.nodes)}_{n}" for n in range(results)]
        args = [self.constant(a) if not isinstance(a, str) else a for a in args]
        self.nodes.append(helper.make_node(op, args, names, **attributes))
        return names[0] if results == 1 else tuple(names)

    def constant(self, a):
        a = np.asarray(a)
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(a, name))
        return name

    def ints(self, *n):
        return self.constant(np.array(n, np.int64))

    def weight(self, name):
        if name not in self.kept:
            self.kept[name] = self.constant(self.model[name])
        return self.kept[name]

    def linear(self, x, name):
        return self("Add", self("MatMul", x, np.ascontiguousarray(self.model[name + ".weight"].T)), self.weight(name + ".bias"))

    def session(self, outs):
        inputs = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in self.inputs.items()]
        graph = helper.make_graph(self.nodes, "case", inputs, [onnx.ValueInfoProto(name=o) for o in outs], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
        return session(model.SerializeToString())


def session(model):
    """A session of a model, its bytes or the name of its file."""
    o = ort.SessionOptions()
    o.intra_op_num_threads, o.inter_op_num_threads = THREADS, 1
    return ort.InferenceSession(model, o, ["CPUExecutionProvider"])


def prepare(case, inputs, model):
    if case in FILES:
        file, names = model
        return bound(session(file), dict(zip(names, inputs)))
    build, constants = CASES[case]
    given = {f"x{n}": a for n, a in enumerate(inputs) if n not in constants}
    g = Graph(given, model)
    names = [f"x{n}" if n not in constants else g.constant(a) for n, a in enumerate(inputs)]
    outs = build(g, *names)
    outs = [outs] if isinstance(outs, str) else list(outs)
    used = {a for n in g.nodes for a in n.input}
    g.inputs = {n: a for n, a in given.items() if n in used}
    return bound(g.session(outs), g.inputs)


def bound(s, inputs):
    """Runs a session with its inputs bound; it makes its outputs."""
    b = s.io_binding()
    for n, a in inputs.items():
        b.bind_ortvalue_input(n, ort.OrtValue.ortvalue_from_numpy(a))
    for o in s.get_outputs():
        b.bind_output(o.name, "cpu")

    def run():
        s.run_with_iobinding(b)
        return b

    return run


def arrays(b):
    return [o.numpy() for o in b.get_outputs()]


def case(names, constants=()):
    """Registers f(g, inputs…), which builds a model whose inputs of these numbers are constants."""

    def register(f):
        CASES.update((n, (f, constants)) for n in names.split())

    return register


def conv(names, **attributes):
    case(names, constants=[1])(lambda g, x, w: g("Conv", x, w, **attributes))


def square(n):
    return {"pads": [n] * 4}


case("matmul-256 matmul-512 matmul-1024 matmul-2048 product-odd batch-products matvec-4096 row-vocabulary rows-4096 matmul-f16-1024")(
    lambda g, x, y: g("MatMul", x, y)
)
case("matmul-i8-i32")(lambda g, x, y: g("MatMulInteger", x, y))
conv("conv2d-56 conv-28 conv-14 conv-7 conv-56-b8 conv-7-b8 conv-2-b64", **square(1))
conv("conv-dilated", dilations=[24, 24], **square(24))
conv("conv-stem", strides=[2, 2], **square(3))
conv("conv-1x1-56")
conv("depthwise-56", group=128, **square(1))
conv("depthwise-5", group=120, **square(2))
conv("conv1d", pads=[4, 4])
case("conv-transpose-2", [1])(lambda g, x, w: g("ConvTranspose", x, w, strides=[2, 2]))
case("conv-transpose-4", [1])(lambda g, x, w: g("ConvTranspose", x, w, strides=[2, 2], **square(1)))
case("maxpool-overlap")(lambda g, x: g("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], **square(1)))
case("avgpool-overlap")(lambda g, x: g("AveragePool", x, kernel_shape=[3, 3], strides=[2, 2], count_include_pad=1, **square(1)))
case("resize-2x")(lambda g, x: g("Resize", x, "", np.array([1, 1, 2, 2], np.float32), mode="linear"))
case("softmax-1024")(lambda g, x: g("Softmax", x))
case("layernorm-1024", [1, 2])(lambda g, x, w, b: g("LayerNormalization", x, w, b))
case("groupnorm", [1, 2])(lambda g, x, w, b: g("GroupNormalization", x, w, b, num_groups=8))


@case("chain-1m elementwise-16m")
def _(g, x):
    two, one, three, half = (np.float32(n) for n in (2, 1, 3, 0.5))
    y = g("Mul", g("Relu", g("Add", g("Mul", x, two), one)), x)
    return g("Neg", g("Sqrt", g("Add", g("Abs", g("Sub", y, three)), half)))


case("sum-16m")(lambda g, x: g("ReduceSum", x, keepdims=0))
case("sum-columns")(lambda g, x: g("ReduceSum", x, g.ints(0), keepdims=0))
case("transpose-4096")(lambda g, x: g("Transpose", x))
case("argmax-1m")(lambda g, x: g("ArgMax", x, axis=0, keepdims=0))
case("topk-1m")(lambda g, x: g("TopK", x, g.ints(10), results=2))
case("topk-rows")(lambda g, x: g("TopK", x, g.ints(40), results=2))
case("sort-1m")(lambda g, x: g("TopK", x, g.ints(1 << 20), results=2, largest=0))
case("sort-rows")(lambda g, x: g("TopK", x, g.ints(1024), results=2, largest=0))
case("cumsum-1m cumsum-columns")(lambda g, x: g("CumSum", x, np.int64(0)))
case("cumsum-rows")(lambda g, x: g("CumSum", x, np.int64(1)))
case("gather-rows")(lambda g, x, at, rows: g("Gather", x, at))


def attend(g, q, k, v, size, mask=None):
    s = g("MatMul", g("Mul", q, np.float32(size**-0.5)), g("Transpose", k, perm=[0, 1, 3, 2]))
    if mask is not None:
        s = g("Add", s, mask)
    return g("MatMul", g("Softmax", s), v)


case("attention attention-batch")(lambda g, q, k, v: attend(g, q, k, v, 64))
case("attention-causal")(lambda g, q, k, v: attend(g, q, k, v, 64, np.triu(np.full((512, 512), -np.inf, np.float32), 1)))


@case("attention-token-groups")
def _(g, q, k, v):
    return g("Reshape", attend(g, g("Reshape", q, g.ints(1, 8, 4, 64)), k, v, 64), g.ints(1, 32, 1, 64))


def lstm_weights(g, name):
    """Its gates are input, output, forget, cell, and both biases stand in a row."""

    def order(a):
        i, f, u, o = np.split(a, 4)
        return np.concatenate([i, o, f, u])

    w, r, b, c = (order(g.model[name + n]) for n in ("input", "hidden", "input_bias", "hidden_bias"))
    return w[None], r[None], np.concatenate([b, c])[None]


@case("lstm-64")
def _(g, x):
    out, h, c = g("LSTM", x, *lstm_weights(g, "layers.0.0."), results=3, hidden_size=256)
    return g("Squeeze", out, g.ints(1)), h, c


@case("lstm-step")
def _(g, x, h, c):
    one = g.ints(0)
    _, h, c = g("LSTM", g("Unsqueeze", x, one), *lstm_weights(g, ""), "", g("Unsqueeze", h, one), g("Unsqueeze", c, one), results=3, hidden_size=256)
    return g("Squeeze", h, one), g("Squeeze", c, one)


@case("transformer-block")
def _(g, x):
    def norm(x, name):
        return g("LayerNormalization", x, g.weight(name + ".weight"), g.weight(name + ".bias"))

    def heads(name):
        return g("Transpose", g("Reshape", g.linear(h, "self_attention." + name), g.ints(4, 128, 8, 64)), perm=[0, 2, 1, 3])

    h = norm(x, "self_norm")
    a = attend(g, heads("query"), heads("key"), heads("value"), 64)
    a = g("Reshape", g("Transpose", a, perm=[0, 2, 1, 3]), g.ints(4, 128, 512))
    x = g("Add", x, g.linear(a, "self_attention.out"))
    return g("Add", x, g.linear(g("Gelu", g.linear(norm(x, "feed_norm"), "widen")), "narrow"))


@case("resnet18")
def _(g, x):
    def conv_norm(x, name, stride):
        w = name + ".conv.weight"
        pad = g.model[w].shape[-1] // 2
        x = g("Conv", x, g.weight(w), strides=[stride] * 2, **square(pad))
        return g("BatchNormalization", x, *(g.weight(f"{name}.norm.{n}") for n in ("weight", "bias", "running_mean", "running_var")))

    x = g("MaxPool", g("Relu", conv_norm(x, "stem", 2)), kernel_shape=[3, 3], strides=[2, 2], **square(1))
    for n in range(8):
        b = f"blocks.{n}."
        stride = 2 if n in (2, 4, 6) else 1
        y = conv_norm(g("Relu", conv_norm(x, b + "first", stride)), b + "second", 1)
        if stride > 1:
            x = conv_norm(x, b + "short", stride)
        x = g("Relu", g("Add", x, y))
    return g.linear(g("ReduceMean", x, g.ints(2, 3), keepdims=0), "out")


@case("gpt2-token")
def _(g, x, keys, values):
    ks, vs = [], []
    for n in range(12):
        def norm(x, name):
            return g("LayerNormalization", x, g.weight(f"{n}.{name}.weight"), g.weight(f"{n}.{name}.bias"))

        def joined(cache, new):
            return g("Concat", g("Gather", cache, np.array([n])), new, axis=2)

        h = g("Reshape", g.linear(norm(x, "norm"), f"{n}.heads"), g.ints(3, 12, 1, 64))
        q, k, v = g("Split", h, results=3, axis=0, num_outputs=3)
        a = attend(g, q, joined(keys, k), joined(values, v), 64)
        x = g("Add", x, g.linear(g("Reshape", a, g.ints(1, 768)), f"{n}.out"))
        h = g("Gelu", g.linear(norm(x, "feed_norm"), f"{n}.up"), approximate="tanh")
        x = g("Add", x, g.linear(h, f"{n}.down"))
        ks.append(k)
        vs.append(v)
    return x, g("Concat", *ks, axis=0), g("Concat", *vs, axis=0)
