# SPDX-License-Identifier: Apache-2.0
"""docs/python.md: each cell runs, in its order, and prints what the page says; the gallery notebook runs."""

import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

from support import ROOT, ProgramTest

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def cells():
    """(code, what it prints or None) of the page's Python."""
    found = []
    for kind, text in BLOCK.findall((ROOT / "docs" / "python.md").read_text()):
        if kind == "python":
            found.append([text, None])
        elif kind == "text" and found:
            found[-1][1] = text
    return found


class Pages(ProgramTest):
    def test_cells_of_the_page_run_and_print_what_it_says(self):
        names = {}
        for code, expected in cells():
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(code, "docs/python.md", "exec"), names)
            if expected is not None:
                self.assertEqual(printed.getvalue(), expected, code)
        self.assertGreater(len(names["c"]), 2)

    def execute(self, notebook):
        """The outputs of a notebook, executed from top to bottom."""
        program = shutil.which("jupyter-nbconvert")
        if program is None:
            self.skipTest("jupyter-nbconvert is not installed")
        folders = {name: str(self.folder / name) for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR")}
        kernel = self.folder / "JUPYTER_DATA_DIR" / "kernels" / "python3"
        kernel.mkdir(parents=True)
        words = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        kernel.joinpath("kernel.json").write_text(json.dumps({"argv": words, "display_name": "x", "language": "python"}))
        done = subprocess.run(
            [program, "--to", "notebook", "--execute", "--output", self.folder / "executed.ipynb", notebook],
            capture_output=True,
            text=True,
            env={**os.environ, **folders},
        )
        missing = re.search(r"No such kernel|No module named '?(ipykernel\w*|pandas|matplotlib)", done.stderr)
        if missing:
            self.skipTest(missing.group(0))
        self.assertEqual(done.returncode, 0, done.stderr)
        executed = json.loads((self.folder / "executed.ipynb").read_text())
        return [output for cell in executed["cells"] for output in cell.get("outputs", [])]

    def test_the_page_runs_as_a_notebook(self):
        notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": {"name": "python3", "display_name": "x"}}}
        cell = {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": []}
        notebook["cells"] = [{**cell, "id": f"cell{n}", "source": code} for n, (code, _) in enumerate(cells())]
        path = self.folder / "page.ipynb"
        path.write_text(json.dumps(notebook))
        outputs = self.execute(path)
        self.assertTrue(any("text/html" in output.get("data", {}) for output in outputs))

    def test_the_gallery_notebook_shows_its_pictures(self):
        outputs = self.execute(ROOT / "docs" / "python_gallery.ipynb")
        pictures = [output for output in outputs if "image/svg+xml" in output.get("data", {})]
        for output in pictures:  # in HTML, too: nbconvert takes apart what is SVG alone
            self.assertIn("</svg>", "".join(output["data"]["text/html"]))
        tables = [output for output in outputs if "<table" in "".join(output.get("data", {}).get("text/html", ""))]
        self.assertGreaterEqual(len(pictures), 4)
        self.assertGreaterEqual(len(tables), 2)


if __name__ == "__main__":
    unittest.main()
