// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/csv.hpp"
#include "python/module/bindings.hpp"
#include "python/module/columns.hpp"
#include "python/module/tables.hpp"
#include "sim/plan/plan_json.hpp"
#include "sim/trace/chrome_json.hpp"
#include "sim/trace/summary_fields.hpp"
#include "studies/explanation/explained_run.hpp"
#include "studies/explanation/explanation.hpp"
#include "studies/scenario/decision.hpp"
#include "studies/scenario/run_files.hpp"
#include "studies/scenario/simulation.hpp"

#include <pybind11/stl.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace schedlab::python {
namespace {

namespace py = pybind11;

const std::vector<StructField>& span_fields() {
  static const std::vector<StructField> fields{
      {"task", "u4", offsetof(TaskSpan, task)},
      {"stream", "u4", offsetof(TaskSpan, stream)},
      {"host", "u4", offsetof(TaskSpan, host)},
      {"device", "u4", offsetof(TaskSpan, device)},
      {"submitted_ps", "i8", offsetof(TaskSpan, submitted)},
      {"started_ps", "i8", offsetof(TaskSpan, started)},
      {"ended_ps", "i8", offsetof(TaskSpan, ended)}};
  return fields;
}

const std::vector<StructField>& flow_fields() {
  static const std::vector<StructField> fields{
      {"event", "u4", offsetof(EventFlow, event)},
      {"from", "u4", offsetof(EventFlow, from)},
      {"to", "u4", offsetof(EventFlow, to)},
      {"recorded_ps", "i8", offsetof(EventFlow, recorded)},
      {"released_ps", "i8", offsetof(EventFlow, released)}};
  return fields;
}

/// One time of each task in microseconds, in the order of the trace.
template <class Get>
py::array times(const Simulation& made, const Get& get) {
  const auto& spans = made.document.trace.tasks;
  return array_of<double>(spans.size(), [&](std::size_t i) { return to_us(get(spans[i])); });
}

py::array operation_of(const Simulation& made) {
  const auto& spans = made.document.trace.tasks;
  const TaskGraph& graph = *made.run.scenario.problem->graph;
  return array_of<std::uint32_t>(
      spans.size(), [&](std::size_t i) { return graph.operation_id(spans[i].task).value(); });
}

py::list findings(const Simulation& made) {
  py::list all;
  for (const Finding& finding : made.run.findings) {
    py::dict of;
    of["kind"] = std::string{to_string(finding.kind)};
    of["message"] = finding.message;
    of["call"] = finding.call;
    all.append(of);
  }
  return all;
}

std::vector<std::string> stream_names(const Simulation& made) {
  std::vector<std::string> names;
  const Plan& plan = made.run.plan;
  for (const StreamId stream : plan.streams.ids()) names.push_back(plan.stream_name(stream));
  return names;
}

void bind_columns(py::class_<Simulation, std::shared_ptr<Simulation>>& type) {
  type.def_property_readonly(
          "spans",
          [](const py::object& self) {
            const auto& made = self.cast<const Simulation&>();
            return view_of_structs(made.document.trace.tasks, span_fields(), self);
          },
          "Tasks as they ran, in launch order: a structured array of the trace's own memory.")
      .def_property_readonly(
          "flows",
          [](const py::object& self) {
            const auto& made = self.cast<const Simulation&>();
            return view_of_structs(made.document.trace.flows, flow_fields(), self);
          },
          "Waits that were resolved, between two streams.")
      .def_property_readonly("operation_of", &operation_of)
      .def_property_readonly("submitted_us",
                             [](const Simulation& made) {
                               return times(made,
                                            [](const TaskSpan& span) { return span.submitted; });
                             })
      .def_property_readonly("started_us",
                             [](const Simulation& made) {
                               return times(made,
                                            [](const TaskSpan& span) { return span.started; });
                             })
      .def_property_readonly("ended_us",
                             [](const Simulation& made) {
                               return times(made, [](const TaskSpan& span) { return span.ended; });
                             })
      .def_property_readonly("duration_us", [](const Simulation& made) {
        return times(made, [](const TaskSpan& span) { return span.duration(); });
      });
}

void bind_explanation(py::module_& module) {
  py::class_<Explanation, std::shared_ptr<Explanation>>(module, "Explanation")
      .def("json", &explanation_json)
      .def("gaps",
           [](const Explanation& explanation) { return table_columns(gaps_table(explanation)); })
      .def("text", &explanation_text)
      .def("picture", &explanation_picture)
      .def("html", &explanation_html);
}

}  // namespace

void bind_run(py::module_& module) {
  bind_explanation(module);
  py::class_<Simulation, std::shared_ptr<Simulation>> type(module, "Simulation");
  bind_columns(type);
  type.def_readonly("title", &Simulation::title)
      .def_property_readonly("makespan_ps",
                             [](const Simulation& made) { return made.metrics.makespan.count(); })
      .def_property_readonly("makespan_us",
                             [](const Simulation& made) { return to_us(made.metrics.makespan); })
      .def_property_readonly("gap", [](const Simulation& made) { return made.metrics.gap; })
      .def_property_readonly("utilization",
                             [](const Simulation& made) { return made.metrics.utilization; })
      .def_property_readonly(
          "bound_us", [](const Simulation& made) { return to_us(made.metrics.bounds.largest()); })
      .def_property_readonly(
          "bound",
          [](const Simulation& made) { return std::string{made.metrics.bounds.largest_name()}; })
      .def_property_readonly("policy", [](const Simulation& made) { return made.run.plan.policy; })
      .def_property_readonly(
          "why", [](const Simulation& made) { return who_decides(made.metrics.critical_path); })
      .def_property_readonly("findings", &findings)
      .def_property_readonly("stream_names", &stream_names)
      .def_property_readonly(
          "task_graph",
          [](const Simulation& made) {
            return std::const_pointer_cast<TaskGraph>(made.run.scenario.problem->graph);
          })
      .def_property_readonly("plan",
                             [](const std::shared_ptr<Simulation>& made) {
                               return std::shared_ptr<Plan>(made, &made->run.plan);
                             })
      .def("metrics_json", [](const Simulation& made) { return metrics_json(made); })
      .def("timeline",
           [](const Simulation& made) {
             const py::gil_scoped_release released;
             return run_timeline(made.document, made.metrics);
           })
      .def("viewer",
           [](const Simulation& made) {
             const py::gil_scoped_release released;
             return run_viewer(
                 made.run.scenario.problem->problem(), made.run.plan, made.document, made.metrics);
           })
      .def("chrome_json",
           [](const Simulation& made) {
             const py::gil_scoped_release released;
             return chrome_json(made.document, made.metrics.memory);
           })
      .def("plan_json",
           [](const Simulation& made) {
             const py::gil_scoped_release released;
             return plan_to_json(made.run.plan, *made.run.scenario.problem->graph);
           })
      .def("trace_csv", [](const Simulation& made) { return trace_csv(made.document); })
      .def(
          "explain",
          [](const Simulation& made, std::size_t bins) {
            const py::gil_scoped_release released;
            return std::make_shared<Explanation>(explain(run_of_simulation(made), bins));
          },
          py::arg("bins"));
}

}  // namespace schedlab::python
