// SPDX-License-Identifier: Apache-2.0
#include "workloads/transforms/graph_transforms.hpp"

#include "workloads/transforms/fuse_pointwise.hpp"
#include "workloads/transforms/mixed_precision.hpp"
#include "workloads/transforms/remove_dead.hpp"

namespace schedlab {

TaskGraph transformed(TaskGraph graph, const GraphTransforms& transforms) {
  if (transforms.remove_dead) graph = RemoveDead{}.apply(graph);
  // Before there are casts: whether one could be joined would depend on the batch.
  if (transforms.fuse_pointwise) graph = FusePointwise{}.apply(graph);
  if (transforms.mixed_precision) {
    graph = MixedPrecision{*transforms.mixed_precision, transforms.wide}.apply(graph);
  }
  return graph;
}

}  // namespace schedlab
