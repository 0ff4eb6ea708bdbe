"""The cases in PyTorch. Where a function has several ways to say it, this is the fastest that was found."""

import numpy as np
import torch
import torch.nn.functional as F

CASES = {}
aten = torch.ops.aten
device = "cpu"


def start(threads, on="cpu"):
    global device
    device = on
    torch.set_num_threads(threads)
    torch.set_num_interop_threads(1)
    torch.backends.cudnn.allow_tf32 = False  # float32 is meant, as everywhere here
    torch.backends.cudnn.benchmark = True


def about():
    if device != "cpu":
        return f"{torch.__version__}, {torch.cuda.get_device_name()}"
    return f"{torch.__version__}, {torch.backends.cpu.get_cpu_capability()}, {torch.get_num_threads()} threads"


def compile(f):
    """As it is; compiled_cases changes it."""
    return f


def prepare(case, inputs, model):
    m = {name: tensor(a) for name, a in model.items()}
    run = CASES[case]([tensor(a) for a in inputs], m)
    if device == "cpu":
        return run

    def waited():
        out = run()
        torch.cuda.synchronize()
        return out

    return waited


def tensor(a):
    if a.dtype.name == "bfloat16":
        return torch.from_numpy(a.view(np.int16)).to(device).view(torch.bfloat16)
    t = torch.from_numpy(a).to(device)
    return t.long() if t.dtype == torch.int32 else t  # what indices and classes are there


def arrays(outs):
    outs = outs if isinstance(outs, (tuple, list)) else [outs]
    return [(o.float() if o.dtype == torch.bfloat16 else o).detach().cpu().numpy() for o in outs]


def plain(names):
    """Registers f(i, m), which computes results from inputs and a model."""

    def register(f):
        def build(i, m):
            g = compile(f)

            def run():
                with torch.no_grad():
                    return g(i, m)

            return run

        CASES.update((n, build) for n in names.split())

    return register


def gradients(names, of, results=None):
    """Registers loss(i), whose gradients with regard to inputs are wanted."""

    def register(loss):
        def build(i, m):
            i = [t.requires_grad_() if n in of else t for n, t in enumerate(i)]
            g = compile(loss)
            return lambda: torch.autograd.grad(g(i), [i[n] for n in of])

        CASES.update((n, build) for n in names.split())

    return register


def training(names, optimizer):
    """Registers loss(i, m), a step of whose training is wanted."""

    def register(loss):
        def build(i, m):
            trained = [t.requires_grad_() for n, t in m.items() if t.is_floating_point() and "running" not in n]
            opt = optimizer(trained)
            g = compile(loss)

            def run():
                opt.zero_grad()
                l = g(i, m)
                l.backward()
                opt.step()
                return l

            return run

        CASES.update((n, build) for n in names.split())

    return register


# Products.


@plain("matmul-256 matmul-512 matmul-1024 matmul-2048 product-odd batch-products matvec-4096 row-vocabulary rows-4096 matmul-bf16-1024 matmul-f16-1024")
def _(i, m):
    return i[0] @ i[1]


@plain("linear-bf16")
def _(i, m):
    return i[0] @ i[1].T


@plain("matmul-i8-i32")
def _(i, m):
    return torch._int_mm(i[0], i[1])


# Convolutions and pictures.


@plain("conv2d-56 conv-28 conv-14 conv-7 conv-56-b8 conv-7-b8 conv-2-b64 conv-bf16-14")
def _(i, m):
    return F.conv2d(i[0], i[1], padding=1)


@plain("conv-dilated")
def _(i, m):
    return F.conv2d(i[0], i[1], padding=24, dilation=24)


@plain("conv-stem")
def _(i, m):
    return F.conv2d(i[0], i[1], stride=2, padding=3)


@plain("conv-1x1-56")
def _(i, m):
    return F.conv2d(i[0], i[1])


@plain("depthwise-56 depthwise-5")
def _(i, m):
    return F.conv2d(i[0], i[1], padding=i[1].shape[-1] // 2, groups=i[0].shape[1])


@plain("conv1d")
def _(i, m):
    return F.conv1d(i[0], i[1], padding=4)


@plain("conv-transpose-2")
def _(i, m):
    return F.conv_transpose2d(i[0], i[1], stride=2)


@plain("conv-transpose-4")
def _(i, m):
    return F.conv_transpose2d(i[0], i[1], stride=2, padding=1)


@plain("maxpool-overlap")
def _(i, m):
    return F.max_pool2d(i[0], 3, 2, 1)


@plain("avgpool-overlap")
def _(i, m):
    return F.avg_pool2d(i[0], 3, 2, 1)


@plain("resize-2x")
def _(i, m):
    return F.interpolate(i[0], size=(112, 112), mode="bilinear")


# Gradients. Those of a convolution whose result nobody needs are asked for without it.


@plain("conv-grad-56 conv-grad-stride-56 depthwise-grad")
def _(i, m):
    x, w, g = i
    stride = x.shape[-1] // g.shape[-1]
    return aten.convolution_backward(g, x, w, None, [stride] * 2, [1, 1], [1, 1], False, [0, 0], x.shape[1] // w.shape[1], [True, True, False])[:2]


@plain("maxpool-grad")
def _(i, m):
    y, at = aten.max_pool2d_with_indices(i[0], [3, 3], [2, 2], [1, 1])
    return aten.max_pool2d_with_indices_backward(2 * y, i[0], [3, 3], [2, 2], [1, 1], [1, 1], False, at)


@gradients("conv-grad-norm", of=[0, 1])
def _(i):
    y = F.conv2d(F.group_norm(i[0], 8).relu(), i[1], padding=1)
    return (y * y).sum()


# Norms, elements, sums.


@plain("softmax-1024")
def _(i, m):
    return i[0].softmax(-1)


@plain("layernorm-1024")
def _(i, m):
    return F.layer_norm(i[0], (1024,), i[1], i[2])


@plain("groupnorm")
def _(i, m):
    return F.group_norm(i[0], 8, i[1], i[2])


@plain("batchnorm")
def _(i, m):
    return F.batch_norm(i[0], None, None, i[1], i[2], training=True)


@plain("chain-1m elementwise-16m")
def _(i, m):
    x = i[0]
    return -(((x * 2 + 1).relu() * x - 3).abs() + 0.5).sqrt()


@plain("sum-16m")
def _(i, m):
    return i[0].sum()


@plain("sum-columns")
def _(i, m):
    return i[0].sum(0)


@plain("transpose-4096")
def _(i, m):
    return i[0].t().contiguous()


@plain("argmax-1m")
def _(i, m):
    return i[0].argmax()


# Order, running sums, rows by number.


@plain("sort-1m sort-rows")
def _(i, m):
    return tuple(i[0].sort())


@plain("topk-1m")
def _(i, m):
    return tuple(i[0].topk(10))


@plain("topk-rows")
def _(i, m):
    return tuple(i[0].topk(40))


@plain("cumsum-1m cumsum-columns")
def _(i, m):
    return i[0].cumsum(0)


@plain("cumsum-rows")
def _(i, m):
    return i[0].cumsum(1)


@plain("gather-rows")
def _(i, m):
    return F.embedding(i[1], i[0])


@plain("embedding-grad")
def _(i, m):
    return torch.zeros_like(i[0]).index_add_(0, i[1], i[2])


# Attention.


@plain("attention attention-batch attention-bf16")
def _(i, m):
    return F.scaled_dot_product_attention(i[0], i[1], i[2])


@plain("attention-causal")
def _(i, m):
    return F.scaled_dot_product_attention(i[0], i[1], i[2], is_causal=True)


@plain("attention-token-groups")
def _(i, m):
    return F.scaled_dot_product_attention(i[0], i[1], i[2], enable_gqa=True)


# Networks.


@plain("lstm-step")
def _(i, m):
    return torch.lstm_cell(i[0], (i[1], i[2]), m["input"], m["hidden"], m["input_bias"], m["hidden_bias"])


def lstm(i, m):
    x = i[0]
    zero = x.new_zeros(1, x.shape[1], 256)
    weights = [m["layers.0.0." + n] for n in ("input", "hidden", "input_bias", "hidden_bias")]
    return torch._VF.lstm(x, (zero, zero), weights, True, 1, 0.0, False, False, False)


plain("lstm-64")(lstm)


def transformer(i, m):
    layer = torch.nn.TransformerEncoderLayer(512, 8, 2048, activation="gelu", norm_first=True, batch_first=True, dropout=0).eval().to(device)
    pairs = {"self_attn.out_proj": "self_attention.out", "linear1": "widen", "linear2": "narrow", "norm1": "self_norm", "norm2": "feed_norm"}
    with torch.no_grad():
        for kind in ("weight", "bias"):
            for theirs, ours in pairs.items():
                layer.get_parameter(f"{theirs}.{kind}").copy_(m[f"{ours}.{kind}"])
            heads = torch.cat([m[f"self_attention.{n}.{kind}"] for n in ("query", "key", "value")])
            layer.get_parameter(f"self_attn.in_proj_{kind}").copy_(heads)
    g = compile(layer)

    def run():
        with torch.no_grad():
            return g(i[0])

    return run


CASES["transformer-block"] = transformer


def resnet(x, m, training):
    def conv_norm(x, name, stride):
        w = m[name + ".conv.weight"]
        x = F.conv2d(x, w, stride=stride, padding=w.shape[-1] // 2)
        n = name + ".norm."
        return F.batch_norm(x, m[n + "running_mean"], m[n + "running_var"], m[n + "weight"], m[n + "bias"], training, 0.1, 1e-5)

    x = F.max_pool2d(conv_norm(x, "stem", 2).relu(), 3, 2, 1)
    for n in range(8):
        b = f"blocks.{n}."
        stride = 2 if n in (2, 4, 6) else 1
        y = conv_norm(conv_norm(x, b + "first", stride).relu(), b + "second", 1)
        if stride > 1:
            x = conv_norm(x, b + "short", stride)
        x = (x + y).relu()
    return F.linear(x.mean((2, 3)), m["out.weight"], m["out.bias"])


@plain("resnet18")
def _(i, m):
    return resnet(i[0], m, False)


@plain("gpt2-token")
def _(i, m):
    x, keys, values = i
    ks, vs = [], []
    for n in range(12):
        def weights(layer):
            return m[f"{n}.{layer}.weight"], m[f"{n}.{layer}.bias"]

        q, k, v = F.linear(F.layer_norm(x, (768,), *weights("norm")), *weights("heads")).view(3, 12, 1, 64)
        a = F.scaled_dot_product_attention(q, torch.cat([keys[n], k], 1), torch.cat([values[n], v], 1))
        x = x + F.linear(a.view(1, 768), *weights("out"))
        h = F.linear(F.layer_norm(x, (768,), *weights("feed_norm")), *weights("up"))
        x = x + F.linear(F.gelu(h, approximate="tanh"), *weights("down"))
        ks.append(k)
        vs.append(v)
    return x, torch.stack(ks), torch.stack(vs)


# Training.


def adam(rate):
    return lambda ps: torch.optim.Adam(ps, lr=rate, fused=True)


@training("mlp-step", adam(1e-3))
def _(i, m):
    x = F.linear(i[0], m["hidden.weight"], m["hidden.bias"]).relu()
    return F.cross_entropy(F.linear(x, m["out.weight"], m["out.bias"]), i[1])


@training("embedding-step", lambda ps: torch.optim.SGD(ps, lr=1e-3, fused=True))
def _(i, m):
    x = F.linear(F.embedding(i[0], m["table.weight"]), m["hidden.weight"], m["hidden.bias"]).relu()
    return F.cross_entropy(F.linear(x, m["out.weight"], m["out.bias"]), i[1])


@training("mnist-convnet-64", adam(1e-4))
def _(i, m):
    x = (m["images"][i[0]].float() * (1 / 255)).unsqueeze(1)
    for first, norm in ((1, 1), (3, 2)):
        for c in (first, first + 1):
            x = F.conv2d(x, m[f"net.conv{c}.weight"], m[f"net.conv{c}.bias"]).relu()
        n = f"net.norm{norm}."
        x = F.batch_norm(x, m[n + "running_mean"], m[n + "running_var"], m[n + "weight"], m[n + "bias"], True, 0.1, 1e-5)
        x = F.max_pool2d(x, 2)
    return F.cross_entropy(F.linear(x.flatten(1), m["net.out.weight"], m["net.out.bias"]), m["labels"][i[0]].long())


@training("resnet18-step", lambda ps: torch.optim.SGD(ps, lr=1e-3, momentum=0.9, fused=True))
def _(i, m):
    return F.cross_entropy(resnet(i[0], m, True), i[1])


# Transforms and factorisations.


@plain("fft-65536 fft-1009")
def _(i, m):
    return torch.view_as_real(torch.fft.fft(torch.view_as_complex(i[0])))


@plain("cholesky-64 cholesky-200")
def _(i, m):
    return torch.linalg.cholesky(i[0])


@plain("solve-64 solve-200")
def _(i, m):
    return torch.linalg.solve(i[0], i[1])


@plain("qr-64 qr-200")
def _(i, m):
    return tuple(torch.linalg.qr(i[0]))


@plain("eigh-64 eigh-200")
def _(i, m):
    return tuple(torch.linalg.eigh(i[0]))
