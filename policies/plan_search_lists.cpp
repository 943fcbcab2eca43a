// SPDX-License-Identifier: Apache-2.0
#include "policies/plan_search.hpp"
#include "policies/together_dispatch.hpp"

#include <algorithm>
#include <array>
#include <utility>

/// \file
/// PlanSearch's lists: what it begins with, how they change and what plans they are.
namespace schedlab {
namespace {

constexpr std::uint64_t least_window = 4;  // tasks whose best order is found; assumed
constexpr std::uint64_t most_window = 9;   // assumed
constexpr std::uint64_t most_ahead = 8;    // LaunchDispatchOptions; assumed
constexpr std::uint64_t most_price = 12;   // likewise; assumed

/// List::least_gain, of the units; below 0 tasks start that make others lose more; assumed
constexpr std::array<double, 4> least_gains{1e-6, -1e-6, -0.05, 0.03};

/// Orders of starts and numbers of streams tried before all else, as the best number may be far
/// from that of the best start; assumed.
constexpr std::size_t most_first_starts = 4;
constexpr std::array<std::uint32_t, 2> first_streams{2, 4};

LaunchDispatchOptions some_launches(Rng& rng) {
  const auto ahead = static_cast<std::uint32_t>(rng.below(most_ahead));
  return {.ahead = ahead, .price = 1 + static_cast<std::uint32_t>(rng.below(most_price))};
}

}  // namespace

void PlanSearch::add_first_lists(std::span<const ScoredPlan> starts) {
  const auto add_launches =
      [&](std::uint32_t streams, const Urgency& urgency, std::uint32_t price) {
        if (!launch_dispatch_) return;
        first_lists_.push_back({.decoder = Decoder::launches,
                                .streams = std::min(streams, options().max_streams),
                                .urgency = urgency,
                                .launches = {.ahead = 2, .price = price}});
      };
  for (const ScoredPlan& start : starts.first(std::min(starts.size(), most_first_starts))) {
    const auto placement = placement_of(problem_, start.plan);
    if (!placement) continue;
    for (const std::uint32_t price : {3U, 8U}) add_launches(6, in_order(*placement), price);
    for (const std::uint32_t streams : first_streams) {
      if (streams > options().max_streams) continue;
      for (const Decoder decoder : {Decoder::dispatch, Decoder::insertion}) {
        first_lists_.push_back({decoder, streams, 0.0, in_order(*placement)});
      }
    }
  }
  add_launches(4, list_.urgency, 1);
  add_launches(6, list_.urgency, 3);
  if (holds_) {
    for (const std::uint32_t streams : {8U, 32U}) {
      for (const double least_gain : least_gains) {
        first_lists_.push_back({Decoder::together,
                                std::min(streams, options().max_streams),
                                least_gain,
                                list_.urgency});
      }
    }
  }
}

PlanBuilder PlanSearch::decoded(const List& list) const {
  if (list.decoder == Decoder::together) {
    return dispatch_together(problem_, list.streams, list.urgency, list.least_gain);
  }
  if (list.decoder == Decoder::launches) {
    LaunchDispatchOptions launches = list.launches;
    launches.streams = list.streams;
    return launch_dispatch_->plan(list.urgency, launches);
  }
  if (list.decoder == Decoder::dispatch) {
    return dispatch_when_idle(problem_, list.streams, list.urgency);
  }
  return place_on_earliest_finish(problem_, list.streams, list.urgency, Insertion::idle_gaps);
}

PlanSearch::List PlanSearch::swapped(const List& list) {
  List next = list;
  const TaskId task = some_task();
  const TaskId other = some_task();
  if (rng().below(2) == 0) {
    std::swap(next.urgency[task], next.urgency[other]);
  } else {
    next.urgency[task] = next.urgency[other] + (rng().below(2) == 0 ? 1 : -1);
  }
  return next;
}

/// From the schedule of the list, by durations alone.
PlanSearch::List PlanSearch::improved(const List& list) {
  List next = list;
  next.decoder = Decoder::insertion;
  if (rng().below(2) == 0) {
    // Of two tasks one takes the place of the other, or the list would only converge.
    ListMoves::Ends ends = list_ends_;
    const TaskId task = some_task();
    ends[task] = ends[some_task()];
    next.urgency = list_moves_.justified(ends, list.streams);
  } else {
    const std::uint64_t count = least_window + rng().below(most_window - least_window + 1);
    const std::uint64_t tasks = list_ends_.size();
    const std::uint64_t first = tasks > count ? rng().below(tasks - count + 1) : 0;
    next.urgency = list_moves_.with_best_window(list_ends_, list.streams, first, count);
  }
  return next;
}

/// All tasks of one operation, of one layer or of all, are launched earlier or later than others.
PlanSearch::List PlanSearch::shifted(const List& list) {
  List next = list;
  const TaskId like = some_task();
  const TaskGraph& graph = problem_.graph;
  const bool one_layer = rng().below(2) == 0;
  const std::uint64_t steps = rng().below(4);
  const auto [least, most] = std::minmax_element(list.urgency.begin(), list.urgency.end());
  const std::int64_t eighth = std::max<std::int64_t>(1, (*most - *least) / 8);
  const auto size = static_cast<std::int64_t>(rng().below(static_cast<std::uint64_t>(eighth)));
  const std::int64_t shift = rng().below(2) == 0 ? 1 + size : -1 - size;
  for (const TaskId task : graph.tasks()) {
    if (graph.operation_id(task) != graph.operation_id(like)) continue;
    if (one_layer && graph.tags(task).layer != graph.tags(like).layer) continue;
    if (steps == 0 && graph.tags(task).step > graph.tags(like).step) continue;
    if (steps == 1 && graph.tags(task).step < graph.tags(like).step) continue;
    next.urgency[task] += shift;
  }
  return next;
}

/// Of a list that is decoded by launches.
PlanSearch::List PlanSearch::changed_launches(const List& list) {
  const std::uint64_t kind = rng().below(8);
  if (kind < 4) return shifted(list);
  if (kind < 6) return swapped(list);
  List next = list;
  if (kind == 6) {
    const bool more = rng().below(2) == 0;
    next.streams =
        std::clamp(more ? next.streams + 1 : next.streams - 1, 1U, options().max_streams);
  } else {
    next.launches = some_launches(rng());
  }
  return next;
}

PlanSearch::List PlanSearch::changed(const List& list) {
  if (list.decoder == Decoder::launches && rng().below(16) != 0) return changed_launches(list);
  constexpr std::uint64_t kinds = 20;
  const std::uint64_t kind = rng().below(kinds);
  // What improves schedules by the durations alone knows nothing of tasks run together.
  if (kind > kinds / 2 && !list_ends_.empty() && list.decoder != Decoder::together &&
      list.decoder != Decoder::launches) {
    return improved(list);
  }
  if (kind > 1) return swapped(list);
  List next = list;
  if (kind == 0) {
    const bool more = rng().below(2) == 0;
    next.streams =
        std::clamp(more ? next.streams + 1 : next.streams - 1, 1U, options().max_streams);
    return next;
  }
  if (launch_dispatch_ && rng().below(2) == 0) {
    next.decoder = Decoder::launches;
    next.launches = some_launches(rng());
    return next;
  }
  if (!holds_) {
    next.decoder = next.decoder == Decoder::dispatch ? Decoder::insertion : Decoder::dispatch;
    return next;
  }
  next.decoder = static_cast<Decoder>(rng().below(3));
  next.least_gain = least_gains[rng().below(least_gains.size())];
  return next;
}

void PlanSearch::step_list() {
  const bool first = !first_lists_.empty();
  List next = first ? std::move(first_lists_.back()) : changed(list_);
  if (first) first_lists_.pop_back();
  PlanBuilder builder = decoded(next);
  const Duration before = best().makespan;
  Placement placement = builder.placement();
  const auto outcome = scored(std::move(builder).build("search"));
  if (!outcome) return;
  if (first ? outcome->makespan < first_makespan_ : list_late_.accepts(outcome->makespan)) {
    if (first) first_makespan_ = outcome->makespan;
    list_ = std::move(next);
    list_ends_.clear();
    if (outcome->trace != nullptr) {
      list_ends_.resize(problem_.graph.task_count());
      for (const TaskSpan& span : outcome->trace->tasks) list_ends_[span.task] = span.ended;
    }
  }
  if (outcome->makespan >= before) return;
  ++list_gain_;
  set_placement(std::move(placement));
  placement_late_.restart(outcome->makespan);
}

}  // namespace schedlab
