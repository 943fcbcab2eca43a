# SPDX-License-Identifier: Apache-2.0
"""The type stub is complete, and every public thing has a docstring."""

import ast
import inspect
import unittest
from pathlib import Path

import schedlab as sl
from support import ProgramTest


class Stubs(ProgramTest):
    def test_the_stub_has_what_the_package_has(self):
        stub = ast.parse((Path(sl.__file__).parent / "__init__.pyi").read_text())
        names, functions = set(), {}
        for each in stub.body:
            if isinstance(each, ast.ImportFrom) and each.level == 1:
                names.update(alias.asname for alias in each.names)
            elif isinstance(each, ast.FunctionDef):
                functions[each.name] = each.args
            elif isinstance(each, ast.AnnAssign):
                names.add(each.target.id)
        public = {name for name, each in vars(sl).items() if not name.startswith("_") and not inspect.ismodule(each)}
        self.assertEqual(public - {"annotations"}, (names | set(functions)) - {"__version__"})
        for name, arguments in functions.items():
            written = [each.arg for each in (*arguments.args, *arguments.kwonlyargs)]
            self.assertEqual(written, list(inspect.signature(getattr(sl, name)).parameters), name)

    def test_public_things_have_docstrings(self):
        for name, each in vars(sl).items():
            if not name.startswith("_") and (inspect.isclass(each) or inspect.isfunction(each)):
                self.assertTrue(inspect.getdoc(each), name)


if __name__ == "__main__":
    unittest.main()
