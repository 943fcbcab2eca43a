// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/units.hpp"
#include "sim/pipeline/layer_graph.hpp"
#include "sim/pipeline/partition.hpp"
#include "sim/pipeline/stage_profile.hpp"

namespace schedlab {

/// What schedules need to know of a model that was cut.
///
/// Times are those of LayerGraph::samples samples, and proportional to the samples for others. A
/// stage keeps what its layers keep and what it receives; from backward_data to backward_weight it
/// holds the gradients of the outputs of layers with parameters. All outputs that a stage sends to
/// another one are one link.
///
/// `labels`            bytes per sample that the last stage needs.
/// `optimizer_copies`  bytes of optimizer state per byte of parameters (sgd 0, adam 2).
/// Errors   InfeasibleError if a stage has replicas: in schedules all stages are replicated alike,
///          as data-parallel replicas.
[[nodiscard]] PipelineProfile partition_profile(const LayerGraph& graph,
                                                const IdVector<LayerId, LayerTimes>& times,
                                                const Partition& partition,
                                                Bytes labels = {},
                                                double optimizer_copies = 2);

}  // namespace schedlab
