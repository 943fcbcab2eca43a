// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/transform.hpp"

#include <cstdint>
#include <string_view>

namespace schedlab {

/// Data parallelism: every rank does the whole graph on its own part of the batch, and gradients
/// are summed over the ranks before anybody uses them.
///
/// Task t of the graph becomes task r * (tasks + buckets) + t on rank r; behind the tasks of a rank
/// come its parts of the buckets' all-reduces. Gradients are the tensors that only tasks of class
/// weight_gradient write or an update reads, and that no other such task reads; they are put into
/// buckets in the order in which their last writers can have been run, each bucket closed once it
/// has `bucket` bytes (as PyTorch's DistributedDataParallel does; Li et al., VLDB 13(12), 2020). A
/// part waits for all writers of its bucket, the readers of a gradient for its bucket's part.
///
/// Keeps the work of each rank; adds the all-reduces. Cost O(ranks * (tasks + edges)).
class DataParallel final : public Transform {
 public:
  struct Options {
    std::uint32_t ranks = 1;
    Bytes bucket{25 << 20};  ///< > 0
    CollectiveAlgorithm algorithm = CollectiveAlgorithm::automatic;
  };
  explicit DataParallel(Options options) : options_(options) {}

  [[nodiscard]] std::string_view name() const override { return "data_parallel"; }
  /// Throws InfeasibleError if the graph has no gradients or has ranks already.
  [[nodiscard]] TaskGraph apply(const TaskGraph& graph) const override;

 private:
  Options options_;
};

}  // namespace schedlab
