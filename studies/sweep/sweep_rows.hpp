// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/interrupt.hpp"
#include "sim/base/units.hpp"
#include "sim/sweep/parallel_rows.hpp"
#include "sim/sweep/table.hpp"
#include "studies/scenario/result_columns.hpp"
#include "studies/scenario/scenario_space.hpp"
#include "studies/sweep/results_store.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// A finished scenario on its way to the store.
struct FinishedRow {
  std::uint64_t scenario = 0;
  std::vector<Cell> axes;
  std::vector<Cell> results;
  std::vector<Duration> makespans;  ///< of the samples

  void add_to(ResultsStore& store) const { store.add(scenario, axes, results, makespans); }
  friend bool operator==(const FinishedRow&, const FinishedRow&) = default;
};

/// Rows as bytes that another process of the same program reads.
[[nodiscard]] std::string rows_to_bytes(const std::vector<FinishedRow>& rows);
[[nodiscard]] std::vector<FinishedRow> rows_from_bytes(std::string_view bytes);

/// Runs the scenarios of a sweep that are not done yet.
class RowMaker {
 public:
  /// `space` and `done` must outlive this.
  RowMaker(ScenarioSpace& space,
           const std::vector<bool>& done,
           bool check,
           const StopFlag* stop,
           unsigned workers);
  RowMaker(const RowMaker&) = delete;
  RowMaker& operator=(const RowMaker&) = delete;
  ~RowMaker();

  /// The rows of a range of positions that are not there yet; fewer when asked to stop. Several
  /// threads may call it, each with a `worker` of its own.
  [[nodiscard]] std::vector<FinishedRow> make(RowRange range, unsigned worker);
  /// Those of these scenarios that are not there yet.
  [[nodiscard]] std::vector<FinishedRow> make(std::span<const std::uint64_t> scenarios,
                                              unsigned worker);

 private:
  ScenarioSpace& space_;
  const std::vector<bool>& done_;
  bool check_;
  ResultLayout layout_;
  const StopFlag* stop_;
  struct Worker;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace schedlab
