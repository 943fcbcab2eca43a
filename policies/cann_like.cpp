// SPDX-License-Identifier: Apache-2.0
#include "policies/option_specs.hpp"
#include "policies/policy_info.hpp"
#include "policies/wavefront.hpp"
#include "sim/plan/plan_builder.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <vector>

namespace schedlab {
namespace {

/// Streams a graph of so many layers gets: 1, 2, 3, 6 for 2, 4, 8, 16 layers (TurboLSTM, table 2,
/// GNMT on Ascend 910B). Between these the smaller entry holds, above 16 it stays at 6.
std::uint32_t cann_stream_count(std::uint32_t layers) {
  if (layers >= 16) return 6;
  if (layers >= 8) return 3;
  return layers >= 4 ? 2 : 1;
}

/// Several streams that bring no parallel matrix work: level by level, layer l on stream l mod
/// streams, but every matrix task waits for the one before it, on whichever stream that was. Only
/// other work overlaps. Cost: O(tasks + edges + events * streams). Ties: lower task id, then lower
/// stream id. Source: what TurboLSTM (section 2.3) observes of MindSpore with CANN on Ascend 910B.
class CannLike final : public Policy {
 public:
  /// `max_streams` 0: as cann_stream_count says.
  explicit CannLike(std::uint32_t max_streams = 0) : max_streams_(max_streams) {}
  [[nodiscard]] std::string_view name() const override { return "cann_like"; }
  [[nodiscard]] Granularity granularity() const override { return Granularity::matmul; }
  [[nodiscard]] Plan plan(const Problem& problem) const override;

 private:
  std::uint32_t max_streams_;
};

Plan CannLike::plan(const Problem& problem) const {
  const TaskGraph& graph = problem.graph;
  const std::uint32_t streams =
      max_streams_ > 0 ? max_streams_ : cann_stream_count(deepest_stack(graph));
  PlanBuilder builder{problem};
  for (std::uint32_t i = 0; i < streams; ++i) {
    builder.add_stream({.device = DeviceId{0}, .priority = 0, .name = fmt::format("stream_{}", i)});
  }
  std::vector<TaskId> last_matmul;  // none or one
  for (const TaskId task : wavefront_order(graph)) {
    const int layer = graph.tags(task).layer;
    const StreamId stream = layer >= 0 ? StreamId{static_cast<std::uint32_t>(layer) % streams}
                                       : builder.earliest_free();
    if (is_matmul(graph.operation(task))) {
      builder.place(task, stream, last_matmul);
      last_matmul.assign(1, task);
    } else {
      builder.place(task, stream);
    }
  }
  return std::move(builder).build("cann_like");
}

}  // namespace

PolicyInfo cann_like_info() {
  return {.name = "cann_like",
          .summary = "Several streams, but all matrix tasks one after another.",
          .source = "TurboLSTM's baseline CANN, section 2.3 and table 2",
          .options = {max_streams_option(
              0,
              "Number of streams; 0 = 1, 2, 3, 6 from 1, 4, 8, 16 layers on (of encoder and "
              "decoder those of the deeper one).")},
          .make = [](const Options& options) {
            return std::make_unique<CannLike>(count_of(options, "max_streams"));
          }};
}

}  // namespace schedlab
