// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/scenario/components.hpp"
#include "studies/scenario/result_columns.hpp"
#include "studies/scenario/scenario_runner.hpp"
#include "studies/spec/grid.hpp"

#include <cstdint>
#include <string>

namespace schedlab {

/// The columns of a sweep's results. Policies are given different granularities only where the
/// workload leaves that to them and a case has several policies.
[[nodiscard]] ResultLayout result_layout(const Components& components, const Grid& grid);

/// Says of the results of one thread what each policy was given, and runs it at the other
/// granularities that its case compares, so that gains can be told apart: of the cut and of the
/// order.
class LikeForLikeRuns {
 public:
  /// Both must outlive this.
  LikeForLikeRuns(ScenarioSpace& space, const ResultLayout& layout)
      : space_(space), layout_(layout) {}

  /// Fills result.like_for_like; a failed result stays as it is. Throws Interrupted.
  void add_to(ScenarioResult& result, ScenarioRunner& runner, std::uint64_t scenario, bool check);

 private:
  void read_workload(std::uint64_t workload);
  [[nodiscard]] LowerBounds graph_bounds(std::uint64_t scenario, Granularity granularity);

  ScenarioSpace& space_;
  const ResultLayout& layout_;
  std::uint64_t workload_ = static_cast<std::uint64_t>(-1);  // of the last scenario
  std::string fixed_;                                        // its granularity, if it has one
  bool left_open_ = false;                                   // to the policy
};

}  // namespace schedlab
