# SPDX-License-Identifier: Apache-2.0
"""The type stub is current, and every public thing has a docstring."""

import inspect
import subprocess
import sys
import unittest

import schedlab as sl
from support import ROOT, ProgramTest


class Stubs(ProgramTest):
    def test_the_stub_is_what_the_script_makes(self):
        made = subprocess.run([sys.executable, ROOT / "scripts" / "python_stubs.py"], capture_output=True, text=True)
        self.assertEqual(made.returncode, 0, made.stderr)
        kept = (ROOT / "python" / "schedlab" / "__init__.pyi").read_text()
        self.assertEqual(made.stdout, kept, "make it anew with scripts/python_stubs.py")

    def test_public_things_have_docstrings(self):
        for name, each in vars(sl).items():
            if not name.startswith("_") and (inspect.isclass(each) or inspect.isfunction(each)):
                self.assertTrue(inspect.getdoc(each), name)


if __name__ == "__main__":
    unittest.main()
