// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/options.hpp"
#include "sim/base/units.hpp"
#include "sim/pipeline/partition.hpp"
#include "workloads/pipeline/pipeline_graph.hpp"

namespace schedlab {

/// What the passes of a stage are made of, where the stage is made of layers.
struct LayeredPasses {
  /// true: each layer's part of a pass is a task; false: the pass is one, with all their kernels.
  bool operators = false;
  bool kernels = false;  ///< of `operators`: each kernel is a task, as on a device
  /// Above 0: passes last their FLOPs over this rate, whatever the machine, in proportion to their
  /// samples, and `overhead` besides. Then micro-batches may be unequal.
  FlopRate rate{};
  Duration overhead{0};  ///< of each forward pass, and of each weight gradient, with a rate only
  Bytes labels{};        ///< per sample
  double optimizer_copies = 2;  ///< bytes of optimizer state per byte of parameters
};

/// Profile and operators of the stages of a partition; what else a PipelineSpec has is left as it
/// is by default. Operators are those of micro-batches of LayerGraph::samples.
///
/// Throws InfeasibleError as partition_profile(), and naming a stage of layers of which some have
/// kernels and some only a duration, unless `operators`; a rate for layers that ranks share.
[[nodiscard]] PipelineSpec layered_pipeline(const LayerGraph& graph,
                                            const Partition& partition,
                                            const LayeredPasses& passes);

/// Bytes of optimizer state per byte of parameters of a model with these options: none for sgd, two
/// moments for adam, and with `master_weights` all in fp32 beside the weights.
[[nodiscard]] double optimizer_copies(const Options& model);

}  // namespace schedlab
