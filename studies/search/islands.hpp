// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policies/plan_search.hpp"
#include "real_exec/ranks/rank_link.hpp"
#include "sim/base/interrupt.hpp"
#include "studies/search/plan_scorer.hpp"
#include "studies/search/search_choices.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace schedlab {

/// When a search ends; at least one of the first two must be set.
struct SearchLimits {
  double seconds = 0;             ///< of the wall; 0: no limit
  std::uint64_t evaluations = 0;  ///< of all islands; 0: no limit
  double gap = 0;                 ///< over the certified bound, as a share
};

struct SearchSettings {
  SearchLimits limits;
  std::uint64_t seed = 1;
  std::uint32_t max_streams = 32;
  std::uint32_t islands = 1;  ///< searches on a thread each; they exchange plans
  SearchStart start{};
  Scatter scatter{};
  RankLink* link = nullptr;  ///< to other processes that search the same; nullptr: none
  const StopFlag* stop = nullptr;
};

class WallClock {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
  }

 private:
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

/// Searches side by side, on threads and ranks, which go on from the best plan of all after each
/// step. What each does in a step depends on nothing else, so the result does not depend on the
/// threads, and without a limit in seconds not on time. Choices race: the number of those that are
/// searched is halved whenever another sixth of the limit is used up, and one whose bound is no
/// less than the best plan is dropped at once.
class Islands {
 public:
  /// All must outlive it. Ranks have equal choices and settings.
  Islands(const std::vector<SearchChoice>& choices, const SearchSettings& settings);

  void search(const WallClock& clock);

  /// The place of the choice that the best plan is for.
  [[nodiscard]] std::size_t choice() const { return best_choice_; }
  [[nodiscard]] const ScoredPlan& best() const { return best_; }
  /// Of all islands of all ranks.
  [[nodiscard]] std::uint64_t evaluations() const { return evaluations_; }
  /// The first is what the search begins with.
  [[nodiscard]] const std::vector<Improvement>& improvements() const { return improvements_; }

 private:
  struct Lane {
    std::size_t choice = 0;
    std::vector<std::unique_ptr<PlanImprover>> islands;

    [[nodiscard]] const ScoredPlan& best() const;
    [[nodiscard]] std::uint64_t evaluations() const;
    [[nodiscard]] bool reached() const;
  };
  /// What a rank has to tell after a step.
  struct Told {
    const ScoredPlan* best = nullptr;
    std::size_t choice = 0;  // of that plan
    std::uint64_t evaluations = 0;
    bool stop = false;
    bool reached = false;  // its searches have nothing left to find
  };
  /// What all ranks agree on then.
  struct Agreed {
    bool end = false;
    double used = 0;  // of the limit
  };

  [[nodiscard]] int rank() const { return settings_.link == nullptr ? 0 : settings_.link->rank(); }
  [[nodiscard]] std::uint64_t step() const;
  [[nodiscard]] Told told() const;
  [[nodiscard]] Agreed judge(double seconds, bool over) const;
  [[nodiscard]] Agreed exchange(const WallClock& clock);
  [[nodiscard]] Agreed exchange_with_ranks(const Told& own, const WallClock& clock);
  void advance(std::uint64_t evaluations);
  void take(std::size_t choice, const ScoredPlan& plan);
  void drop_lanes(double used);

  const std::vector<SearchChoice>& choices_;
  const SearchSettings& settings_;
  Duration wanted_{0};  // the search is over
  std::vector<Lane> lanes_;
  ScoredPlan best_;
  std::size_t best_choice_ = 0;
  std::uint64_t evaluations_ = 0;
  std::uint64_t dropped_evaluations_ = 0;  // of own lanes that are no longer searched
  std::vector<Improvement> improvements_;
};

}  // namespace schedlab
