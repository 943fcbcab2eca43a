#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/s1_map.md, from the results of scripts/s1_map.sh: scripts/s1_tables.py [FOLDER]"""

import csv
import pathlib
import statistics
import sys
from collections import defaultdict

folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "out/s1")


def rows(name):
    with open(folder / name / "results.csv", newline="") as file:
        found = [r for r in csv.DictReader(file) if r["makespan_us"]]
    # The inputs of all steps in one product, in the place of two: baselines of their own.
    for row in found:
        if row.get("input_steps") == "0":
            row["policy"] += "_inputs"
    return found


def ratios(table, of, over, axes):
    """{values of the axes: makespan of one policy over that of another}"""
    times = defaultdict(dict)
    for row in table:
        times[tuple(row[a] for a in axes)][row["policy"]] = float(row["makespan_us"])
    return {k: t[of] / t[over] for k, t in times.items() if of in t and over in t}


def quartiles(values):
    cut = statistics.quantiles(values, n=4, method="inclusive")
    return cut[0], cut[2]


def share(values, condition):
    return sum(1 for v in values if condition(v)) / len(values)


def describe(name, values):
    low, high = quartiles(values)
    print(f"| {name} | {len(values)} | {statistics.median(values):.2f} | {low:.2f} to {high:.2f} | "
          f"{min(values):.2f} .. {max(values):.2f} | {share(values, lambda v: abs(v / 0.75 - 1) <= 0.05):.0%} | "
          f"{share(values, lambda v: v > 1):.0%} |")


SHAPE = ("layers", "hidden", "batch", "steps")
BASELINES = ("cudnn_like_1_inputs", "cudnn_like_1", "cudnn_like_2", "cudnn_like_4", "cudnn_like_all", "cudnn_like_2_nodes")


def maps():
    for machine in ("p100", "v100", "h200"):
        table = rows(f"s1_map_{machine}")
        kinds = sorted({(r.get("data_type", "fp32"), r.get("split_k", "16")) for r in table})
        for kind in kinds:
            part = [r for r in table if (r.get("data_type", "fp32"), r.get("split_k", "16")) == kind]
            print(f"\n## {machine} {kind[0]}, split_k {kind[1]}: critical_first over ...\n")
            print("| baseline | shapes | median | interquartile range | min .. max | within 5 % of 0.75 | loses |")
            print("|---|---|---|---|---|---|---|")
            for baseline in BASELINES:
                describe(baseline, list(ratios(part, "critical_first", baseline, SHAPE).values()))
            describe("listing over cudnn_like_2",
                     list(ratios(part, "critical_first_listing", "cudnn_like_2", SHAPE).values()))
            for baseline in ("cudnn_like_1_inputs", "cudnn_like_2", "cudnn_like_all"):
                found = ratios(part, "critical_first", baseline, SHAPE)
                for axis in ("batch", "hidden"):
                    by = defaultdict(list)
                    for key, value in found.items():
                        by[int(key[SHAPE.index(axis)])].append(value)
                    print(f"over {baseline} by {axis}: " + ", ".join(
                        f"{k} {statistics.median(v):.2f} (loses {share(v, lambda x: x > 1):.0%})"
                        for k, v in sorted(by.items())))
                for axis, better in (("layers", -1), ("batch", 1)):
                    lines = defaultdict(dict)
                    at = SHAPE.index(axis)
                    for key, value in found.items():
                        lines[key[:at] + key[at + 1:]][int(key[at])] = value
                    ends = [line[max(line)] / line[min(line)] for line in lines.values() if len(line) > 1]
                    # gains grow: the ratio falls
                    print(f"over {baseline}, ratio at largest {axis} over smallest: median "
                          f"{statistics.median(ends):.2f}, below 0.95 {share(ends, lambda x: x < 0.95):.0%}, "
                          f"above 1.05 {share(ends, lambda x: x > 1.05):.0%}")


def modes():
    print("\n## split-k and graphs\n")
    table = rows("s1_map_modes")
    print("| machine | split-k | launch | over 1 | loses | over 2 | loses | over all | loses |")
    print("|---|---|---|---|---|---|---|---|---|")
    for machine in ("p100", "v100", "h200"):
        for split in ("16", "1"):
            for launch in ("eager", "graph_launch"):
                part = [r for r in table if r["machine"] == machine and r["split_k"] == split
                        and r["launch"] == launch]
                cells = []
                for baseline in ("cudnn_like_1_inputs", "cudnn_like_2", "cudnn_like_all"):
                    values = list(ratios(part, "critical_first", baseline, SHAPE[:3]).values())
                    low, high = quartiles(values)
                    cells.append(f"{statistics.median(values):.2f} ({low:.2f} to {high:.2f}) | "
                                 f"{share(values, lambda v: v > 1):.0%}")
                print(f"| {machine} | {split} | {launch} | " + " | ".join(cells) + " |")
    print("\ngraph_launch over eager, of each policy: median (min .. max)")
    time = {(r["machine"], r["split_k"], r["policy"], *(r[a] for a in SHAPE[:3]), r["launch"]): float(r["makespan_us"])
            for r in table}
    by = defaultdict(list)
    for (*key, launch), value in time.items():
        eager = (*key, "eager")
        if launch == "graph_launch" and eager in time:
            by[tuple(key[:3])].append(value / time[eager])
    for key, values in sorted(by.items()):
        print(*key, f"{statistics.median(values):.2f} ({min(values):.2f} .. {max(values):.2f})")


def like_for_like():
    """The tasks each policy is given, and its gain in two factors: the cut of the tasks, and their order."""
    table = [r for r in rows("s1_map_modes") if r["launch"] == "eager"]
    print("\n## work of the tasks that each policy is given, relative to critical_first: median (min .. max)\n")
    shape = ("machine", "split_k", *SHAPE[:3])
    work = ratios([{**r, "makespan_us": r["work_us"]} for r in table], "cudnn_like_2", "critical_first", shape)
    print(spread(list(work.values())))
    for policy in ("critical_first", "cudnn_like_2"):
        one = next(r for r in table if r["policy"] == policy and r["layers"] == "4")
        print(policy, one["task_granularity"], one["tasks"], "tasks", one["launches"], "kernels, 4 layers, 50 steps")
    print("\n| machine | splits k | over 1: whole | cut | order | over 2: whole | cut | order | over all: whole | cut | order |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for machine in ("p100", "v100", "h200"):
        for split in ("16", "1"):
            part = [r for r in table if r["machine"] == machine and r["split_k"] == split]
            cells = []
            for baseline in ("cudnn_like_1_inputs", "cudnn_like_2", "cudnn_like_all"):
                whole = ratios(part, "critical_first", baseline, SHAPE[:3])
                cut = {tuple(r[a] for a in SHAPE[:3]): int(r["makespan_at_fine_ps"]) / int(r["makespan_ps"])
                       for r in part if r["policy"] == baseline and r["makespan_at_fine_ps"]}
                cells += [whole.values(), [cut[k] for k in whole if k in cut], [whole[k] / cut[k] for k in whole if k in cut]]
            print(f"| {machine} | {split} | " + " | ".join(f"{statistics.median(v):.2f}" for v in cells) + " |")


def accumulation():
    print("\n## k steps in one weight product, 8 layers, over cudnn_like_2\n")
    table = [r for r in rows("s1_map_accumulation") if r["layers"] == "8"]
    for split in ("16", "1"):
        machine = f"split_k {split}"
        part = [r for r in table if r["split_k"] == split]
        found = ratios(part, "critical_first", "cudnn_like_2", ("batch", "accumulation_steps", "hidden"))
        for batch in (16, 32, 64, 128):
            print(f"| {machine} | {batch} | " + " | ".join(
                " / ".join(f"{found[(str(batch), str(k), str(h))]:.2f}" for h in (256, 512, 1024, 2048))
                for k in (1, 2, 5, 10, 50)) + " |")
        every = ratios(part, "critical_first", "cudnn_like_all", ("batch", "accumulation_steps", "hidden"))
        for k in ("1", "50"):
            for name, f in (("2", found), ("all", every)):
                v = [x for key, x in f.items() if key[1] == k]
                print(f"{machine}, k = {k}, over {name}: {min(v):.2f} .. {max(v):.2f}")


LAYERS = ("2", "4", "8", "16", "32", "64")
SHAPE_LAYERS = LAYERS[:4]
SMALL_SHAPES = [(h, b) for h in ("256", "512", "1024") for b in ("16", "64")]


def synchronisation():
    table = rows("s1_map_synchronisation")
    time = {(r["split_k"], r["machine"], r["policy"], r["layers"], r["hidden"], r["batch"]): float(r["makespan_us"])
            for r in table}
    for split in ("16", "1"):
        def over(machine, policy, baseline_machine, baseline, layers, shape):
            return time[(split, machine, policy, layers, *shape)] / time[(split, baseline_machine, baseline, layers, *shape)]

        print(f"\n## what synchronisation costs, split_k {split}; 2 / 16 / 64 layers\n")
        print("| hidden, batch | over 2 in flight | the same, all free | all | "
              "events free | queries free | launches free | all free |")
        print("|---|---|---|---|---|---|---|---|")
        for shape in SMALL_SHAPES:
            cells = [[over(m, "critical_first", m, b, l, shape) for l in ("2", "16", "64")]
                     for b, m in (("cudnn_like_2", "p100"), ("cudnn_like_2", "all_free"), ("cudnn_like_all", "p100"))]
            cells += [[over(m, "critical_first", "p100", "critical_first", l, shape) for l in ("2", "16", "64")]
                      for m in ("free_events", "free_queries", "free_launches", "all_free")]
            print(f"| {', '.join(shape)} | " + " | ".join(" / ".join(f"{v:.2f}" for v in c) for c in cells) + " |")
        print(f"\nvariants over critical_first, split_k {split}, by layers {' '.join(LAYERS)}")
        for policy in ("no_priorities", "five_streams", "nine_streams", "no_filling", "critical_first_listing"):
            for shape in SMALL_SHAPES:
                print(policy, *shape, " ".join(
                    f"{over('p100', policy, 'p100', 'critical_first', l, shape):.2f}" for l in LAYERS))
    print("\nconnections (1 2 4 8 16 32) over 64 connections, critical_first")
    time = {(r["split_k"], r["connections"], r["layers"], r["hidden"], r["batch"]): float(r["makespan_us"])
            for r in rows("s1_map_connections") if r["policy"] == "critical_first"}
    for split in ("16", "1"):
        for layers in SHAPE_LAYERS:
            for hidden in ("256", "1024"):
                for batch in ("16", "64"):
                    print(split, layers, hidden, batch, " ".join(
                        f"{time[(split, c, layers, hidden, batch)] / time[(split, '64', layers, hidden, batch)]:.2f}"
                        for c in ("1", "2", "4", "8", "16", "32")))


def spread(values):
    """median (min .. max)"""
    return f"{statistics.median(values):.2f} ({min(values):.2f} .. {max(values):.2f})"


def sharing_models():
    """The map under `blocks`, the reference for sharing, beside `fluid`, which everything else was made with."""
    table = rows("s1_map_blocks")
    models = ("fluid", "blocks")
    baselines = ("cudnn_like_1", "cudnn_like_2", "cudnn_like_all")

    def part(machine, split, sharing):
        return [r for r in table if r["machine"] == machine and r["split_k"] == split and r["sharing"] == sharing]

    print("\n## fluid and blocks: critical_first over ..., median (loses); 50 steps\n")
    for machine in ("p100", "v100", "h200"):
        for split in ("16", "1"):
            cells = []
            for baseline in baselines:
                for model in models:
                    values = list(ratios(part(machine, split, model), "critical_first", baseline, SHAPE[:3]).values())
                    cells.append(f"{statistics.median(values):.2f} ({share(values, lambda v: v > 1):.0%})")
            print(f"| {machine} | {split} | " + " | ".join(cells) + " |")
    print("\nmakespan under fluid over that under blocks, less 1: median of the amounts, min, max, share above 10 %")
    time = {(r["machine"], r["split_k"], r["policy"], *(r[a] for a in SHAPE[:3]), r["sharing"]): float(r["makespan_us"])
            for r in table}
    for split in ("16", "1"):
        for policy in (*baselines, "critical_first", "no_filling"):
            for which, layers in (("2 layers", ("2",)), ("4 to 16", ("4", "8", "16"))):
                off = [value / time[(*key, "blocks")] - 1 for (*key, model), value in time.items()
                       if model == "fluid" and key[1] == split and key[2] == policy and key[3] in layers
                       and (*key, "blocks") in time]
                amounts = [abs(v) for v in off]
                print(f"split_k {split}, {policy}, {which}: {statistics.median(amounts):.1%}, {min(off):+.1%}, "
                      f"{max(off):+.1%}, {share(amounts, lambda v: v > 0.1):.0%}")
    print("\np100, by layers")
    for split in ("16", "1"):
        for layers in SHAPE_LAYERS:
            cells = []
            for of, over in (*(("critical_first", b) for b in baselines), ("no_filling", "critical_first")):
                for model in models:
                    found = ratios(part("p100", split, model), of, over, SHAPE[:3])
                    cells.append(f"{model} {spread([v for k, v in found.items() if k[0] == layers])}")
            print(f"split_k {split}, {layers} layers; over 1, over 2, over all, no_filling over critical_first: "
                  + "; ".join(cells))


def ascend():
    print("\n## Ascend 910B: critical_first_matmul over cann_like\n")
    table = rows("s1_map_ascend")
    for data_type in ("fp32", "fp16"):
        part = [r for r in table if r["data_type"] == data_type]
        found = ratios(part, "critical_first", "cann_like", SHAPE)
        describe(data_type, list(found.values()))
        for axis in ("hidden", "layers", "batch"):
            by = defaultdict(list)
            for key, value in found.items():
                by[int(key[SHAPE.index(axis)])].append(value)
            print(f"{data_type} by {axis}: " + ", ".join(
                f"{k} {statistics.median(v):.2f} (loses {share(v, lambda x: x > 1):.0%})" for k, v in sorted(by.items())))
        busy = [float(r["busy_share"]) for r in part if r["policy"] == "cann_like"]
        print(f"busy under cann_like {min(busy):.2f} .. {max(busy):.2f}")


maps()
modes()
like_for_like()
accumulation()
synchronisation()
sharing_models()
ascend()
