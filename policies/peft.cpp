// SPDX-License-Identifier: Apache-2.0
#include "policies/list_schedule.hpp"
#include "policies/option_specs.hpp"
#include "policies/policy_info.hpp"
#include "sim/graph/levels.hpp"
#include "sim/plan/placing_policy.hpp"

namespace schedlab {
namespace {

/// PEFT: ranks tasks by the optimistic cost table OCT and picks the stream with the least
/// optimistic end, in an idle gap between tasks that are there already if one is long enough.
///   OCT(t, p) = max over successors s of min over streams q of OCT(s, q) + w(s, q) + transfer
///   rank_oct(t) = mean over p of OCT(t, p);  the stream minimizes finish(t, p) + OCT(t, p)
/// The streams of one device are equal and transfers are tasks, so OCT does not depend on the
/// stream: it is the upward rank without the task itself, and the stream is the one of the earliest
/// finish.
/// Cost: see place_on_earliest_finish(). Ties: lower task id, then lower stream id.
/// Source: Arabnejad, Barbosa, IEEE TPDS 25(3), 2014, doi 10.1109/TPDS.2013.57. Without insertion
/// ("peft_no_insertion") a task always goes behind what its stream has.
class Peft final : public PlacingPolicy {
 public:
  explicit Peft(std::uint32_t max_streams = default_list_streams,
                Insertion insertion = Insertion::idle_gaps)
      : max_streams_(max_streams), insertion_(insertion) {}
  [[nodiscard]] std::string_view name() const override {
    return insertion_ == Insertion::none ? "peft_no_insertion" : "peft";
  }
  [[nodiscard]] PlanBuilder place(const Problem& problem) const override;

 private:
  std::uint32_t max_streams_;
  Insertion insertion_;
};

PlanBuilder Peft::place(const Problem& problem) const {
  const IdVector<TaskId, Duration> duration = problem.costs.durations();
  IdVector<TaskId, Duration> rank_oct = upward_rank(problem.graph, duration);
  for (const TaskId task : rank_oct.ids()) rank_oct[task] -= duration[task];
  return place_on_earliest_finish(problem, max_streams_, urgency_of(rank_oct), insertion_);
}

}  // namespace

PolicyInfo peft_info() {
  return {.name = "peft",
          .summary =
              "Highest optimistic cost of what follows first, each task where it ends earliest, in "
              "an idle gap of a stream if it fits.",
          .source = "Arabnejad, Barbosa, IEEE TPDS 25(3), 2014, doi 10.1109/TPDS.2013.57",
          .options = list_options(),
          .make =
              [](const Options& options) {
                return std::make_unique<Peft>(count_of(options, "max_streams"));
              },
          .plans_by_durations = true};
}

PolicyInfo peft_no_insertion_info() {
  PolicyInfo info = peft_info();
  info.name = "peft_no_insertion";
  info.summary =
      "As peft, but a task always goes behind what its stream has, as a dispatcher must.";
  info.make = [](const Options& options) {
    return std::make_unique<Peft>(count_of(options, "max_streams"), Insertion::none);
  };
  return info;
}

}  // namespace schedlab
