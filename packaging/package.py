# SPDX-License-Identifier: Apache-2.0
# For Spack, as packages/schedlab/package.py of a repository of recipes; `git` names the checkout to build from. Compiled
# by Python, not run by Spack yet.
from spack.package import *


class Schedlab(CMakePackage):
    """Scheduling simulator and cost models for operator graphs on accelerators."""

    git = "file:///path/to/schedlab"

    license("Apache-2.0")
    version("main", branch="main")

    variant("mpi", default=False, description="Sweeps and searches over ranks, training with pipelines")
    variant("onednn", default=False, description="Measure kernels and networks of oneDNN")

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("boost@1.74:")
    depends_on("cli11@2.1:")
    depends_on("eigen@3.4:")
    depends_on("fmt@9:")
    depends_on("intel-oneapi-tbb@2021:")
    depends_on("nlohmann-json@3.11:")
    depends_on("simdjson@3:")
    depends_on("sqlite@3.40:")
    depends_on("zlib-api")
    depends_on("mpi", when="+mpi")
    depends_on("onednn@2.6:", when="+onednn")

    generator("ninja")
    conflicts("%gcc@:11", msg="C++20 as g++ 12 has it")

    def cmake_args(self):
        return [
            self.define("SCHEDLAB_BUILD_TESTS", False),
            self.define("SCHEDLAB_WARNINGS_AS_ERRORS", False),
            self.define("SCHEDLAB_OPTIONAL", self.spec.satisfies("+mpi") or self.spec.satisfies("+onednn")),
        ]
