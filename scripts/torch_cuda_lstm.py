#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times torch.nn.LSTM on a CUDA device for the lstm workloads of a spec, as one more baseline beside cuDNN's own calls.

    scripts/torch_cuda_lstm.py experiments/gpu_backward.json --out out/torch_lstm.csv

Writes one line per shape: median times in microseconds of the forward pass, and of the backward pass that gives the
gradients of inputs, initial states and weights. PyTorch calls cuDNN for these layers; what it adds is its own host work. Needs
torch with CUDA.
"""

import argparse
import csv
import itertools
import json
import pathlib
import statistics
import sys
import time

SHAPE = ("layers", "hidden", "batch", "steps")
DEFAULTS = {"data_type": "fp32", "kind": "", "steps": 1, "batch": 1}


def as_list(value):
    return value if isinstance(value, list) else [value]


def shapes_of(spec):
    """Every (layers, hidden, batch, steps, data_type) of the spec's LSTMs, each once, in order."""
    found = {}
    for workload in as_list(spec["workload"]):
        if workload.get("kind") != "lstm":
            continue
        keys = (*SHAPE, "data_type")
        axes = {key: as_list(workload.get(key, DEFAULTS.get(key))) for key in keys}
        missing = [key for key in keys if axes[key] == [None]]
        if missing:
            sys.exit(f"error: a workload lstm without {', '.join(missing)}")
        zipped = [pointer.rsplit("/", 1)[1] for group in spec.get("zip", []) for pointer in group]
        zipped = [key for key in keys if key in zipped]
        free = [key for key in keys if key not in zipped]
        together = list(zip(*(axes[key] for key in zipped))) if zipped else [()]
        for values in together:
            for others in itertools.product(*(axes[key] for key in free)):
                shape = dict(zip(zipped, values)) | dict(zip(free, others))
                found[tuple(shape[key] for key in keys)] = True
    return list(found)


def median_us(torch, call, repetitions, before=lambda: None):
    times = []
    for turn in range(repetitions + 3):  # three to warm up
        before()
        torch.cuda.synchronize()
        begin = time.perf_counter()
        call()
        torch.cuda.synchronize()
        if turn >= 3:
            times.append((time.perf_counter() - begin) * 1e6)
    return statistics.median(times)


def measure(torch, shape, repetitions):
    layers, hidden, batch, steps, data_type = shape
    if data_type not in ("fp32", "tf32", "bf16"):
        sys.exit(f"error: data_type {data_type}: expected fp32, tf32 or bf16")
    # Both switches: one is for products of PyTorch's own, the other for cuDNN's.
    torch.backends.cuda.matmul.allow_tf32 = data_type == "tf32"
    torch.backends.cudnn.allow_tf32 = data_type == "tf32"
    kind = torch.bfloat16 if data_type == "bf16" else torch.float32
    torch.manual_seed(1)
    lstm = torch.nn.LSTM(hidden, hidden, layers).to("cuda", kind)
    x = torch.randn(steps, batch, hidden, device="cuda", dtype=kind, requires_grad=True)
    states = [torch.randn(layers, batch, hidden, device="cuda", dtype=kind, requires_grad=True) for _ in range(2)]
    upstream = torch.randn(steps, batch, hidden, device="cuda", dtype=kind)
    leaves = [x, *states, *lstm.parameters()]
    kept = {}

    def forward():
        kept["y"], _ = lstm(x, tuple(states))

    def backward():
        torch.autograd.grad(kept["y"], leaves, upstream)

    return median_us(torch, forward, repetitions), median_us(torch, backward, repetitions, before=forward)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("spec", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="CSV file to write")
    parser.add_argument("--repetitions", type=int, default=30)
    parser.add_argument("--list", action="store_true", help="print the shapes and measure nothing")
    options = parser.parse_args()

    shapes = shapes_of(json.loads(options.spec.read_text()))
    if not shapes:
        sys.exit(f"error: {options.spec} has no workload of the kind lstm")
    if options.list:
        for shape in shapes:
            print(*shape)
        return
    try:
        import torch
    except ImportError:
        sys.exit("error: PyTorch is not installed")
    if not torch.cuda.is_available():
        sys.exit("error: PyTorch finds no CUDA device")

    options.out.parent.mkdir(parents=True, exist_ok=True)
    written = options.out.with_suffix(".part")
    with written.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow([*SHAPE, "data_type", "forward_us", "backward_us", "torch", "cudnn", "device"])
        for shape in shapes:
            times = measure(torch, shape, options.repetitions)
            facts = [torch.__version__, torch.backends.cudnn.version(), torch.cuda.get_device_name()]
            rows.writerow([*shape, *(f"{one:.1f}" for one in times), *facts])
            print(*shape, *(f"{one:.1f} us" for one in times))
    written.replace(options.out)


if __name__ == "__main__":
    main()
