// SPDX-License-Identifier: Apache-2.0
#include "policies/list_schedule.hpp"

#include "policies/idle_gaps.hpp"
#include "policies/option_specs.hpp"
#include "policies/wavefront.hpp"
#include "sim/plan/accumulations.hpp"
#include "sim/trace/time_order.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

namespace schedlab {
namespace {

/// Ready tasks, the most urgent on top, the lower id among equals.
class ReadyQueue {
 public:
  void push(TaskId task, std::int64_t urgency) { heap_.emplace(-urgency, task); }
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  TaskId pop() {
    const TaskId task = heap_.top().second;
    heap_.pop();
    return task;
  }

 private:
  using Entry = std::pair<std::int64_t, TaskId>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> heap_;
};

class Dispatcher {
 public:
  Dispatcher(const Problem& problem, std::uint32_t streams, const Urgency& urgency)
      : graph_(problem.graph),
        costs_(problem.costs),
        by_arrival_(urgency.empty()),
        urgency_(urgency),
        builder_(problem),
        accumulations_(problem.graph),
        missing_(problem.graph.task_count(), 0) {
    if (by_arrival_) urgency_.assign(graph_.task_count(), 0);
    builder_.add_streams(streams);
    for (std::uint32_t i = 0; i < streams; ++i) idle_.emplace(Time{}, StreamId{i});
    if (!accumulations_.empty()) {
      busy_.assign(graph_.tensors().size(), false);
      waiting_.resize(graph_.tensors().size());
    }
  }

  [[nodiscard]] PlanBuilder run() && {
    for (const TaskId task : graph_.tasks()) {
      missing_[task] = static_cast<std::uint32_t>(graph_.predecessors(task).size());
      if (missing_[task] == 0) arrive(task);
    }
    dispatch(Time{});
    while (!running_.empty()) {
      const Time now = running_.top().first;
      // Everything that ends now ends before anything starts, so that no task loses its turn.
      while (!running_.empty() && running_.top().first == now) {
        const TaskId task = running_.top().second;
        running_.pop();
        finish(task, now);
      }
      dispatch(now);
    }
    return std::move(builder_);
  }

 private:
  void arrive(TaskId task) {
    if (by_arrival_) urgency_[task] = -arrivals_++;
    ready_.push(task, urgency_[task]);
  }

  void finish(TaskId task, Time now) {
    idle_.emplace(now, builder_.stream_of(task));
    for (const TensorId tensor : accumulations_.of(task)) {
      busy_[tensor] = false;
      // Only the most urgent is let go: the others would find the tensor taken.
      if (waiting_[tensor].empty()) continue;
      const TaskId next = waiting_[tensor].pop();
      ready_.push(next, urgency_[next]);
    }
    for (const TaskId after : graph_.successors(task)) {
      if (--missing_[after] == 0) arrive(after);
    }
  }

  void dispatch(Time now) {
    while (!idle_.empty() && !ready_.empty()) {
      const TaskId task = ready_.pop();
      if (park(task)) continue;
      const StreamId stream = idle_.top().second;
      idle_.pop();
      for (const TensorId tensor : accumulations_.of(task)) busy_[tensor] = true;
      builder_.place(task, stream);
      running_.emplace(now + costs_.duration(task), task);
    }
  }

  /// Sets the task aside if a tensor it adds into is taken.
  [[nodiscard]] bool park(TaskId task) {
    const auto tensors = accumulations_.of(task);
    const auto taken = std::find_if(
        tensors.begin(), tensors.end(), [&](TensorId tensor) { return bool{busy_[tensor]}; });
    if (taken == tensors.end()) return false;
    waiting_[*taken].push(task, urgency_[task]);
    return true;
  }

  template <class Id>
  using EarliestFirst =
      std::priority_queue<std::pair<Time, Id>, std::vector<std::pair<Time, Id>>, std::greater<>>;

  const TaskGraph& graph_;
  const CostTable& costs_;
  bool by_arrival_;
  std::int64_t arrivals_ = 0;
  Urgency urgency_;
  PlanBuilder builder_;
  Accumulations accumulations_;
  ReadyQueue ready_;
  IdVector<TaskId, std::uint32_t> missing_;
  IdVector<TensorId, bool> busy_;
  IdVector<TensorId, ReadyQueue> waiting_;
  EarliestFirst<StreamId> idle_;
  EarliestFirst<TaskId> running_;
};

/// Works out when each task starts on which stream, before anything is put into a stream.
class Inserter {
 public:
  Inserter(const Problem& problem, std::uint32_t streams)
      : graph_(problem.graph),
        duration_(problem.costs.durations()),
        accumulations_(problem.graph),
        finish_(problem.graph.task_count()) {
    const auto shortest = std::min_element(duration_.begin(), duration_.end());
    shortest_ = shortest == duration_.end() ? Duration{0} : *shortest;
    for (std::uint32_t i = 0; i < streams; ++i) idle_.push_back(IdleGaps{shortest_});
    if (!accumulations_.empty()) free_.resize(graph_.tensors().size());
    placed_.reserve(graph_.task_count());
  }

  void place(TaskId task) {
    const Time ready = ready_time(task);
    StreamId best{0};
    Time start = Time::max();
    for (const StreamId stream : idle_.ids()) {  // equal streams: who starts first ends first
      const Time here = idle_[stream].earliest_start(ready, duration_[task]);
      if (here >= start) continue;
      best = stream;
      start = here;
      if (start == ready) break;  // none can start earlier
    }
    idle_[best].occupy(start, duration_[task]);
    finish_[task] = start + duration_[task];
    for (const TensorId tensor : accumulations_.of(task)) free_[tensor] = finish_[task];
    placed_.push_back({task, best, start});
  }

  /// By start; where a task takes no time, it comes before what starts when it ends.
  void emit(PlanBuilder& builder) const {
    std::vector<std::uint32_t> order(placed_.size());
    std::iota(order.begin(), order.end(), 0U);
    if (shortest_ == Duration{0}) {
      sort_by(order, [&](const Placed& p) { return finish_[p.task]; });
    }
    sort_by(order, [](const Placed& p) { return p.start; });
    for (const std::uint32_t i : order) builder.place(placed_[i].task, placed_[i].stream);
  }

 private:
  struct Placed {
    TaskId task;
    StreamId stream;
    Time start;
  };

  [[nodiscard]] Time ready_time(TaskId task) const {
    Time ready{};
    for (const TaskId before : graph_.predecessors(task)) ready = std::max(ready, finish_[before]);
    for (const TensorId tensor : accumulations_.of(task)) ready = std::max(ready, free_[tensor]);
    return ready;
  }

  /// Stable.
  template <class TimeOf>
  void sort_by(std::vector<std::uint32_t>& order, TimeOf time_of) const {
    std::vector<std::int64_t> times(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      times[i] = time_of(placed_[order[i]]).time_since_epoch().count();
    }
    TimeOrder sorter;
    std::vector<std::uint32_t> sorted(order.size());
    std::size_t to = 0;
    for (const std::uint32_t from : sorter.by_time(times)) sorted[to++] = order[from];
    order = std::move(sorted);
  }

  const TaskGraph& graph_;
  IdVector<TaskId, Duration> duration_;
  Duration shortest_{0};
  Accumulations accumulations_;
  IdVector<StreamId, IdleGaps> idle_;
  IdVector<TaskId, Time> finish_;
  IdVector<TensorId, Time> free_;  ///< when the last that adds into it ends
  std::vector<Placed> placed_;
};

}  // namespace

Urgency urgency_of(const IdVector<TaskId, Duration>& rank) {
  Urgency urgency(rank.size(), 0);
  for (const TaskId task : rank.ids()) urgency[task] = rank[task].count();
  return urgency;
}

PlanBuilder dispatch_when_idle(const Problem& problem,
                               std::uint32_t streams,
                               const Urgency& urgency) {
  return Dispatcher{problem, streams, urgency}.run();
}

PlanBuilder place_on_earliest_finish(const Problem& problem,
                                     std::uint32_t streams,
                                     const Urgency& urgency,
                                     Insertion insertion) {
  const auto order = order_by_key(problem.graph, [&](TaskId task) { return -urgency[task]; });
  PlanBuilder builder{problem};
  builder.add_streams(streams);
  if (insertion == Insertion::none) {
    for (const TaskId task : order) builder.place_on_earliest_finish(task);
    return builder;
  }
  Inserter inserter{problem, streams};
  for (const TaskId task : order) inserter.place(task);
  inserter.emit(builder);
  return builder;
}

std::vector<OptionSpec> list_options() {
  OptionSpec streams = max_streams_option(default_list_streams, "Number of streams.");
  streams.minimum = 1;
  return {std::move(streams)};
}

}  // namespace schedlab
