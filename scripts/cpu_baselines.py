#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""LSTM training steps on this computer's cores: ours, oneDNN's primitive and PyTorch, in one table.

    cmake --preset bench && cmake --build --preset bench --target recurrent_bench
    scripts/cpu_baselines.py --out out/baselines

Every round measures each shape by recurrent_bench (ours and oneDNN in turns) and then by torch_lstm.py, on the inputs and
weights that recurrent_bench wrote; of each time the least of all rounds counts. All results are compared: recurrent_bench
fails where oneDNN's are more than 1e-4 apart from ours, this program where PyTorch's are. Without torch and numpy its columns
stay empty.
"""

import argparse
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHAPES = ("4,256,32,50", "4,512,64,20", "8,256,16,50", "2,1024,32,20")
MOST_APART = 1e-4


class Times:
    """Least times in ms of one shape on one number of threads; None: not measured."""

    def __init__(self):
        self.floor = self.onednn = self.ours = self.torch = None
        self.plan = ""
        self.difference = ""

    def keep(self, name, value):
        known = getattr(self, name)
        setattr(self, name, value if known is None else min(known, value))


def fields(line):
    return [field.strip() for field in line.split("|")]


def run(command):
    try:
        return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True, check=True).stdout
    except FileNotFoundError:
        sys.exit(f"{command[0]}: not found; build it with: cmake --build --preset bench --target recurrent_bench")
    except subprocess.CalledProcessError as failed:
        sys.exit(f"{command[0]} failed with exit code {failed.returncode}")


def has_torch():
    return subprocess.run([sys.executable, "-c", "import numpy, torch"], stderr=subprocess.DEVNULL).returncode == 0


def measure_ours(options, shape, table):
    text = run([options.bench, f"--shape={shape}", f"--seconds={options.seconds}", f"--write={options.out}"])
    for line in text.splitlines():
        if not line.startswith(shape + " |"):
            continue
        _, threads, floor, onednn, ours, _, plan, *_ = fields(line)
        times = table.setdefault((shape, int(threads)), Times())
        times.keep("floor", float(floor))
        if onednn != "-":
            times.keep("onednn", float(onednn.split()[0]))
        if times.ours is None or float(ours) < times.ours:
            times.plan = plan
        times.keep("ours", float(ours))


def measure_torch(options, shape, table):
    threads = sorted(count for of, count in table if of == shape)
    folder = options.out / ("lstm_" + shape.replace(",", "_"))
    script = ROOT / "scripts" / "torch_lstm.py"
    text = run([sys.executable, script, folder, "--seconds", options.seconds, "--threads", *threads])
    for line in text.splitlines():
        if not line.startswith(shape + " |"):
            continue
        _, count, torch, difference = fields(line)
        times = table[(shape, int(count))]
        times.keep("torch", float(torch))
        times.difference = difference


def cell(value, decimals):
    return "-" if value is None else f"{value:.{decimals}f}"


def ratio(of, to):
    return None if of is None or to is None else of / to


def print_table(table):
    print("| layers, hidden, batch, steps | threads | floor ms | oneDNN ms | PyTorch ms | ours ms | ours / oneDNN | ours / PyTorch "
          "| PyTorch's results, largest difference | fastest plan |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for (shape, threads), times in table.items():
        print("| " + " | ".join([
            shape.replace(",", ", "), str(threads), cell(times.floor, 1), cell(times.onednn, 1), cell(times.torch, 1),
            cell(times.ours, 1), cell(ratio(times.ours, times.onednn), 2), cell(ratio(times.ours, times.torch), 2),
            times.difference or "-", times.plan]) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", type=pathlib.Path, default=ROOT / "build/bench/bench/recurrent_bench")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for inputs, weights and results")
    parser.add_argument("--shapes", nargs="+", default=SHAPES, help="layers,hidden,batch,steps")
    parser.add_argument("--seconds", type=float, default=10, help="per shape, number of threads and library in a round")
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    options.bench = options.bench.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    torch = has_torch()
    if not torch:
        print("without PyTorch: Python has no torch or no numpy", file=sys.stderr)
    table = {}
    for _ in range(options.rounds):
        for shape in options.shapes:
            measure_ours(options, shape, table)
            if torch:
                measure_torch(options, shape, table)
    print_table(table)


if __name__ == "__main__":
    sys.exit(main())
