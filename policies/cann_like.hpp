// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policies/policy_info.hpp"

#include <cstdint>

namespace schedlab {

/// Layers of the deepest stack of the graph. Layers are in one stack if some task of the one needs
/// one of the other at the same step: the layers of an LSTM are one, those of an encoder and its
/// decoder two, as what the latter reads of the former passes through attention or is another
/// step's. Cost: O(tasks + edges).
[[nodiscard]] std::uint32_t deepest_stack(const TaskGraph& graph);

/// Streams a graph of so many layers gets: 1, 2, 3, 6 for 2, 4, 8, 16 layers (TurboLSTM, table 2,
/// GNMT on Ascend 910B). Between these the smaller entry holds, above 16 it stays at 6.
[[nodiscard]] std::uint32_t cann_stream_count(std::uint32_t layers);

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

[[nodiscard]] PolicyInfo cann_like_info();

}  // namespace schedlab
