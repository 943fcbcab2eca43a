// SPDX-License-Identifier: Apache-2.0
#include "real_exec/ranks/packed_items.hpp"
#include "real_exec/recurrent/gemm.hpp"
#include "real_exec/training/rank_costs.hpp"
#include "real_exec/training/stage_timer.hpp"

#include <algorithm>

namespace schedlab {
namespace {

using detail::StageTimer;

void append_costs(std::string& text, const StageCosts& costs) {
  const StageProfile& whole = costs.whole;
  detail::append_items(
      text, std::vector<PassCost>{whole.forward, whole.backward_data, whole.backward_weight});
  detail::append_items(text, std::vector<Duration>{whole.update});
  for (const auto* parts : {&costs.forward, &costs.backward_data, &costs.backward_weight}) {
    detail::append_items(text, *parts);
  }
}

StageCosts take_costs(std::string_view& text) {
  StageCosts costs;
  const auto passes = detail::take_items<PassCost>(text);
  costs.whole.forward = passes.at(0);
  costs.whole.backward_data = passes.at(1);
  costs.whole.backward_weight = passes.at(2);
  costs.whole.update = detail::take_items<Duration>(text).at(0);
  for (auto* parts : {&costs.forward, &costs.backward_data, &costs.backward_weight}) {
    *parts = detail::take_items<Duration>(text);
  }
  return costs;
}

/// The stages of one rank, visited when the other ranks of its wave visit theirs.
void visit_together(const std::vector<StageTimer*>& timers,
                    RankLink& link,
                    RankLink::Group wave,
                    std::uint32_t visits) {
  for (std::uint32_t i = 0; i < visits; ++i) {
    float nothing = 0;
    link.wait(link.start_sum({&nothing, 1}, wave));
    for (StageTimer* timer : timers) timer->visit();
  }
}

}  // namespace

std::vector<StageCosts> measure_stages(const PipelineTraining& training, std::uint32_t visits) {
  prepare_worker_thread();
  std::vector<StageCosts> costs;
  for (std::uint32_t stage = 0; stage < training.stage_count(); ++stage) {
    StageTimer timer(training, stage);
    for (std::uint32_t i = 0; i < visits; ++i) timer.visit();
    costs.push_back(timer.costs());
  }
  return costs;
}

std::vector<StageCosts> measure_stages(const PipelineTraining& training,
                                       RankLink& link,
                                       std::uint32_t cores,
                                       std::uint32_t visits) {
  prepare_worker_thread();
  const auto rank = static_cast<std::uint32_t>(link.rank());
  const std::uint32_t ranks = training.pipeline_ranks();
  std::string mine;
  // Group 0 is measured; ranks of others that find a core make it as busy as it will be.
  for (std::uint32_t first = 0; first < ranks; first += cores) {
    const std::uint32_t end = std::min(first + cores, static_cast<std::uint32_t>(link.size()));
    if (rank >= first && rank < end) {
      std::vector<int> members;
      for (std::uint32_t i = first; i < end; ++i) members.push_back(static_cast<int>(i));
      const RankLink::Group wave = link.add_group(members);
      std::vector<std::unique_ptr<StageTimer>> timers;
      std::vector<StageTimer*> visited;
      for (std::uint32_t stage = rank % ranks; stage < training.stage_count(); stage += ranks) {
        visited.push_back(timers.emplace_back(std::make_unique<StageTimer>(training, stage)).get());
      }
      visit_together(visited, link, wave, visits);
      for (const auto& timer : timers) append_costs(mine, timer->costs());
    }
    link.barrier();
  }
  const std::vector<std::string> all = gather_texts(link, mine);
  if (link.rank() != 0) return {};
  std::vector<StageCosts> costs(training.stage_count());
  for (std::uint32_t from = 0; from < ranks; ++from) {
    std::string_view text = all[from];
    for (std::uint32_t stage = from; stage < training.stage_count(); stage += ranks) {
      costs[stage] = take_costs(text);
    }
  }
  return costs;
}

}  // namespace schedlab
