// SPDX-License-Identifier: Apache-2.0
#include "policies/pipeline/order_search.hpp"

#include "policies/pipeline/rank_programs.hpp"

#include <algorithm>
#include <utility>

namespace schedlab {
namespace {

constexpr const char* search_word = "search";
constexpr std::uint64_t longest_move = 12;  // places of a step in its rank's order; assumed
constexpr std::uint64_t patience = 2000;    // evaluations without progress; assumed
constexpr std::uint64_t disturbances = 6;   // moves at once when it begins again; assumed

/// Must the one come before the other on their rank?
bool precedes(const PipelineStep& a, const PipelineStep& b) {
  if (a.microbatch != b.microbatch) return false;
  if (a.kind != b.kind) return a.stage == b.stage && a.kind < b.kind;
  if (a.kind == StepKind::forward) return a.stage < b.stage;
  return a.kind == StepKind::backward_data && a.stage > b.stage;
}

}  // namespace

PipelineOrderSearch::PipelineOrderSearch(const Problem& problem,
                                         std::span<const ScoredPlan> starts,
                                         PlanRun run,
                                         const PlanSearchOptions& options)
    : PlanImprover(problem, starts, std::move(run), options),
      problem_(problem),
      shape_(pipeline_shape(problem.graph, search_word)),
      ranks_(pipeline_ranks(problem.graph)),
      tasks_(problem.graph, shape_, ranks_) {
  begin_from(best());
}

void PipelineOrderSearch::begin_from(const ScoredPlan& plan) {
  auto orders = step_orders(problem_.graph, plan.plan, search_word);
  if (!orders) return;
  orders_ = std::move(*orders);
  started_.clear();
  late_.restart(plan.makespan);
}

void PipelineOrderSearch::offer(const ScoredPlan& plan) {
  if (take(plan)) begin_from(plan);
}

bool PipelineOrderSearch::in_order(const StepOrder& order) const {
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::size_t j = i + 1; j < order.size(); ++j) {
      if (precedes(order[j], order[i])) return false;
    }
  }
  return true;
}

/// A step, or two in a row, to another place in the order of its rank; now and then the same on all
/// ranks. False: that is no order.
bool PipelineOrderSearch::move_step(Orders& orders) {
  const auto place = static_cast<std::size_t>(rng().below(orders.size()));
  const bool everywhere = rng().below(8) == 0;
  const std::size_t steps = orders[place].size();
  const std::size_t many = 1 + rng().below(2);
  if (steps <= many) return false;
  const std::size_t from = rng().below(steps - many);
  const std::size_t by = 1 + rng().below(std::min<std::uint64_t>(longest_move, steps));
  const bool later = rng().below(2) == 0;
  for (std::size_t at = 0; at < orders.size(); ++at) {
    if (at != place && !everywhere) continue;
    StepOrder& order = orders[at];
    if (order.size() <= from + many) return false;
    const auto begin = order.begin() + static_cast<std::ptrdiff_t>(from);
    const auto end = begin + static_cast<std::ptrdiff_t>(many);
    if (later) {
      const auto rest =
          std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(by), order.end() - end);
      std::rotate(begin, end, end + rest);
    } else {
      const auto rest =
          std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(by), begin - order.begin());
      std::rotate(begin - rest, begin, end);
    }
    if (!in_order(order)) return false;
  }
  return true;
}

/// A pass that could have run while its rank waited comes before what it waited for. False: there
/// is none on the rank that was looked at.
bool PipelineOrderSearch::fill_gap(Orders& orders) {
  const auto place = static_cast<std::uint32_t>(rng().below(orders.size()));
  const std::uint32_t line = ranks_.line(place * ranks_.tensor_parallel);
  StepOrder& order = orders[place];
  std::vector<std::pair<std::size_t, std::size_t>> fillers;  // into which place, from which
  Time free{};
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto tasks = tasks_.of(line, order[i]).front();
    for (std::size_t later = i + 1; started_[tasks.front()] > free && later < order.size();
         ++later) {
      const TaskId first = tasks_.of(line, order[later]).front().front();
      const auto before = problem_.graph.predecessors(first);
      const bool ready = std::ranges::all_of(
          before, [&](TaskId task) { return ended_[task] < started_[tasks.front()]; });
      if (ready) fillers.emplace_back(i, later);
    }
    free = ended_[tasks.back()];
  }
  if (fillers.empty()) return false;
  const auto [to, from] = fillers[rng().below(fillers.size())];
  const auto step = order.begin() + static_cast<std::ptrdiff_t>(from);
  std::rotate(order.begin() + static_cast<std::ptrdiff_t>(to), step, step + 1);
  return in_order(order);
}

void PipelineOrderSearch::step() {
  Orders next = orders_;
  const bool again = stalled() > patience;
  if (again) {
    begin_from(best());
    next = orders_;
    forget_progress();
  }
  for (std::uint64_t i = again ? disturbances : 1; i > 0; --i) {
    Orders moved = next;
    const bool fills = !started_.empty() && rng().below(2) == 0;
    if (fills ? fill_gap(moved) : move_step(moved)) next = std::move(moved);
  }
  if (next == orders_) {
    count_evaluation();
    return;
  }
  Plan plan = rank_programs(problem_,
                            search_word,
                            [&](const PipelineShape&, std::uint32_t place) { return next[place]; },
                            {});
  const auto outcome = score(std::move(plan));
  if (again) late_.restart(Duration::max());
  if (!outcome || !late_.accepts(outcome->makespan)) return;
  orders_ = std::move(next);
  started_.clear();
  if (outcome->trace == nullptr) return;
  started_.resize(problem_.graph.task_count());
  ended_.resize(problem_.graph.task_count());
  for (const TaskSpan& span : outcome->trace->tasks) {
    started_[span.task] = span.started;
    ended_[span.task] = span.ended;
  }
}

void PipelineOrderSearch::advance(std::uint64_t evaluations) {
  const std::uint64_t end = this->evaluations() + evaluations;
  while (this->evaluations() < end && !reached() && !orders_.empty()) step();
  if (orders_.empty()) {
    while (this->evaluations() < end) count_evaluation();  // no start is one host a rank
  }
}

}  // namespace schedlab
