"""Compares the results of two libraries for one case."""

import numpy as np

# What may lie between two results, in parts of the wanted value and of the root mean square of all of them.
TOLERANCE = {
    "matmul-bf16-1024": 1e-2, "linear-bf16": 1e-2, "conv-bf16-14": 1e-2, "attention-bf16": 3e-2, "matmul-f16-1024": 2e-3,
    "mlp-step": 1e-3, "embedding-step": 1e-3, "mnist-convnet-64": 2e-3,
    "resnet18": 1e-3, "resnet18-step": 5e-3, "gpt2-token": 1e-3,
}
USUAL = 2e-4


def compare(case, inputs, wanted, got):
    """Says what is wrong with results, or nothing."""
    if len(wanted) != len(got):
        return f"{len(got)} results instead of {len(wanted)}"
    form = FORMS.get(case.rsplit("-", 1)[0]) or FORMS.get(case)
    if form:
        wanted, got = form(inputs, *wanted), form(inputs, *got)
    tolerance = TOLERANCE.get(case, USUAL)
    for i, (want, have) in enumerate(zip(wanted, got)):
        have = np.asarray(have)
        if want.shape != have.shape:
            return f"result {i} is {have.shape} instead of {want.shape}"
        want, have = want.astype(np.float64), have.astype(np.float64)
        room = tolerance * (np.abs(want) + np.sqrt(np.mean(want * want)))
        bad = ~(np.abs(want - have) <= room)
        if bad.any():
            at = np.unravel_index(np.argmax(bad), bad.shape)
            return f"result {i} at {tuple(int(n) for n in at)}: {have[at]} instead of {want[at]}, and {int(bad.sum())} of {bad.size} in all"
    return None


def places(inputs, values, at):
    """Equal numbers may stand in any order."""
    return values, np.take_along_axis(inputs[0], at.astype(np.int64), -1)


def place(inputs, at):
    return (inputs[0].reshape(-1)[int(at)].reshape(1),)


def qr(inputs, q, r):
    """Signs of rows are free."""
    return q @ r, q.T @ q, np.abs(r)


def eigh(inputs, w, v):
    """Signs of columns are free."""
    return w, (v * w) @ v.T, v.T @ v


def pairs(inputs, x):
    return (x.view(np.float32).reshape(-1, 2) if np.iscomplexobj(x) else x,)


FORMS = {"sort": places, "topk": places, "argmax": place, "qr": qr, "eigh": eigh, "fft": pairs}
