# SPDX-License-Identifier: Apache-2.0
"""Builds the module of the Python package with CMake. SCHEDLAB_BUILD_FOLDER names the build folder to use (default:
build/wheel); one that was built before is used again."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent


def version():
    """The project's version, as CMakeLists.txt has it."""
    return re.search(r"^  VERSION ([0-9.]+)$", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE).group(1)


class CMakeModule(build_ext):
    """Builds the module and its type stub."""

    def build_extension(self, ext):
        folder = Path(os.environ.get("SCHEDLAB_BUILD_FOLDER", ROOT / "build" / "wheel")).resolve()
        preset = [] if (folder / "CMakeCache.txt").exists() else ["--preset", "release"]
        subprocess.run(["cmake", *preset, "-B", folder, f"-DPython_EXECUTABLE={sys.executable}"], cwd=ROOT, check=True)
        subprocess.run(["cmake", "--build", folder, "--target", "schedlab_python_package"], check=True)
        to = Path(self.get_ext_fullpath(ext.name))
        to.parent.mkdir(parents=True, exist_ok=True)
        built = folder / "python" / "schedlab"
        (module,) = built.glob("_core*.so")
        shutil.copy2(module, to)
        shutil.copy2(built / "__init__.pyi", to.parent)


setup(
    version=version(),
    packages=["schedlab"],
    package_dir={"schedlab": "python/schedlab"},
    package_data={"schedlab": ["py.typed", "*.pyi"]},
    ext_modules=[Extension("schedlab._core", sources=[])],
    cmdclass={"build_ext": CMakeModule},
    zip_safe=False,
)
