#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The search against a constraint solver and a MILP solver of Debian on graphs of the Standard Task Graph Set.

    apt install minizinc coinor-cbc
    cmake --preset bench && cmake --build --preset bench --target search_bench
    scripts/compare_solvers.py FOLDER --names rand0009,rand0081,rand0090,rand0117 --processors 4

Tasks on equal processors, shortest makespan: `cumulative` with gecode, times of tasks as 0-1 variables with cbc, and
search_bench, one thread each. The table has the gap of each over the best lower bound of search_bench after each of --at
seconds; "-": no solution yet. What is not installed is left out.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODEL = """include "cumulative.mzn";
int: n; int: m; int: horizon; array[1..n] of int: d; int: e; array[1..e] of int: a; array[1..e] of int: b;
array[1..n] of var 0..horizon: s; var 0..horizon: makespan;
constraint forall(i in 1..e)(s[a[i]] + d[a[i]] <= s[b[i]]);
constraint forall(i in 1..n)(s[i] + d[i] <= makespan);
constraint cumulative(s, d, [1 | i in 1..n], m);
solve :: int_search(s, smallest, indomain_min, complete) minimize makespan;
output ["makespan \\(makespan)\\n"];
"""


class Graph:
    """Weights and edges of a file, tasks from 0."""

    def __init__(self, path):
        lines = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
        count = int(lines[0][0]) + 2
        self.name = path.stem
        self.weights = [int(line[1]) for line in lines[1:count + 1]]
        self.edges = [(int(before), int(line[0])) for line in lines[1:count + 1] for before in line[3:]]

    def heads(self):
        head = [0] * len(self.weights)
        for before, after in self.edges:  # the files are in a topological order
            head[after] = max(head[after], head[before] + self.weights[before])
        return head

    def tails(self):
        tail = [0] * len(self.weights)
        for before, after in reversed(self.edges):
            tail[before] = max(tail[before], tail[after] + self.weights[after])
        return tail


def gecode(graph, processors, seconds, folder):
    """[(seconds, makespan)] as they come."""
    model = folder / "model.mzn"
    model.write_text(MODEL, encoding="utf-8")
    rows = [f"n = {len(graph.weights)}; m = {processors}; horizon = {sum(graph.weights)};", f"d = {graph.weights};",
            f"e = {len(graph.edges)};", f"a = {[1 + edge[0] for edge in graph.edges]};",
            f"b = {[1 + edge[1] for edge in graph.edges]};"]
    data = folder / "data.dzn"
    data.write_text("\n".join(rows), encoding="utf-8")
    started = time.monotonic()
    found = []
    with subprocess.Popen(["minizinc", "--solver", "gecode", "-a", "--time-limit", str(int(1000 * seconds)), model, data],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as solver:
        for line in solver.stdout:
            if line.startswith("makespan"):
                found.append((time.monotonic() - started, int(line.split()[1])))
    return found


def cbc(graph, processors, seconds, folder, horizon):
    """Time-indexed: x(task, t) = 1 where it starts; only its last makespan, when cbc ends."""
    heads, tails = graph.heads(), graph.tails()
    starts = [range(heads[i], horizon - tails[i] - graph.weights[i] + 1) for i in range(len(graph.weights))]
    when = [" + ".join(f"{t} x{i}_{t}" for t in starts[i] if t) or f"0 x{i}_{heads[i]}" for i in range(len(starts))]
    lines = ["Minimize", " makespan", "Subject To"]
    for i, times in enumerate(starts):
        lines.append(" " + " + ".join(f"x{i}_{t}" for t in times) + " = 1")
        lines.append(f" makespan - {when[i].replace(' + ', ' - ')} >= {graph.weights[i]}")
    for before, after in graph.edges:
        lines.append(f" {when[after]} - {when[before].replace(' + ', ' - ')} >= {graph.weights[before]}")
    for now in range(horizon):
        running = [f"x{i}_{t}" for i, times in enumerate(starts) for t in times if t <= now < t + graph.weights[i]]
        if len(running) > processors:
            lines.append(" " + " + ".join(running) + f" <= {processors}")
    lines += ["Binary"] + [f" x{i}_{t}" for i, times in enumerate(starts) for t in times] + ["End"]
    file = folder / "model.lp"
    file.write_text("\n".join(lines), encoding="utf-8")
    done = subprocess.run(["cbc", file, "-sec", str(int(seconds)), "-solve", "-quit"], capture_output=True, text=True,
                          check=False)
    value = re.search(r"Objective value:\s+([\d.]+)", done.stdout)
    return [(seconds, round(float(value.group(1))))] if value and "No feasible" not in done.stdout else []


def ours(bench, folder, graph, processors, seconds, scratch):
    table = scratch / "ours.csv"
    subprocess.run([bench, f"--stg={folder}", f"--names={graph.name}", f"--processors={processors}",
                    f"--seconds={seconds}", f"--csv={table}"], check=True, stdout=subprocess.DEVNULL)
    row = table.read_text(encoding="utf-8").splitlines()[1].split(",")
    return float(row[4]), float(row[2]), float(row[3])


def at(found, seconds):
    reached = [makespan for when, makespan in found if when <= seconds]
    return min(reached) if reached else None


def gap(makespan, bound):
    return "-" if makespan is None else f"{100 * (makespan / bound - 1):.2f} %"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--names", required=True, help="of files, without .stg, divided by commas")
    parser.add_argument("--processors", default="4")
    parser.add_argument("--at", default="1,3,10", help="seconds")
    parser.add_argument("--bench", default=str(ROOT / "build/bench/bench/search_bench"))
    options = parser.parse_args()
    moments = [float(text) for text in options.at.split(",")]
    print(f"{'graph':10} {'processors':>10} {'bound':>6}  {'after':>6}  {'search':>8}  {'gecode':>8}  {'cbc':>8}")
    for name in options.names.split(","):
        graph = Graph(next(options.folder.rglob(name + ".stg")))
        for processors in map(int, options.processors.split(",")):
            with tempfile.TemporaryDirectory() as scratch_name:
                scratch = pathlib.Path(scratch_name)
                searched = {s: ours(options.bench, options.folder, graph, processors, s, scratch) for s in moments}
                _, bound, begun = searched[moments[-1]]
                constraint = gecode(graph, processors, moments[-1], scratch) if shutil.which("minizinc") else []
                for seconds in moments:
                    milp = cbc(graph, processors, seconds, scratch, int(begun)) if shutil.which("cbc") else []
                    print(f"{name:10} {processors:>10} {bound:>6.0f}  {seconds:>4.0f} s  {gap(searched[seconds][0], bound):>8}  "
                          f"{gap(at(constraint, seconds), bound):>8}  {gap(at(milp, seconds), bound):>8}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
