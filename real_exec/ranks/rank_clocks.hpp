// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profiler/clock_alignment.hpp"
#include "profiler/cpu_clock.hpp"
#include "real_exec/ranks/rank_link.hpp"

#include <vector>

namespace schedlab {

/// How the clocks of all ranks stand to rank 0's. Known at rank 0 only.
class RankClocks {
 public:
  /// Rank 0 asks every other rank for its time, some times over, and keeps the quickest answer.
  /// Called by all ranks, when no message is under way: before the run, and again after it, so that
  /// clocks that drift are known too.
  void sample(RankLink& link, const CpuClock& clock);

  /// A time of a rank's clock on rank 0's.
  [[nodiscard]] Time at_rank_0(int rank, Time time) const;
  /// No time between the samples is further from the truth, of any rank.
  [[nodiscard]] Duration error() const;

 private:
  std::vector<std::vector<ClockSample>> samples_;  // by rank; of rank 0 none
  std::vector<ClockMapping> mappings_;
};

}  // namespace schedlab
