// SPDX-License-Identifier: Apache-2.0
// What order of steps a plan has.
#include "policies/pipeline/pass_tasks.hpp"
#include "policies/pipeline/rank_programs.hpp"
#include "sim/pipeline/pipeline_work.hpp"

#include <array>
#include <cstddef>
#include <map>
#include <utility>

namespace schedlab {
namespace {

constexpr std::array cut_steps{
    StepKind::forward, StepKind::backward_data, StepKind::backward_weight};

/// A step and the calls of its first launch, and of the first message that it sends; 0: none.
struct PlacedStep {
  PipelineStep step;
  std::size_t launched = 0;
  std::size_t sent = 0;
};

bool sends(HostCallKind kind) {
  return kind == HostCallKind::send || kind == HostCallKind::isend;
}

class PlanSteps {
 public:
  PlanSteps(const TaskGraph& graph, const Plan& plan, const std::string& policy)
      : graph_(graph),
        plan_(plan),
        shape_(pipeline_shape(graph, policy)),
        ranks_(pipeline_ranks(graph)),
        tasks_(graph, shape_, ranks_),
        messages_(rank_messages(graph)) {}

  /// By place.
  [[nodiscard]] std::optional<std::vector<std::vector<PlacedStep>>> all() const {
    if (plan_.hosts.size() != graph_.rank_count() || !plan_.graphs.empty()) return std::nullopt;
    std::vector<std::vector<PlacedStep>> result;
    for (std::uint32_t place = 0; place < shape_.ranks; ++place) {
      auto steps = steps_of(place);
      if (!steps) return std::nullopt;
      result.push_back(std::move(*steps));
    }
    return result;
  }

 private:
  [[nodiscard]] std::optional<std::vector<PlacedStep>> steps_of(std::uint32_t place) const {
    const std::uint32_t rank = place * ranks_.tensor_parallel;
    std::map<TaskId, PipelineStep> first_of;
    std::map<TaskId, PipelineStep> step_of;
    for (const std::uint32_t stage : shape_.stages_of(place)) {
      for (std::uint32_t microbatch = 0; microbatch < shape_.microbatches; ++microbatch) {
        if (shape_.place(stage, microbatch) != place) continue;
        for (const StepKind kind : cut_steps) {
          const PipelineStep step{kind, stage, microbatch};
          const auto tasks = tasks_.of(ranks_.line(rank), step).front();
          if (!tasks.empty()) first_of[tasks.front()] = step;
          for (const TaskId task : tasks) step_of[task] = step;
        }
      }
    }
    std::vector<PlacedStep> result;
    const std::vector<HostCall>& calls = plan_.hosts[HostId{rank}].calls;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (sends(calls[i].kind())) note_sent(calls[i].message(), i, step_of, result);
      if (calls[i].kind() != HostCallKind::launch) continue;
      const auto step = first_of.find(calls[i].task());
      if (step != first_of.end()) result.push_back({.step = step->second, .launched = i});
    }
    if (result.size() != first_of.size()) return std::nullopt;
    return result;
  }

  void note_sent(std::uint32_t message,
                 std::size_t call,
                 const std::map<TaskId, PipelineStep>& step_of,
                 std::vector<PlacedStep>& steps) const {
    if (message >= messages_.size()) return;
    const auto made_by = step_of.find(messages_[message].producer);
    if (made_by == step_of.end()) return;
    for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
      if (step->step != made_by->second) continue;
      if (step->sent == 0) step->sent = call;
      return;
    }
  }

  const TaskGraph& graph_;
  const Plan& plan_;
  PipelineShape shape_;
  PipelineRanks ranks_;
  PassTasks tasks_;
  std::vector<RankMessage> messages_;
};

/// Does `second` begin before what `first` makes leaves? Where nothing leaves: `unknown`.
bool leaves_behind(const PlacedStep& first, const PlacedStep& second, bool unknown) {
  return first.sent == 0 ? unknown : first.sent > second.launched;
}

StepOrder joined(const std::vector<PlacedStep>& steps) {
  StepOrder order;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    PipelineStep step = steps[i].step;
    const auto* next = i + 1 < steps.size() ? &steps[i + 1] : nullptr;
    if (next != nullptr && step.kind == StepKind::backward_data &&
        next->step == PipelineStep{StepKind::backward_weight, step.stage, step.microbatch} &&
        leaves_behind(steps[i], *next, true)) {
      step.kind = StepKind::backward;
      ++i;
    } else if (next != nullptr && step.kind == StepKind::forward) {
      step.with_next = leaves_behind(steps[i], *next, false);
    }
    order.push_back(step);
  }
  return order;
}

}  // namespace

std::optional<std::vector<StepOrder>> step_orders(const TaskGraph& graph,
                                                  const Plan& plan,
                                                  const std::string& policy) {
  const auto placed = PlanSteps{graph, plan, policy}.all();
  if (!placed) return std::nullopt;
  std::vector<StepOrder> orders(placed->size());
  for (std::size_t place = 0; place < placed->size(); ++place) {
    for (const PlacedStep& step : (*placed)[place]) orders[place].push_back(step.step);
  }
  return orders;
}

std::optional<std::vector<StepOrder>> joined_step_orders(const TaskGraph& graph,
                                                         const Plan& plan,
                                                         const std::string& policy) {
  const auto placed = PlanSteps{graph, plan, policy}.all();
  if (!placed) return std::nullopt;
  std::vector<StepOrder> orders;
  for (const std::vector<PlacedStep>& steps : *placed) orders.push_back(joined(steps));
  return orders;
}

}  // namespace schedlab
