// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "notebooks_export/report_document.hpp"
#include "sim/base/interrupt.hpp"
#include "sim/base/units.hpp"
#include "studies/parallel/parallel_choices.hpp"
#include "studies/parallel/parallel_spec.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace schedlab {

/// One way to spread a model, simulated: a choice with its schedule and the best cut found for it.
struct ParallelRow {
  ParallelChoice choice;
  std::size_t policy = 0;  ///< of ParallelSpec::policies
  std::vector<std::int64_t> layers_per_stage;
  Duration time{0};         ///< of an iteration, simulated
  Duration bound{0};        ///< no schedule of this cut is faster
  double bubble_share = 0;  ///< a rank works on no pass and no update, mean of the ranks
  Duration sums{0};         ///< of the gradients over the replicas, of the stage with most
  Bytes memory{};           ///< of the fullest device

  [[nodiscard]] Duration idle() const;
  [[nodiscard]] Duration passes() const { return time - idle(); }
};

/// What was found for a spec, which must outlive it.
struct ParallelPlan {
  const ParallelSpec* spec = nullptr;
  std::string machine;
  std::size_t layers = 0;
  Bytes memory_limit{};           ///< 0: none
  std::vector<ParallelRow> rows;  ///< by rising time, one for each choice and schedule
  Duration lower_bound{0};        ///< no plan of the spec's choices is faster
  std::size_t exact_rows = 0;     ///< so many of the rows are the fastest there are, in order
  std::uint64_t choices = 0;
  std::uint64_t cuts = 0;  ///< whose bounds were worked out
  std::uint64_t simulations = 0;
  std::uint64_t too_large = 0;  ///< cuts and simulated plans that do not fit into memory
  /// The fastest of these that was simulated, if it is faster than the first row.
  std::optional<ParallelRow> unfit{};
  bool stopped = false;  ///< before the end, by a signal or the number of simulations

  /// Is the first row the fastest there is?
  [[nodiscard]] bool proven() const { return exact_rows > 0; }
};

/// Told of the simulations that are done.
using ParallelObserver = std::function<void(std::uint64_t simulations)>;

/// The fastest ways to train a model on some devices: replicas, stages, their cut in the model's
/// order, virtual stages, tensor-parallel degree, microbatches, recomputation and schedule.
///
/// Branch and bound: every cut of every choice has a lower bound (ParallelBounds); they are
/// simulated with all schedules, lowest bound first, until no bound is below the time of the last
/// row that is wanted. If a run is stopped, or a model has too many cuts, lower_bound says how much
/// faster a plan could be.
///
/// Errors   what specs, models, machines throw; InfeasibleError if nothing fits: says what the
///          emptiest plan needs.
/// Cost     one simulation for each schedule of a cut whose bound is not below the result.
[[nodiscard]] ParallelPlan plan_parallel(const ParallelSpec& spec,
                                         const StopFlag* stop = nullptr,
                                         const ParallelObserver& observer = {});

/// The spec of a row, for `schedlab simulate` and sweeps. `folder`: where it will be; paths are
/// written relative to it. Empty: as in the spec.
[[nodiscard]] std::string scenario_of(const ParallelSpec& spec,
                                      const ParallelRow& row,
                                      const std::filesystem::path& folder = {});

/// Ends with a line feed.
[[nodiscard]] std::string parallel_plan_json(const ParallelPlan& plan);
/// JSON Schema (draft 7) of parallel_plan_json().
[[nodiscard]] std::string parallel_plan_schema();
/// The rows as a table of numbers.
[[nodiscard]] std::string parallel_rows_csv(const ParallelPlan& plan);
[[nodiscard]] ReportDocument parallel_report(const ParallelPlan& plan);

namespace detail {
/// A path of the spec as a file in `folder` has to say it; empty: as in the spec.
[[nodiscard]] std::string moved_path(const ParallelSpec& spec,
                                     const std::string& path,
                                     const std::filesystem::path& folder);
/// The spec of a choice and cut with all schedules, or one.
[[nodiscard]] std::string parallel_scenarios(const ParallelSpec& spec,
                                             const ParallelChoice& choice,
                                             const std::vector<std::int64_t>& layers_per_stage,
                                             std::optional<std::size_t> policy,
                                             const std::filesystem::path& folder);
}  // namespace detail

}  // namespace schedlab
