// SPDX-License-Identifier: Apache-2.0
#include "python/module/bindings.hpp"
#include "studies/base/version.hpp"

#include <string>

PYBIND11_MODULE(_core, module) {
  namespace py = schedlab::python;
  module.doc() = "The engine of the package schedlab: libraries of SchedLab, called in process.";
  module.attr("version") = std::string{schedlab::program_version()};
  py::bind_errors();
  py::bind_graph(module);
  py::bind_planning(module);
  py::bind_run(module);
  py::bind_case(module);
  py::bind_verbs(module);
}
