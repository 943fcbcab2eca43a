// SPDX-License-Identifier: Apache-2.0
#include "real_exec/training/pipeline_rank.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace schedlab {

std::vector<float> gather_net(PipelineRank& rank,
                              const PipelineTraining& training,
                              RankLink& link,
                              bool gradients) {
  std::string mine;
  for (const std::uint32_t number : rank.stages()) {
    const std::span<const float> values = gradients ? std::span<const float>{rank.gradients(number)}
                                                    : rank.stage(number).parameters();
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): any object may be read as bytes
    mine.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  }
  const std::vector<std::string> all = gather_texts(link, mine);
  if (link.rank() != 0) return {};
  // Where each owner's parameters stand in the whole net.
  const TrainingStage whole(training.net, {0, training.net.layers.size()}, training.setting);
  std::size_t size = 0;
  for (const auto& block : whole.blocks()) size += block.size;
  std::vector<float> net(size);
  std::vector<std::size_t> read(training.pipeline_ranks(), 0);
  for (std::uint32_t number = 0; number < training.stage_count(); ++number) {
    const std::uint32_t from = training.rank_of(0, number);
    const TrainingStage stage(training.net, training.stages[number], training.setting);
    for (const auto& block : stage.blocks()) {
      const auto to = std::find_if(whole.blocks().begin(),
                                   whole.blocks().end(),
                                   [&](const auto& b) { return b.owner == block.owner; });
      std::memcpy(net.data() + to->offset, all[from].data() + read[from], 4 * block.size);
      read[from] += 4 * block.size;
    }
  }
  return net;
}

}  // namespace schedlab
