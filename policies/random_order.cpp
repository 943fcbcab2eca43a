// SPDX-License-Identifier: Apache-2.0
#include "policies/list_schedule.hpp"
#include "policies/option_specs.hpp"
#include "policies/policy_info.hpp"
#include "sim/base/rng.hpp"
#include "sim/plan/placing_policy.hpp"

namespace schedlab {
namespace {

/// An idle stream takes a ready task at random (a seeded rank per task): what a schedule is worth
/// without any heuristic. Equal seeds give equal plans on every machine. Cost: O((tasks +
/// edges) log tasks). Ties: lower task id; the stream that has been idle longest. Source: list
/// scheduling of Graham, SIAM J. Appl. Math. 17(2), 1969, doi 10.1137/0117039.
class RandomOrder final : public PlacingPolicy {
 public:
  explicit RandomOrder(std::uint64_t seed, std::uint32_t max_streams = default_list_streams)
      : seed_(seed), max_streams_(max_streams) {}
  [[nodiscard]] std::string_view name() const override { return "random"; }
  [[nodiscard]] PlanBuilder place(const Problem& problem) const override;

 private:
  std::uint64_t seed_;
  std::uint32_t max_streams_;
};

PlanBuilder RandomOrder::place(const Problem& problem) const {
  Rng rng{seed_};
  Urgency urgency(problem.graph.task_count(), 0);
  for (std::int64_t& rank : urgency) rank = static_cast<std::int64_t>(rng.next() >> 1U);
  return dispatch_when_idle(problem, max_streams_, urgency);
}

}  // namespace

PolicyInfo random_order_info() {
  std::vector<OptionSpec> options = list_options();
  options.push_back({.name = "seed",
                     .default_value = std::int64_t{1},
                     .doc = "Seed of the random ranks.",
                     .minimum = 0});
  return {.name = "random",
          .summary = "An idle stream takes a ready task at random.",
          .source = "Graham, SIAM J. Appl. Math. 17(2), 1969, doi 10.1137/0117039",
          .options = std::move(options),
          .make =
              [](const Options& options_given) {
                return std::make_unique<RandomOrder>(
                    static_cast<std::uint64_t>(options_given.integer("seed")),
                    count_of(options_given, "max_streams"));
              },
          .plans_by_durations = true};
}

}  // namespace schedlab
