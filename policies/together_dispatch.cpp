// SPDX-License-Identifier: Apache-2.0
#include "policies/together_dispatch.hpp"

#include "sim/machine/residency.hpp"

#include <algorithm>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

constexpr std::size_t most_candidates = 16;  // that are looked at together; assumed

/// What a task asks of the units of its class.
struct UnitDemand {
  std::uint32_t unit_class = 0;
  std::uint32_t units = 0;   ///< of the class; 0: unlimited
  std::uint32_t blocks = 1;  ///< that run at once
  Residency residency;
  double alone = 1.0;  ///< on the fullest unit, of what it gets done
};

UnitDemand demand_of(const CostTable::Entry& entry, const Device& device) {
  UnitDemand demand;
  if (!entry.unit_class.valid()) return demand;
  demand.unit_class = entry.unit_class.value() + 1;
  demand.units = device.unit_classes[entry.unit_class].count;
  demand.residency = residency(entry.estimate, device.sm_limits);
  demand.blocks = entry.estimate.blocks != 0 ? entry.estimate.blocks : std::max(1U, entry.units);
  if (demand.units == 0) return demand;
  const WavesAlone waves = waves_alone(demand.residency, demand.blocks, demand.units);
  demand.blocks = waves.wave;
  demand.alone = static_cast<double>(waves.first) / unit_throughput;
  return demand;
}

/// Running blocks on the units of one class.
class ClassLoad {
 public:
  /// False: there is no free slot for a block.
  bool add(const UnitDemand& demand) {
    units_ = demand.units;
    if (units_ == 0) return true;
    const double residents = demand.residency.residents;
    const double free = (static_cast<double>(units_) - used_) * residents;
    if (free < 1.0) return false;
    const double blocks = std::min(free, static_cast<double>(demand.blocks));
    used_ += blocks / residents;
    if (demand.residency.residents == 1) {
      whole_ += blocks;
      return true;
    }
    ++tasks_;
    blocks_ += static_cast<std::int64_t>(blocks);
    wanted_ += static_cast<std::int64_t>(blocks) * demand.residency.throughput;
    most_ = std::max(most_, demand.residency.most());
    return true;
  }
  /// On the fullest unit, over what it gets done, at least 1.
  [[nodiscard]] double slowdown(double factor) const {
    const auto shared = static_cast<std::int64_t>(static_cast<double>(units_) - whole_);
    if (blocks_ == 0 || shared <= 0) return 1.0;
    const auto full = static_cast<double>(unit_throughput);
    double slowest =
        std::max(1.0, static_cast<double>(on_fullest_unit(blocks_, wanted_, shared, most_)) / full);
    if (tasks_ > 1) {
      slowest = std::max(
          slowest, static_cast<double>(wanted_) / full / (static_cast<double>(shared) * factor));
    }
    return slowest;
  }
  /// Part of the units that get something done.
  [[nodiscard]] double done(double factor) const {
    if (units_ == 0) return 0.0;
    const double shared = static_cast<double>(wanted_) / unit_throughput / slowdown(factor);
    return (whole_ + shared) / units_;
  }

 private:
  std::uint32_t units_ = 0;
  double used_ = 0.0;
  double whole_ = 0.0;
  std::uint32_t tasks_ = 0;
  std::int64_t blocks_ = 0;
  std::int64_t wanted_ = 0;
  std::int64_t most_ = 0;
};

class Together {
 public:
  Together(const Problem& problem, std::uint32_t streams, const Urgency& urgency, double least_gain)
      : problem_(problem),
        least_gain_(least_gain),
        graph_(problem.graph),
        urgency_(urgency),
        device_(problem.platform.devices[DeviceId{0}]),
        builder_(problem),
        missing_(graph_.task_count(), 0),
        ready_at_(graph_.task_count(), 0.0) {
    builder_.add_streams(streams);
    last_on_.assign(streams, TaskId::none());
    busy_.assign(streams, false);
  }

  [[nodiscard]] PlanBuilder run() && {
    for (const TaskId task : graph_.tasks()) {
      missing_[task] = static_cast<std::uint32_t>(graph_.predecessors(task).size());
      if (missing_[task] == 0) ready_.emplace(urgency_[task], task);
    }
    start_some();
    while (!running_.empty()) {
      advance();
      start_some();
    }
    return std::move(builder_);
  }

 private:
  struct LessUrgent {
    bool operator()(const std::pair<std::int64_t, TaskId>& a,
                    const std::pair<std::int64_t, TaskId>& b) const {
      return a.first != b.first ? a.first < b.first : a.second > b.second;
    }
  };
  struct Running {
    TaskId task;
    StreamId stream;
    UnitDemand demand;
    double left = 0.0;  ///< ps, alone
  };
  using Loads = std::vector<ClassLoad>;

  [[nodiscard]] UnitDemand demand(TaskId task) const {
    return demand_of(problem_.costs.entry(task, DeviceId{0}), device_);
  }
  [[nodiscard]] double done(const Loads& loads) const {
    double all = 0.0;
    for (const ClassLoad& load : loads) all += load.done(device_.co_residency_factor);
    return all;
  }
  [[nodiscard]] Loads loads() const {
    Loads loads(device_.unit_classes.size() + 1);
    for (const Running& each : running_) (void)loads[each.demand.unit_class].add(each.demand);
    return loads;
  }

  [[nodiscard]] double speed(const Running& running, const Loads& loads) const {
    const UnitDemand& demand = running.demand;
    if (demand.units == 0 || demand.residency.residents == 1) return 1.0;
    const double slowdown = loads[demand.unit_class].slowdown(device_.co_residency_factor);
    return std::min(1.0, demand.alone / slowdown);
  }

  /// To the next end, and all that end with it.
  void advance() {
    const Loads now = loads();
    double next = std::numeric_limits<double>::max();
    for (const Running& each : running_) next = std::min(next, each.left / speed(each, now));
    now_ += next;
    for (Running& each : std::exchange(running_, {})) {
      each.left -= next * speed(each, now);
      if (each.left > 1.0) {
        running_.push_back(each);
      } else {
        finish(each);
      }
    }
  }

  void finish(const Running& ended) {
    busy_[ended.stream.value()] = false;
    last_ended_ = ended.task;
    for (const TaskId after : graph_.successors(ended.task)) {
      if (--missing_[after] != 0) continue;
      ready_at_[after] = now_;
      ready_.emplace(urgency_[after], after);
    }
  }

  void start_some() {
    std::vector<std::pair<std::int64_t, TaskId>> candidates;
    const std::size_t idle = busy_.size() - running_.size();
    while (candidates.size() < std::min(idle, most_candidates) && !ready_.empty()) {
      candidates.push_back(ready_.top());
      ready_.pop();
    }
    const std::size_t starting = how_many(candidates);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (i < starting) {
        start(candidates[i].second);
      } else {
        ready_.push(candidates[i]);
      }
    }
  }

  [[nodiscard]] std::size_t how_many(
      const std::vector<std::pair<std::int64_t, TaskId>>& candidates) const {
    if (candidates.empty()) return 0;
    Loads with = loads();
    double best = done(with);
    const bool first_starts = std::ranges::none_of(running_, [&](const Running& each) {
      return urgency_[each.task] >= candidates.front().first;
    });
    std::size_t fewest = first_starts ? 1 : 0;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const UnitDemand next = demand(candidates[i].second);
      if (!with[next.unit_class].add(next)) break;
      const double all = done(with);
      if (next.units != 0 && !(all > best + least_gain_) && !(i == 0 && first_starts)) continue;
      best = all;
      fewest = i + 1;
    }
    return fewest;
  }

  void start(TaskId task) {
    const StreamId stream = idle_stream(task);
    const bool held = ready_at_[task] < now_ && last_ended_.valid();
    builder_.place(task, stream, held ? std::span{&last_ended_, 1} : std::span<const TaskId>{});
    busy_[stream.value()] = true;
    last_on_[stream.value()] = task;
    running_.push_back({task,
                        stream,
                        demand(task),
                        static_cast<double>(problem_.costs.duration(task, DeviceId{0}).count())});
  }

  /// Behind a task that it depends on, or the first.
  [[nodiscard]] StreamId idle_stream(TaskId task) const {
    StreamId found;
    for (std::uint32_t i = 0; i < busy_.size(); ++i) {
      if (busy_[i]) continue;
      if (!found.valid()) found = StreamId{i};
      const auto needed = graph_.predecessors(task);
      if (last_on_[i].valid() && std::ranges::find(needed, last_on_[i]) != needed.end()) {
        return StreamId{i};
      }
    }
    return found;
  }

  const Problem& problem_;
  double least_gain_;
  const TaskGraph& graph_;
  const Urgency& urgency_;
  const Device& device_;
  PlanBuilder builder_;
  IdVector<TaskId, std::uint32_t> missing_;
  IdVector<TaskId, double> ready_at_;
  std::priority_queue<std::pair<std::int64_t, TaskId>,
                      std::vector<std::pair<std::int64_t, TaskId>>,
                      LessUrgent>
      ready_;
  std::vector<Running> running_;
  std::vector<TaskId> last_on_;
  std::vector<bool> busy_;
  TaskId last_ended_;
  double now_ = 0.0;
};

}  // namespace

bool gains_by_holding(const Problem& problem) {
  const Platform& platform = problem.platform;
  if (!shares_units(platform.sharing) || platform.device_count() != 1) return false;
  const SmLimits& limits = platform.devices[DeviceId{0}].sm_limits;
  const auto tasks = problem.graph.tasks();
  return std::any_of(tasks.begin(), tasks.end(), [&](TaskId task) {
    return residency(problem.costs.entry(task, DeviceId{0}).estimate, limits).oversubscribes();
  });
}

PlanBuilder dispatch_together(const Problem& problem,
                              std::uint32_t streams,
                              const Urgency& urgency,
                              double least_gain) {
  return Together{problem, streams, urgency, least_gain}.run();
}

}  // namespace schedlab
