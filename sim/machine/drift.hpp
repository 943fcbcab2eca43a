// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task.hpp"

#include <span>
#include <vector>

namespace schedlab {

/// How much longer kernels took at one moment than the samples of a profile say, by kind: 1.1 is
/// 10 % longer. What changes them all is a clock, a neighbour, a temperature.
struct DriftReading {
  struct Factors {
    TaskKind kind = TaskKind::gemm;
    double one_unit = 1;   ///< kernels of one block, all other units idle
    double all_units = 1;  ///< kernels of as many blocks as there are units

    friend bool operator==(const Factors&, const Factors&) = default;
  };
  std::vector<Factors> kinds;  ///< each kind at most once, in the order of TaskKind

  /// On the duration of a kernel of this kind. Of a kind that was not read: the geometric mean of
  /// those that were; 1 if there are none.
  [[nodiscard]] double factor(TaskKind kind, bool all_units) const;
  /// Geometric mean over all kinds, on one unit, on all, or of both.
  [[nodiscard]] double one_unit() const;
  [[nodiscard]] double all_units() const;
  [[nodiscard]] double overall() const;

  friend bool operator==(const DriftReading&, const DriftReading&) = default;
};

/// Kind by kind, and one unit and all units apart, the median of those that have the kind.
[[nodiscard]] DriftReading median_reading(std::span<const DriftReading> readings);

}  // namespace schedlab
