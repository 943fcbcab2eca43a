#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains experiments/training_mnist.json over MPI in each cell of S5's table 1 and says how accurate it becomes.

    scripts/s5_accuracy.py FOLDER [--batch 60] [--iterations 300] [--seeds 1,2] [--out out/s5_accuracy]

FOLDER holds MNIST's four IDX files, or those of scripts/export_digits.py --idx. Cells that are in --out already are not
trained again. Prints the rows of the grid "accuracy" of studies/reproduction/s5.json: replicas, layers per stage, seed,
test accuracy, and the largest relative difference of a loss from the unsplit net's of the same seed in the first 20
iterations; later ones part, as rounding differs and grows.
"""
import argparse
import csv
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
STAGES = {"7": [7], "2,5": [2, 5], "1,1,5": [1, 1, 5]}


def trained(options, replicas, stages, seed):
    """The results of one cell, trained unless they are there: test accuracy and losses."""
    out = f"{options.out}/{replicas}x{len(STAGES[stages])}_seed{seed}"
    if not os.path.exists(f"{out}/training.json"):
        with open(f"{HERE}/experiments/training_mnist.json", encoding="utf-8") as file:
            spec = json.load(file)
        spec["data"]["path"] = os.path.abspath(options.folder)
        spec.update(replicas=replicas, stages=STAGES[stages], seed=seed, batch=options.batch, iterations=options.iterations)
        os.makedirs(options.out, exist_ok=True)
        with open(f"{out}.json", "w", encoding="utf-8") as file:
            json.dump(spec, file)
        command = [options.program, "execute", f"{out}.json", "--device", "mpi", "--out", out, "--overwrite"]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}: {done.stderr}")
    with open(f"{out}/training.json", encoding="utf-8") as file:
        accuracy = json.load(file)["test_accuracy"]
    with open(f"{out}/losses.csv", encoding="utf-8") as file:
        losses = [float(row["loss"]) for row in csv.DictReader(file)]
    return accuracy, losses


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--batch", type=int, default=60, help="of all replicas together")
    parser.add_argument("--iterations", type=int, default=300)
    parser.add_argument("--seeds", default="1,2")
    parser.add_argument("--out", default="out/s5_accuracy")
    parser.add_argument("--program", default=os.environ.get("SCHEDLAB", "build/release/schedlab"))
    options = parser.parse_args()
    for seed in (int(word) for word in options.seeds.split(",")):
        unsplit = trained(options, 1, "7", seed)[1]
        for replicas in range(1, 7):
            for stages in STAGES:
                accuracy, losses = trained(options, replicas, stages, seed)
                apart = max(abs(a - b) / max(abs(b), 1e-12) for a, b in zip(losses[:20], unsplit[:20]))
                print(json.dumps([replicas, stages, seed, round(accuracy, 6), float(f"{apart:.3g}")]), flush=True)


if __name__ == "__main__":
    main()
