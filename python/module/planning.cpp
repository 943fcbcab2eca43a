// SPDX-License-Identifier: Apache-2.0
#include "policies/wavefront.hpp"
#include "python/module/bindings.hpp"
#include "python/module/columns.hpp"
#include "python/module/findings_error.hpp"
#include "python/module/problem_view.hpp"
#include "sim/base/error.hpp"
#include "sim/graph/levels.hpp"
#include "sim/plan/plan_builder.hpp"
#include "sim/plan/plan_check.hpp"
#include "sim/plan/plan_json.hpp"
#include "studies/base/findings_text.hpp"

#include <fmt/format.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace schedlab::python {

namespace py = pybind11;

const py::array_t<double>& ProblemView::durations_us() {
  if (!durations_us_) {
    durations_us_ = in_microseconds(problem_.costs.durations());
    frozen(*durations_us_);
  }
  return *durations_us_;
}

void ProblemView::too_many_steps() const {
  throw InfeasibleError(
      fmt::format("the policy has made {} calls for {} tasks and has not returned\n  give more "
                  "with @schedlab.as_policy(steps=...)",
                  limit_,
                  problem_.graph.task_count()));
}

PythonPolicy::PythonPolicy(py::object function,
                           std::string name,
                           std::shared_ptr<const PreparedProblem> whole,
                           std::uint64_t steps)
    : function_(std::move(function)),
      name_(std::move(name)),
      planned_(whole->planned != nullptr ? whole->planned : std::move(whole)),
      steps_(steps) {}

PythonPolicy::~PythonPolicy() {
  const py::gil_scoped_acquire lock;
  function_ = {};
}

Plan PythonPolicy::plan(const Problem& problem) const {
  Plan made;
  {
    const py::gil_scoped_acquire lock;
    SCHEDLAB_EXPECTS(&problem.graph == planned_->graph.get(), name_);
    constexpr std::uint64_t at_least = 10'000;
    constexpr std::uint64_t per_task = 1'000;
    const std::uint64_t steps =
        steps_ != 0 ? steps_ : at_least + per_task * problem.graph.task_count();
    const py::object given = function_(std::make_shared<ProblemView>(planned_, steps));
    if (!py::isinstance<Plan>(given)) {
      throw py::type_error(
          fmt::format("policy {}: found {}, expected the plan of PlanBuilder.plan()",
                      name_,
                      std::string{py::str(py::type::handle_of(given).attr("__name__"))}));
    }
    made = given.cast<const Plan&>();
  }
  made.policy = name_;
  auto findings = check(problem.graph, problem.platform, made, {.check_memory = false});
  if (!findings.empty()) {
    const std::string message =
        fmt::format("the plan of {}:\n{}", name_, findings_text(findings, "  "));
    throw FindingsError(message, std::move(findings));
  }
  return made;
}

namespace {

/// A PlanBuilder with what its problem refers to.
class Builder {
 public:
  Builder(std::shared_ptr<ProblemView> problem, std::uint32_t streams)
      : problem_(std::move(problem)), builder_(problem_->problem()) {
    builder_.add_streams(streams);
  }

  [[nodiscard]] PlanBuilder& get() {
    problem_->step();
    if (used_) throw py::value_error("the plan of this builder has been made");
    return builder_;
  }
  [[nodiscard]] TaskId task(std::uint32_t task) const {
    if (task < problem_->problem().graph.task_count()) return TaskId{task};
    throw py::index_error(
        fmt::format("task {} of {}", task, problem_->problem().graph.task_count()));
  }
  [[nodiscard]] StreamId stream(std::uint32_t stream) const {
    if (stream < builder_.stream_count()) return StreamId{stream};
    throw py::index_error(fmt::format("stream {} of {}", stream, builder_.stream_count()));
  }
  void place(std::uint32_t number, std::uint32_t stream_number) {
    PlanBuilder& builder = get();
    builder.place(task(number), stream(stream_number));
  }
  void place_after(std::uint32_t number,
                   std::uint32_t stream_number,
                   const std::vector<std::uint32_t>& others) {
    std::vector<TaskId> after;
    after.reserve(others.size());
    for (const std::uint32_t other : others) after.push_back(task(other));
    PlanBuilder& builder = get();
    builder.place(task(number), stream(stream_number), after);
  }
  void place_all(const py::array_t<std::uint32_t, py::array::c_style>& tasks,
                 const py::array_t<std::uint32_t, py::array::c_style>& streams) {
    if (tasks.size() != streams.size()) {
      throw py::value_error(
          fmt::format("found {} tasks and {} streams", tasks.size(), streams.size()));
    }
    for (py::ssize_t i = 0; i < tasks.size(); ++i) place(tasks.data()[i], streams.data()[i]);
  }
  [[nodiscard]] Plan plan(const std::string& policy) {
    PlanBuilder& builder = get();
    used_ = true;
    return std::move(builder).build(policy);
  }

 private:
  std::shared_ptr<ProblemView> problem_;
  PlanBuilder builder_;
  bool used_ = false;
};

/// Numbers as they are ordered: whole ones exactly, others by their rank.
std::vector<std::int64_t> ranks_of(const py::array_t<double, py::array::c_style>& keys,
                                   std::size_t count) {
  if (keys.ndim() != 1 || static_cast<std::size_t>(keys.size()) != count) {
    throw py::value_error(
        fmt::format("key: found {} values, expected one per task, {}", keys.size(), count));
  }
  std::vector<double> sorted(keys.data(), keys.data() + keys.size());
  if (std::any_of(sorted.begin(), sorted.end(), [](double key) { return key != key; })) {
    throw py::value_error("key: found NaN, expected numbers");
  }
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::int64_t> ranks(count);
  for (std::size_t i = 0; i < count; ++i) {
    ranks[i] = std::lower_bound(sorted.begin(), sorted.end(), keys.data()[i]) - sorted.begin();
  }
  return ranks;
}

py::array topological(const ProblemView& view,
                      const std::optional<py::array_t<double, py::array::c_style>>& key) {
  const TaskGraph& graph = view.problem().graph;
  std::vector<TaskId> order;
  if (key) {
    const std::vector<std::int64_t> ranks = ranks_of(*key, graph.task_count());
    order = order_by_key(graph, [&](TaskId task) { return ranks[task.value()]; });
  } else {
    order = graph.topological_order();
  }
  return array_of<std::uint32_t>(order.size(), [&](std::size_t i) { return order[i].value(); });
}

py::dict machine_facts(const ProblemView& view) {
  const Platform& platform = view.problem().platform;
  const Device& device = platform.devices[DeviceId{0}];
  py::dict facts;
  facts["name"] = platform.name;
  facts["devices"] = platform.device_count();
  facts["connections"] = device.connections;
  facts["resident_kernels"] = device.resident_kernels;
  facts["priority_levels"] = device.priority_levels;
  facts["memory_bytes"] = device.memory_capacity.count();
  py::dict units;
  for (const UnitClass& each : device.unit_classes) units[py::str(each.name)] = each.count;
  facts["units"] = units;
  return facts;
}

void bind_problem(py::module_& module) {
  using Rank = IdVector<TaskId, Duration> (*)(const TaskGraph&, const IdVector<TaskId, Duration>&);
  const auto rank = [](Rank of) {
    return [of](const ProblemView& view) {
      return in_microseconds(of(view.problem().graph, view.problem().costs.durations()));
    };
  };
  py::class_<ProblemView, std::shared_ptr<ProblemView>>(
      module, "Problem", "A graph on a machine with its costs: what a policy plans.")
      .def_property_readonly("task_graph",
                             [](const ProblemView& view) {
                               return std::const_pointer_cast<TaskGraph>(view.prepared().graph);
                             })
      .def_property_readonly("machine", &machine_facts)
      .def_property_readonly("durations_us", &ProblemView::durations_us)
      .def("topological",
           &topological,
           py::arg("key") = py::none(),
           "Task numbers in a topological order: of the tasks that are ready always the one with "
           "the lowest key, the lowest number among equals.")
      .def("upward_rank_us",
           rank(&upward_rank),
           "Longest path from each task to any exit, the task itself included.")
      .def("downward_rank_us",
           rank(&downward_rank),
           "Longest path from any entry to each task, the task itself excluded.")
      .def("slack_us", rank(&slack), "Latest minus earliest start of each task.");
}

void bind_builder(py::module_& module) {
  py::class_<Builder>(module,
                      "PlanBuilder",
                      "Makes a plan from \"this task next, on that stream\". Events and waits "
                      "across streams follow from the graph.")
      .def(py::init<std::shared_ptr<ProblemView>, std::uint32_t>(),
           py::arg("problem"),
           py::arg("streams") = 0)
      .def(
          "add_stream",
          [](Builder& builder, int priority, std::string name, bool created, std::uint32_t device) {
            return builder.get()
                .add_stream(
                    {.device = DeviceId{device}, .priority = priority, .name = std::move(name)},
                    created)
                .value();
          },
          py::arg("priority") = 0,
          py::arg("name") = "",
          py::arg("created") = false,
          py::arg("device") = 0,
          "One more stream; its number. Negative priorities are more urgent.")
      .def("place",
           &Builder::place,
           py::arg("task"),
           py::arg("stream"),
           "The task comes next on the stream; all it needs must have been placed.")
      .def(
          "place", &Builder::place_after, py::arg("task"), py::arg("stream"), py::arg("also_after"))
      .def("place_all",
           &Builder::place_all,
           py::arg("tasks"),
           py::arg("streams"),
           "place() for each pair of two arrays, in their order.")
      .def(
          "place_on_earliest_finish",
          [](Builder& builder, std::uint32_t task) {
            builder.get().place_on_earliest_finish(builder.task(task));
          },
          py::arg("task"))
      .def(
          "earliest_free",
          [](Builder& builder) { return builder.get().earliest_free().value(); },
          "The stream that is free first, as if the host cost nothing.")
      .def(
          "earliest_finish",
          [](Builder& builder, std::uint32_t task) {
            return builder.get().earliest_finish(builder.task(task)).value();
          },
          py::arg("task"),
          "The stream on which the task would end first.")
      .def(
          "finish_on_us",
          [](Builder& builder, std::uint32_t task, std::uint32_t stream) {
            return to_us(builder.get().finish_on(builder.task(task), builder.stream(stream)));
          },
          py::arg("task"),
          py::arg("stream"))
      .def(
          "ready_us",
          [](Builder& builder, std::uint32_t task) {
            return to_us(builder.get().ready_time(builder.task(task)));
          },
          py::arg("task"))
      .def(
          "free_at_us",
          [](Builder& builder, std::uint32_t stream) {
            return to_us(builder.get().free_at(builder.stream(stream)));
          },
          py::arg("stream"))
      .def(
          "stream_of",
          [](Builder& builder, std::uint32_t task) -> std::optional<std::uint32_t> {
            const StreamId stream = builder.get().stream_of(builder.task(task));
            return stream.valid() ? std::optional{stream.value()} : std::nullopt;
          },
          py::arg("task"))
      .def("plan",
           &Builder::plan,
           py::arg("policy") = "python",
           "The plan of all that was placed; the builder is used up.");
}

}  // namespace

void bind_planning(py::module_& module) {
  bind_problem(module);
  py::class_<Plan, std::shared_ptr<Plan>>(module, "Plan", "A schedule as data.")
      .def_readonly("policy", &Plan::policy)
      .def_property_readonly("stream_count", [](const Plan& plan) { return plan.streams.size(); })
      .def_readonly("event_count", &Plan::event_count)
      .def_property_readonly("call_count", &Plan::call_count)
      .def_property_readonly("task_count", &Plan::task_count)
      .def("to_json", &plan_to_json, py::arg("graph"))
      .def("__eq__", [](const Plan& one, const Plan& other) { return one == other; });
  module.def("plan_of_json", [](const std::string& text, const TaskGraph& graph) {
    return plan_from_json(text, graph);
  });
  bind_builder(module);
}

}  // namespace schedlab::python
