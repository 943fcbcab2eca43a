// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/pipeline/layer_graph.hpp"

#include <cstdint>
#include <string>

namespace schedlab {

/// Stages of a model as `schedlab partition` found them.
struct PartitionFile {
  IdVector<LayerId, std::uint32_t> stage_of{};
  std::uint32_t replicas = 1;  ///< of every stage
};

/// Reads partition.json (schema `partition_results`): the row for so many accelerators, or its only
/// row if `accelerators` is 0.
///
/// Errors   InputError naming the file and the place: no such row, layers that `graph` does not
/// have
///          or that no stage has, stages with unlike numbers of replicas, which schedules do not
///          have.
[[nodiscard]] PartitionFile read_partition_file(const std::string& path,
                                                std::int64_t accelerators,
                                                const LayerGraph& graph);

}  // namespace schedlab
