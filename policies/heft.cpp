// SPDX-License-Identifier: Apache-2.0
#include "policies/list_schedule.hpp"
#include "policies/option_specs.hpp"
#include "policies/policy_info.hpp"
#include "sim/graph/levels.hpp"
#include "sim/plan/placing_policy.hpp"

namespace schedlab {
namespace {

/// HEFT: highest upward rank first, each task on the stream that finishes it earliest, in an idle
/// gap between tasks that are there already if one is long enough. Transfers are tasks of the graph
/// and the streams of a device are equal, so ranks need no averages.
/// Cost: see place_on_earliest_finish(). Ties: lower task id, then lower stream id, so plans are
/// reproducible.
/// Source: Topcuoglu, Hariri, Wu, IEEE TPDS 13(3), 2002, doi 10.1109/71.993206. Without insertion
/// ("heft_no_insertion") a task never starts before one of a higher rank on its stream.
class Heft final : public PlacingPolicy {
 public:
  explicit Heft(std::uint32_t max_streams = default_list_streams,
                Insertion insertion = Insertion::idle_gaps)
      : max_streams_(max_streams), insertion_(insertion) {}
  [[nodiscard]] std::string_view name() const override {
    return insertion_ == Insertion::none ? "heft_no_insertion" : "heft";
  }
  [[nodiscard]] PlanBuilder place(const Problem& problem) const override;

 private:
  std::uint32_t max_streams_;
  Insertion insertion_;
};

PlanBuilder Heft::place(const Problem& problem) const {
  const Urgency rank = urgency_of(upward_rank(problem.graph, problem.costs.durations()));
  return place_on_earliest_finish(problem, max_streams_, rank, insertion_);
}

}  // namespace

PolicyInfo heft_info() {
  return {.name = "heft",
          .summary =
              "Highest upward rank first, each task where it ends earliest, in an idle gap of a "
              "stream if it fits.",
          .source = "Topcuoglu, Hariri, Wu, IEEE TPDS 13(3), 2002, doi 10.1109/71.993206",
          .options = list_options(),
          .make =
              [](const Options& options) {
                return std::make_unique<Heft>(count_of(options, "max_streams"));
              },
          .plans_by_durations = true};
}

PolicyInfo heft_no_insertion_info() {
  PolicyInfo info = heft_info();
  info.name = "heft_no_insertion";
  info.summary =
      "As heft, but a task always goes behind what its stream has, as a dispatcher must.";
  info.make = [](const Options& options) {
    return std::make_unique<Heft>(count_of(options, "max_streams"), Insertion::none);
  };
  return info;
}

}  // namespace schedlab
