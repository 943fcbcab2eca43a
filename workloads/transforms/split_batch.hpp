// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task_graph.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace schedlab {

/// How a batch is cut.
struct BatchSplit {
  std::int64_t batch = 1;
  std::int64_t slices = 1;
  /// Operations whose results are summed over all slices before anybody reads them, besides
  /// gradients: statistics that shall be those of the whole batch.
  std::vector<std::string> merged{};
  /// false: the graph gets dependencies only, no memory accounting.
  bool keep_tensors = true;
};

/// Makes the graph of a batch of so many samples, with tensors. Graphs of different batches must
/// have the same tasks and edges.
using MakeForBatch = std::function<TaskGraph(std::int64_t batch)>;

/// Graph split: one copy of a graph for each slice of the batch, independent of each other but for
/// the parameters. Slices differ by at most one sample, the larger ones first: 32 in 6 are 6, 6, 5,
/// 5, 5, 5.
///
/// Gradients are tensors whose size does not depend on the batch, that tasks of other classes than
/// `update` write, and that are persistent or read by an update. Each is summed over the slices by
/// one task "merge_NAME", into the buffer of slice 0, before anybody reads it; updates exist once,
/// and wait for their merges and for all slices' readers of what they overwrite. Persistent tensors
/// whose size does not depend on the batch (parameters) exist once, and so does what reads them and
/// nothing else (casts to a narrow type), as the slices share one memory; all others exist once per
/// slice.
/// A loss that every slice divides by the size of the whole batch weighs slices by their size, and
/// sums to that of the whole batch: no task is needed for it.
///
/// n slices of T tasks, U of them updates or of parameters alone, with G merged tensors, make
/// n (T - U) + U + G. Work that
/// is linear in the batch is kept; merges add n - 1 FLOP per element. Tasks carry their slice in
/// the tag `microbatch` and are called "NAME/SLICE".
///
/// Errors   InfeasibleError if there are more slices than samples, if the graph has ranks or
///          collectives, or if graphs of different batches differ in their tasks.
/// Cost     O(slices * (tasks + edges + uses of tensors)).
/// Source   the graph split of swFLOWpro, "A Dataflow Computing System for New Generation of
///          Domestic Heterogeneous Many-Core Processors", which divides into equal parts.
[[nodiscard]] TaskGraph split_batch(const MakeForBatch& make, const BatchSplit& split);

}  // namespace schedlab
