#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Columns of a sweep's results, as NumPy maps them, against its CSV; then of many rows.

  columns.py PROGRAM FOLDER [ROWS]
"""
import csv
import json
import os
import shutil
import sqlite3
import subprocess
import sys

import numpy

SPEC = {"workload": {"kind": "lstm", "layers": [2, 4], "steps": 6, "batch": [8, 16], "hidden": 128},
        "machine": ["v100", "p100"], "baseline": "diagonal",
        "policy": ["single_stream", "diagonal", {"name": "critical_first", "max_streams": [3, 5]}]}


def columns_of(folder):
    """The list, and by name the mapped values."""
    with open(f"{folder}/columns.json") as file:
        columns = json.load(file)
    return columns, {each["name"]: numpy.load(f"{folder}/{each['file']}", mmap_mode="r")
                     for each in columns["columns"]}


def text_of(column, value):
    if column["type"] == "text":
        return "" if value < 0 else column["values"][value]
    return "" if numpy.isnan(value) else value


def check_against_csv(columns, values, file):
    with open(file, newline="") as lines:
        rows = list(csv.reader(lines))
    assert [each["name"] for each in columns["columns"]] == rows[0]
    assert columns["rows"] == len(rows) - 1
    for place, column in enumerate(columns["columns"]):
        assert len(values[column["name"]]) == columns["rows"]
        for row, value in zip(rows[1:], values[column["name"]]):
            mine = text_of(column, value)
            assert mine == row[place] or float(mine) == float(row[place]), (column["name"], mine, row[place])


def main():
    program, folder = sys.argv[1], sys.argv[2]
    wanted = int(sys.argv[3]) if len(sys.argv) > 3 else 20000
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    with open(f"{folder}/spec.json", "w") as file:
        json.dump(SPEC, file)

    def call(*words):
        subprocess.run([program, *words], check=True, cwd=folder, stdout=subprocess.DEVNULL)

    call("sweep", "spec.json", "--out", "sweep", "--timelines", "none")
    call("export", "npy", "sweep", "--out", "columns")
    columns, values = columns_of(f"{folder}/columns")
    check_against_csv(columns, values, f"{folder}/sweep/results.csv")
    assert values["makespan_ps"].dtype == numpy.int64 and values["makespan_us"].dtype == numpy.float64
    assert numpy.isnan(values["max_streams"]).sum() == 16  # policies without that option
    assert isinstance(values["makespan_ps"], numpy.memmap)

    # Many rows, of which makespan_ps is the scenario's number; one has none.
    with sqlite3.connect(f"{folder}/sweep/results.sqlite") as database:
        names = [row[1] for row in database.execute("PRAGMA table_info(results)")]
        first = dict(zip(names, database.execute("SELECT * FROM results WHERE scenario=0").fetchone()))
        database.execute("DELETE FROM results")
        first["makespan_ps"] = "(n)"
        texts = ['"' + name + '"' for name in names]
        cells = ["n" if name == "scenario" else "nullif(n, 7)" if name == "makespan_ps" else
                 "'" + str(value).replace("'", "''") + "'" if isinstance(value, str) else
                 "NULL" if value is None else repr(value) for name, value in first.items()]
        database.execute(f"WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers "
                         f"WHERE n < {wanted - 1}) INSERT INTO results ({','.join(texts)}) "
                         f"SELECT {','.join(cells)} FROM numbers")
        # Without a baseline: the grid has fewer scenarios than the rows.
        spec = {key: value for key, value in SPEC.items() if key != "baseline"}
        database.execute("UPDATE meta SET value=? WHERE key='spec'", (json.dumps(spec),))
    call("export", "npy", "sweep", "--out", "many")
    columns, values = columns_of(f"{folder}/many")
    makespans = values["makespan_ps"]
    assert makespans.dtype == numpy.float64 and len(makespans) == wanted
    assert numpy.isnan(makespans[7]) and numpy.isnan(makespans).sum() == 1
    found = numpy.flatnonzero(makespans >= wanted - 3)
    assert list(values["scenario"][found]) == [wanted - 3, wanted - 2, wanted - 1]


main()
