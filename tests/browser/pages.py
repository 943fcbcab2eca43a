# SPDX-License-Identifier: Apache-2.0
"""What the browser tests share: the browser, and pages that the program makes."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from browser import Browser, find_chromium

PROGRAM = os.environ.get("SCHEDLAB_PROGRAM", "schedlab")

HOSTILE = [
    "<script>window.hostile = 1</script>",
    "</script><script>window.hostile = 2</script>",
    "\"><img src=x onerror='window.hostile = 3'>",
    "<!--<script>",
    "=cmd()",
    "quote\" and ' & \u2028 end",
]


def schedlab(*arguments):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"schedlab {' '.join(map(str, arguments))}: {done.stderr}")
    return done.stdout


def write_spec(folder, name, **parts):
    file = Path(folder) / f"{name}.json"
    file.write_text(json.dumps({"name": name, **parts}), encoding="utf-8")
    return file


def hostile_graph(folder):
    operations = [{"name": name, "kind": "fixed", "duration_us": 10 + i} for i, name in enumerate(HOSTILE)]
    tasks = [{"name": f"{name} {i}", "operation": i, "needs": [i - 1] if i else []} for i, name in enumerate(HOSTILE)]
    file = Path(folder) / "hostile_graph.json"
    file.write_text(json.dumps({"schedlab": "graph", "version": 1, "operations": operations, "tasks": tasks}))
    return file


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls._scratch = tempfile.TemporaryDirectory(prefix="schedlab_pages_")
        cls.folder = Path(cls._scratch.name)
        cls.browser = Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls._scratch.cleanup()

    def tearDown(self):
        self.browser.resize(1300, 850)
        self.browser.media("")
        self.assertEqual(self.browser.errors, [])

    def js(self, expression):
        return self.browser.js(expression)

    def click(self, selector, index=0):
        self.browser.click(*self.browser.place(selector, index))

    def look(self, name):
        """Keeps a picture of the page where SCHEDLAB_SCREENSHOTS names a folder."""
        folder = os.environ.get("SCHEDLAB_SCREENSHOTS")
        if folder:
            self.browser.screenshot(Path(folder) / f"{name}.png")


def main():
    if not find_chromium():
        print("skipped: chromium is not installed (scripts/install_packages.sh browser)")
        sys.exit(0)
    unittest.main(verbosity=2)
