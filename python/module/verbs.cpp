// SPDX-License-Identifier: Apache-2.0
#include "cli/program.hpp"
#include "python/module/bindings.hpp"
#include "python/module/interrupt_guard.hpp"
#include "python/module/python_stream.hpp"
#include "python/module/tables.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "studies/base/leftovers.hpp"
#include "studies/scenario/run_origin.hpp"
#include "studies/spec/registry_list.hpp"
#include "studies/sweep/results_store.hpp"

#include <pybind11/stl.h>

#include <sstream>
#include <string>
#include <vector>

namespace schedlab::python {
namespace {

namespace py = pybind11;

py::list verbs() {
  py::list all;
  for (const VerbFacts& verb : Program().verbs()) {
    py::list arguments;
    for (const ArgumentFacts& argument : verb.arguments) {
      py::dict of;
      of["names"] = argument.names;
      of["value"] = argument.value;
      of["choices"] = argument.choices;
      of["standard"] = argument.standard;
      of["meaning"] = argument.meaning;
      of["positional"] = argument.positional;
      of["required"] = argument.required;
      arguments.append(of);
    }
    py::dict of;
    of["name"] = verb.name;
    of["summary"] = verb.summary;
    of["details"] = verb.details;
    of["arguments"] = arguments;
    all.append(of);
  }
  return all;
}

/// Runs a command line -> (exit code, what it prints, was it asked to stop, what Ctrl-C raises).
py::tuple run_words(const std::vector<std::string>& words,
                    const py::object& terminal,
                    bool interactive) {
  Program program;
  const Program::Chosen chosen = program.choose(words);
  if (!chosen.run) return py::make_tuple(0, chosen.text, false, py::none());
  PythonStream progress(terminal);
  std::ostringstream out;
  Leftovers leftovers;
  InterruptGuard guard;
  int code = 0;
  try {
    const py::gil_scoped_release released;
    code = chosen.run(Terminal{.out = out,
                               .err = progress,
                               .interactive = interactive,
                               .stop = guard.stop(),
                               .data = nullptr,
                               .leftovers = &leftovers});
  } catch (const Interrupted&) {
    guard.raise_pending();
    throw;
  }
  return py::make_tuple(code, py::bytes(out.str()), stop_requested(guard.stop()), guard.pending());
}

}  // namespace

void bind_verbs(py::module_& module) {
  module.def("verbs", &verbs);
  module.def(
      "run_words", &run_words, py::arg("words"), py::arg("terminal"), py::arg("interactive"));
  module.def("registries", [] { return sections_json(registry_sections({})); });
  module.def("run_origin", [](const std::string& folder) {
    const auto origin = read_run_origin(folder);
    if (!origin) {
      throw InputError({.file = folder,
                        .pointer = {},
                        .found = "no " + std::string{run_origin_name},
                        .expected = "a folder of simulate or execute",
                        .hint = {}});
    }
    return py::make_tuple(origin->spec, origin->spec_file, origin->spec_folder.string());
  });
  // -> (text of the spec, name of the spec) of a sweep's results.sqlite.
  module.def("results_spec", [](const std::string& path) {
    const ResultsHeader header = ResultsStore::open(path).header();
    return py::make_tuple(header.spec, header.name);
  });
  module.def("read_csv",
             [](const std::string& path) { return table_columns(table_of_csv(read_file(path))); });
}

}  // namespace schedlab::python
