"""Measures a library in turns with others: python worker.py LIBRARY THREADS [DEVICE].

An order a line comes in as JSON, and an answer a line goes out, as of `weft bench --turns`. A library is a module with
`about`, `prepare(case, inputs, model)`, which gives a function that computes a case once and waits for it, or None where the library
has no such case, and `arrays(outs)`, which gives its results to numpy.
"""

import importlib
import json
import os
import sys
import time
import traceback

import check
import contents


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    threads = int(sys.argv[2])
    if hasattr(os, "sched_setaffinity"):  # for those whose threads cannot be told
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    library = importlib.import_module(sys.argv[1] + "_cases")
    library.start(threads, *sys.argv[3:])
    loaded = None
    for line in sys.stdin:
        order = json.loads(line)
        answer = {}
        try:
            if order["do"] == "list":
                answer = {"about": library.about(), "cases": [{"name": n} for n in library.CASES]}
            elif order["do"] == "load":
                loaded = None  # its memory is free for what comes
                loaded, answer = load(library, order["case"], order["dir"])
            elif order["do"] == "run":
                answer = measure(loaded, order["ms"])
            else:
                answer = {"failed": "unknown order " + repr(order["do"])}
        except Exception as e:
            traceback.print_exc()
            answer = {"failed": f"{type(e).__name__}: {e}"[:400]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def load(library, case, folder):
    """Prepares a case and compares what its first runs give."""
    if case not in library.CASES:
        return None, {"lacks": True}
    inputs, model, wanted = contents.read(folder)
    run = library.prepare(case, inputs, model)
    if run is None:
        return None, {"lacks": True}
    for n, want in enumerate(wanted):
        wrong = check.compare(case, inputs, want, library.arrays(run()))
        if wrong:
            return None, {"wrong": f"run {n + 1}: {wrong}"}
    return run, {}


def measure(run, ms):
    times = []
    start = time.perf_counter()
    while not times or (time.perf_counter() - start) * 1e3 < ms:
        before = time.perf_counter()
        run()
        times.append(time.perf_counter() - before)
    times.sort()
    n = len(times)
    return {"median_ms": (times[(n - 1) // 2] + times[n // 2]) / 2 * 1e3, "min_ms": times[0] * 1e3, "runs": n}


main()
