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


def rows_of(name, axes):
    """{values of the axes: row of results}; an axis that a workload has not is empty."""
    results = FOLDER / name / "results.csv"
    if not results.exists():
        program = os.environ.get("SCHEDLAB", str(ROOT / "build/release/schedlab"))
        command = [program, "sweep", str(ROOT / f"experiments/{name}.json"), "--out", str(FOLDER / name)]
        subprocess.run([*command, "--timelines", "none"], check=True, stdout=subprocess.DEVNULL)
    with open(results, newline="", encoding="utf-8") as file:
        return {tuple(row[a] for a in axes): row for row in csv.DictReader(file) if row["makespan_us"]}


def makespans(name, axes):
    return {key: float(row["makespan_us"]) for key, row in rows_of(name, axes).items()}


def span(values):
    words = sorted({f"{value:.2f}" for value in values}, key=float)
    return "–".join(dict.fromkeys((words[0], words[-1])))


def partition_table():
    print("| graph | tasks | fuse | order | critical-first over HEFT, both partitioned | critical-first over one stream, neither |")
    print("|---|---|---|---|---|---|")
    found = rows_of("critical_partition", ["workload", "batch", "critical_partition", "machine", "launch", "policy"])
    times = {key: float(row["makespan_us"]) for key, row in found.items()}
    for graph in dict.fromkeys(key[:2] for key in times if key[0] != "bidirectional"):
        cases = sorted({key[3:5] for key in times if key[:2] == graph})

        def ratio(of, over, graph=graph, cases=cases):
            part, policy = zip(of, over)
            return span(times[graph + (part[0],) + c + (policy[0],)] / times[graph + (part[1],) + c + (policy[1],)] for c in cases)

        tasks = [found[(*graph, part, *cases[0], "single_stream")]["tasks"] for part in ("false", "true")]
        cells = (" to ".join(tasks), ratio(("true", "single_stream"), ("false", "single_stream")),
                 ratio(("true", "critical_first"), ("true", "single_stream")),
                 ratio(("true", "critical_first"), ("true", "heft")),
                 ratio(("false", "critical_first"), ("false", "single_stream")))
        print(f"| {', batch '.join(filter(None, graph))} | " + " | ".join(cells) + " |")


def quarter_table():
    print("\npartition_negligible: geometric mean over the best, on the three that chose and the four that did not")
    times = makespans("partition_quarter", ["workload", "hidden", "batch", "machine", "launch", "partition_negligible"])
    best = {}
    for key, time in times.items():
        best[key[:5]] = min(time, best.get(key[:5], time))
    for value in sorted({key[5] for key in times}, key=float):
        words = []
        for chose in (True, False):
            over = [t / best[k[:5]] for k, t in times.items() if k[5] == value and (k[0] in ("lstm", "resnet50", "alexnet")) == chose]
            words.append(f"{math.exp(sum(map(math.log, over)) / len(over)):.3f}")
        print(value, *words, sep=" | ")


def one_more(times, case, policy):
    """What one more iteration adds, (T8 - T4) / 4, over one alone."""
    return (times[(*case, "8", policy)] - times[(*case, "4", policy)]) / 4 / times[(*case, "1", policy)]


def overlap_table():
    found = rows_of("overlap_iterations", ["workload", "hidden", "machine", "launch", "iterations", "policy"])
    times = {key: float(row["makespan_us"]) for key, row in found.items()}
    print("\n| graph | one stream | HEFT | critical-first | memory of 8 over 1, HEFT; critical-first |\n|---|---|---|---|---|")
    for graph in dict.fromkeys(key[:2] for key in times):
        cases = list(dict.fromkeys(key[:4] for key in times if key[:2] == graph))

        def memory(policy, cases=cases):
            eight, one = ([float(found[(*c, n, policy)]["peak_memory_bytes"]) for c in cases] for n in ("8", "1"))
            return span(a / b for a, b in zip(eight, one))

        cells = [span(one_more(times, c, policy) for c in cases) for policy in ("single_stream", "heft", "critical_first")]
        print(f"| {', hidden '.join(filter(None, graph))} | " + " | ".join(cells)
              + f" | {memory('heft')}; {memory('critical_first')} |")


def overlap_causes():
    times = makespans("overlap_causes", ["workload", "machine", "iterations", "policy"])
    print()
    for what, machine, policy in (("free calls", "free_calls", "critical_first"), ("8 tasks a gap", "free_calls", "eight_a_gap"),
                                  ("units that kernels do not share", "exclusive", "critical_first")):
        print(f"critical-first, LSTM, hidden 256, V100, {what}: {one_more(times, ('by_step', machine), policy):.2f}")


partition_table()
quarter_table()
overlap_table()
overlap_causes()
