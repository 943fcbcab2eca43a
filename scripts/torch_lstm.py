#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training steps of torch.nn.LSTM on the CPU, for comparison with recurrent_bench.

    build/bench/bench/recurrent_bench --seconds=0 --write=out/lstm
    scripts/torch_lstm.py out/lstm/lstm_4_256_32_50 --threads 1 2

Reads the inputs and weights that recurrent_bench wrote, runs the same step (forward, half the mean over the batch of the
squared error, backward), compares outputs, loss and gradients with ours, and prints the fastest of many runs. Needs torch
and numpy.
"""

import argparse
import json
import pathlib
import sys
import time

# Torch keeps two biases per gate; ours is the first, the second is zero. Gates are i, f, g, o in both.
RESULTS = ("dwx", "dwh", "dbias", "dh0", "dc0")


def read(folder, name, shape):
    import numpy

    values = numpy.fromfile(folder / f"{name}.f32", dtype=numpy.float32)
    expected = 1
    for size in shape:
        expected *= size
    if values.size != expected:
        sys.exit(f"{folder / name}.f32: found {values.size} values, expected {expected}; write the folder again")
    return values.reshape(shape)


def load(folder):
    import torch

    shape = json.loads((folder / "shape.json").read_text())
    layers, hidden, batch, steps = (shape[k] for k in ("layers", "hidden", "batch", "steps"))
    width = shape["input"]
    lstm = torch.nn.LSTM(input_size=width, hidden_size=hidden, num_layers=layers)
    states = {"h0": [], "c0": []}
    with torch.no_grad():
        for layer in range(layers):
            rows = width if layer == 0 else hidden
            # Ours are [width, 4 * hidden], torch's [4 * hidden, width].
            wx = torch.from_numpy(read(folder, f"wx_{layer}", (rows, 4 * hidden)))
            wh = torch.from_numpy(read(folder, f"wh_{layer}", (hidden, 4 * hidden)))
            getattr(lstm, f"weight_ih_l{layer}").copy_(wx.t())
            getattr(lstm, f"weight_hh_l{layer}").copy_(wh.t())
            getattr(lstm, f"bias_ih_l{layer}").copy_(torch.from_numpy(read(folder, f"bias_{layer}", (4 * hidden,))))
            getattr(lstm, f"bias_hh_l{layer}").zero_()
            for name, values in states.items():
                values.append(torch.from_numpy(read(folder, f"{name}_{layer}", (batch, hidden))))
    x = torch.from_numpy(read(folder, "x", (steps, batch, width))).requires_grad_()
    target = torch.from_numpy(read(folder, "target", (steps, batch, hidden)))
    h0 = torch.stack(states["h0"]).requires_grad_()
    c0 = torch.stack(states["c0"]).requires_grad_()
    return shape, lstm, x, h0, c0, target


def clear(lstm, *tensors):
    lstm.zero_grad(set_to_none=False)
    for tensor in tensors:
        tensor.grad = None


def step(lstm, x, h0, c0, target):
    """One training step without an update; returns y, the loss, and seconds of forward and backward."""
    start = time.perf_counter()
    y, _ = lstm(x, (h0, c0))
    forward = time.perf_counter() - start
    loss = 0.5 * ((y - target) ** 2).sum() / x.shape[1]
    start = time.perf_counter()
    loss.backward()
    backward = time.perf_counter() - start
    return y.detach(), float(loss.detach()), forward + backward


def relative(found, expected):
    import numpy

    found = found.numpy() if hasattr(found, "numpy") else found
    norm = float(numpy.linalg.norm(expected))
    return float(numpy.linalg.norm(found - expected)) / (norm if norm > 0 else 1.0)


def compare(folder, shape, lstm, x, h0, c0, target):
    """Largest relative difference of any result, and its name."""
    layers, hidden, batch, steps = (shape[k] for k in ("layers", "hidden", "batch", "steps"))
    clear(lstm, x, h0, c0)
    y, loss, _ = step(lstm, x, h0, c0, target)
    differences = {
        "y": relative(y, read(folder, "y", (steps, batch, hidden))),
        "loss": abs(loss - shape["loss"]) / abs(shape["loss"]),
        "dx": relative(x.grad, read(folder, "dx", (steps, batch, shape["input"]))),
    }
    for layer in range(layers):
        rows = shape["input"] if layer == 0 else hidden
        found = {
            "dwx": (getattr(lstm, f"weight_ih_l{layer}").grad.t(), (rows, 4 * hidden)),
            "dwh": (getattr(lstm, f"weight_hh_l{layer}").grad.t(), (hidden, 4 * hidden)),
            "dbias": (getattr(lstm, f"bias_ih_l{layer}").grad, (4 * hidden,)),
            "dh0": (h0.grad[layer], (batch, hidden)),
            "dc0": (c0.grad[layer], (batch, hidden)),
        }
        for name in RESULTS:
            values, size = found[name]
            differences[f"{name}({layer})"] = relative(values, read(folder, f"{name}_{layer}", size))
    worst = max(differences, key=differences.get)
    return differences[worst], worst


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=pathlib.Path, help="written by recurrent_bench --write")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--seconds", type=float, default=10, help="per shape and number of threads")
    options = parser.parse_args()
    try:
        import numpy  # noqa: F401
        import torch
    except ImportError as missing:
        sys.exit(f"{missing}: pip install torch numpy")

    print("layers,hidden,batch,steps | threads | torch ms | worst difference")
    failed = False
    for folder in options.folders:
        shape, lstm, x, h0, c0, target = load(folder)
        for threads in options.threads:
            torch.set_num_threads(threads)
            difference, name = compare(folder, shape, lstm, x, h0, c0, target)
            failed = failed or difference > 1e-4
            best = float("inf")
            end = time.perf_counter() + options.seconds
            while best == float("inf") or time.perf_counter() < end:
                clear(lstm, x, h0, c0)
                best = min(best, step(lstm, x, h0, c0, target)[2])
            numbers = ",".join(str(shape[k]) for k in ("layers", "hidden", "batch", "steps"))
            print(f"{numbers} | {threads} | {best * 1e3:.1f} | {difference:.1e} ({name})", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
