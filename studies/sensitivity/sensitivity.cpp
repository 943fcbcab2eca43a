// SPDX-License-Identifier: Apache-2.0
#include "studies/sensitivity/sensitivity.hpp"

#include "sim/base/error.hpp"
#include "sim/trace/critical_path.hpp"
#include "studies/scenario/scenario_runner.hpp"
#include "studies/scenario/scenario_space.hpp"
#include "studies/spec/auto_split.hpp"
#include "studies/spec/axis_label.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <utility>

namespace schedlab {
namespace {

using Json = nlohmann::ordered_json;

constexpr double closest_factor = 1.001;  // order changes are bisected to this

/// As ComparedRuns::makespans.
using Makespans = std::optional<std::vector<Duration>>;

/// A machine file in which one number at a time is another.
class ChangedMachine {
 public:
  explicit ChangedMachine(const MachineSpec& machine)
      : json_(Json::parse(write_machine(machine))),
        profile_(machine.platform.devices[DeviceId{0}].profile) {}

  [[nodiscard]] bool has(const NumberSource& number) const {
    const Json::json_pointer at{number.pointer};
    return json_.contains(at) && (json_[at].is_number() || json_[at].contains("value"));
  }
  /// Numbers of things; of times, rates and shares the value alone may be whole.
  [[nodiscard]] bool is_whole(const NumberSource& number) const {
    const Json::json_pointer at{number.pointer};
    const Json& value = json_[at].is_number() ? json_[at] : json_[at]["value"];
    const std::string key = number.pointer.substr(number.pointer.rfind('/') + 1);
    const bool has_unit = key.ends_with("_us") || key.ends_with("_per_s") ||
                          key.ends_with("_kib") || key.ends_with("_mib") || key.ends_with("_gib") ||
                          number.pointer.find("tflop_per_s") != std::string::npos;
    return value.is_number_integer() && !has_unit;
  }
  /// Throws InputError where a machine cannot have this value.
  [[nodiscard]] MachineSpec with(const NumberSource& number, double value) const {
    Json changed = json_;
    Json& node = changed[Json::json_pointer{number.pointer}];
    Json& place = node.is_number() ? node : node["value"];
    place = is_whole(number) ? Json(static_cast<std::int64_t>(std::llround(value))) : Json(value);
    if (node.is_object()) {
      node.erase("low");  // must enclose the value
      node.erase("high");
    }
    MachineSpec made = read_machine(changed.dump(), number.pointer);
    // An equal profile is the same one, to which cost models fit once (Measured::fits).
    auto& profile = made.platform.devices[DeviceId{0}].profile;
    if (profile != nullptr && profile_ != nullptr && *profile == *profile_) profile = profile_;
    return made;
  }

 private:
  Json json_;
  std::shared_ptr<const KernelProfile> profile_;
};

/// Scenarios of a grid, on any machine in the place of theirs.
class ScenarioRuns {
 public:
  ScenarioRuns(const Spec& spec,
               const Grid& grid,
               const std::vector<std::uint64_t>& scenarios,
               const StopFlag* stop)
      : spec_(spec), grid_(grid), scenarios_(scenarios), stop_(stop), components_(spec, grid) {
    components_.keep_sources();
    machine_ = components_.machine(grid_.part_index(scenarios.front(), Part::machine));
    make_graphs();
  }

  [[nodiscard]] ComparedRuns compared() const {
    ComparedRuns runs{.name = spec_.name,
                      .machine = machine_,
                      .policies = {},
                      .makespans = [this](const MachineSpec& machine) { return on(machine); }};
    for (const std::uint64_t each : scenarios_) runs.policies.push_back(name_of(each));
    return runs;
  }

  /// What the critical path of the fastest consists of, longest first. Throws what the simulation
  /// of any of them throws.
  [[nodiscard]] std::vector<OperationShare> critical_operations() const {
    std::vector<OperationShare> operations;
    std::optional<Duration> least;
    on_machine(machine_, [&](std::size_t i, ScenarioRunner& runner) {
      const FullRun run = runner.run_fully(scenarios_[i]);
      if (least && run.trace.makespan() >= *least) return;
      least = run.trace.makespan();
      operations = critical_operations_of(run);
    });
    return operations;
  }

 private:
  /// The values in which it differs from the others.
  [[nodiscard]] std::string name_of(std::uint64_t scenario) const {
    const std::vector<Cell> cells = grid_.axis_values(scenario);
    std::string name;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (cells[i].index() == 0 || !distinguishes(i)) continue;
      name += (name.empty() ? "" : ", ") + to_string(cells[i]);
    }
    return name.empty() ? components_.policy_name(grid_.part_index(scenario, Part::policy)) : name;
  }

  [[nodiscard]] bool distinguishes(std::size_t axis) const {
    if (grid_.axes()[axis].values > 1 && grid_.axes()[axis].path.starts_with("/policy"))
      return true;
    const Cell first = grid_.axis_values(scenarios_.front())[axis];
    return std::any_of(scenarios_.begin(), scenarios_.end(), [&](std::uint64_t each) {
      return grid_.axis_values(each)[axis] != first;
    });
  }

  /// Once: no number of a machine changes them, unless slices are chosen by the time they take.
  void make_graphs() {
    graphs_.resize(scenarios_.size());
    if (leaves_split_open(spec_)) return;
    ScenarioSpace space(spec_, grid_, shared_);
    space.use_machine(machine_);
    std::map<std::pair<std::uint64_t, Granularity>, std::shared_ptr<const TaskGraph>> made;
    for (std::size_t i = 0; i < scenarios_.size(); ++i) {
      const Granularity granularity = space.scenario(scenarios_[i]).granularity;
      const std::uint64_t workload = grid_.part_index(scenarios_[i], Part::workload);
      std::shared_ptr<const TaskGraph>& graph = made[{workload, granularity}];
      if (graph == nullptr) {
        graph = std::make_shared<const TaskGraph>(components_.graph(workload, granularity, 0));
      }
      graphs_[i] = graph;
    }
  }

  /// Calls `visit` with each scenario and a space that has its graph and this machine.
  template <class Visit>
  void on_machine(const MachineSpec& machine, const Visit& visit) const {
    for (std::size_t i = 0; i < scenarios_.size(); ++i) {
      ScenarioSpace space(spec_, grid_, shared_);
      space.use_machine(machine);
      if (graphs_[i] != nullptr) space.use_graph(graphs_[i]);
      ScenarioRunner runner(space, stop_);
      visit(i, runner);
    }
  }

  [[nodiscard]] static std::vector<OperationShare> critical_operations_of(const FullRun& run) {
    const Problem problem = run.problem();
    const TraceCriticalPath path = trace_critical_path(problem, run.trace, {.plan = &run.plan});
    std::map<std::string, OperationShare> by_name;
    for (const PathStep& step : path.steps) {
      OperationShare& share = by_name[problem.graph.operation(step.task).name];
      ++share.tasks;
      share.running += step.ran;
    }
    std::vector<OperationShare> operations;
    for (auto& [name, share] : by_name) {
      share.operation = name;
      share.share = to_us(share.running) / to_us(run.trace.makespan());
      operations.push_back(share);
    }
    std::stable_sort(operations.begin(), operations.end(), [](const auto& a, const auto& b) {
      return a.running > b.running;
    });
    return operations;
  }

  [[nodiscard]] std::optional<std::vector<Duration>> on(const MachineSpec& machine) const {
    std::vector<Duration> makespans;
    on_machine(machine, [&](std::size_t i, ScenarioRunner& runner) {
      if (makespans.size() < i) return;  // one before it failed
      const ScenarioResult result = runner.run(scenarios_[i], false, {}, false);
      if (!result.failed) makespans.push_back(result.summary.makespan);
    });
    if (makespans.size() < scenarios_.size()) return std::nullopt;
    return makespans;
  }

  const Spec& spec_;
  const Grid& grid_;
  const std::vector<std::uint64_t>& scenarios_;
  const StopFlag* stop_;
  Components components_;
  MachineSpec machine_;
  std::shared_ptr<SharedParts> shared_ = std::make_shared<SharedParts>();
  std::vector<std::shared_ptr<const TaskGraph>> graphs_;  // nullptr: made by the space
};

/// Runs again with one number of the machine changed at a time.
class NumberStudy {
 public:
  NumberStudy(const ComparedRuns& runs, const SensitivityRequest& request)
      : runs_(runs), request_(request) {
    result_.name = runs.name;
    result_.machine = runs.machine.name;
    result_.step = request.step;
    result_.range = request.range;
    result_.sought = request.most_delicate;
    result_.policies = runs.policies;
    const Makespans nominal = run_on(runs.machine);
    if (!nominal) throw InfeasibleError(runs.name + ": cannot run on its machine");
    result_.makespans = *nominal;
    result_.fastest = static_cast<std::size_t>(std::min_element(nominal->begin(), nominal->end()) -
                                               nominal->begin());
    look_at_numbers(runs.machine);
  }

  [[nodiscard]] Sensitivity take() { return std::move(result_); }

 private:
  [[nodiscard]] Makespans run_on(const MachineSpec& machine) const {
    if (stop_requested(request_.stop)) throw Interrupted("stopped");
    return runs_.makespans(machine);
  }

  void look_at_numbers(const MachineSpec& machine) {
    const ChangedMachine changed(machine);
    std::vector<NumberSource> numbers;
    for (const NumberSource& number : machine.sources) {
      if (number.value != 0 && changed.has(number)) numbers.push_back(number);
    }
    std::uint64_t done = 0;
    for (const NumberSource& number : numbers) {
      NumberSensitivity found = elasticities(number, changed);
      if (!request_.most_delicate) seek_turns(found, changed);
      if (found.largest() == 0 && !found.below && !found.above) {
        ++result_.without_effect;
      } else {
        result_.numbers.push_back(std::move(found));
      }
      if (request_.observer) request_.observer(++done, numbers.size());
    }
    if (request_.most_delicate) seek_nearest_turns(changed);
    std::stable_sort(result_.numbers.begin(),
                     result_.numbers.end(),
                     [](const auto& a, const auto& b) { return a.largest() > b.largest(); });
  }

  /// With the number times `factor`; nullopt: no machine or no run has that.
  [[nodiscard]] Makespans at(const NumberSource& number,
                             const ChangedMachine& changed,
                             double factor) const {
    try {
      return run_on(changed.with(number, number.value * factor));
    } catch (const InputError&) {
      return std::nullopt;
    }
  }

  void seek_turns(NumberSensitivity& found, const ChangedMachine& changed) const {
    if (result_.policies.size() < 2) return;
    const bool idle = found.largest() == 0;
    found.below = turn(found.number, changed, 1 / request_.range, idle);
    found.above = turn(found.number, changed, request_.range, idle);
  }

  /// How far, in logarithms, the number has to go until another policy is as fast, if elasticities
  /// stay as they are.
  [[nodiscard]] double way_to_turn(const NumberSensitivity& found) const {
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < result_.policies.size(); ++i) {
      const double gain = std::abs(found.elasticity[i] - found.elasticity[result_.fastest]);
      if (gain <= 0) continue;
      const double lead =
          std::log(to_us(result_.makespans[i]) / to_us(result_.makespans[result_.fastest]));
      least = std::min(least, lead / gain);
    }
    return least;
  }

  void seek_nearest_turns(const ChangedMachine& changed) {
    std::stable_sort(
        result_.numbers.begin(), result_.numbers.end(), [this](const auto& a, const auto& b) {
          return way_to_turn(a) < way_to_turn(b);
        });
    const std::size_t count = std::min(result_.numbers.size(), *request_.most_delicate);
    for (std::size_t i = 0; i < count; ++i) seek_turns(result_.numbers[i], changed);
  }

  [[nodiscard]] NumberSensitivity elasticities(const NumberSource& number,
                                               const ChangedMachine& changed) const {
    double step = request_.step;
    if (changed.is_whole(number)) step = std::max(step, 1 / std::abs(number.value));
    const Makespans less = at(number, changed, 1 - step);
    const Makespans more = at(number, changed, 1 + step);
    NumberSensitivity found;
    found.number = number;
    for (std::size_t i = 0; i < result_.policies.size(); ++i) {
      // Where one side cannot be, the other one and the number itself.
      const double low = to_us(less ? (*less)[i] : result_.makespans[i]);
      const double high = to_us(more ? (*more)[i] : result_.makespans[i]);
      const double width = std::log(more ? 1 + step : 1.0) - std::log(less ? 1 - step : 1.0);
      found.elasticity.push_back(width > 0 && low > 0 && high > 0 ? std::log(high / low) / width
                                                                  : 0.0);
    }
    return found;
  }

  [[nodiscard]] std::size_t fastest_of(const std::vector<Duration>& makespans) const {
    // Of equals the one that is fastest now.
    std::size_t best = result_.fastest;
    for (std::size_t i = 0; i < makespans.size(); ++i) {
      if (makespans[i] < makespans[best]) best = i;
    }
    return best;
  }

  /// The factor nearest to 1, towards `end`, at which another policy is the fastest. `idle`: close
  /// to 1 it has no effect, and probably none at all.
  [[nodiscard]] std::optional<OrderChange> turn(const NumberSource& number,
                                                const ChangedMachine& changed,
                                                double end,
                                                bool idle) const {
    if (idle) {
      const Makespans there = at(number, changed, end);
      if (!there || *there == result_.makespans) return std::nullopt;
    }
    constexpr std::array<double, 5> parts{
        0.05, 0.15, 0.35, 0.65, 1.0};  // of the way, in logarithms
    double same = 1;
    for (const double part : parts) {
      double other = std::pow(end, part);
      const Makespans there = at(number, changed, other);
      if (!there) return std::nullopt;
      std::size_t winner = fastest_of(*there);
      if (winner == result_.fastest) {
        same = other;
        continue;
      }
      while (std::max(other / same, same / other) > closest_factor) {
        const double middle = std::sqrt(same * other);
        const Makespans between = at(number, changed, middle);
        const std::size_t now = between ? fastest_of(*between) : result_.fastest;
        (now == result_.fastest ? same : other) = middle;
        if (now != result_.fastest) winner = now;
      }
      const double value = number.value * other;
      return OrderChange{.factor = other,
                         .value = value,
                         .policy = result_.policies[winner],
                         .within_interval = number.low != number.high && value >= number.low &&
                                            value <= number.high};
    }
    return std::nullopt;
  }

  const ComparedRuns& runs_;
  const SensitivityRequest& request_;
  Sensitivity result_;
};

}  // namespace

double NumberSensitivity::largest() const {
  double most = 0;
  for (const double each : elasticity) most = std::max(most, std::abs(each));
  return most;
}

Sensitivity sensitivity(const ComparedRuns& runs, const SensitivityRequest& request) {
  return NumberStudy(runs, request).take();
}

Sensitivity sensitivity(const Spec& spec, const SensitivityRequest& request) {
  const Grid grid(spec);
  for (const AxisColumn& axis : grid.axes()) {
    if (axis.values < 2 || axis.path.starts_with("/policy")) continue;
    throw InputError({.file = spec.file,
                      .pointer = axis.path,
                      .found = fmt::format("an axis of {} values", axis.values),
                      .expected = "one case: an axis in \"policy\" alone",
                      .hint = {}});
  }
  std::vector<std::uint64_t> scenarios(grid.size());
  std::iota(scenarios.begin(), scenarios.end(), std::uint64_t{0});
  return sensitivity(spec, grid, scenarios, request);
}

Sensitivity sensitivity(const Spec& spec,
                        const Grid& grid,
                        const std::vector<std::uint64_t>& scenarios,
                        const SensitivityRequest& request) {
  const ScenarioRuns runs(spec, grid, scenarios, request.stop);
  std::vector<OperationShare> operations = runs.critical_operations();
  Sensitivity result = sensitivity(runs.compared(), request);
  result.operations = std::move(operations);
  return result;
}

}  // namespace schedlab
