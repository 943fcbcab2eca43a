#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plans that `schedlab search` finds against the best hand-made policy, predicted and measured on this computer's cores.

    cmake --workflow --preset release
    scripts/search_for_real.py --out out/search_for_real

Calibrates this computer (or takes --machine), searches each case twice (on the nominal machine, and with --samples draws
of one whose durations scatter), and validates both plans beside four policies in interleaved rounds. The hand-made policy
is the one that is predicted to be the fastest, so that choosing it costs no measurement. gain.csv and the table printed
have, of each case and search, the predicted and the measured makespan of both, and the median over the rounds of
policy / search with its 95 % bootstrap interval: above 1 the search has won. Losses are kept. Let nothing else run.
About ten minutes.
"""

import argparse
import csv
import json
import pathlib
import random
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# layers, hidden, batch: the shapes of experiments/validate_cpu.json inside the calibrated range, then others.
SEEN = [(2, 128, 8), (2, 256, 64), (2, 512, 32), (4, 128, 32), (4, 256, 16), (4, 512, 8), (6, 256, 64), (8, 128, 32),
        (8, 256, 16), (8, 128, 8)]
UNSEEN = [(3, 192, 24), (5, 384, 12), (6, 128, 48), (3, 320, 48)]
POLICIES = ["single_stream", "diagonal", "critical_first", "heft"]
RESAMPLES = 2000
DURATION_CV = 0.05  # assumed: about what the durations of a calibrated CPU are off by


def lstm(layers, hidden, batch):
    workload = {"kind": "lstm", "pass": "training", "include_transfers": False, "layers": layers, "hidden": hidden,
                "batch": batch, "steps": 20}
    return {"name": f"lstm {layers}x{hidden}, batch {batch}", "workload": workload, "policies": POLICIES, "units": None}


def core_groups():
    workload = {"kind": "inception_v3", "image": 75, "batch": 6, "split": 2, "include_transfers": False}
    policies = ["single_stream", {"name": "successor_first", "max_streams": 2},
                {"name": "round_robin_fifo", "max_streams": 2}]
    return {"name": "inception_v3, core groups, split 2", "workload": workload, "policies": policies, "units": 1}


def cases():
    return [lstm(*shape) for shape in SEEN + UNSEEN] + [core_groups()]


class Program:
    """The program under test; its words go to a log."""

    def __init__(self, path, log):
        self.path = path
        self.log = log

    def __call__(self, *arguments):
        with open(self.log, "a", encoding="utf-8") as log:
            print("$", self.path, *arguments, file=log, flush=True)
            done = subprocess.run([self.path, *map(str, arguments)], stdout=log, stderr=log, check=False)
        if done.returncode not in (0, 1):  # 1: an assertion of quality, the files are there
            sys.exit(f"error: {self.path} {arguments[0]} failed; see {self.log}")


def write(path, value):
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")
    return path


def machine_of(case, machine):
    base = str(machine.resolve())
    return {"base": base, "units_per_kernel": case["units"]} if case["units"] else base


def search(program, case, machine, folder, seconds, samples):
    """The policy plan_file of the best plan."""
    spec = {"name": case["name"], "workload": case["workload"], "machine": machine_of(case, machine), "launch": "graph_launch",
            "policy": case["policies"]}
    if samples:
        spec["variability"] = {"samples": samples, "duration_cv": DURATION_CV}
    name = f"search_{samples}"
    program("search", write(folder / f"{name}.json", spec), "--seconds", seconds, "--max-streams", 8, "--samples", samples,
            "--out", folder / name, "--overwrite")
    found = json.loads((folder / name / "search.json").read_text(encoding="utf-8"))
    return {"name": "plan_file", "label": name, "path": str((folder / name / "plan.json").resolve()), "granularity": found["granularity"]}


def validate(program, case, machine, folder, plans, repetitions):
    spec = {"name": case["name"], "workload": case["workload"], "machine": machine_of(case, machine), "launch": "graph_launch",
            "policy": case["policies"] + plans}
    program("validate", write(folder / "validate_spec.json", spec), "--device", "cpu", "--host", "preloaded",
            "--repetitions", repetitions, "--out", folder / "validation", "--overwrite")
    result = json.loads((folder / "validation" / "validation.json").read_text(encoding="utf-8"))
    with open(folder / "validation" / "runs.csv", newline="", encoding="utf-8") as file:
        runs = list(csv.DictReader(file))
    return result["scenarios"], runs


def interval(ratios):
    """Median with its 95 % percentile bootstrap interval."""
    draw = random.Random(1)
    medians = sorted(statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(RESAMPLES))
    return statistics.median(ratios), medians[int(0.025 * RESAMPLES)], medians[int(0.975 * RESAMPLES) - 1]


def compare(case, searches, scenarios, runs):
    """A row for each search, in the order of the plans in the spec."""
    compared = [s for s in scenarios if "predicted_us" in s]
    hand = min((s for s in compared if not s["policy"].startswith("search_")), key=lambda s: s["predicted_us"])
    times = {}
    for run in runs:
        times.setdefault(int(run["scenario"]), {})[int(run["round"])] = float(run["makespan_us"])
    there = times[hand["scenario"]]
    plans = [s for s in compared if s["policy"].startswith("search_")]
    for samples, plan in zip(searches, plans, strict=True):
        here = times[plan["scenario"]]
        measured, low, high = interval([there[r] / here[r] for r in sorted(here.keys() & there.keys())])
        yield {"case": case["name"], "samples": samples, "policy": hand["policy"],
               "policy_predicted_us": hand["predicted_us"], "policy_measured_us": hand["measured_us"],
               "search_predicted_us": plan["predicted_us"], "search_measured_us": plan["measured_us"],
               "predicted_gain": hand["predicted_us"] / plan["predicted_us"], "measured_gain": measured, "low": low,
               "high": high}


def verdict(row):
    return "gain" if row["low"] > 1 else "loss" if row["high"] < 1 else "undecided"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schedlab", default=str(ROOT / "build/release/schedlab"))
    parser.add_argument("--machine", type=pathlib.Path, help="a file of schedlab calibrate; left out: calibrates")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "out/search_for_real")
    parser.add_argument("--seconds", type=float, default=8, help="of search, a case")
    parser.add_argument("--samples", type=int, default=8, help="draws of the second search")
    parser.add_argument("--repetitions", type=int, default=25)
    parser.add_argument("--cases", type=int, default=0, help="only the first; 0: all")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    program = Program(options.schedlab, options.out / "log.txt")
    machine = options.machine
    if machine is None:
        machine = options.out / "machine.json"
        program("calibrate", "--out", machine)
    rows = []
    searches = [0, options.samples]
    for number, case in enumerate(cases()[: options.cases or None]):
        folder = options.out / f"case_{number:02}"
        folder.mkdir(exist_ok=True)
        plans = [search(program, case, machine, folder, options.seconds, samples) for samples in searches]
        scenarios, runs = validate(program, case, machine, folder, plans, options.repetitions)
        for row in compare(case, searches, scenarios, runs):
            rows.append(row)
            print(f"{row['case']:36} samples {row['samples']:2}  {row['policy']:16} predicted {row['predicted_gain']:.3f}  "
                  f"measured {row['measured_gain']:.3f} [{row['low']:.3f}, {row['high']:.3f}]  {verdict(row)}", flush=True)
    with open(options.out / "gain.csv", "w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, fieldnames=list(rows[0]))
        table.writeheader()
        table.writerows(rows)
    for samples in searches:
        verdicts = [verdict(row) for row in rows if row["samples"] == samples]
        print(f"samples {samples}: {verdicts.count('gain')} gains, {verdicts.count('loss')} losses, "
              f"{verdicts.count('undecided')} undecided")
    print(options.out / "gain.csv")


if __name__ == "__main__":
    main()
