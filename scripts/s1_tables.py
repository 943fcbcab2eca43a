#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The figures of docs/s1_map.md, in its order, from the results of scripts/s1_map.sh: scripts/s1_tables.py [FOLDER]"""

import csv
import pathlib
import statistics
import sys
from collections import defaultdict

folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "out/s1")

SHAPE = ("layers", "hidden", "batch", "steps")
MACHINES = ("p100", "v100", "h200")
SPLITS = {"16": "yes", "1": "no"}
# Layers in flight. The inputs of all steps in one product, in the place of two: a baseline of its own.
BASELINES = {"cudnn_like_1_inputs": "1", "cudnn_like_2": "2", "cudnn_like_all": "all"}


def rows(name):
    with open(folder / name / "results.csv", newline="") as file:
        found = [r for r in csv.DictReader(file) if r["makespan_us"]]
    for row in found:
        if row.get("input_steps") == "0":
            row["policy"] += "_inputs"
    return found


def shape(row, axes=SHAPE):
    """Its values of the axes; an axis that a sweep has not is empty."""
    return tuple(row.get(a, "") for a in axes)


def part(table, **values):
    return [r for r in table if all(r[key] == value for key, value in values.items())]


def ratios(table, of, over, axes=SHAPE):
    """{values of the axes: makespan of one policy over that of another}"""
    times = defaultdict(dict)
    for row in table:
        times[shape(row, axes)][row["policy"]] = float(row["makespan_us"])
    return {k: t[of] / t[over] for k, t in times.items() if of in t and over in t}


def share(values, condition):
    values = list(values)
    return sum(1 for v in values if condition(v)) / len(values)


def loses(values):
    return f"{100 * share(values, lambda v: v > 1):.0f}"


def median(values):
    return statistics.median(values)


def what_decides(p100):
    print("P100, fp32\n\n| layers in flight | splits k | median | interquartile range | within 5 % of 0.75, % | loses, % |")
    print("|---|---|---|---|---|---|")
    for split in ("1", "16"):
        for baseline, name in BASELINES.items():
            values = list(ratios(part(p100, split_k=split), "critical_first", baseline).values())
            low, _, high = statistics.quantiles(values, n=4, method="inclusive")
            near = 100 * share(values, lambda v: abs(v / 0.75 - 1) <= 0.05)
            name = name.replace("1", "1, inputs of all steps at once")
            print(f"| {name} | {SPLITS[split]} | {median(values):.2f} | {low:.2f}–{high:.2f} | {near:.0f} | {loses(values)} |")
    print(f"{len(values)} shapes")


def cut_and_order(modes):
    print("\n| machine | splits k | over 1 in flight: ratio = cut x order | over 2 | over all |\n|---|---|---|---|---|")
    for machine in MACHINES:
        for split, splits in SPLITS.items():
            table = part(modes, machine=machine, split_k=split, launch="eager")
            cells = []
            for baseline in BASELINES:
                whole = ratios(table, "critical_first", baseline)
                cut = {shape(r): int(r["makespan_at_fine_ps"]) / int(r["makespan_ps"])
                       for r in part(table, policy=baseline) if r["makespan_at_fine_ps"]}
                order = [whole[k] / cut[k] for k in whole if k in cut]
                cells.append(f"{median(whole.values()):.2f} = {median([cut[k] for k in whole if k in cut]):.2f} x "
                             f"{median(order):.2f} ({loses(whole.values())})")
            print(f"| {machine.upper()} | {splits} | " + " | ".join(cells) + " |")
    time = {(*shape(r, ("machine", "split_k", *SHAPE)), r["launch"]): float(r["makespan_us"])
            for r in part(modes, policy="critical_first")}
    graph = [value / time[(*key, "eager")] for (*key, launch), value in time.items() if launch == "graph_launch"]
    print(f"critical_first as one device graph over eager: {min(graph):.2f} to {max(graph):.2f}")
    for machine in ("v100", "h200"):
        values = ratios(part(rows(f"s1_map_{machine}"), data_type="fp16"), "critical_first", "cudnn_like_2").values()
        print(f"{machine} fp16 over 2 in flight: loses {loses(values)} %, median {median(values):.2f}")


def sign(p100):
    batches = ("16", "32", "64", "128", "256")
    print("\n| over layers in flight | splits k | " + " | ".join(batches) + " |\n|---|---|" + "---|" * len(batches))
    for baseline, split in (("cudnn_like_1_inputs", "1"), ("cudnn_like_2", "1"), ("cudnn_like_2", "16"), ("cudnn_like_all", "16")):
        cells = []
        for batch in batches:
            values = ratios(part(p100, split_k=split, batch=batch), "critical_first", baseline).values()
            cells.append(f"{median(values):.2f} ({loses(values)})")
        print(f"| {BASELINES[baseline]} | {SPLITS[split]} | " + " | ".join(cells) + " |")
    table = part(rows("s1_map_accumulation"), layers="8", batch="32", split_k="16")
    for steps in ("1", "5"):
        values = ratios(part(table, accumulation_steps=steps), "critical_first", "cudnn_like_2").values()
        print(f"8 layers, batch 32, split-k, over 2, {steps} steps in one product: {min(values):.2f} to {max(values):.2f}")


def tendencies(p100):
    print("\nlines in which the ratio changes by more than 5 % from the smallest to the largest")
    for split, splits in SPLITS.items():
        for baseline, name in BASELINES.items():
            found = ratios(part(p100, split_k=split), "critical_first", baseline)
            words = []
            for axis, grows in (("batch", 1), ("layers", -1)):
                at = SHAPE.index(axis)
                lines = defaultdict(dict)
                for key, value in found.items():
                    lines[key[:at] + key[at + 1:]][int(key[at])] = value
                ends = [line[max(line)] / line[min(line)] for line in lines.values() if len(line) > 1]
                if grows > 0:
                    words.append(f"gains shrink with the batch in {share(ends, lambda x: x > 1.05):.0%}")
                else:
                    words.append(f"grow with layers in {share(ends, lambda x: x < 0.95):.0%}")
            print(f"over {name}, splits k {splits}: " + ", ".join(words))


def sharing_models():
    table = rows("s1_map_blocks")
    gaps = []
    off = defaultdict(list)
    for machine in MACHINES:
        for split in SPLITS:
            here = part(table, machine=machine, split_k=split)
            fluid, blocks = (part(here, sharing=model) for model in ("fluid", "blocks"))
            for baseline in ("cudnn_like_1", "cudnn_like_2", "cudnn_like_all"):
                by_fluid, by_blocks = (median(ratios(t, "critical_first", baseline).values()) for t in (fluid, blocks))
                gaps.append(by_blocks - by_fluid)
            if split != "1":
                continue
            time = {shape(r): float(r["makespan_us"]) for r in part(blocks, policy="critical_first")}
            for row in part(fluid, policy="critical_first"):
                if shape(row) in time:
                    off[row["layers"] == "2"].append(abs(float(row["makespan_us"]) / time[shape(row)] - 1))
    print(f"\nmedians under blocks less those under fluid: {min(gaps):+.2f} to {max(gaps):+.2f}")
    print("fluid over 10 % off, critical_first without split-k: "
          f"{share(off[True], lambda v: v > 0.1):.0%} with 2 layers, {share(off[False], lambda v: v > 0.1):.0%} with more")


def synchronisation():
    table = rows("s1_map_synchronisation")
    keys = ("split_k", "layers", "hidden", "batch")
    time = {(r["machine"], r["policy"], *shape(r, keys)): float(r["makespan_us"]) for r in table}
    shapes = sorted({key[2:] for key in time})
    over = {(machine, s): time[(machine, "critical_first", *s)] / time[(machine, "cudnn_like_2", *s)]
            for machine in ("p100", "all_free") for s in shapes}
    change = max(abs(over[("all_free", s)] - over[("p100", s)]) for s in shapes)
    print(f"\nfree calls change the ratio over 2 by up to {change:.2f}")
    for name, small in (("hidden 256", True), ("above", False)):
        changes = [abs(time[("all_free", "critical_first", *s)] / time[("p100", "critical_first", *s)] - 1)
                   for s in shapes if (s[2] == "256") == small]
        print(f"free calls change critical_first, {name}, by up to {max(changes):.0%}")
    for split, splits in SPLITS.items():
        longer = [time[("p100", "five_streams", *s)] / time[("p100", "critical_first", *s)] - 1 for s in shapes if s[0] == split]
        print(f"five streams, splits k {splits}: up to {max(longer):.0%} longer")


def ascend():
    table = rows("s1_map_ascend")
    for data_type in ("fp32", "fp16"):
        values = ratios(part(table, data_type=data_type), "critical_first", "cann_like").values()
        print(f"Ascend 910B, {data_type}, over cann_like: median {median(values):.2f}")


P100 = rows("s1_map_p100")
what_decides(P100)
cut_and_order(rows("s1_map_modes"))
sign(P100)
tendencies(P100)
sharing_models()
synchronisation()
ascend()
