// SPDX-License-Identifier: Apache-2.0
#include "studies/parallel/parallel_plan.hpp"

#include "hw_models/registry.hpp"
#include "sim/base/error.hpp"
#include "studies/parallel/parallel_bounds.hpp"
#include "studies/scenario/scenario_runner.hpp"
#include "studies/scenario/scenario_space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <tuple>
#include <utility>

namespace schedlab {
namespace {

constexpr std::size_t first_cuts = 32;  // of a choice; more when these are done

/// Machine and cost model, as scenarios of the spec have them.
struct ParallelMachine {
  explicit ParallelMachine(const ParallelSpec& spec)
      : scenario(parse_spec(
            detail::parallel_scenarios(spec, {}, {1}, std::nullopt, {}), spec.file, spec.folder)),
        grid(scenario) {
    if (grid.size() != spec.policies.size()) {
      throw InputError({.file = spec.file,
                        .pointer = "",
                        .found = "a list within \"machine\" or a policy",
                        .expected = "one machine, and one value of each option of a policy",
                        .hint = {}});
    }
    const Components components(scenario, grid);
    machine = components.machine(0);
    if (machine.platform.devices.empty()) {
      throw InputError({.file = spec.file,
                        .pointer = "/machine",
                        .found = spec.machine,
                        .expected = "a machine with a device",
                        .hint = {}});
    }
    costs = components.cost_model(0, machine);
  }

  Spec scenario;
  Grid grid;
  MachineSpec machine;
  std::unique_ptr<CostModel> costs;
};

/// A choice with the cuts of it that are still to be simulated.
struct OpenChoice {
  std::size_t index = 0;
  ParallelCuts cuts;
  std::size_t next = 0;   // of the cuts
  std::size_t asked = 0;  // cuts that were asked for
  std::vector<Duration> times;
};

class ParallelSearch {
 public:
  ParallelSearch(const ParallelSpec& spec, const StopFlag* stop, const ParallelObserver& observer)
      : spec_(spec),
        stop_(stop),
        observer_(observer),
        machine_(spec),
        space_(spec, *machine_.costs, machine_.machine.platform),
        bounds_(space_, *machine_.costs, machine_.machine.platform) {
    plan_.spec = &spec;
    plan_.machine = machine_.machine.name;
    plan_.choices = space_.choices().size();
    plan_.layers = space_.layers(space_.choices().front()).graph.layers.size();
    plan_.memory_limit =
        spec.memory_limit.value_or(machine_.machine.platform.devices[DeviceId{0}].memory_capacity);
  }

  ParallelPlan run() {
    try {
      open_choices();
      simulate_by_bound();
    } catch (const Interrupted&) {
      plan_.stopped = true;
    }
    finish();
    return std::move(plan_);
  }

 private:
  using Entry = std::tuple<Duration, std::size_t>;  // bound of the next cut, choice

  void open_choices() {
    for (std::size_t i = 0; i < space_.choices().size(); ++i) {
      if (stop_requested(stop_)) {
        cut_off_ = Duration{0};  // nothing is known of the others
        throw Interrupted("stopped");
      }
      open_.emplace_back().index = i;
      for (const ParallelPolicy& policy : spec_.policies) {
        open_.back().times.push_back(space_.tries(policy, space_.choices()[i]) ? Duration::max()
                                                                               : Duration{0});
      }
      look_at_cuts(open_.back(), first_cuts);
      plan_.too_large += open_.back().cuts.too_large;
      plan_.cuts += open_.back().cuts.fitting + open_.back().cuts.too_large;
      queue(open_.back());
    }
  }

  void look_at_cuts(OpenChoice& open, std::size_t most) {
    open.cuts =
        best_cuts(bounds_, space_.choices()[open.index], plan_.layers, plan_.memory_limit, most);
    open.asked = most;
  }

  void queue(OpenChoice& open) {
    if (open.next == open.cuts.cuts.size() && open.cuts.all && open.cuts.fitting > open.next &&
        open.cuts.others < threshold()) {
      look_at_cuts(open, 4 * open.asked);
    }
    if (open.next < open.cuts.cuts.size()) {
      queue_.emplace(open.cuts.cuts[open.next].bound.time, open.index);
    } else {
      cut_off_ = std::min(cut_off_, open.cuts.others);
    }
  }

  void simulate_by_bound() {
    while (!queue_.empty()) {
      const auto [bound, index] = queue_.top();
      if (bound >= threshold()) return;
      if (plan_.simulations >= spec_.simulations) {
        plan_.stopped = true;
        return;
      }
      OpenChoice& open = open_[index];
      // A further cut of the choice makes none of its rows better.
      if (bound < *std::max_element(open.times.begin(), open.times.end())) simulate(open);
      queue_.pop();
      ++open.next;
      queue(open);
    }
  }

  /// The time of the last row that is wanted: nothing that is not faster matters.
  [[nodiscard]] Duration threshold() const {
    return times_.size() < spec_.rows ? Duration::max() : times_[spec_.rows - 1];
  }

  void simulate(OpenChoice& open) {
    const ParallelChoice& choice = space_.choices()[open.index];
    const ParallelCut& cut = open.cuts.cuts[open.next];
    const Spec scenarios = parse_spec(
        detail::parallel_scenarios(spec_, choice, cut.layers_per_stage, std::nullopt, {}),
        spec_.file,
        spec_.folder);
    const Grid grid(scenarios);
    ScenarioSpace space(scenarios, grid);
    space.use_machine(machine_.machine);
    ScenarioRunner runner(space, stop_);
    for (std::size_t policy = 0; policy < spec_.policies.size(); ++policy) {
      if (cut.bound.time >= open.times[policy]) continue;
      if (stop_requested(stop_)) throw Interrupted("stopped");
      const ScenarioResult result = runner.run(policy, true);
      ++plan_.simulations;
      if (observer_) observer_(plan_.simulations);
      if (result.failed || result.findings > 0) {
        note(result);
        open.times[policy] = Duration{0};  // it has no plan for such a pipeline
        continue;
      }
      take(open, policy, cut, result.summary);
    }
  }

  void note(const ScenarioResult& result) {
    if (failure_.empty()) failure_ = result.note;
  }

  void take(OpenChoice& open, std::size_t policy, const ParallelCut& cut, const Summary& summary) {
    if (summary.makespan < cut.bound.time) bounds_hold_ = false;
    ParallelRow row{.choice = space_.choices()[open.index],
                    .policy = policy,
                    .layers_per_stage = cut.layers_per_stage,
                    .time = summary.makespan,
                    .bound = cut.bound.time,
                    .bubble_share = summary.bubble_share.value_or(0),
                    .sums = cut.bound.sums,
                    .memory = summary.peak_memory};
    if (plan_.memory_limit > Bytes{0} && row.memory > plan_.memory_limit) {
      ++plan_.too_large;
      if (!plan_.unfit || row.time < plan_.unfit->time) plan_.unfit = row;
      least_memory_ = least_memory_ == Bytes{0} ? row.memory : std::min(least_memory_, row.memory);
      return;
    }
    if (row.time >= open.times[policy]) return;
    open.times[policy] = row.time;
    best_.insert_or_assign({open.index, policy}, std::move(row));
    times_.clear();
    for (const ParallelRow* each : different_rows()) times_.push_back(each->time);
  }

  /// By rising time. Of schedules that take a choice the same time the one that needs least memory:
  /// on a single stage all are one.
  [[nodiscard]] std::vector<const ParallelRow*> different_rows() const {
    std::map<std::pair<std::size_t, Duration>, const ParallelRow*> different;
    for (const auto& [key, row] : best_) {
      const ParallelRow*& kept = different[{key.first, row.time}];
      if (kept == nullptr || row.memory < kept->memory) kept = &row;
    }
    std::vector<const ParallelRow*> rows;
    for (const auto& [key, row] : different) rows.push_back(row);
    std::stable_sort(rows.begin(), rows.end(), [](const ParallelRow* a, const ParallelRow* b) {
      return a->time < b->time;
    });
    return rows;
  }

  void finish() {
    if (best_.empty()) nothing_fits();
    for (const ParallelRow* row : different_rows()) plan_.rows.push_back(*row);
    if (plan_.rows.size() > spec_.rows) plan_.rows.resize(spec_.rows);
    Duration frontier = bounds_hold_ ? cut_off_ : Duration{0};
    if (!queue_.empty()) frontier = std::min(frontier, std::get<Duration>(queue_.top()));
    plan_.exact_rows = static_cast<std::size_t>(
        std::count_if(plan_.rows.begin(), plan_.rows.end(), [&](const ParallelRow& row) {
          return row.time <= frontier;
        }));
    plan_.lower_bound = std::min(frontier, plan_.rows.front().time);
    if (plan_.unfit && plan_.unfit->time >= plan_.rows.front().time) plan_.unfit.reset();
  }

  [[noreturn]] void nothing_fits() const {
    if (plan_.stopped) throw Interrupted("stopped before the first plan was simulated");
    if (!failure_.empty()) throw InfeasibleError(failure_);
    throw InfeasibleError(
        fmt::format("{}: no plan for {} devices fits into {:.1f} GiB each{}",
                    spec_.file,
                    spec_.devices,
                    static_cast<double>(plan_.memory_limit.count()) / (1 << 30),
                    least_memory_ > Bytes{0}
                        ? fmt::format("; the emptiest of {} simulated ones needs {:.1f} GiB",
                                      plan_.simulations,
                                      static_cast<double>(least_memory_.count()) / (1 << 30))
                        : "; parameters, their optimizer state and one microbatch need more"),
        "memory",
        fmt::format("{}", least_memory_.count()),
        fmt::format("{}", plan_.memory_limit.count()));
  }

  const ParallelSpec& spec_;
  const StopFlag* stop_;
  const ParallelObserver& observer_;
  ParallelMachine machine_;
  ParallelSpace space_;
  ParallelBounds bounds_;
  ParallelPlan plan_;
  std::vector<OpenChoice> open_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
  std::map<std::pair<std::size_t, std::size_t>, ParallelRow> best_;  // by choice, policy
  std::vector<Duration> times_;                                      // of different_rows(), rising
  Duration cut_off_ = Duration::max();  // bound of cuts that are not looked at
  Bytes least_memory_{};
  std::string failure_;
  bool bounds_hold_ = true;
};

}  // namespace

Duration ParallelRow::idle() const {
  return Duration{std::llround(bubble_share * static_cast<double>(time.count()))};
}

ParallelPlan plan_parallel(const ParallelSpec& spec,
                           const StopFlag* stop,
                           const ParallelObserver& observer) {
  return ParallelSearch(spec, stop, observer).run();
}

}  // namespace schedlab
