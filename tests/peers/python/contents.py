"""Reads what `weft bench --turns` wrote about a case: its inputs, its model by names or the file of its model with the names of inputs, and the results of its first runs."""

import json
import os

import ml_dtypes
import numpy as np

TYPES = {"bool": np.bool_, "bfloat16": ml_dtypes.bfloat16}


def read(folder):
    with open(os.path.join(folder, "contents.json")) as f:
        c = json.load(f)

    def array(w):
        d = np.dtype(TYPES.get(w["dtype"], w["dtype"])).newbyteorder("=")
        return np.fromfile(os.path.join(folder, w["file"]), d).reshape(w["shape"])

    inputs = [array(w) for w in c["in"] or []]
    model = {w["name"]: array(w) for w in c["model"] or []}
    if c.get("onnx"):
        model = os.path.join(folder, c["onnx"]), [w["name"] for w in c["in"]]
    return inputs, model, [[array(w) for w in run] for run in c["outs"]]
