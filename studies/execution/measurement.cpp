// SPDX-License-Identifier: Apache-2.0
#include "studies/execution/measurement.hpp"

#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"
#include "sim/base/wall_clock.hpp"
#include "sim/trace/compare.hpp"
#include "studies/execution/other_load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

namespace schedlab {
namespace {

/// Traces that are held while measuring: enough for the median not to be lost.
constexpr std::size_t held_traces = 9;
/// Share of the time for speed checks between rounds, those at the ends of groups apart.
constexpr double max_checking = 0.03;

/// A number in [0, size) for each place, in seeded random order (Fisher and Yates).
std::vector<std::size_t> shuffled(std::size_t size, Rng& rng) {
  std::vector<std::size_t> order(size);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = size; i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
  return order;
}

/// Runs of one round, kept only if the round is finished.
struct Round {
  struct Entry {
    std::size_t member = 0;
    RunRecord record;
    MeasuredRun run;
  };
  std::vector<Entry> entries;
};

class GroupRun {
 public:
  GroupRun(Measurer& measurer,
           const std::vector<Measurable>& group,
           Measurements& into,
           std::size_t kept,
           const StopFlag* stop)
      : measurer_(measurer),
        group_(group),
        into_(into),
        held_(std::max(kept, held_traces)),
        stop_(stop) {}

  /// False if it was stopped.
  [[nodiscard]] bool round(std::uint32_t number, bool warm_up, Rng& rng) {
    Round round;
    std::uint32_t position = 0;
    for (const std::size_t member : shuffled(group_.size(), rng)) {
      if (stop_requested(stop_)) return false;
      MeasuredScenario& scenario = into_.scenarios[group_[member].scenario];
      if (!scenario.note.empty()) continue;
      try {
        MeasuredRun run = measure(group_[member]);
        const Duration makespan = run.makespan.value_or(run.trace.makespan());
        const RunRecord record{number, position++, makespan};
        if (!warm_up) round.entries.push_back({member, record, std::move(run)});
      } catch (const Interrupted&) {
        return false;
      } catch (const std::exception& error) {
        scenario = {};
        scenario.note = error.what();
      }
    }
    for (Round::Entry& entry : round.entries) keep(std::move(entry));
    return true;
  }

 private:
  [[nodiscard]] MeasuredRun measure(const Measurable& one) {
    const std::unique_ptr<OnlinePolicy> online = one.online ? one.online() : nullptr;
    return measurer_.measure(
        {.scenario = one.scenario, .predicted = *one.predicted, .online = online.get()});
  }

  void keep(Round::Entry&& entry) {
    MeasuredScenario& scenario = into_.scenarios[group_[entry.member].scenario];
    if (!scenario.note.empty()) return;
    scenario.runs.push_back(entry.record);
    if (entry.run.tensors_peak) {
      scenario.tensors_peak =
          std::max(scenario.tensors_peak.value_or(Bytes{0}), *entry.run.tensors_peak);
    }
    if (entry.run.plan) scenario.plans.push_back(std::move(*entry.run.plan));
    scenario.traces.push_back(std::move(entry.run.trace));
    if (scenario.traces.size() > held_) keep_nearest_traces(scenario, held_ - 1);
  }

  Measurer& measurer_;
  const std::vector<Measurable>& group_;
  Measurements& into_;
  std::size_t held_;
  const StopFlag* stop_;
};

/// Asks the device for its speed between rounds, within a share of the time.
class SpeedChecks {
 public:
  SpeedChecks(Measurer& measurer, Measurements& into) : measurer_(measurer), into_(into) {}

  /// `always`: whatever it takes.
  void between_rounds(std::size_t group, std::uint32_t round, bool always) {
    if (!answers_) return;
    const double now = seconds();
    if (!always && spent_s_ > max_checking * now) return;
    try {
      auto reading = measurer_.check_speed();
      answers_ = reading.has_value();
      if (reading) into_.speed_checks.push_back({group, round, now, std::move(*reading)});
    } catch (const Interrupted&) {  // the next round will be, too
      answers_ = false;
    }
    spent_s_ += seconds() - now;
  }

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(Clock::now() - begin_).count();
  }

  Measurer& measurer_;
  Measurements& into_;
  Clock::time_point begin_ = Clock::now();
  double spent_s_ = 0;
  bool answers_ = true;
};

}  // namespace

void keep_nearest_traces(MeasuredScenario& scenario, std::size_t kept) {
  if (scenario.runs.empty()) return;
  std::vector<Duration> makespans;
  for (const RunRecord& run : scenario.runs) makespans.push_back(run.makespan);
  const Duration median = median_of(std::move(makespans));
  const auto distance = [&](const Trace& trace) {
    return std::chrono::abs(trace.makespan() - median);
  };
  std::vector<std::size_t> order(scenario.traces.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return distance(scenario.traces[a]) < distance(scenario.traces[b]);
  });
  if (order.size() > kept) order.resize(kept);
  MeasuredScenario nearest;
  for (const std::size_t i : order) {
    nearest.traces.push_back(std::move(scenario.traces[i]));
    if (!scenario.plans.empty()) nearest.plans.push_back(std::move(scenario.plans[i]));
  }
  scenario.traces = std::move(nearest.traces);
  scenario.plans = std::move(nearest.plans);
}

Measurements measure_interleaved(Measurer& measurer,
                                 const std::vector<std::vector<Measurable>>& groups,
                                 std::uint64_t scenarios,
                                 const InterleaveRequest& request,
                                 const StopFlag* stop,
                                 const MeasureObserver& observer) {
  Measurements result;
  result.device = measurer.device();
  result.date = now_utc();
  result.repetitions = request.repetitions;
  result.warm_up = request.warm_up;
  result.seed = request.seed;
  result.scenarios.resize(scenarios);
  const OtherLoad load;
  Rng rng(request.seed);
  std::uint64_t done = 0;
  SpeedChecks speed_checks(measurer, result);
  for (std::size_t index = 0; index < groups.size(); ++index) {
    const std::vector<Measurable>& group = groups[index];
    if (group.empty()) continue;
    measurer.begin_group();
    speed_checks.between_rounds(index, 0, true);
    GroupRun runs(measurer, group, result, request.kept_traces, stop);
    const std::uint32_t rounds = request.warm_up + request.repetitions;
    for (std::uint32_t round = 0; round < rounds && result.complete; ++round) {
      const bool warm_up = round < request.warm_up;
      result.complete = runs.round(warm_up ? round : round - request.warm_up, warm_up, rng);
      done += group.size();
      if (observer && result.complete) observer(done);
      const std::uint32_t next = round + 1;
      const std::uint32_t kept = next < request.warm_up ? 0 : next - request.warm_up;
      if (result.complete) speed_checks.between_rounds(index, kept, next == rounds);
    }
    for (const Measurable& one : group) {
      keep_nearest_traces(result.scenarios[one.scenario], request.kept_traces);
    }
    if (!result.complete) break;
  }
  result.other_load = load.share();
  return result;
}

}  // namespace schedlab
