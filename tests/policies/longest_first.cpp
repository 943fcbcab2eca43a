// SPDX-License-Identifier: Apache-2.0
#include "policies/list_schedule.hpp"
#include "policies/option_specs.hpp"
#include "policies/policy_info.hpp"
#include "policies/wavefront.hpp"
#include "sim/plan/plan_builder.hpp"

// The example of docs/adding_a_policy.md; the test docs.snippets compares the two.
namespace schedlab {
namespace {

/// Longest processing time first: of the ready tasks the longest, on the stream that is free first.
/// Cost: O(tasks (log tasks + streams) + edges). Ties: lower task id, then lower stream id.
/// Source: Graham, SIAM J. Appl. Math. 17(2), 1969, doi 10.1137/0117039; with dependencies.
class LongestFirst final : public Policy {
 public:
  explicit LongestFirst(std::uint32_t max_streams) : max_streams_(max_streams) {}
  [[nodiscard]] std::string_view name() const override { return "longest_first"; }

  [[nodiscard]] Plan plan(const Problem& problem) const override {
    const auto urgency = [&](TaskId task) { return -problem.costs.duration(task).count(); };

    PlanBuilder builder{problem};
    builder.add_streams(max_streams_);
    for (const TaskId task : order_by_key(problem.graph, urgency)) {
      builder.place(task, builder.earliest_free());
    }
    return std::move(builder).build("longest_first");
  }

 private:
  std::uint32_t max_streams_;
};

}  // namespace

PolicyInfo longest_first_info() {
  return {.name = "longest_first",
          .summary = "Of the ready tasks the longest, on the stream that is free first.",
          .source = "Graham, SIAM J. Appl. Math. 17(2), 1969, doi 10.1137/0117039",
          .options = list_options(),  // max_streams
          .make = [](const Options& options) {
            return std::make_unique<LongestFirst>(count_of(options, "max_streams"));
          }};
}

}  // namespace schedlab
