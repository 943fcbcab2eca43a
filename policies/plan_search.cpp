// SPDX-License-Identifier: Apache-2.0
#include "policies/plan_search.hpp"

#include "policies/together_dispatch.hpp"
#include "sim/base/error.hpp"
#include "sim/graph/levels.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace schedlab {
namespace {

constexpr std::uint64_t least_patience = 400;    // evaluations without progress; assumed
constexpr std::uint64_t most_patience = 20'000;  // assumed
constexpr double awaited_share = 0.7;            // of moves; assumed
constexpr std::uint64_t most_segment = 8;        // tasks that change their stream together; assumed

/// Where each task is launched.
IdVector<TaskId, std::uint32_t> positions(const Placement& placement) {
  IdVector<TaskId, std::uint32_t> position(placement.stream_of.size(), 0);
  for (std::uint32_t i = 0; i < placement.order.size(); ++i) position[placement.order[i]] = i;
  return position;
}

std::uint32_t used_streams(const Placement& placement) {
  IdVector<StreamId, bool> used(placement.streams.size(), false);
  for (const StreamId stream : placement.stream_of) used[stream] = true;
  return static_cast<std::uint32_t>(std::count(used.begin(), used.end(), true));
}

/// Finds what tasks wait for without the graph asking for it.
class ExtraWaits {
 public:
  ExtraWaits(const TaskGraph& graph, const Plan& plan)
      : graph_(graph),
        last_on_(plan.streams.size()),
        awaited_(plan.streams.size()),
        recorded_(plan.event_count) {}

  /// Of each call, in the order of the plan, before its launch is placed.
  void follow(HostCall call, Placement& placement) {
    if (call.kind() == HostCallKind::record) recorded_[call.event()] = last_on_[call.stream()];
    if (call.kind() == HostCallKind::wait) awaited_[call.stream()] = recorded_[call.event()];
    if (call.kind() != HostCallKind::launch) return;
    const TaskId before = std::exchange(awaited_[call.stream()], TaskId::none());
    last_on_[call.stream()] = call.task();
    const auto needed = graph_.predecessors(call.task());
    if (!before.valid() || std::ranges::find(needed, before) != needed.end()) return;
    placement.extra.emplace_back(static_cast<std::uint32_t>(placement.order.size()), before);
  }

 private:
  const TaskGraph& graph_;
  IdVector<StreamId, TaskId> last_on_;
  IdVector<StreamId, TaskId> awaited_;
  IdVector<EventId, TaskId> recorded_;
};

}  // namespace

std::optional<Placement> placement_of(const Problem& problem, const Plan& plan) {
  if (plan.hosts.size() != 1 || !plan.graphs.empty()) return std::nullopt;
  Placement placement;
  placement.stream_of.resize(problem.graph.task_count());
  for (const StreamSpec& spec : plan.streams) {
    if (spec.device != DeviceId{0}) return std::nullopt;
    placement.streams.push_back({.device = DeviceId{0}, .priority = spec.priority});
  }
  placement.created.assign(plan.streams.size(), false);
  ExtraWaits extra(problem.graph, plan);
  for (const HostCall call : plan.hosts[HostId{0}].calls) {
    extra.follow(call, placement);
    if (call.kind() != HostCallKind::launch) continue;
    placement.stream_of[call.task()] = call.stream();
    placement.order.push_back(call.task());
  }
  // A host that has seen the end of a task may launch its successor before it in this order.
  const auto position = positions(placement);
  for (const TaskId task : placement.order) {
    for (const TaskId before : problem.graph.predecessors(task)) {
      if (position[before] > position[task]) return std::nullopt;
    }
  }
  if (placement.order.size() != problem.graph.task_count()) return std::nullopt;
  return placement;
}

PlanSearch::PlanSearch(const Problem& problem,
                       std::span<const ScoredPlan> starts,
                       PlanRun run,
                       const PlanSearchOptions& options)
    : PlanImprover(problem, starts, std::move(run), options),
      problem_(problem),
      list_moves_(problem),
      holds_(gains_by_holding(problem)) {
  const std::uint64_t tasks = problem.graph.task_count();
  patience_ = std::clamp(10 * tasks, least_patience, most_patience);
  list_.urgency = urgency_of(upward_rank(problem.graph, problem.costs.durations()));
  list_.streams = std::clamp(4U, 1U, options.max_streams);
  if (waits_for_host(problem, best().makespan)) launch_dispatch_.emplace(problem);
  add_first_lists(starts);
  begin_from(best().plan, best().makespan);
  if (!first_lists_.empty()) first_lists_.insert(first_lists_.begin(), list_);
  list_late_.restart(Duration::max());
  if (placement_.order.empty()) {  // no start can be taken apart: some list can
    set_placement(decoded(list_).placement());
    placement_late_.restart(Duration::max());
  }
}

void PlanSearch::set_placement(Placement placement) {
  held_.assign(problem_.graph.task_count(), TaskId::none());
  for (const auto& [position, before] : placement.extra) {
    if (adds_waits()) held_[placement.order[position]] = before;
  }
  placement.extra.clear();
  placement_ = std::move(placement);
}

/// Apart, so that a task can go between two others.
Urgency PlanSearch::in_order(const Placement& placement) const {
  const auto position = positions(placement);
  const auto tasks = static_cast<std::int64_t>(position.size());
  Urgency urgency(position.size());
  for (const TaskId task : problem_.graph.tasks()) {
    urgency[task] = 2 * (tasks - std::int64_t{position[task]});
  }
  return urgency;
}

/// Both searches go on from a plan, as far as they can.
void PlanSearch::begin_from(const Plan& plan, Duration makespan) {
  auto placement = placement_of(problem_, plan);
  if (!placement) return;
  set_placement(std::move(*placement));
  placement_late_.restart(makespan);
  list_.streams = std::clamp(used_streams(placement_), 1U, options().max_streams);
  list_.urgency = in_order(placement_);
  list_late_.restart(Duration::max());
  list_ends_.clear();
}

void PlanSearch::offer(const ScoredPlan& plan) {
  if (take(plan)) begin_from(plan.plan, plan.makespan);
}

std::optional<PlanOutcome> PlanSearch::scored(Plan plan) {
  const auto outcome = score(std::move(plan));
  if (outcome && outcome->trace != nullptr && evaluations() % 16 == 0) {
    find_awaited(*outcome->trace);
  }
  return outcome;
}

/// From the last end back to the task, before it in its stream or in the graph, that ended last.
void PlanSearch::find_awaited(const Trace& trace) {
  const std::size_t tasks = problem_.graph.task_count();
  IdVector<TaskId, const TaskSpan*> span(tasks, nullptr);
  IdVector<TaskId, TaskId> in_stream(tasks);
  IdVector<StreamId, TaskId> last_on;
  TaskId at;
  for (const TaskSpan& each : trace.tasks) {
    span[each.task] = &each;
    if (!last_on.contains(each.stream)) last_on.resize(each.stream.value() + 1);
    in_stream[each.task] = last_on[each.stream];
    last_on[each.stream] = each.task;
    if (!at.valid() || each.ended > span[at]->ended) at = each.task;
  }
  awaited_.clear();
  while (at.valid() && awaited_.size() <= tasks) {
    awaited_.push_back(at);
    TaskId before = in_stream[at];
    for (const TaskId other : problem_.graph.predecessors(at)) {
      if (span[other] == nullptr) continue;
      if (!before.valid() || span[other]->ended > span[before]->ended) before = other;
    }
    at = before;
  }
}

TaskId PlanSearch::some_task() {
  if (!awaited_.empty() && rng().uniform() < awaited_share) {
    return awaited_[rng().below(awaited_.size())];
  }
  return TaskId{static_cast<std::uint32_t>(rng().below(problem_.graph.task_count()))};
}

PlanBuilder PlanSearch::built(const Placement& placement, const Held& held) const {
  PlanBuilder builder{problem_};
  for (const StreamSpec& spec : placement.streams) builder.add_stream(spec);
  for (const TaskId task : placement.order) {
    const TaskId before = held[task];
    // A later move may have turned them round.
    const bool waits = before.valid() && builder.placed(before);
    builder.place(
        task, placement.stream_of[task], waits ? std::span{&before, 1} : std::span<const TaskId>{});
  }
  return builder;
}

void PlanSearch::move_stream(Placement& placement) {
  const TaskId task = some_task();
  const StreamId from = placement.stream_of[task];
  const bool opens = placement.streams.size() < options().max_streams && rng().below(16) == 0;
  if (opens) {
    placement.streams.push_back(placement.streams[from]);
    placement.created.push_back(false);
  }
  if (placement.streams.size() < 2) return;
  StreamId to{static_cast<std::uint32_t>(rng().below(placement.streams.size() - 1))};
  if (to >= from) ++to;
  if (opens) to = StreamId{static_cast<std::uint32_t>(placement.streams.size() - 1)};
  if (launch_dispatch_ && !opens && rng().below(2) == 0) {
    const bool back = rng().below(2) == 0;
    const auto near = back ? problem_.graph.predecessors(task) : problem_.graph.successors(task);
    if (!near.empty()) to = placement.stream_of[near[rng().below(near.size())]];
    if (to == from) return;
  }
  std::uint64_t left = rng().below(3) == 0 ? 1 + rng().below(most_segment) : 1;
  bool begun = false;
  for (const TaskId next : placement.order) {
    begun = begun || next == task;
    if (!begun || placement.stream_of[next] != from) continue;
    placement.stream_of[next] = to;
    if (--left == 0) break;
  }
}

/// Anywhere between what the task depends on and what depends on it, mostly near.
void PlanSearch::move_order(Placement& placement) {
  const TaskId task = some_task();
  const auto position = positions(placement);
  std::uint32_t low = 0;
  auto high = static_cast<std::uint32_t>(placement.order.size() - 1);
  for (const TaskId before : problem_.graph.predecessors(task)) {
    low = std::max(low, position[before] + 1);
  }
  for (const TaskId after : problem_.graph.successors(task)) {
    high = std::min(high, position[after] - 1);
  }
  const std::uint32_t at = position[task];
  if (rng().below(4) != 0) {
    constexpr std::uint32_t near = 16;
    low = std::max(low, at > near ? at - near : 0U);
    high = std::min(high, at + near);
  }
  const auto to = low + static_cast<std::uint32_t>(rng().below(high - low + 1));
  const auto first = placement.order.begin();
  if (to < at) {
    std::rotate(first + to, first + at, first + at + 1);
  } else {
    std::rotate(first + at, first + at + 1, first + to + 1);
  }
}

bool PlanSearch::move_priority(Placement& placement) {
  const std::uint32_t levels = problem_.platform.devices[DeviceId{0}].priority_levels;
  if (levels < 2) return false;
  const StreamId stream{static_cast<std::uint32_t>(rng().below(placement.streams.size()))};
  placement.streams[stream].priority = -static_cast<int>(rng().below(levels));
  return true;
}

/// A task that waits for one of another stream waits for a later one there: then tasks behind it,
/// which need that one, need not wait again.
void PlanSearch::merge_wait(const Placement& placement, Held& held, std::uint32_t at) {
  const TaskId task = placement.order[at];
  const auto needed = problem_.graph.predecessors(task);
  if (needed.empty()) return;
  const TaskId before = needed[rng().below(needed.size())];
  const StreamId stream = placement.stream_of[before];
  if (stream == placement.stream_of[task]) return;
  std::uint64_t skipped = rng().below(most_segment);
  for (std::uint32_t i = at; i-- > 0 && placement.order[i] != before;) {
    if (placement.stream_of[placement.order[i]] != stream) continue;
    held[task] = placement.order[i];
    if (skipped-- == 0) return;
  }
}

/// A task waits for another one as well, or no longer. Streams that share a device may get more
/// done when some of their tasks run together.
void PlanSearch::move_wait(Placement& placement, Held& held) {
  constexpr std::uint64_t near = 24;
  const TaskId task = some_task();
  if (held[task].valid() && rng().below(2) == 0) {
    held[task] = TaskId::none();
    return;
  }
  const std::uint32_t at = positions(placement)[task];
  if (at == 0) return;
  if (launch_dispatch_ && rng().below(4) != 0) {
    merge_wait(placement, held, at);
    return;
  }
  held[task] = placement.order[at - 1 - rng().below(std::min<std::uint64_t>(at, near))];
  if (rng().below(2) == 0) {
    placement.stream_of[task] =
        StreamId{static_cast<std::uint32_t>(rng().below(placement.streams.size()))};
  }
}

bool PlanSearch::change(Placement& placement, Held& held) {
  const Placement before = placement;
  const Held held_before = held;
  const std::uint64_t kind = rng().below(16);
  if (kind == 0 && move_priority(placement)) return true;
  if (kind < (adds_waits() ? 6 : 8)) {
    move_stream(placement);
  } else if (adds_waits() && kind < 11) {
    move_wait(placement, held);
  } else {
    move_order(placement);
  }
  return placement != before || held != held_before;
}

void PlanSearch::step_placement() {
  Placement next = placement_;
  Held held = held_;
  if (!change(next, held)) {
    count_evaluation();  // so that a graph without moves comes to an end
    return;
  }
  const Duration before = best().makespan;
  const auto outcome = scored(built(next, held).build("search"));
  if (!outcome) return;
  if (outcome->makespan < before) ++placement_gain_;
  if (!placement_late_.accepts(outcome->makespan)) return;
  placement_ = std::move(next);
  held_ = std::move(held);
}

void PlanSearch::restart() {
  forget_progress();
  begin_from(best().plan, best().makespan);
  const std::uint64_t changes = 2 + rng().below(8);
  for (std::uint64_t i = 0; i < changes; ++i) {
    (void)change(placement_, held_);
  }
  placement_late_.restart(Duration::max());
  if (rng().below(2) == 0) return;
  list_ends_.clear();
  // The list begins with the longest paths, each up to a fifth longer.
  const auto rank = upward_rank(problem_.graph, problem_.costs.durations());
  for (const TaskId task : problem_.graph.tasks()) {
    const double longer = 1.0 + 0.2 * rng().uniform();
    list_.urgency[task] =
        static_cast<std::int64_t>(static_cast<double>(rank[task].count()) * longer);
  }
}

void PlanSearch::advance(std::uint64_t evaluations) {
  if (problem_.graph.task_count() == 0) return;
  const std::uint64_t end = this->evaluations() + evaluations;
  while (this->evaluations() < end && !reached()) {
    if (stalled() > patience_) restart();
    const std::uint64_t gains = list_gain_ + placement_gain_;
    // Either has at least a fifth of the turns.
    const double lists = 0.2 + 0.6 * static_cast<double>(list_gain_) / static_cast<double>(gains);
    if (!first_lists_.empty() || rng().uniform() < lists) {
      step_list();
    } else {
      step_placement();
    }
  }
}

}  // namespace schedlab
