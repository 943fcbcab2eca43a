// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/interrupt.hpp"

#include <cstdint>
#include <functional>

namespace schedlab {

/// Rows first .. last-1.
struct RowRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

/// Stores what was computed for some rows; called by one thread at a time.
using Commit = std::function<void()>;

/// Computes the rows of a range on one thread. `worker` < jobs: no two calls with the same worker
/// overlap, so it may index scratch memory.
using RowWork = std::function<Commit(RowRange rows, unsigned worker)>;

/// Number of threads that run: `jobs`, or one per core for 0.
[[nodiscard]] unsigned worker_count(unsigned jobs);

/// Runs `work` over the rows 0 .. count-1 on worker_count(jobs) threads and calls what it returned,
/// one after another and in the order of the rows, whatever the number of threads.
///
/// Ranges are as long as takes about 20 ms, at most 1024 rows. After a stop request no range is
/// begun; those begun are finished and committed. Returns how many rows were committed.
/// Errors  What `work` or a commit throws stops the run and is rethrown: of several failing ranges
///         the first in order; all before it are committed.
std::uint64_t parallel_rows(std::uint64_t count,
                            unsigned jobs,
                            const StopFlag* stop,
                            const RowWork& work);

}  // namespace schedlab
