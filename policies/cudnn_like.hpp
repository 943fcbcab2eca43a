// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policies/policy_info.hpp"
#include "sim/plan/placing_policy.hpp"

#include <cstdint>

namespace schedlab {

struct CudnnLikeOptions {
  std::uint32_t layers_in_flight = 2;  ///< layers worked on at once; 0 = all; // assumed
  bool streams_per_iteration = true;   ///< the plan creates and destroys its streams
  std::uint32_t weight_streams = 1;    ///< streams of the weight-gradient phase; 0 = all
  /// false: a node is one task, which holds the units of its widest kernel from beginning to end;
  /// true: its kernels are tasks that follow each other on the layer's stream.
  bool separate_kernels = false;
};

/// Two library calls after each other: first a wavefront over the data gradients with a bounded
/// number of layers in flight (a layer takes over the stream of the one that ended), then, after a
/// join, the weight gradients, meant to be one large matrix product each; then whatever needed
/// those. An L x T grid of equal nodes with k layers in flight takes (L / k) T + k - 1 node times
/// in the first phase, if k divides L and k <= T. Cost: O(tasks log tasks + edges + events *
/// streams). Ties: lower task id first. Source: the separate calls cudnnRNNBackwardData_v8 and
/// cudnnRNNBackwardWeights_v8 of NVIDIA's cuDNN API reference; wavefront of Appleyard, Kocisky,
/// Blunsom, arXiv 1604.01946, 2016; streams made anew in every iteration as TurboLSTM (section 2.2)
/// observes. The bound on layers in flight is a parameter because the library does not state it;
/// its default is // assumed.
class CudnnLike final : public PlacingPolicy {
 public:
  explicit CudnnLike(CudnnLikeOptions options = {}) : options_(options) {}
  [[nodiscard]] std::string_view name() const override { return "cudnn_like"; }
  [[nodiscard]] Granularity granularity() const override {
    return options_.separate_kernels ? Granularity::kernel_and_weight
                                     : Granularity::data_and_weight;
  }
  [[nodiscard]] PlanBuilder place(const Problem& problem) const override;

 private:
  CudnnLikeOptions options_;
};

[[nodiscard]] PolicyInfo cudnn_like_info();

}  // namespace schedlab
