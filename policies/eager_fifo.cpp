// SPDX-License-Identifier: Apache-2.0
#include "policies/list_schedule.hpp"
#include "policies/option_specs.hpp"
#include "policies/policy_info.hpp"
#include "sim/plan/placing_policy.hpp"

namespace schedlab {
namespace {

/// Tasks in the order in which they become ready, each to the first idle stream: a run-time
/// system's central queue without priorities. Knows no durations beyond those that have passed.
/// Cost: O((tasks + edges) log tasks). Ties: lower task id; the stream that has been idle longest.
/// Source: list scheduling of Graham, SIAM J. Appl. Math. 17(2), 1969, doi 10.1137/0117039, with
/// the list in order of arrival (the "eager" scheduler of StarPU).
class EagerFifo final : public PlacingPolicy {
 public:
  explicit EagerFifo(std::uint32_t max_streams = default_list_streams)
      : max_streams_(max_streams) {}
  [[nodiscard]] std::string_view name() const override { return "eager_fifo"; }
  [[nodiscard]] PlanBuilder place(const Problem& problem) const override;

 private:
  std::uint32_t max_streams_;
};

PlanBuilder EagerFifo::place(const Problem& problem) const {
  return dispatch_when_idle(problem, max_streams_, {});
}

}  // namespace

PolicyInfo eager_fifo_info() {
  return {
      .name = "eager_fifo",
      .summary = "Tasks in the order in which they become ready, each to the first idle stream.",
      .source = "Graham, SIAM J. Appl. Math. 17(2), 1969, doi 10.1137/0117039",
      .options = list_options(),
      .make =
          [](const Options& options) {
            return std::make_unique<EagerFifo>(count_of(options, "max_streams"));
          },
      .plans_by_durations = true};
}

}  // namespace schedlab
