"""The cases in JAX, behind jax.jit."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

CASES = {}


def start(threads):
    pass  # it has as many as there are processors for this process


def about():
    return f"{jax.__version__}, {jax.devices()[0].device_kind}"


def prepare(case, inputs, model):
    return CASES[case]([jnp.asarray(a) for a in inputs], {n: jnp.asarray(a) for n, a in model.items()})


def arrays(outs):
    return [np.asarray(o) for o in jax.tree.leaves(outs)]


def plain(names):
    """Registers f(i, m), which computes results from inputs and a model."""

    def register(f):
        def build(i, m):
            g = jax.jit(f)
            return lambda: jax.block_until_ready(g(i, m))

        CASES.update((n, build) for n in names.split())

    return register


def training(names, optimizer):
    """Registers loss(i, trained, m), which gives a loss and what else changes in the model; a step is wanted."""

    def register(loss):
        def build(i, m):
            trained = {n: a for n, a in m.items() if a.dtype == jnp.float32 and "running" not in n}
            state = {n: a for n, a in m.items() if n not in trained}
            begin, update = optimizer

            def step(trained, state, memory, i):
                (l, changed), g = jax.value_and_grad(lambda t: loss(i, t, state), has_aux=True)(trained)
                trained, memory = update(trained, g, memory)
                return l, trained, {**state, **changed}, memory

            step = jax.jit(step, donate_argnums=(0, 1, 2))
            held = [jax.tree.map(jnp.copy, trained), jax.tree.map(jnp.copy, state), begin(trained)]

            def run():
                l, *held[:] = step(*held, i)
                jax.block_until_ready((l, held))
                return l

            return run

        CASES.update((n, build) for n in names.split())

    return register


def adam(rate, b1=0.9, b2=0.999, eps=1e-8):
    def begin(ps):
        return {"m": jax.tree.map(jnp.zeros_like, ps), "v": jax.tree.map(jnp.zeros_like, ps), "t": jnp.zeros(())}

    def update(ps, gs, s):
        t = s["t"] + 1
        m = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, s["m"], gs)
        v = jax.tree.map(lambda v, g: b2 * v + (1 - b2) * g * g, s["v"], gs)
        ps = jax.tree.map(lambda p, m, v: p - rate * (m / (1 - b1**t)) / (jnp.sqrt(v / (1 - b2**t)) + eps), ps, m, v)
        return ps, {"m": m, "v": v, "t": t}

    return begin, update


def sgd(rate, momentum=0.0):
    if not momentum:
        return lambda ps: {}, lambda ps, gs, s: (jax.tree.map(lambda p, g: p - rate * g, ps, gs), s)

    def update(ps, gs, s):
        s = jax.tree.map(lambda b, g: momentum * b + g, s, gs)
        return jax.tree.map(lambda p, b: p - rate * b, ps, s), s

    return lambda ps: jax.tree.map(jnp.zeros_like, ps), update


def conv(x, w, stride=1, pad=0, groups=1, dilation=1):
    n = x.ndim - 2
    return lax.conv_general_dilated(x, w, (stride,) * n, [(pad, pad)] * n, rhs_dilation=(dilation,) * n, feature_group_count=groups)


def linear(x, m, name):
    return x @ m[name + ".weight"].T + m[name + ".bias"]


def normal(x, axes, eps=1e-5):
    mean = x.mean(axes, keepdims=True)
    return (x - mean) * lax.rsqrt(x.var(axes, keepdims=True) + eps)


def channels(a):
    return a[None, :, None, None]


def group_norm(x, groups):
    n, c, h, w = x.shape
    return normal(x.reshape(n, groups, c // groups, h, w), (2, 3, 4)).reshape(x.shape)


def pool(x, size, stride, pad, start, op):
    return lax.reduce_window(x, start, op, (1, 1, size, size), (1, 1, stride, stride), ((0, 0), (0, 0), (pad, pad), (pad, pad)))


def max_pool(x, size, stride, pad):
    return pool(x, size, stride, pad, -jnp.inf, lax.max)


def cross_entropy(x, classes):
    return -jnp.take_along_axis(jax.nn.log_softmax(x), classes[:, None].astype(jnp.int32), 1).mean()


def attend(q, k, v, causal=False):
    s = jnp.einsum("...qd,...kd->...qk", q, k) / np.sqrt(q.shape[-1])
    if causal:
        s = jnp.where(np.tri(*s.shape[-2:], dtype=bool), s, -jnp.inf)
    return jnp.einsum("...qk,...kd->...qd", jax.nn.softmax(s), v)


# Products.


@plain("matmul-256 matmul-512 matmul-1024 matmul-2048 product-odd batch-products matvec-4096 row-vocabulary rows-4096 matmul-bf16-1024 matmul-f16-1024")
def _(i, m):
    return i[0] @ i[1]


@plain("linear-bf16")
def _(i, m):
    return i[0] @ i[1].T


@plain("matmul-i8-i32")
def _(i, m):
    return jnp.matmul(i[0], i[1], preferred_element_type=jnp.int32)


# Convolutions and pictures.


@plain("conv2d-56 conv-28 conv-14 conv-7 conv-56-b8 conv-7-b8 conv-2-b64 conv-bf16-14")
def _(i, m):
    return conv(i[0], i[1], pad=1)


@plain("conv-dilated")
def _(i, m):
    return conv(i[0], i[1], pad=24, dilation=24)


@plain("conv-stem")
def _(i, m):
    return conv(i[0], i[1], 2, 3)


@plain("conv-1x1-56")
def _(i, m):
    return conv(i[0], i[1])


@plain("depthwise-56 depthwise-5")
def _(i, m):
    return conv(i[0], i[1], pad=i[1].shape[-1] // 2, groups=i[0].shape[1])


@plain("conv1d")
def _(i, m):
    return conv(i[0], i[1], pad=4)


@plain("conv-transpose-2 conv-transpose-4")
def _(i, m):
    size = i[1].shape[-1]
    edge = size - 1 - (size - 2) // 2  # the padding is 0 or 1
    w = jnp.flip(i[1], (2, 3)).swapaxes(0, 1)
    return lax.conv_general_dilated(i[0], w, (1, 1), [(edge, edge)] * 2, lhs_dilation=(2, 2))


@plain("maxpool-overlap")
def _(i, m):
    return max_pool(i[0], 3, 2, 1)


@plain("avgpool-overlap")
def _(i, m):
    return pool(i[0], 3, 2, 1, 0.0, lax.add) / 9


@plain("resize-2x")
def _(i, m):
    return jax.image.resize(i[0], i[0].shape[:2] + (112, 112), "bilinear")


# Gradients.


@plain("conv-grad-56 conv-grad-stride-56 depthwise-grad")
def _(i, m):
    x, w, g = i
    stride = x.shape[-1] // g.shape[-1]
    return jax.vjp(lambda x, w: conv(x, w, stride, 1, x.shape[1] // w.shape[1]), x, w)[1](g)


@plain("maxpool-grad")
def _(i, m):
    return jax.grad(lambda x: (max_pool(x, 3, 2, 1) ** 2).sum())(i[0])


@plain("conv-grad-norm")
def _(i, m):
    return jax.grad(lambda x, w: (conv(jax.nn.relu(group_norm(x, 8)), w, pad=1) ** 2).sum(), (0, 1))(*i)


# Norms, elements, sums.


@plain("softmax-1024")
def _(i, m):
    return jax.nn.softmax(i[0])


@plain("layernorm-1024")
def _(i, m):
    return normal(i[0], -1) * i[1] + i[2]


@plain("groupnorm")
def _(i, m):
    return group_norm(i[0], 8) * channels(i[1]) + channels(i[2])


@plain("batchnorm")
def _(i, m):
    return normal(i[0], (0, 2, 3)) * channels(i[1]) + channels(i[2])


@plain("chain-1m elementwise-16m")
def _(i, m):
    x = i[0]
    return -jnp.sqrt(jnp.abs(jax.nn.relu(x * 2 + 1) * x - 3) + 0.5)


@plain("sum-16m")
def _(i, m):
    return i[0].sum()


@plain("sum-columns")
def _(i, m):
    return i[0].sum(0)


@plain("transpose-4096")
def _(i, m):
    return i[0].T


@plain("argmax-1m")
def _(i, m):
    return i[0].argmax()


# Order, running sums, rows by number.


@plain("sort-1m sort-rows")
def _(i, m):
    x = i[0]
    return lax.sort((x, lax.broadcasted_iota(jnp.int32, x.shape, x.ndim - 1)), num_keys=1, is_stable=False)


@plain("topk-1m")
def _(i, m):
    return lax.top_k(i[0], 10)


@plain("topk-rows")
def _(i, m):
    return lax.top_k(i[0], 40)


@plain("cumsum-1m cumsum-columns")
def _(i, m):
    return jnp.cumsum(i[0], 0)


@plain("cumsum-rows")
def _(i, m):
    return jnp.cumsum(i[0], 1)


@plain("gather-rows")
def _(i, m):
    return i[0][i[1]]


@plain("embedding-grad")
def _(i, m):
    return jnp.zeros_like(i[0]).at[i[1]].add(i[2])


# Attention.


@plain("attention attention-batch attention-bf16")
def _(i, m):
    return attend(*i)


@plain("attention-causal")
def _(i, m):
    return attend(*i, causal=True)


@plain("attention-token-groups")
def _(i, m):
    n, heads, q, d = i[0].shape
    groups = i[1].shape[1]
    return attend(i[0].reshape(n, groups, heads // groups * q, d), i[1], i[2]).reshape(i[0].shape)


# Networks.


def lstm_gates(g, c):
    i, f, u, o = jnp.split(g, 4, -1)
    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(u)
    return jax.nn.sigmoid(o) * jnp.tanh(c), c


@plain("lstm-step")
def _(i, m):
    return lstm_gates(i[0] @ m["input"].T + m["input_bias"] + i[1] @ m["hidden"].T + m["hidden_bias"], i[2])


@plain("lstm-64")
def _(i, m):
    m = {n.removeprefix("layers.0.0."): a for n, a in m.items()}
    x = i[0] @ m["input"].T + m["input_bias"] + m["hidden_bias"]
    zero = jnp.zeros((i[0].shape[1], 256))
    back = m["hidden"].T

    def step(s, x):
        h, c = lstm_gates(x + s[0] @ back, s[1])
        return (h, c), h

    (h, c), out = lax.scan(step, (zero, zero), x)
    return out, h[None], c[None]


@plain("transformer-block")
def _(i, m):
    x = i[0]

    def norm(x, name):
        return normal(x, -1) * m[name + ".weight"] + m[name + ".bias"]

    def heads(name):
        return linear(h, m, "self_attention." + name).reshape(4, 128, 8, 64).swapaxes(1, 2)

    h = norm(x, "self_norm")
    a = attend(heads("query"), heads("key"), heads("value")).swapaxes(1, 2).reshape(x.shape)
    x = x + linear(a, m, "self_attention.out")
    return x + linear(jax.nn.gelu(linear(norm(x, "feed_norm"), m, "widen"), approximate=False), m, "narrow")


def batch_norm(x, m, name, changed=None):
    """By the statistics of the batch if what changes is wanted."""
    mean, var = m[name + ".running_mean"], m[name + ".running_var"]
    if changed is not None:
        n = x.size // x.shape[1]
        moved, unbiased = x.mean((0, 2, 3)), x.var((0, 2, 3))
        changed[name + ".running_mean"] = 0.9 * mean + 0.1 * lax.stop_gradient(moved)
        changed[name + ".running_var"] = 0.9 * var + 0.1 * lax.stop_gradient(unbiased) * (n / (n - 1))
        mean, var = moved, unbiased
    scale = m[name + ".weight"] * lax.rsqrt(var + 1e-5)
    return (x - channels(mean)) * channels(scale) + channels(m[name + ".bias"])


def resnet(x, m, changed=None):
    def conv_norm(x, name, stride):
        w = m[name + ".conv.weight"]
        return batch_norm(conv(x, w, stride, w.shape[-1] // 2), m, name + ".norm", changed)

    x = max_pool(jax.nn.relu(conv_norm(x, "stem", 2)), 3, 2, 1)
    for n in range(8):
        b = f"blocks.{n}."
        stride = 2 if n in (2, 4, 6) else 1
        y = conv_norm(jax.nn.relu(conv_norm(x, b + "first", stride)), b + "second", 1)
        if stride > 1:
            x = conv_norm(x, b + "short", stride)
        x = jax.nn.relu(x + y)
    return linear(x.mean((2, 3)), m, "out")


@plain("resnet18")
def _(i, m):
    return resnet(i[0], m)


@plain("gpt2-token")
def _(i, m):
    x, keys, values = i
    ks, vs = [], []
    for n in range(12):
        def norm(x, name):
            return normal(x, -1) * m[f"{n}.{name}.weight"] + m[f"{n}.{name}.bias"]

        q, k, v = linear(norm(x, "norm"), m, f"{n}.heads").reshape(3, 12, 1, 64)
        a = attend(q, jnp.concatenate([keys[n], k], 1), jnp.concatenate([values[n], v], 1))
        x = x + linear(a.reshape(1, 768), m, f"{n}.out")
        x = x + linear(jax.nn.gelu(linear(norm(x, "feed_norm"), m, f"{n}.up"), approximate=True), m, f"{n}.down")
        ks.append(k)
        vs.append(v)
    return x, jnp.stack(ks), jnp.stack(vs)


# Training.


@training("mlp-step", adam(1e-3))
def _(i, t, m):
    return cross_entropy(linear(jax.nn.relu(linear(i[0], t, "hidden")), t, "out"), i[1]), {}


@training("embedding-step", sgd(1e-3))
def _(i, t, m):
    return cross_entropy(linear(jax.nn.relu(linear(t["table.weight"][i[0]], t, "hidden")), t, "out"), i[1]), {}


@training("mnist-convnet-64", adam(1e-4))
def _(i, t, m):
    changed = {}
    x = (m["images"][i[0]].astype(jnp.float32) * (1 / 255))[:, None]
    for first, norm in ((1, 1), (3, 2)):
        for c in (first, first + 1):
            x = jax.nn.relu(conv(x, t[f"net.conv{c}.weight"]) + channels(t[f"net.conv{c}.bias"]))
        x = batch_norm(x, {**m, **t}, f"net.norm{norm}", changed)
        x = max_pool(x, 2, 2, 0)
    return cross_entropy(linear(x.reshape(x.shape[0], -1), t, "net.out"), m["labels"][i[0]]), changed


@training("resnet18-step", sgd(1e-3, 0.9))
def _(i, t, m):
    changed = {}
    return cross_entropy(resnet(i[0], {**m, **t}, changed), i[1]), changed


# Transforms and factorisations.


@plain("fft-65536 fft-1009")
def _(i, m):
    return jnp.fft.fft(lax.complex(i[0][:, 0], i[0][:, 1]))


@plain("cholesky-64 cholesky-200")
def _(i, m):
    return jnp.linalg.cholesky(i[0])


@plain("solve-64 solve-200")
def _(i, m):
    return jnp.linalg.solve(i[0], i[1])


@plain("qr-64 qr-200")
def _(i, m):
    return tuple(jnp.linalg.qr(i[0]))


@plain("eigh-64 eigh-200")
def _(i, m):
    return tuple(jnp.linalg.eigh(i[0]))
