// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

namespace schedlab {

/// How much of the cores that this process may use went to other processes, from the system's
/// counters (Linux: /proc/stat, in steps of 10 ms, time taken by a hypervisor included).
class OtherLoad {
 public:
  /// Counts from here on.
  OtherLoad();

  /// Share of the cores' time since then, in [0, 1]; nullopt where the system does not say, and
  /// before a tenth of a second has passed.
  [[nodiscard]] std::optional<double> share() const;

 private:
  struct Reading {
    double busy_s = 0;  ///< of the cores, by anybody
    double own_s = 0;   ///< processor time of this process
    double wall_s = 0;
    int cores = 0;
  };
  [[nodiscard]] static std::optional<Reading> read();

  std::optional<Reading> begin_;
};

}  // namespace schedlab
