// SPDX-License-Identifier: Apache-2.0
#include "policies/registry.hpp"
#include "python/module/bindings.hpp"
#include "python/module/interrupt_guard.hpp"
#include "python/module/problem_view.hpp"
#include "python/module/python_stream.hpp"
#include "python/module/tables.hpp"
#include "sim/base/enum_names.hpp"
#include "sim/base/error.hpp"
#include "studies/base/progress.hpp"
#include "studies/scenario/scenario_space.hpp"
#include "studies/scenario/simulation.hpp"
#include "studies/search/scenario_search.hpp"
#include "studies/search/search_files.hpp"
#include "studies/spec/grid.hpp"
#include "studies/spec/spec.hpp"
#include "studies/sweep/results_csv.hpp"
#include "studies/sweep/speed_up.hpp"
#include "studies/sweep/sweep_run.hpp"

#include <fmt/format.h>
#include <pybind11/stl.h>

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace schedlab::python {
namespace {

namespace py = pybind11;

/// What the registry would say of a policy that is none of its own.
const PolicyInfo& own_policy_info() {
  static const PolicyInfo info{.name = "python",
                               .summary = "A policy of the caller.",
                               .source = "the caller",
                               .options = {},
                               .make = {},
                               .for_ranks = false,
                               .ready_made = true};
  return info;
}

/// A plan that is there already.
class GivenPlan final : public Policy {
 public:
  explicit GivenPlan(Plan plan) : plan_(std::move(plan)) {}
  [[nodiscard]] std::string_view name() const override { return plan_.policy; }
  [[nodiscard]] Plan plan(const Problem&) const override { return plan_; }

 private:
  Plan plan_;
};

std::shared_ptr<const ScenarioPolicy> as_scenario_policy(std::unique_ptr<Policy> policy) {
  auto made = std::make_shared<ScenarioPolicy>();
  made->policy = std::move(policy);
  made->info = &own_policy_info();
  return made;
}

Granularity granularity_of(const std::string& word) {
  for (const Granularity granularity : all_granularities) {
    if (granularity_name(granularity) == word) return granularity;
  }
  throw py::value_error(
      fmt::format("granularity: found \"{}\", expected coarse, fine, matmul, "
                  "data_and_weight or kernel_and_weight",
                  word));
}

Objective objective_named(const std::string& word) {
  if (const auto objective = enum_from<Objective>(word)) return *objective;
  throw py::value_error(fmt::format("objective: found \"{}\", expected mean or p90", word));
}

/// A function that makes plans, with its name and its limits.
struct Planner {
  py::object function;
  std::string name;
  std::string granularity = "fine";
  std::uint64_t steps = 0;
};

/// A spec as a value: its scenarios, with what they share.
class Case {
 public:
  /// `graph`: in the place of the spec's workload; nullptr: the spec has its own.
  Case(std::string text,
       std::string file,
       const std::string& folder,
       std::shared_ptr<TaskGraph> graph)
      : spec_(parse_spec(std::move(text), std::move(file), folder)),
        grid_(spec_, reserved_columns(spec_)),
        space_(spec_, grid_) {
    if (graph != nullptr) space_.use_graph(std::move(graph));
    space_.components().check_all();
  }

  [[nodiscard]] const Spec& spec() const { return spec_; }
  [[nodiscard]] const Grid& grid() const { return grid_; }
  [[nodiscard]] ScenarioSpace& space() { return space_; }

  [[nodiscard]] std::string title(std::uint64_t number, const std::string& policy) const {
    return fmt::format("{}: {} on {}",
                       spec_.name,
                       policy,
                       grid_.part_label(Part::machine, grid_.part_index(number, Part::machine)));
  }

  [[nodiscard]] std::shared_ptr<Simulation> simulate(std::uint64_t number) {
    expect_number(number);
    return without_lock([&](const StopFlag* stop) {
      const std::string policy =
          grid_.part_label(Part::policy, grid_.part_index(number, Part::policy));
      return std::make_shared<Simulation>(schedlab::simulate(
          space_, space_.scenario(number, {}, stop), title(number, policy), stop));
    });
  }

  [[nodiscard]] std::shared_ptr<Simulation> simulate_planned(std::uint64_t number,
                                                             const Planner& planner) {
    expect_number(number);
    const Granularity granularity = granularity_of(planner.granularity);
    return without_lock([&](const StopFlag* stop) {
      Scenario scenario = space_.scenario(number, {.granularity = granularity}, stop);
      std::unique_ptr<Policy> policy;
      {
        const py::gil_scoped_acquire lock;
        policy = std::make_unique<PythonPolicy>(
            planner.function, planner.name, scenario.problem, planner.steps);
      }
      scenario.policy = as_scenario_policy(std::move(policy));
      return std::make_shared<Simulation>(
          schedlab::simulate(space_, scenario, title(number, planner.name), stop));
    });
  }

  [[nodiscard]] std::shared_ptr<Simulation> simulate_plan(std::uint64_t number,
                                                          const Plan& plan,
                                                          const std::string& granularity) {
    expect_number(number);
    const Granularity wanted = granularity_of(granularity);
    return without_lock([&](const StopFlag* stop) {
      Scenario scenario = space_.scenario(number, {.granularity = wanted}, stop);
      scenario.policy = as_scenario_policy(std::make_unique<GivenPlan>(plan));
      return std::make_shared<Simulation>(
          schedlab::simulate(space_, scenario, title(number, plan.policy), stop));
    });
  }

  [[nodiscard]] std::shared_ptr<ProblemView> problem(std::uint64_t number,
                                                     const std::string& granularity) {
    expect_number(number);
    const Granularity wanted = granularity_of(granularity);
    return without_lock([&](const StopFlag* stop) {
      auto whole = space_.scenario(number, {.granularity = wanted}, stop).problem;
      return std::make_shared<ProblemView>(whole->planned != nullptr ? whole->planned : whole);
    });
  }

  /// -> (columns of results.csv, are rows missing, what Ctrl-C raises). `database`: the file that
  /// keeps rows while the sweep runs.
  [[nodiscard]] py::tuple sweep(unsigned jobs,
                                bool check,
                                const std::string& database,
                                const py::object& terminal,
                                bool interactive) {
    InterruptGuard guard;
    PythonStream progress_stream(terminal);
    Table table;
    bool interrupted = false;
    {
      const py::gil_scoped_release released;
      const auto baseline = Baseline::of(spec_, grid_);
      ResultsStore store = open_results(spec_, grid_, database, false);
      const Terminal shown{progress_stream, progress_stream, interactive};
      Progress progress(shown, grid_.size(), 0);
      const SweepRequest request{.out = {}, .jobs = jobs, .check = spec_.check && check};
      interrupted = run_scenarios(space_, store, request, guard.stop(), [&](std::uint64_t done) {
                      progress.update(done);
                    }).interrupted;
      progress.finish();
      table = results_table(store, baseline, std::numeric_limits<std::uint64_t>::max());
    }
    return py::make_tuple(table_columns(table), interrupted, guard.pending());
  }

  /// -> (what was found, was it asked to stop, what Ctrl-C raises).
  [[nodiscard]] py::tuple search(const SearchSettings& given) {
    const InterruptGuard guard;  // hears what comes after the search has ended, too
    bool stopped = false;
    auto found = without_lock([&](const StopFlag* stop) {
      SearchSettings settings = given;
      settings.stop = stop;
      auto made = std::make_shared<FoundSchedule>(search_case(space_, spec_.file, settings));
      stopped = stop_requested(stop);
      return made;
    });
    return py::make_tuple(std::move(found), stopped, guard.pending());
  }

  [[nodiscard]] std::shared_ptr<Simulation> simulate_found(const FoundSchedule& found) {
    return without_lock([&](const StopFlag* stop) {
      Scenario scenario = found.scenario;
      Plan plan = found.plan;
      plan.policy = "search";
      scenario.policy = as_scenario_policy(std::make_unique<GivenPlan>(std::move(plan)));
      return std::make_shared<Simulation>(
          schedlab::simulate(space_, scenario, title(scenario.number, "search"), stop));
    });
  }

 private:
  void expect_number(std::uint64_t number) const {
    if (number < grid_.size()) return;
    throw py::index_error(fmt::format("scenario {} of {}", number, grid_.size()));
  }

  Spec spec_;
  Grid grid_;
  ScenarioSpace space_;
};

void bind_search(py::module_& module) {
  py::class_<SearchSettings>(module, "SearchSettings")
      .def(py::init([](double seconds,
                       std::uint64_t evaluations,
                       double gap,
                       std::uint64_t seed,
                       std::uint32_t max_streams,
                       std::uint32_t jobs,
                       std::uint64_t samples,
                       const std::string& objective,
                       std::string start_file,
                       std::optional<Plan> start_plan) {
        SearchSettings settings;
        settings.limits = {.seconds = seconds, .evaluations = evaluations, .gap = gap / 100};
        settings.seed = seed;
        settings.max_streams = max_streams;
        settings.islands = jobs;
        settings.start = {.file = std::move(start_file), .plan = std::move(start_plan)};
        settings.scatter = {.samples = samples, .objective = objective_named(objective)};
        return settings;
      }));
  py::class_<FoundSchedule, std::shared_ptr<FoundSchedule>>(module, "FoundSchedule")
      .def_property_readonly("makespan_us",
                             [](const FoundSchedule& found) { return to_us(found.makespan); })
      .def_property_readonly("gap", &FoundSchedule::gap)
      .def_property_readonly("proven_optimal", &FoundSchedule::proven_optimal)
      .def_readonly("begun_with", &FoundSchedule::begun_with)
      .def_property_readonly("begun_at_us",
                             [](const FoundSchedule& found) { return to_us(found.begun_at); })
      .def_readonly("evaluations", &FoundSchedule::evaluations)
      .def_readonly("seconds", &FoundSchedule::seconds)
      .def_property_readonly("plan",
                             [](const std::shared_ptr<FoundSchedule>& found) {
                               return std::shared_ptr<Plan>(found, &found->plan);
                             })
      .def("json", &search_json)
      .def("write",
           [](const FoundSchedule& found, const std::string& folder) {
             static_cast<void>(write_search(folder, found));
           })
      .def("picture", &search_picture);
}

}  // namespace

void bind_case(py::module_& module) {
  bind_search(module);
  py::class_<Planner>(module, "Planner")
      .def(py::init([](py::object function,
                       std::string name,
                       std::string granularity,
                       std::uint64_t steps) {
             return Planner{std::move(function), std::move(name), std::move(granularity), steps};
           }),
           py::arg("function"),
           py::arg("name"),
           py::arg("granularity"),
           py::arg("steps"));
  py::class_<Case>(module, "Case")
      .def(py::init<std::string, std::string, const std::string&, std::shared_ptr<TaskGraph>>(),
           py::arg("text"),
           py::arg("file"),
           py::arg("folder"),
           py::arg("graph") = std::shared_ptr<TaskGraph>{},
           py::call_guard<py::gil_scoped_release>())
      .def_property_readonly("size", [](const Case& of) { return of.grid().size(); })
      .def("describe",
           [](const Case& of, std::uint64_t number) { return of.grid().describe(number); })
      .def("simulate", &Case::simulate, py::arg("number") = 0)
      .def("simulate_planned", &Case::simulate_planned, py::arg("number"), py::arg("planner"))
      .def("simulate_plan",
           &Case::simulate_plan,
           py::arg("number"),
           py::arg("plan"),
           py::arg("granularity") = "fine")
      .def("problem", &Case::problem, py::arg("number") = 0, py::arg("granularity") = "fine")
      .def("sweep",
           &Case::sweep,
           py::arg("jobs"),
           py::arg("check"),
           py::arg("database"),
           py::arg("terminal"),
           py::arg("interactive"))
      .def("search", &Case::search)
      .def("simulate_found", &Case::simulate_found);
}

}  // namespace schedlab::python
