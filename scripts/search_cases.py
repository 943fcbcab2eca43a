#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Searches every case of a sweep's spec: how far the best policy and the plan found are from the certified bound.

    cmake --workflow --preset release
    scripts/search_cases.py experiments/quickstart.json --seconds 5

A list in the workload or the machine is an axis, as in a sweep. Prints a line a case and, for each machine, means over its
cases; --csv writes them. With --evaluations instead of --seconds the figures are the same on every computer.
"""

import argparse
import csv
import itertools
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def alternatives(value):
    """All values without lists, by the order of the file."""
    if isinstance(value, list):
        return [one for each in value for one in alternatives(each)]
    if isinstance(value, dict):
        return [dict(zip(value, chosen)) for chosen in itertools.product(*map(alternatives, value.values()))]
    return [value]


def words(value, lists):
    """What tells a case from the others."""
    if not isinstance(value, dict):
        return str(value)
    return " ".join(f"{key}={value[key]}" for key in value if key in lists)


def search(program, spec, limit, folder):
    file = folder / "spec.json"
    file.write_text(json.dumps(spec), encoding="utf-8")
    done = subprocess.run([program, "search", file, *limit, "--out", folder / "out", "--overwrite"], capture_output=True,
                          text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"error: {' '.join(limit)}: {done.stderr}")
    return json.loads((folder / "out" / "search.json").read_text(encoding="utf-8"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("spec", type=pathlib.Path)
    parser.add_argument("--schedlab", default=str(ROOT / "build/release/schedlab"))
    parser.add_argument("--seconds", type=float, default=5, help="a case")
    parser.add_argument("--evaluations", type=int, default=0, help="a case, instead of seconds")
    parser.add_argument("--machines", default="", help="only these, divided by commas")
    parser.add_argument("--csv", type=pathlib.Path)
    options = parser.parse_args()
    limit = ["--seconds", str(options.seconds)]
    if options.evaluations:
        limit = ["--seconds", "0", "--evaluations", str(options.evaluations)]
    spec = json.loads(options.spec.read_text(encoding="utf-8"))
    lists = [key for key, value in spec["workload"].items() if isinstance(value, list)]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for machine in alternatives(spec["machine"]):
            name = machine if isinstance(machine, str) else "_".join(map(str, machine.values()))
            if options.machines and name not in options.machines.split(","):
                continue
            here = []
            for workload in alternatives(spec["workload"]):
                case = {"name": "case", "workload": workload, "machine": machine, "policy": spec["policy"]}
                found = search(options.schedlab, case, limit, pathlib.Path(folder))
                bound = found["case_bound_us"]
                here.append({"machine": name, "case": words(workload, lists), "policy": found["policy"],
                             "policy_over_bound": found["policy_makespan_us"] / bound,
                             "found_over_bound": found["makespan_us"] / bound, "bound": found["case_bound"],
                             "granularity": found["granularity"], "streams": found["streams"],
                             "evaluations": found["evaluations"]})
                row = here[-1]
                print(f"{name} {row['case']}: {row['policy']} {row['policy_over_bound']:.4f}, found "
                      f"{row['found_over_bound']:.4f} of {row['bound']}, {row['evaluations']} evaluations", flush=True)
            mean = {key: sum(row[key] for row in here) / len(here) for key in ("policy_over_bound", "found_over_bound")}
            near = sum(row["found_over_bound"] <= 1.01 for row in here)
            print(f"{name}: best policy {mean['policy_over_bound']:.4f}, found {mean['found_over_bound']:.4f} on average, "
                  f"{max(row['found_over_bound'] for row in here):.3f} at most; within 1 % in {near} of {len(here)}",
                  flush=True)
            rows += here
    if options.csv:
        with open(options.csv, "w", newline="", encoding="utf-8") as file:
            table = csv.DictWriter(file, fieldnames=list(rows[0]))
            table.writeheader()
            table.writerows(rows)


if __name__ == "__main__":
    main()
