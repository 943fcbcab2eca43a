// SPDX-License-Identifier: Apache-2.0
#include "studies/partition/joined_layer_times.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

namespace schedlab {

IdVector<LayerId, LayerTimes> joined_layer_times(const LayerGraph& graph,
                                                 const CostModel& model,
                                                 Platform platform) {
  IdVector<LayerId, LayerTimes> times = layer_times(graph, model, platform.devices[DeviceId{0}]);
  const std::uint32_t count = graph.tensor_parallel;
  if (count < 2) return times;
  platform.ranks = std::max(platform.ranks, count);
  std::vector<std::uint32_t> ranks(count);
  std::iota(ranks.begin(), ranks.end(), 0U);
  const Operation part{.name = "part", .kind = TaskKind::collective};
  std::map<std::pair<CollectiveOp, Bytes>, Duration> known;
  for (const LayerId id : graph.layers.ids()) {
    for (const LayerJoin& join : graph.layers[id].joins) {
      const auto [found, is_new] = known.try_emplace({join.op, join.bytes});
      if (is_new) {
        found->second =
            model
                .estimate_collective(
                    part, {.op = join.op, .bytes = join.bytes}, ranks, platform, DeviceId{0})
                .duration;
      }
      LayerTimes& own = times[id];
      (join.pass == LayerPass::forward         ? own.forward
       : join.pass == LayerPass::backward_data ? own.backward_data
                                               : own.backward_weight) += found->second;
    }
  }
  return times;
}

}  // namespace schedlab
