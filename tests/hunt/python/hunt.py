# Measures the programs that the Go side drew in PyTorch: a list of them in JSON comes in, a line of milliseconds each goes out; 0 where PyTorch
# has no such operation for these operands. operations.go and networks.go say what each is.
import json
import math
import sys
import time

import torch

torch.set_num_threads(2)
F = torch.nn.functional
LEAST, MOST, SECONDS = 5, 60, 0.15  # as in main.go


def step(x, a):
    at = [slice(None)] * x.dim()
    at[a] = slice(None, None, 2)
    return x[tuple(at)].contiguous()


def pad(x, a):
    around = [0] * (2 * x.dim())
    k = 2 * (x.dim() - 1 - a)
    around[k], around[k + 1] = 1, 2
    return F.pad(x, around)


def reflect(x, a):
    n = x.shape[a]
    rows = x.movedim(a, -1)
    y = F.pad(rows.reshape(1, -1, n), (min(2, n - 1), min(1, n - 1)), mode='reflect')
    return y.reshape(*rows.shape[:-1], -1).movedim(-1, a).contiguous()


OPERATIONS = {
    'add': lambda c: c.x + c.y,
    'mulbcast': lambda c: c.x * c.v,
    'sub-mean': lambda c: c.x - c.x.mean(c.a, keepdim=True),
    'sum': lambda c: c.x.sum(c.a),
    'sum2': lambda c: c.x.sum((c.a, c.b)),
    'max': lambda c: c.x.amax(c.a),
    'min2': lambda c: c.x.amin((c.a, c.b)),
    'prod': lambda c: c.x.prod(c.a),
    'argmax': lambda c: c.x.argmax(c.a),
    'any': lambda c: c.x.any(c.a),
    'all': lambda c: (c.x > 0).all(c.a),
    'countnz': lambda c: c.x.count_nonzero(c.a),
    'var': lambda c: c.x.var(c.a),
    'std2': lambda c: c.x.std((c.a, c.b)),
    'lse': lambda c: c.x.logsumexp(c.a),
    'softmax': lambda c: c.x.softmax(c.a),
    'logsoftmax': lambda c: c.x.log_softmax(c.a),
    'layernorm': lambda c: F.layer_norm(c.x, c.v.shape, c.v, c.v),
    'rmsnorm': lambda c: F.rms_norm(c.x, c.v.shape, c.v, 1e-5),
    'norm': lambda c: c.x.norm(2, c.a),
    'normalize': lambda c: F.normalize(c.x, 2, c.a),
    'cosine': lambda c: F.cosine_similarity(c.x, c.y, c.a),
    'cumsum': lambda c: c.x.cumsum(c.a, dtype=c.x.dtype),
    'cumprod': lambda c: c.x.cumprod(c.a),
    'cummax': lambda c: c.x.cummax(c.a)[0],
    'logcumsumexp': lambda c: c.x.logcumsumexp(c.a),
    'sort': lambda c: c.x.sort(c.a)[0],
    'argsort': lambda c: c.x.argsort(c.a, descending=True),
    'topk': lambda c: c.x.topk(min(5, c.n[c.a]), c.a)[0],
    'median': lambda c: c.x.median(c.a)[0],
    'mode': lambda c: c.x.mode(c.a)[0],
    'kth': lambda c: c.x.kthvalue(1 + c.n[c.a] // 3, c.a)[0],
    'transpose': lambda c: c.x.transpose(c.a, c.b).contiguous(),
    'flip': lambda c: c.x.flip(c.a),
    'roll': lambda c: c.x.roll(c.n[c.a] // 3, c.a),
    'cat': lambda c: torch.cat([c.x, c.y], c.a),
    'stack': lambda c: torch.stack([c.x, c.y, c.x], c.a),
    'repeat': lambda c: c.x.repeat_interleave(2, c.a),
    'tile': lambda c: c.x.repeat(*[2 if i == c.a else 1 for i in range(len(c.n))]),
    'pad': lambda c: pad(c.x, c.a),
    'padreflect': lambda c: reflect(c.x, c.a),
    'narrow': lambda c: c.x.narrow(c.a, c.n[c.a] // 4, (c.n[c.a] + 1) // 2).contiguous(),
    'step': lambda c: step(c.x, c.a),
    'gather': lambda c: c.x.gather(c.a, c.at),
    'indexselect': lambda c: c.x.index_select(c.a, c.few),
    'scatteradd': lambda c: c.x.scatter_add(c.a, c.at, c.y),
    'scatter': lambda c: c.x.scatter(c.a, c.at, c.y),
    'scattermax': lambda c: c.x.scatter_reduce(c.a, c.at, c.y, 'amax'),
    'indexadd': lambda c: c.x.index_add(c.a, c.few, c.x.index_select(c.a, c.few)),
    'indexfill': lambda c: c.x.index_fill(c.a, c.few, 1),
    'maskfill': lambda c: c.x.masked_fill(c.mask, 0),
    'where': lambda c: torch.where(c.mask, c.x, c.y),
    'tril': lambda c: c.x.tril(),
    'diff': lambda c: c.x.diff(dim=c.a),
    'unfold': lambda c: c.x.unfold(c.a, min(3, c.n[c.a]), 1).contiguous(),
    'unfoldsum': lambda c: c.x.unfold(c.a, min(5, c.n[c.a]), 2).sum(-1),
    'gelu': lambda c: F.gelu(c.x),
    'silu': lambda c: F.silu(c.x),
    'mish': lambda c: F.mish(c.x),
    'tanh': lambda c: c.x.tanh(),
    'erf': lambda c: c.x.erf(),
    'logsig': lambda c: F.logsigmoid(c.x),
    'pow': lambda c: (c.x.abs() + 0.1).pow(c.y),
    'pow3': lambda c: c.x.pow(3),
    'floordiv': lambda c: c.x // 3,
    'mod': lambda c: c.x % 7,
    'modt': lambda c: c.x % (c.y * c.y + 1),
    'div': lambda c: c.x / (c.y + 3),
    'atan2': lambda c: c.x.atan2(c.y),
    'lgamma': lambda c: (c.x.abs() + 0.5).lgamma(),
    'round': lambda c: (c.x * 10).round(),
    'clamp': lambda c: c.x.clamp(0, 2),
    'glu': lambda c: F.glu(c.x[..., : c.n[-1] // 2 * 2], -1),
    'onehot': lambda c: F.one_hot(c.few, c.n[c.a]),
    'cdist': lambda c: torch.cdist(c.x, c.x[..., :32, :]),
    'cdist1': lambda c: torch.cdist(c.x, c.x[..., :32, :], 1),
    'outer': lambda c: torch.outer(c.few.to(c.x.dtype), c.v),
    'xxt': lambda c: c.x @ c.x[..., :64, :].transpose(-1, -2),
    'xtx': lambda c: c.x[..., :64].transpose(-1, -2) @ c.x,
    'xv': lambda c: c.x @ c.v,
    'einsum': lambda c: torch.einsum('abc,abc->b', c.x, c.y),
    'einsum2': lambda c: torch.einsum('abc,c->ba', c.x, c.v),
    'maxpool1': lambda c: F.max_pool1d(c.x.reshape(1, -1, c.n[-1]), 3, 2, 1),
    'avgpool2': lambda c: F.avg_pool2d(c.x.reshape(1, -1, c.n[-2], c.n[-1]), 3, 1, 1),
    'ce': lambda c: F.cross_entropy(c.x.reshape(-1, c.n[-1]), c.labels),
    'smoothl1': lambda c: F.smooth_l1_loss(c.x, c.y),
    'bce': lambda c: F.binary_cross_entropy_with_logits(c.x, c.y.sigmoid()),
    'kl': lambda c: F.kl_div(c.x.log_softmax(-1), c.y.softmax(-1)),
    'isnan': lambda c: c.x.isnan(),
    'nantonum': lambda c: c.x.nan_to_num(0, 1, -1),
    'nanmean': lambda c: c.x.nanmean(c.a),
    'quantile': lambda c: c.x.quantile(c.q, c.a),
    'bucket': lambda c: torch.searchsorted(c.v.sort()[0], c.x),
    'isin': lambda c: torch.isin(c.x, c.v[:8]),
    'cast': lambda c: c.x.to(torch.float32, copy=True),
    'castu8': lambda c: c.x.to(torch.uint8, copy=True),
    'casti64': lambda c: c.x.to(torch.int64, copy=True),
    'cross': lambda c: torch.linalg.cross(c.x.narrow(c.a, 0, 3), c.y.narrow(c.a, 0, 3), dim=c.a),
    'trapz': lambda c: torch.trapezoid(c.x, dim=c.a),
    'logaddexp': lambda c: torch.logaddexp(c.x, c.y),
    'lerp': lambda c: c.x.lerp(c.y, 0.3),
    'channelnorm': lambda c: (c.x - c.x.mean(0, keepdim=True)) / (c.x.std(0, keepdim=True) + 1e-5),
    'rot90': lambda c: torch.rot90(c.x, 1, (c.a, c.b)),
    'kron': lambda c: torch.kron(c.v, torch.ones(16, dtype=c.x.dtype)),
    'cov': lambda c: torch.cov(c.x.reshape(c.n[0], -1)[:64]),
    'renorm': lambda c: c.x.renorm(2, c.a, 1),
    'histc': lambda c: torch.histc(c.x, 32, -3, 3),
}


class Operand:
    def __init__(self, p):
        d, self.n, self.a, self.b = getattr(torch, p['type']), p['shape'], p['a'], p['b']
        random = (lambda *n: torch.randn(*n).to(d)) if d.is_floating_point else (lambda *n: torch.randint(0, 9, n).to(d))
        n = self.n[self.a]
        self.x, self.y, self.v = random(*self.n), random(*self.n), random(self.n[-1])
        self.at, self.few, self.mask = torch.randint(0, n, self.n), torch.randint(0, n, (64,)), torch.rand(*self.n) > 0.5
        self.labels = torch.randint(0, self.n[-1], (self.x.numel() // self.n[-1],))
        self.q = torch.tensor([0.1, 0.9], dtype=d) if d.is_floating_point else None


def operation(p):
    c, f = Operand(p), OPERATIONS[p['name']]

    def run():
        if not p['grad']:
            return f(c)
        c.x = c.x.detach().requires_grad_(True)
        y = f(c)
        if y.requires_grad:
            (y * y).sum().backward()

    return run


ACTIVATIONS = {
    'relu': F.relu,
    'gelu': F.gelu,
    'silu': F.silu,
    'elu': F.elu,
    'tanh': torch.tanh,
    'leaky': lambda x: F.leaky_relu(x, 0.1),
    'hswish': F.hardswish,
    'softplus': F.softplus,
}


class Network:
    def __init__(s, d):
        s.d = d
        s.make = True
        s.params = []
        s.at = 0

    def p(s, sc, *sh):
        if s.make:
            s.params.append((torch.randn(*sh) * sc).to(s.d).requires_grad_())
        s.at += 1
        return s.params[s.at - 1]

    def lin(s, x, o):
        i = x.shape[-1]
        return F.linear(x, s.p(1 / math.sqrt(i), o, i), s.p(0.1, o))

    def conv(s, x, o, k, st, p, g):
        c = x.shape[1]
        return F.conv2d(x, s.p(1 / math.sqrt(c // g * k * k), o, c // g, k, k), s.p(0.1, o), st, p, 1, g)

    def layer(s, x, l):
        f = l.split()
        v = [int(a) if a.lstrip('-').isdigit() else 0 for a in f]
        k = f[0]
        if k == 'conv':
            return s.conv(x, *v[1:6])
        if k == 'dw':
            return s.conv(x, x.shape[1], v[1], v[2], v[1] // 2, x.shape[1])
        if k == 'convt':
            c = x.shape[1]
            return F.conv_transpose2d(x, s.p(1 / math.sqrt(c * v[2] * v[2]), c, v[1], v[2], v[2]), s.p(0.1, v[1]), v[3], v[4])
        if k == 'bn':
            c = x.shape[1]
            return F.batch_norm(x, None, None, s.p(1, c), s.p(0.1, c), True)
        if k == 'gn':
            c = x.shape[1]
            return F.group_norm(x, v[1], s.p(1, c), s.p(0.1, c))
        if k == 'ln':
            d = x.shape[-1]
            return F.layer_norm(x, (d,), s.p(1, d), s.p(0.1, d))
        if k == 'rms':
            d = x.shape[-1]
            return F.rms_norm(x, (d,), s.p(1, d), 1e-5)
        if k == 'act':
            return ACTIVATIONS[f[1]](x)
        if k == 'max':
            return F.max_pool2d(x, v[1], v[2])
        if k == 'avg':
            return F.avg_pool2d(x, v[1], v[2])
        if k == 'up':
            return F.interpolate(x, scale_factor=2)
        if k == 'upl':
            return F.interpolate(x, scale_factor=2, mode='bilinear')
        if k == 'shuffle':
            return F.pixel_shuffle(x, 2)
        if k == 'se':
            c = x.shape[1]
            q = x.mean((2, 3))
            q = s.lin(F.relu(s.lin(q, max(4, c // 4))), c).sigmoid()
            return x * q[:, :, None, None]
        if k == 'res':
            c = x.shape[1]
            return x + s.conv(F.relu(s.conv(x, c, 3, 1, 1, 1)), c, 3, 1, 1, 1)
        if k == 'cat':
            return torch.cat([x, F.relu(s.conv(x, v[1], 3, 1, 1, 1))], 1)
        if k == 'lin':
            return s.lin(x, v[1])
        if k == 'att':
            b, t, d = x.shape
            h = v[1]
            q = s.lin(x, 3 * d).reshape(b, t, 3, h, d // h).permute(2, 0, 3, 1, 4)
            o = F.scaled_dot_product_attention(q[0], q[1], q[2], is_causal=v[2] == 1)
            return x + s.lin(o.transpose(1, 2).reshape(b, t, d), d)
        if k == 'ffn':
            d = x.shape[-1]
            return x + s.lin(F.gelu(s.lin(x, d * v[1])), d)
        if k == 'swiglu':
            d = x.shape[-1]
            return x + s.lin(F.silu(s.lin(x, d * 2)) * s.lin(x, d * 2), d)
        if k == 'c1d':
            d = x.shape[-1]
            return F.conv1d(x.transpose(1, 2), s.p(1 / math.sqrt(d * v[2]), v[1], d, v[2]), None, 1, v[2] // 2).transpose(1, 2)
        if k == 'glu':
            return F.glu(x)
        if k == 'cumsum':
            return x.cumsum(1) * 0.1
        if k == 'pool':
            return (x * s.lin(x, 1).softmax(1)).sum(1, keepdim=True) + x
        if k == 'mix':
            t = x.shape[1]
            return x + (x.transpose(1, 2) @ s.p(1 / math.sqrt(t), t, t)).transpose(1, 2)
        if k == 'gru':
            d = x.shape[-1]
            w, u, b = s.p(1 / math.sqrt(d), d, 3 * d), s.p(1 / math.sqrt(d), d, 3 * d), s.p(0.1, 3 * d)
            h = torch.zeros(x.shape[0], d, dtype=x.dtype)
            xs = x @ w + b
            hs = []
            for t in range(x.shape[1]):
                g = xs[:, t].chunk(3, -1)
                k2 = (h @ u).chunk(3, -1)
                z, r = (g[0] + k2[0]).sigmoid(), (g[1] + k2[1]).sigmoid()
                c = (g[2] + r * k2[2]).tanh()
                h = z * h + (1 - z) * c
                hs.append(h)
            return torch.stack(hs, 1)
        raise Exception(k)

    def forward(s, x, ls):
        s.at = 0
        for l in ls:
            x = s.layer(x, l)
        x = x.mean((2, 3)) if x.dim() == 4 else x.mean(1)
        return s.lin(x, 10)


def network(p):
    d, layers = getattr(torch, p['type']), p['layers']
    n, x = Network(d), torch.randn(*p['shape']).to(d)
    labels = torch.randint(0, 10, (p['shape'][0],))
    n.forward(x, layers)
    n.make = False

    def run():
        if not p['grad']:
            with torch.no_grad():
                return n.forward(x, layers)
        grads = torch.autograd.grad(F.cross_entropy(n.forward(x, layers), labels), n.params)
        with torch.no_grad():
            return [w - g * 0.01 for w, g in zip(n.params, grads)]

    return run


def measure(run):
    run()
    run()
    times, begin = [], time.time()
    while len(times) < LEAST or len(times) < MOST and time.time() - begin < SECONDS:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 4] * 1e3


for program in json.load(sys.stdin):
    try:
        print(measure((network if program['kind'] == 'network' else operation)(program)), flush=True)
    except (NotImplementedError, RuntimeError, TypeError, ValueError, IndexError):
        print(0, flush=True)
