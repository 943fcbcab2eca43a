// SPDX-License-Identifier: Apache-2.0
#include "real_exec/training/rank_costs.hpp"

namespace schedlab {

RankCosts measure_rank_costs(const PipelineTraining& training,
                             RankLink& link,
                             std::uint32_t cores,
                             Bytes eager_limit) {
  constexpr std::uint32_t visits = 40;  // assumed: enough for a median
  RankCosts costs;
  costs.pipeline.stages = measure_stages(training, link, cores, visits);
  const MessageCosts messages = measure_messages(training, link, eager_limit);
  costs.pipeline.links = messages.links;
  costs.latency = messages.latency;
  costs.send = messages.send;
  costs.receive = messages.receive;
  costs.sums = measure_sums(pipeline_graph(pipeline_spec(training)), link);
  if (link.rank() == 0) costs.call = measure_call();
  return costs;
}

}  // namespace schedlab
