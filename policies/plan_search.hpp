// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policies/launch_dispatch.hpp"
#include "policies/list_moves.hpp"
#include "sim/base/rng.hpp"
#include "sim/plan/plan_builder.hpp"
#include "sim/plan/policy.hpp"
#include "sim/trace/trace.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace schedlab {

/// What came of a plan.
struct PlanOutcome {
  /// Of the plan's tasks, until the next run; nullptr: what ran is more than this plan.
  const Trace* trace = nullptr;
  /// What a search makes small: the makespan, or what stands for it on a machine that scatters.
  Duration makespan{0};
};

/// Runs a plan. Throws InfeasibleError for a plan that cannot run, which the search then leaves
/// alone.
using PlanRun = std::function<PlanOutcome(const Plan&)>;

/// A plan with its makespan, as PlanOutcome has it.
struct ScoredPlan {
  Plan plan;
  Duration makespan = Duration::max();
};

/// A better plan was found.
struct Improvement {
  std::uint64_t evaluations = 0;
  Duration makespan{0};
};

struct PlanSearchOptions {
  std::uint64_t seed = 1;
  std::uint32_t max_streams = 32;
  Duration target{0};         ///< the search is over once a plan takes no longer
  bool checks_memory = true;  ///< pipelines: plans must fit into the devices
};

/// Late acceptance: a makespan is compared with that of some steps ago (Burke, Bykov, European
/// Journal of Operational Research 258(1), 2017, doi 10.1016/j.ejor.2016.07.012).
class LateAcceptance {
 public:
  void restart(Duration makespan);
  [[nodiscard]] bool accepts(Duration makespan);

 private:
  std::vector<Duration> history_;
  std::size_t next_ = 0;
  Duration current_ = Duration::max();
};

/// A search for better plans of one problem, scored by whole runs. Deterministic: the same seed and
/// number of evaluations give the same plan, in one step or many.
class PlanImprover {
 public:
  virtual ~PlanImprover() = default;
  PlanImprover(const PlanImprover&) = delete;
  PlanImprover& operator=(const PlanImprover&) = delete;

  /// Makes so many more evaluations, fewer once the target is reached.
  virtual void advance(std::uint64_t evaluations) = 0;
  /// Goes on from this plan if it is better: another search found it.
  virtual void offer(const ScoredPlan& plan) = 0;

  [[nodiscard]] const ScoredPlan& best() const { return best_; }
  [[nodiscard]] bool reached() const { return best_.makespan <= options_.target; }
  [[nodiscard]] std::uint64_t evaluations() const { return evaluations_; }
  [[nodiscard]] const std::vector<Improvement>& improvements() const { return improvements_; }

 protected:
  PlanImprover(const Problem& problem,
               std::span<const ScoredPlan> starts,
               PlanRun run,
               const PlanSearchOptions& options);

  /// Runs a plan, and keeps it if it is the best. nullopt: it cannot run.
  [[nodiscard]] std::optional<PlanOutcome> score(Plan plan);
  /// Is it the best now?
  bool take(const ScoredPlan& plan);
  void count_evaluation() { ++evaluations_; }
  /// Evaluations since the last progress.
  [[nodiscard]] std::uint64_t stalled() const { return evaluations_ - last_progress_; }
  void forget_progress() { last_progress_ = evaluations_; }
  [[nodiscard]] const PlanSearchOptions& options() const { return options_; }
  [[nodiscard]] Rng& rng() { return rng_; }

 private:
  Problem problem_;
  PlanRun run_;
  PlanSearchOptions options_;
  Rng rng_;
  ScoredPlan best_;
  std::uint64_t evaluations_ = 0;
  std::uint64_t last_progress_ = 0;
  std::vector<Improvement> improvements_;
};

/// Of a pipeline's graph a PipelineOrderSearch, of others a PlanSearch. Shapes and errors as these.
[[nodiscard]] std::unique_ptr<PlanImprover> make_plan_search(const Problem& problem,
                                                             std::span<const ScoredPlan> starts,
                                                             PlanRun run,
                                                             const PlanSearchOptions& options);

/// Local search over the plans of one problem on one device and one host thread. Two searches
/// alternate, each with late acceptance:
///   lists       urgencies of tasks and a number of streams, decoded by dispatch_when_idle() or
///               place_on_earliest_finish() with insertion; now and then forward-backward improved,
///               or with some neighbouring tasks in their best order (ListMoves);
///               dispatch_together() where tasks gain by being held, LaunchDispatch where the host
///               decides, with moves of all tasks of an operation
///   placements  order of launches, stream of each task, priorities of streams; in these two cases
///               also what a task waits for beyond the graph
/// Moves prefer tasks that the end of the last accepted run waited for. What one finds the other
/// goes on with; without progress both begin again from the best plan, disturbed.
class PlanSearch final : public PlanImprover {
 public:
  /// `starts`: plans to begin with, at least one, best first. What the problem refers to must
  /// outlive this.
  PlanSearch(const Problem& problem,
             std::span<const ScoredPlan> starts,
             PlanRun run,
             const PlanSearchOptions& options);

  void advance(std::uint64_t evaluations) override;
  void offer(const ScoredPlan& plan) override;

 private:
  enum class Decoder : std::uint8_t { dispatch, insertion, together, launches };
  struct List {
    Decoder decoder = Decoder::dispatch;
    std::uint32_t streams = 1;
    double least_gain = 0.0;  // together: of the units, for which one more task starts
    Urgency urgency{};
    LaunchDispatchOptions launches{};  // its streams are those above
  };
  /// What a task starts after without the graph asking for it, if anything.
  using Held = IdVector<TaskId, TaskId>;

  [[nodiscard]] std::optional<PlanOutcome> scored(Plan plan);
  /// Does the graph not say all that a good plan waits for?
  [[nodiscard]] bool adds_waits() const { return holds_ || launch_dispatch_.has_value(); }
  void add_first_lists(std::span<const ScoredPlan> starts);
  void find_awaited(const Trace& trace);
  [[nodiscard]] TaskId some_task();
  void step_list();
  void step_placement();
  void restart();
  [[nodiscard]] Urgency in_order(const Placement& placement) const;
  void begin_from(const Plan& plan, Duration makespan);
  [[nodiscard]] List changed(const List& list);
  [[nodiscard]] List shifted(const List& list);
  [[nodiscard]] List changed_launches(const List& list);
  [[nodiscard]] List swapped(const List& list);
  [[nodiscard]] List improved(const List& list);
  void set_placement(Placement placement);
  /// False: nothing came of it.
  bool change(Placement& placement, Held& held);
  void move_stream(Placement& placement);
  void move_order(Placement& placement);
  void move_wait(Placement& placement, Held& held);
  void merge_wait(const Placement& placement, Held& held, std::uint32_t at);
  [[nodiscard]] bool move_priority(Placement& placement);
  [[nodiscard]] PlanBuilder decoded(const List& list) const;
  [[nodiscard]] PlanBuilder built(const Placement& placement, const Held& held) const;

  Problem problem_;
  std::uint64_t patience_ = 0;
  ListMoves list_moves_;
  bool holds_;                                     // tasks that could start
  std::optional<LaunchDispatch> launch_dispatch_;  // where the host decides
  std::vector<List> first_lists_;              // to be looked at before others are made, last first
  Duration first_makespan_ = Duration::max();  // the shortest of those looked at
  List list_;
  ListMoves::Ends list_ends_;  // in the last accepted run of a list; empty: not known
  LateAcceptance list_late_;
  Placement placement_;  // without extra needs
  Held held_;
  LateAcceptance placement_late_;
  std::vector<TaskId> awaited_;  // of the last accepted run
  std::uint64_t list_gain_ = 1;  // improvements, so that the better search has more turns
  std::uint64_t placement_gain_ = 1;
};

/// The stream of each task and the order of launches of a plan of one host thread, whose streams
/// exist from the start; nullopt for others and for device graphs.
[[nodiscard]] std::optional<Placement> placement_of(const Problem& problem, const Plan& plan);

}  // namespace schedlab
