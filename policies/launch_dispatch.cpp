// SPDX-License-Identifier: Apache-2.0
#include "policies/launch_dispatch.hpp"

#include "sim/bounds/demands.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

constexpr std::size_t most_merged = 32;  // tasks of a stream that a wait may go on to; assumed

Duration launch_cost(const Problem& problem, TaskId task) {
  const CostTable::Entry& entry = problem.costs.entry(task, DeviceId{0});
  const Host& host = problem.platform.hosts[HostId{0}];
  return host.operator_cost() * std::int64_t{entry.launches} + entry.calls;
}

}  // namespace

bool waits_for_host(const Problem& problem, Duration makespan) {
  if (problem.platform.device_count() != 1) return false;
  Duration launching{0};
  for (const TaskId task : problem.graph.tasks()) launching += launch_cost(problem, task);
  return 5 * launching > 2 * makespan && launching <= makespan;
}

LaunchDispatch::LaunchDispatch(const Problem& problem) : problem_(problem) {
  const CostTable& costs = problem.costs;
  for (const TaskId task : problem.graph.tasks()) launch_.push_back(launch_cost(problem, task));
  const BoundProblem on{.problem = problem};
  for (const Pool& pool : pools_of(on)) {
    if (serves_before_start(pool)) continue;
    IdVector<TaskId, float>& shares = shares_.emplace_back();
    for (const TaskId task : problem.graph.tasks()) {
      const auto taken = static_cast<float>(amount(on, pool, task));
      const auto all =
          static_cast<float>(pool.capacity) * static_cast<float>(costs.duration(task).count());
      shares.push_back(all > 0 ? taken / all : 0.0F);
    }
  }
}

class LaunchDispatch::Run {
 public:
  Run(const LaunchDispatch& on, const Urgency& urgency, const LaunchDispatchOptions& options)
      : on_(on),
        graph_(on.problem_.graph),
        urgency_(urgency),
        options_(options),
        host_(on.problem_.platform.hosts[HostId{0}].costs),
        device_(on.problem_.platform.devices[DeviceId{0}]),
        missing_(graph_.task_count(), 0),
        ready_at_(graph_.task_count(), Time{}),
        end_(graph_.task_count(), Time{}),
        stream_of_(graph_.task_count(), 0),
        place_(graph_.task_count(), 0),
        recorded_(graph_.task_count(), false),
        before_(graph_.task_count() * options.streams, 0),
        known_(std::size_t{options.streams} * options.streams, 0),
        streams_(options.streams) {
    if (on.launch_.empty()) return;
    const Duration all = std::accumulate(on.launch_.begin(), on.launch_.end(), Duration{0});
    const Duration mean = all / static_cast<std::int64_t>(on.launch_.size());
    ahead_ = mean * (1 + std::int64_t{options.ahead}) + device_.launch_latency;
  }

  [[nodiscard]] PlanBuilder run() {
    for (const TaskId task : graph_.tasks()) {
      missing_[task] = static_cast<std::uint32_t>(graph_.predecessors(task).size());
      if (missing_[task] == 0) ready_.push_back(task);
    }
    while (!ready_.empty()) {
      const auto next = next_to_launch();
      const TaskId task = *next;
      ready_.erase(next);
      launch(task, best_start(task));
    }
    PlanBuilder builder{on_.problem_};
    builder.add_streams(options_.streams);
    for (const Launched& each : launched_) {
      builder.place(each.task, StreamId{stream_of_[each.task]}, each.also_after);
    }
    return builder;
  }

 private:
  struct Start {
    std::uint32_t stream = 0;
    Time at = Time::max();
    Duration calls{0};  // records and waits
  };

  struct Launched {
    TaskId task;
    std::vector<TaskId> also_after{};
  };

  [[nodiscard]] std::vector<TaskId>::iterator next_to_launch() {
    const Time now = clock_ + ahead_;
    const auto better = [&](TaskId a, TaskId b) {
      const Time start_a = std::max(now, ready_at_[a]);
      const Time start_b = std::max(now, ready_at_[b]);
      if (start_a != start_b) return start_a < start_b;
      if (urgency_[a] != urgency_[b]) return urgency_[a] > urgency_[b];
      return a < b;
    };
    return std::min_element(ready_.begin(), ready_.end(), better);
  }

  [[nodiscard]] std::uint32_t& known(std::uint32_t stream, std::uint32_t of) {
    return known_[stream * options_.streams + of];
  }
  [[nodiscard]] std::uint32_t& before(TaskId task, std::uint32_t of) {
    return before_[std::size_t{task.value()} * options_.streams + of];
  }
  [[nodiscard]] bool must_wait(TaskId earlier, std::uint32_t stream) {
    const std::uint32_t of = stream_of_[earlier];
    return of != stream && known(stream, of) < place_[earlier];
  }

  [[nodiscard]] Start start_on(TaskId task, std::uint32_t stream) {
    Start start{.stream = stream};
    start.at =
        streams_[stream].empty() ? Time{} : end_[streams_[stream].back()] + device_.stream_gap;
    for (const TaskId earlier : graph_.predecessors(task)) {
      if (!must_wait(earlier, stream)) {
        const bool same = stream_of_[earlier] == stream;
        start.at = std::max(start.at, end_[earlier] + (same ? device_.stream_gap : Duration{0}));
        continue;
      }
      start.calls += host_.wait + (recorded_[earlier] ? Duration{0} : host_.record);
      start.at = std::max(start.at, end_[earlier] + device_.event_latency);
    }
    start.at =
        std::max(start.at, clock_ + start.calls + on_.launch_[task] + device_.launch_latency);
    return start;
  }

  [[nodiscard]] Start best_start(TaskId task) {
    Start best;
    for (std::uint32_t stream = 0; stream < options_.streams; ++stream) {
      const Start here = start_on(task, stream);
      // What the host does more for it all later tasks wait for as well.
      const Duration priced = (here.calls - best.calls) * std::int64_t{options_.price};
      if (best.at == Time::max() || here.at + priced < best.at) best = here;
      if (streams_[stream].empty()) break;  // all others are as empty
    }
    return best;
  }

  /// The last task of the other's stream that ends in time, or the other itself.
  [[nodiscard]] TaskId merged(TaskId earlier, Time start) const {
    const std::vector<TaskId>& on = streams_[stream_of_[earlier]];
    for (std::size_t i = on.size(); i > place_[earlier] && i + most_merged > on.size(); --i) {
      if (end_[on[i - 1]] + device_.event_latency <= start) return on[i - 1];
    }
    return earlier;
  }

  void launch(TaskId task, const Start& start) {
    waits_.assign(graph_.predecessors(task).begin(), graph_.predecessors(task).end());
    std::ranges::sort(waits_, [&](TaskId a, TaskId b) { return end_[a] > end_[b]; });
    Launched& launched = launched_.emplace_back(Launched{.task = task});
    for (const TaskId earlier : waits_) {
      if (!must_wait(earlier, start.stream)) continue;
      const TaskId last = merged(earlier, start.at);
      if (last != earlier) launched.also_after.push_back(last);
      clock_ += host_.wait + (recorded_[last] ? Duration{0} : host_.record);
      recorded_[last] = true;
      for (std::uint32_t of = 0; of < options_.streams; ++of) {
        known(start.stream, of) = std::max(known(start.stream, of), before(last, of));
      }
    }
    clock_ += on_.launch_[task];
    streams_[start.stream].push_back(task);
    stream_of_[task] = start.stream;
    place_[task] = static_cast<std::uint32_t>(streams_[start.stream].size());
    known(start.stream, start.stream) = place_[task];
    for (std::uint32_t of = 0; of < options_.streams; ++of)
      before(task, of) = known(start.stream, of);
    end_[task] = end_of(task, start);
    for (const TaskId after : graph_.successors(task)) {
      ready_at_[after] = std::max(ready_at_[after], end_[task]);
      if (--missing_[after] == 0) ready_.push_back(after);
    }
  }

  [[nodiscard]] Time end_of(TaskId task, const Start& start) {
    beside_.clear();
    for (std::uint32_t stream = 0; stream < options_.streams; ++stream) {
      if (stream == start.stream || streams_[stream].empty()) continue;
      const TaskId last = streams_[stream].back();
      if (end_[last] > start.at) beside_.push_back(last);
    }
    float stretch = 1.0F;
    for (const IdVector<TaskId, float>& shares : on_.shares_) {
      float sum = shares[task];
      for (const TaskId other : beside_) sum += shares[other];
      stretch = std::max(stretch, sum);
    }
    const auto alone = static_cast<double>(on_.problem_.costs.duration(task).count());
    return start.at + Duration{static_cast<std::int64_t>(alone * stretch)};
  }

  const LaunchDispatch& on_;
  const TaskGraph& graph_;
  const Urgency& urgency_;
  LaunchDispatchOptions options_;
  const HostCosts& host_;
  const Device& device_;
  Duration ahead_{0};  // from now on, what could start within it is launched by urgency
  Time clock_{};       // of the host
  std::vector<TaskId> ready_;
  IdVector<TaskId, std::uint32_t> missing_;
  IdVector<TaskId, Time> ready_at_;
  IdVector<TaskId, Time> end_;
  IdVector<TaskId, std::uint32_t> stream_of_;
  IdVector<TaskId, std::uint32_t> place_;  // in its stream, from 1
  IdVector<TaskId, bool> recorded_;
  std::vector<std::uint32_t> before_;  // of each task: how many of each stream are before its end
  std::vector<std::uint32_t> known_;   // of each stream: how many of each are before its next task
  std::vector<std::vector<TaskId>> streams_;
  std::vector<Launched> launched_;
  std::vector<TaskId> waits_;
  std::vector<TaskId> beside_;
};

PlanBuilder LaunchDispatch::plan(const Urgency& urgency,
                                 const LaunchDispatchOptions& options) const {
  return Run{*this, urgency, options}.run();
}

}  // namespace schedlab
