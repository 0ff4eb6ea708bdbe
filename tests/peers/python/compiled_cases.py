"""The cases in PyTorch behind torch.compile."""

import torch

import torch_cases
from torch_cases import CASES, arrays, start  # noqa: F401

torch_cases.compile = lambda f: torch.compile(f, dynamic=False)


def about():
    return torch_cases.about() + ", inductor"


def prepare(case, inputs, model):
    torch._dynamo.reset()  # it would give up after some shapes of a function
    return torch_cases.prepare(case, inputs, model)
