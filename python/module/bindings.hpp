// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>

namespace schedlab::python {

/// What C++ throws becomes the exceptions of schedlab/errors.py, with the same message.
void bind_errors();
/// Graphs and what makes them of arrays.
void bind_graph(pybind11::module_& module);
/// Problems, plans and PlanBuilder: what a policy sees and makes.
void bind_planning(pybind11::module_& module);
/// A simulated run, its columns and pictures.
void bind_run(pybind11::module_& module);
/// Specs: one scenario, a sweep, a search.
void bind_case(pybind11::module_& module);
/// The verbs of the program, and what the registries hold.
void bind_verbs(pybind11::module_& module);

}  // namespace schedlab::python
