#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/critical_partition.md: scripts/partition_tables.py [FOLDER]

Sweeps the specs critical_partition, partition_quarter, overlap_iterations and overlap_causes of experiments/ to FOLDER
(out/partition_tables if left out), unless their results are there. SCHEDLAB names the program (build/release/schedlab).
"""
import csv
import math
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "out/partition_tables")


def makespans(name, axes):
    """{values of the axes: makespan}; an axis that a workload has not is empty."""
    results = FOLDER / name / "results.csv"
    if not results.exists():
        program = os.environ.get("SCHEDLAB", str(ROOT / "build/release/schedlab"))
        command = [program, "sweep", str(ROOT / f"experiments/{name}.json"), "--out", str(FOLDER / name)]
        subprocess.run([*command, "--timelines", "none"], check=True, stdout=subprocess.DEVNULL)
    with open(results, newline="", encoding="utf-8") as file:
        return {tuple(row[a] for a in axes): float(row["makespan_us"]) for row in csv.DictReader(file) if row["makespan_us"]}


def span(values):
    values = list(values)
    return f"{min(values):.2f}–{max(values):.2f}"


def partition_table():
    print("graph: fuse, order, over HEFT (both partitioned), over one stream (neither partitioned)")
    times = makespans("critical_partition", ["workload", "batch", "critical_partition", "machine", "launch", "policy"])
    for graph in sorted({key[:2] for key in times}):
        cases = sorted({key[3:5] for key in times if key[:2] == graph})

        def ratio(of, over, graph=graph, cases=cases):
            part, policy = zip(of, over)
            return span(times[graph + (part[0],) + c + (policy[0],)] / times[graph + (part[1],) + c + (policy[1],)] for c in cases)

        print(" ".join(graph), ratio(("true", "single_stream"), ("false", "single_stream")),
              ratio(("true", "critical_first"), ("true", "single_stream")),
              ratio(("true", "critical_first"), ("true", "heft")),
              ratio(("false", "critical_first"), ("false", "single_stream")), sep=" | ")


def quarter_table():
    print("\npartition_negligible: geometric mean (largest) over the best, on the three that chose and the four that did not")
    times = makespans("partition_quarter", ["workload", "hidden", "batch", "machine", "launch", "partition_negligible"])
    best = {}
    for key, time in times.items():
        best[key[:5]] = min(time, best.get(key[:5], time))
    for value in sorted({key[5] for key in times}, key=float):
        words = []
        for chose in (True, False):
            over = [t / best[k[:5]] for k, t in times.items() if k[5] == value and (k[0] in ("lstm", "resnet50", "alexnet")) == chose]
            words.append(f"{math.exp(sum(map(math.log, over)) / len(over)):.3f} ({max(over):.2f})")
        print(value, *words, sep=" | ")


def overlap_table(name, axes):
    print(f"\n{name}: what one more iteration adds, (T8 - T4) / 4, over one alone")
    times = makespans(name, [*axes, "iterations", "policy"])
    policies = list(dict.fromkeys(key[-1] for key in times))
    rows = {}
    for key in times:
        case, policy = key[:-2], key[-1]
        more = (times[case + ("8", policy)] - times[case + ("4", policy)]) / 4 / times[case + ("1", policy)]
        rows.setdefault(case[:2], {}).setdefault(policy, []).append(more)
    print("case", *policies, sep=" | ")
    for case, of in rows.items():
        print(" ".join(case), *(span(of[policy]) for policy in policies), sep=" | ")


partition_table()
quarter_table()
overlap_table("overlap_iterations", ["workload", "hidden", "machine", "launch"])
overlap_table("overlap_causes", ["workload", "machine"])
