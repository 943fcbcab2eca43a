// SPDX-License-Identifier: Apache-2.0
#include "python/module/bindings.hpp"
#include "python/module/columns.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/graph/levels.hpp"
#include "sim/graph/task_graph.hpp"
#include "workloads/formats/graph_file.hpp"
#include "workloads/formats/graph_json.hpp"
#include "workloads/registry.hpp"

#include <fmt/format.h>
#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace schedlab::python {
namespace {

namespace py = pybind11;

using Numbers = py::array_t<std::uint32_t, py::array::c_style>;
using Times = py::array_t<double, py::array::c_style>;

/// `values[i]`, which must be one of `count` things.
std::uint32_t checked(std::uint32_t value, std::size_t count, const char* what) {
  if (value < count) return value;
  throw py::index_error(fmt::format("{} {} of {}", what, value, count));
}

void expect_length(const py::array& array, std::size_t length, const char* name) {
  if (array.ndim() == 1 && static_cast<std::size_t>(array.size()) == length) return;
  throw py::value_error(
      fmt::format("{}: found {} values, expected one list of {}", name, array.size(), length));
}

/// A graph of arrays: `operations` is the JSON of a graph that has the operations and no tasks.
std::shared_ptr<TaskGraph> graph_of_arrays(const std::string& operations,
                                           const Numbers& operation_of,
                                           const std::optional<Times>& durations_us,
                                           const Numbers& from,
                                           const Numbers& to,
                                           const std::vector<std::string>& names) {
  const auto count = static_cast<std::size_t>(operation_of.size());
  expect_length(operation_of, count, "operation_of");
  expect_length(from, static_cast<std::size_t>(from.size()), "edges");
  expect_length(to, static_cast<std::size_t>(from.size()), "edges");
  if (durations_us) expect_length(*durations_us, count, "durations_us");
  if (!names.empty() && names.size() != count) {
    throw py::value_error(fmt::format("names: found {}, expected {}", names.size(), count));
  }
  const TaskGraph kinds = read_graph_json(operations, "operations");
  TaskGraphBuilder builder;
  for (const Operation& operation : kinds.operations()) builder.add_operation(operation);
  builder.reserve(count, static_cast<std::size_t>(from.size()));
  const std::size_t operation_count = kinds.operations().size();
  for (std::size_t i = 0; i < count; ++i) {
    const OperationId operation{checked(operation_of.data()[i], operation_count, "operation")};
    if (!names.empty()) {
      builder.add_task(operation, {}, names[i]);
    } else {
      builder.add_task(operation);
    }
    if (!durations_us) continue;
    const double us = durations_us->data()[i];
    if (!(us >= 0 && us <= 1e12)) {
      throw py::value_error(
          fmt::format("durations_us[{}]: found {}, expected 0 or more, at most 1e12", i, us));
    }
    builder.set_duration(TaskId{static_cast<std::uint32_t>(i)}, from_us(us));
  }
  for (py::ssize_t i = 0; i < from.size(); ++i) {
    builder.add_edge(TaskId{checked(from.data()[i], count, "task")},
                     TaskId{checked(to.data()[i], count, "task")});
  }
  return std::make_shared<TaskGraph>(std::move(builder).build());
}

py::tuple edges(const TaskGraph& graph) {
  py::array_t<std::uint32_t> from(static_cast<py::ssize_t>(graph.edge_count()));
  py::array_t<std::uint32_t> to(static_cast<py::ssize_t>(graph.edge_count()));
  std::uint32_t* next_from = from.mutable_data();
  std::uint32_t* next_to = to.mutable_data();
  for (const TaskId task : graph.tasks()) {
    for (const TaskId successor : graph.successors(task)) {
      *next_from++ = task.value();
      *next_to++ = successor.value();
    }
  }
  return py::make_tuple(from, to);
}

TaskId task_of(const TaskGraph& graph, std::uint32_t task) {
  return TaskId{checked(task, graph.task_count(), "task")};
}

std::vector<std::string> names(const TaskGraph& graph) {
  std::vector<std::string> all;
  all.reserve(graph.task_count());
  for (const TaskId task : graph.tasks()) all.push_back(graph.name(task));
  return all;
}

py::list operations(const TaskGraph& graph) {
  py::list all;
  for (const Operation& operation : graph.operations()) {
    py::dict of;
    of["name"] = operation.name;
    of["kind"] = std::string{to_string(operation.kind)};
    of["flops"] = operation.flops().count();
    of["bytes_read"] = operation.bytes_read().count();
    of["bytes_written"] = operation.bytes_written().count();
    of["launches"] = operation.launches();
    of["critical"] = is_critical(operation.task_class);
    all.append(of);
  }
  return all;
}

}  // namespace

void bind_graph(py::module_& module) {
  py::class_<TaskGraph, std::shared_ptr<TaskGraph>>(
      module, "TaskGraph", "Immutable DAG of tasks, numbered from 0. Made by schedlab.Graph.")
      .def_property_readonly("task_count", &TaskGraph::task_count)
      .def_property_readonly("edge_count", &TaskGraph::edge_count)
      .def_property_readonly("memory_bytes", &TaskGraph::memory_bytes)
      .def("edges", &edges, "(from, to): two arrays, one entry per edge.")
      .def("names", &names)
      .def("operations", &operations)
      .def("operation_of",
           [](const TaskGraph& graph) {
             return array_of<std::uint32_t>(graph.task_count(), [&](std::size_t i) {
               return graph.operation_id(TaskId{static_cast<std::uint32_t>(i)}).value();
             });
           })
      .def("fixed_durations_us",
           [](const TaskGraph& graph) {
             return array_of<double>(graph.task_count(), [&](std::size_t i) {
               return to_us(graph.fixed_duration(TaskId{static_cast<std::uint32_t>(i)}));
             });
           })
      .def("levels",
           [](const TaskGraph& graph) {
             const auto level = levels(graph);
             return array_of<std::uint32_t>(level.size(),
                                            [&](std::size_t i) { return level.raw()[i]; });
           })
      .def("successors",
           [](const py::object& self, std::uint32_t task) {
             const auto& graph = self.cast<const TaskGraph&>();
             return view_of(graph.successors(task_of(graph, task)), self);
           })
      .def("predecessors",
           [](const py::object& self, std::uint32_t task) {
             const auto& graph = self.cast<const TaskGraph&>();
             return view_of(graph.predecessors(task_of(graph, task)), self);
           })
      .def("name",
           [](const TaskGraph& graph, std::uint32_t task) {
             return graph.name(task_of(graph, task));
           })
      .def("to_json", [](const TaskGraph& graph) {
        const py::gil_scoped_release released;
        return write_graph_json(graph);
      });
  module.def("graph_of_arrays",
             &graph_of_arrays,
             py::arg("operations"),
             py::arg("operation_of"),
             py::arg("durations_us"),
             py::arg("from"),
             py::arg("to"),
             py::arg("names"));
  module.def("graph_of_json", [](const std::string& text, const std::string& file) {
    const py::gil_scoped_release released;
    return std::make_shared<TaskGraph>(read_graph_json(text, file));
  });
  module.def("graph_of_file", [](const std::string& path) {
    const py::gil_scoped_release released;
    return std::make_shared<TaskGraph>(read_graph_file(path));
  });
}

}  // namespace schedlab::python
