// SPDX-License-Identifier: Apache-2.0
#include "policies/list_schedule.hpp"
#include "policies/option_specs.hpp"
#include "policies/policy_info.hpp"
#include "sim/graph/levels.hpp"
#include "sim/plan/placing_policy.hpp"

namespace schedlab {
namespace {

/// Critical path first: an idle stream takes the ready task with the longest path to an exit (its
/// b-level, or upward rank). At most (2 - 1/streams) times the optimum.
/// Cost: O((tasks + edges) log tasks). Ties: lower task id; the stream that has been idle longest.
/// Source: Hu, Operations Research 9(6), 1961, doi 10.1287/opre.9.6.841 (levels), as list
/// scheduling for any durations in Adam, Chandy, Dickson, CACM 17(12), 1974,
/// doi 10.1145/361604.361619 (HLFET).
class BottomLevel final : public PlacingPolicy {
 public:
  explicit BottomLevel(std::uint32_t max_streams = default_list_streams)
      : max_streams_(max_streams) {}
  [[nodiscard]] std::string_view name() const override { return "bottom_level"; }
  [[nodiscard]] PlanBuilder place(const Problem& problem) const override;

 private:
  std::uint32_t max_streams_;
};

PlanBuilder BottomLevel::place(const Problem& problem) const {
  const Urgency rank = urgency_of(upward_rank(problem.graph, problem.costs.durations()));
  return dispatch_when_idle(problem, max_streams_, rank);
}

}  // namespace

PolicyInfo bottom_level_info() {
  return {.name = "bottom_level",
          .summary = "An idle stream takes the ready task with the longest path to an exit.",
          .source = "Adam, Chandy, Dickson, CACM 17(12), 1974, doi 10.1145/361604.361619",
          .options = list_options(),
          .make =
              [](const Options& options) {
                return std::make_unique<BottomLevel>(count_of(options, "max_streams"));
              },
          .plans_by_durations = true};
}

}  // namespace schedlab
