// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calibration/bench.hpp"
#include "calibration/device_times.hpp"
#include "sim/graph/task.hpp"
#include "sim/machine/kernel_profile.hpp"

#include <vector>

namespace schedlab {

/// Interference on a kernel of one block: the other workers run such kernels one after another.
struct InterferenceSample {
  Kernel kernel;             ///< a proxy kernel (ProxyWork)
  Kernel others;             ///< of each other worker
  double alone_seconds = 0;  ///< of `kernel`, all other workers idle
  double slow_down = 1;      ///< its time beside the others over `alone_seconds`, medians
};

/// Proxy kernels of every kind, in caches of every level and beyond, most of them smaller and
/// larger than what recurrent networks have. None has the shape of a kernel that validation
/// predicts.
[[nodiscard]] std::vector<Kernel> interference_kernels(bool quick);

/// Every proxy kernel alone, then beside every one: on each worker a row of equal kernels, one pair
/// after another within a run. Medians over the rows of all runs. Empty with one worker.
[[nodiscard]] std::vector<InterferenceSample> measure_interference(CalibrationBench& bench,
                                                                   const Effort& effort,
                                                                   bool quick);

/// Adds to the slow-downs by kind those of kinds that have none. That of a proxy kernel is the
/// median over streaming co-runners that move at least its own bytes; of a kind the largest of its
/// proxy kernels, as those in caches have none. Where a kind has one already, of models, the larger
/// counts.
void add_interference(const std::vector<InterferenceSample>& readings,
                      std::vector<CoRunSlowDown>& slow_downs);

}  // namespace schedlab
