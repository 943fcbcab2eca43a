// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/units.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace schedlab::test {

/// A graph of activities on resources, to be run by SimGrid.
///
/// SimGrid keeps one engine and one clock per process, so the activities of all cases of a test go
/// into one graph (on resources of their own) and run at once.
///
/// Time: one second of SimGrid is one picosecond of ours and a resource does one unit of work in
/// it. Dates are then integers far below 2^53, which its doubles hold exactly, and its thresholds
/// (1e-9 s for dates, 1e-5 units for work) are far below one picosecond: results are compared with
/// ==.
class SimGridDag {
 public:
  using Set = std::vector<std::uint32_t>;  ///< activities, by number
  struct Span {
    Time started{};
    Time ended{};
  };

  /// A resource that runs its activities at full speed, up to `at_once` of them at a time.
  [[nodiscard]] std::uint32_t add_resource(int at_once = 1) {
    at_once_.push_back(at_once);
    return static_cast<std::uint32_t>(at_once_.size() - 1);
  }
  /// `work` must be positive: SimGrid has no empty activities.
  std::uint32_t add(Duration work, std::uint32_t resource, Set after) {
    activities_.push_back({work, resource, std::move(after)});
    return static_cast<std::uint32_t>(activities_.size() - 1);
  }
  [[nodiscard]] std::size_t size() const { return activities_.size(); }

  /// Runs everything; once per process. One span per activity.
  [[nodiscard]] std::vector<Span> run() const;

 private:
  struct Activity {
    Duration work{};
    std::uint32_t resource = 0;
    Set after;
  };
  std::vector<int> at_once_;
  std::vector<Activity> activities_;
};

}  // namespace schedlab::test
