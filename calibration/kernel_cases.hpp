// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calibration/bench.hpp"
#include "workloads/models/recurrent/recurrent.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// In which the tasks of a model run, one after another. What a kernel finds in caches depends on
/// it: beside its own work the order is all that tells one schedule from another.
enum class TaskOrder : std::uint8_t {
  by_step,        ///< cell by cell: weight gradients right after the data gradients they share with
  by_layer,       ///< each operation of a layer for all steps: its weights or gradients stay near
  weights_later,  ///< as by_step, weight gradients about one step later, between other cells
  weights_last,   ///< as by_step, all weight gradients at the end
};

/// A model whose kernels are measured, with the number of blocks each of them is cut into.
struct KernelCase {
  RecurrentSpec spec;
  std::uint32_t blocks = 1;
  TaskOrder order = TaskOrder::by_step;
};

/// Hidden sizes and batches of the measured LSTMs. From each point of the grid that validation uses
/// ((hidden, batch) = (128, 8), (128, 32), (256, 16), (256, 64), (512, 8), (512, 32), and outside
/// (64, 32), (1024, 16)) every one of them differs by a factor of at least 1.5 in one of the two.
struct ShapePoint {
  std::int64_t hidden = 0;
  std::int64_t batch = 0;
};
[[nodiscard]] const std::vector<ShapePoint>& calibrated_shapes();

/// What is measured: training steps of small stacks, 3 or 4 layers, so that weights leave the
/// first-level caches between two uses as they do in larger models. Each shape is cut for all
/// `units` and not at all (and in half of 4 or more), with weight products of one and of several
/// steps, and the small model in two other orders. On some shapes also GRUs, split bias sums and
/// partial buffers. `quick`: half of the shapes, LSTM only.
[[nodiscard]] std::vector<KernelCase> kernel_cases(std::uint32_t units, bool quick);

/// The model that is run again and again to see how fast the machine is at the moment: one of those
/// that calibration measures, `quick` or not, as `blocks` = 1 and as one block per unit; some
/// milliseconds long.
[[nodiscard]] KernelCase speed_check(std::uint32_t blocks);

/// Kernels for their kind alone, as proxy kernels run them (ProxyWork): products of 16 to 512 rows
/// and columns, the same as convolutions, and point-wise kernels, reductions and copies of 4 KiB to
/// 8 MiB, in one stream. Their operations are named like their kinds.
[[nodiscard]] BenchCase generic_case(std::uint32_t blocks);

/// The case's graph with every kernel cut as it says, and a plan of one stream in its order.
[[nodiscard]] BenchCase bench_case(const KernelCase& what);

}  // namespace schedlab
