// SPDX-License-Identifier: Apache-2.0
#include "policies/list_moves.hpp"

#include "policies/idle_gaps.hpp"
#include "sim/graph/levels.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace schedlab {
namespace {

/// Tasks that are listed first are the most urgent.
Urgency urgency_of_order(const std::vector<TaskId>& order) {
  Urgency urgency(order.size(), 0);
  for (std::size_t i = 0; i < order.size(); ++i) {
    urgency[order[i]] = 2 * static_cast<std::int64_t>(order.size() - i);
  }
  return urgency;
}

}  // namespace

ListMoves::ListMoves(const Problem& problem)
    : problem_(problem),
      duration_(problem.costs.durations()),
      rank_(upward_rank(problem.graph, duration_)) {
  const auto shortest = std::min_element(duration_.begin(), duration_.end());
  if (shortest != duration_.end()) shortest_ = *shortest;
}

Urgency ListMoves::justified(const Ends& ends, std::uint32_t streams) const {
  const TaskGraph& graph = problem_.graph;
  std::vector<TaskId> order(ends.size());
  std::iota(order.begin(), order.end(), TaskId{0});
  // A task that takes no time may end with its successor: of two with one end the lower rank goes
  // first, which is never the predecessor.
  std::sort(order.begin(), order.end(), [&](TaskId a, TaskId b) {
    if (ends[a] != ends[b]) return ends[a] > ends[b];
    if (rank_[a] != rank_[b]) return rank_[a] < rank_[b];
    return a > b;
  });
  std::vector<IdleGaps> idle(streams, IdleGaps{shortest_});
  Ends backwards(ends.size(), Time{});  // from the end of the schedule to the start of the task
  Urgency urgency(ends.size(), 0);
  for (const TaskId task : order) {
    Time ready{};
    for (const TaskId after : graph.successors(task)) ready = std::max(ready, backwards[after]);
    std::size_t best = 0;
    Time start = Time::max();
    for (std::size_t stream = 0; stream < streams && start != ready; ++stream) {
      const Time here = idle[stream].earliest_start(ready, duration_[task]);
      if (here >= start) continue;
      best = stream;
      start = here;
    }
    idle[best].occupy(start, duration_[task]);
    backwards[task] = start + duration_[task];
    urgency[task] = backwards[task].time_since_epoch().count();
  }
  return urgency;
}

std::vector<TaskId> ListMoves::by_start(const Ends& ends) const {
  std::vector<TaskId> order(ends.size());
  std::iota(order.begin(), order.end(), TaskId{0});
  std::sort(order.begin(), order.end(), [&](TaskId a, TaskId b) {
    const Time start_a = ends[a] - duration_[a];
    const Time start_b = ends[b] - duration_[b];
    if (start_a != start_b) return start_a < start_b;
    if (ends[a] != ends[b]) return ends[a] < ends[b];
    if (rank_[a] != rank_[b]) return rank_[a] > rank_[b];
    return a < b;
  });
  return order;
}

/// Branch and bound over the orders of a window, each task on the stream that is free first.
class ListMoves::Window {
 public:
  Window(const ListMoves& moves, std::vector<TaskId>& order, std::uint32_t streams)
      : moves_(moves), order_(order), free_(streams, Time{}), ends_(order.size(), Time{}) {}

  void run(std::size_t first, std::size_t count) {
    for (std::size_t i = 0; i < first; ++i) place(order_[i]);
    for (std::size_t i = first + count; i < order_.size(); ++i) {
      later_work_ += moves_.duration_[order_[i]];
    }
    placed_.assign(order_.size(), true);
    for (std::size_t i = first; i < order_.size(); ++i) placed_[order_[i]] = false;
    left_.assign(order_.begin() + static_cast<std::ptrdiff_t>(first),
                 order_.begin() + static_cast<std::ptrdiff_t>(first + count));
    for (const TaskId task : left_) later_work_ += moves_.duration_[task];
    branch(Time{});
    std::copy(best_.begin(), best_.end(), order_.begin() + static_cast<std::ptrdiff_t>(first));
  }

 private:
  /// What an order leaves behind, the first deciding.
  using Rest = std::pair<Time, Duration>;

  Time place(TaskId task) {
    const auto stream = std::min_element(free_.begin(), free_.end());
    Time start = *stream;
    for (const TaskId before : moves_.problem_.graph.predecessors(task)) {
      start = std::max(start, ends_[before]);
    }
    ends_[task] = start + moves_.duration_[task];
    *stream = ends_[task];
    return start;
  }

  /// `path`: the longest from tasks placed in the window.
  [[nodiscard]] Rest rest(Time path) const {
    Duration busy{0};
    for (const Time time : free_) busy += time.time_since_epoch();
    const auto streams = static_cast<std::int64_t>(free_.size());
    const Time work{(busy + later_work_ + Duration{streams - 1}) / streams};
    return {std::max(path, work), busy};
  }

  void branch(Time path) {
    if (++nodes_ > most_nodes && !best_.empty()) return;
    const Rest here = rest(path);
    if (!best_.empty() && here >= best_rest_) return;
    if (chosen_.size() == left_.size()) {
      best_ = chosen_;
      best_rest_ = here;
      return;
    }
    for (const TaskId task : left_) {
      if (placed_[task] || !ready(task)) continue;
      const std::vector<Time> free = free_;
      const Time start = place(task);
      placed_[task] = true;
      chosen_.push_back(task);
      later_work_ -= moves_.duration_[task];
      branch(std::max(path, start + moves_.rank_[task]));
      later_work_ += moves_.duration_[task];
      chosen_.pop_back();
      placed_[task] = false;
      free_ = free;
    }
  }
  [[nodiscard]] bool ready(TaskId task) const {
    const auto before = moves_.problem_.graph.predecessors(task);
    return std::all_of(
        before.begin(), before.end(), [&](TaskId other) { return bool{placed_[other]}; });
  }

  const ListMoves& moves_;
  std::vector<TaskId>& order_;
  std::vector<Time> free_;
  IdVector<TaskId, Time> ends_;
  IdVector<TaskId, bool> placed_;
  std::vector<TaskId> left_;  // the window
  std::vector<TaskId> chosen_;
  Duration later_work_{0};  // not placed yet
  std::vector<TaskId> best_;
  Rest best_rest_{};
  std::size_t nodes_ = 0;
};

Urgency ListMoves::with_best_window(const Ends& ends,
                                    std::uint32_t streams,
                                    std::size_t first,
                                    std::size_t count) const {
  std::vector<TaskId> order = by_start(ends);
  Window{*this, order, streams}.run(first, std::min(count, order.size() - first));
  return urgency_of_order(order);
}

}  // namespace schedlab
