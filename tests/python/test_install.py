# SPDX-License-Identifier: Apache-2.0
"""The installed package needs neither the sources nor the build folder."""

import os
import subprocess
import sys
import unittest
from pathlib import Path

from support import ProgramTest

USE = """
import sys
import schedlab as sl
print(sl.__file__)
print(sl.simulate(sl.lstm(layers=2, steps=3), sl.machine("h200", connections=8), "heft").findings)
print(sl.reproduce(system="s5", quick=True, out=sys.argv[1]).ok)
"""


class Install(ProgramTest):
    def test_an_installed_package_runs_from_any_folder(self):
        prefix = self.folder / "installed"
        build = os.environ["SCHEDLAB_BUILD"]
        subprocess.run(
            [os.environ["SCHEDLAB_CMAKE"], "--install", build, "--prefix", prefix, "--component", "python"],
            check=True,
            capture_output=True,
        )
        (module,) = prefix.rglob("_core*.so")
        self.assertTrue((module.parent / "py.typed").exists())
        self.assertFalse(any(path.is_symlink() for path in prefix.rglob("*")))
        linked = subprocess.run(["readelf", "-d", module], check=True, capture_output=True, text=True).stdout
        self.assertNotIn(str(Path(build)), linked)  # no RPATH
        environment = {**os.environ, "PYTHONPATH": str(module.parents[1])}
        words = [sys.executable, "-c", USE, self.folder / "reproduced"]
        done = subprocess.run(words, cwd="/", env=environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines(), [str(module.parent / "__init__.py"), "[]", "True"])


if __name__ == "__main__":
    unittest.main()
