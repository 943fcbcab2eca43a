// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/transform.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace schedlab {

/// Tensor parallelism: every rank does its part of each layer, and what the parts of some
/// operations make is joined over all ranks before anybody uses it (Shoeybi et al., Megatron-LM,
/// arXiv 1909.08053). The graph is one rank's part; all parts are alike.
///
/// Task t of the graph becomes task r * (tasks + collectives) + t on rank r; behind the tasks of a
/// rank come its parts of the collectives, in the order in which what they join can be made.
///
/// Keeps the work of each rank; adds the collectives. Cost O(ranks * (tasks + edges)).
class TensorParallel final : public Transform {
 public:
  /// What tasks of one operation make: all_reduce sums partial results of the same shape,
  /// all_gather puts the ranks' parts side by side.
  struct Join {
    std::string operation;
    CollectiveOp op = CollectiveOp::all_reduce;
  };
  struct Options {
    std::uint32_t ranks = 1;
    std::vector<Join> joins;
    CollectiveAlgorithm algorithm = CollectiveAlgorithm::automatic;
  };
  explicit TensorParallel(Options options) : options_(std::move(options)) {}

  [[nodiscard]] std::string_view name() const override { return "tensor_parallel"; }
  /// Throws InfeasibleError if no tensor is to be joined (a graph without tensors) or the graph has
  /// ranks already.
  [[nodiscard]] TaskGraph apply(const TaskGraph& graph) const override;

 private:
  Options options_;
};

}  // namespace schedlab
