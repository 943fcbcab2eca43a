# SPDX-License-Identifier: Apache-2.0
"""What the tests of the Python package share."""

import csv
import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(os.environ.get("SCHEDLAB_ROOT", Path(__file__).resolve().parents[2]))
PROGRAM = os.environ.get("SCHEDLAB_PROGRAM", "schedlab")
EXPERIMENTS = ROOT / "experiments"

LSTM = {"kind": "lstm", "pass": "backward", "layers": 2, "steps": 5, "batch": 64, "hidden": 256}


class ProgramTest(unittest.TestCase):
    """A test with a folder of its own, which can run the program."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def run_program(self, *words, code=0):
        """What the program prints; its exit code must be this."""
        done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout if code == 0 else done.stderr

    def write_spec(self, spec, name="spec.json"):
        """The path of a spec's file."""
        path = self.folder / name
        path.write_text(json.dumps(spec))
        return path

    def csv_columns(self, path):
        """Column to texts of a CSV file, read by Python's own reader."""
        with open(path, newline="") as file:
            rows = list(csv.reader(file))
        return {name: [row[i] for row in rows[1:]] for i, name in enumerate(rows[0])}
