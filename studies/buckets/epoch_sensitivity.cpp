// SPDX-License-Identifier: Apache-2.0
#include "studies/buckets/epoch_sensitivity.hpp"

#include "sim/base/error.hpp"
#include "studies/buckets/setup_batches.hpp"
#include "studies/spec/axis_label.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace schedlab {
namespace {

constexpr std::uint64_t max_tasks = 10 * max_sensitivity_tasks;  // several hundred times

/// Passes of rows, on any machine in the place of the scenario's.
class Passes {
 public:
  Passes(const BucketStudy& study, const std::vector<std::size_t>& rows, const StopFlag* stop)
      : spec_(*study.spec), stop_(stop) {
    const StepSimulation steps{spec_, study.rows[rows.front()].setup, stop};
    machine_ = steps.machine();
    for (const std::size_t each : rows) {
      const BucketRow& row = study.rows[each];
      rows_.push_back(&row);
      epochs_.push_back(epoch_of(spec_, row.data, row.setup, row.boundaries, row.batch_rows));
    }
    name_them(bucket_table(study), rows);
  }

  [[nodiscard]] ComparedRuns compared() const {
    return {.name = spec_.name,
            .machine = machine_,
            .policies = names_,
            .makespans = [this](const MachineSpec& machine) {
              std::uint64_t tasks = 0;
              return on(machine, tasks);
            }};
  }

  [[nodiscard]] std::uint64_t tasks() const {
    std::uint64_t tasks = 0;
    static_cast<void>(on(machine_, tasks));
    return tasks;
  }

 private:
  /// Nothing if one cannot run there. Adds the tasks of the steps that were simulated.
  [[nodiscard]] std::optional<std::vector<Duration>> on(const MachineSpec& machine,
                                                        std::uint64_t& tasks) const {
    BucketSpec changed = spec_;
    changed.machine = std::make_shared<const MachineSpec>(machine);
    std::vector<Duration> times;
    try {
      for (std::size_t i = 0; i < rows_.size(); ++i) {
        SetupBatches batches{changed, rows_[i]->setup, stop_, nullptr};
        const StoredSteps steps =
            batches.stored({.boundaries = rows_[i]->boundaries, .batches = rows_[i]->batch_rows});
        times.push_back(epoch_time(epochs_[i], steps.step, steps.building, spec_.reading).total);
        tasks += batches.tasks();
      }
    } catch (const InfeasibleError&) {
      return std::nullopt;
    }
    return times;
  }

  /// By the values in which they differ.
  void name_them(const Table& table, const std::vector<std::size_t>& rows) {
    for (const std::size_t row : rows) {
      std::vector<std::string> words;
      for (std::size_t i = 0; i < table.columns.size(); ++i) {
        if (table.columns[i].role != ColumnRole::axis) continue;
        for (const std::size_t other : rows) {
          if (table.rows[other][i] == table.rows[row][i]) continue;
          words.push_back(
              fmt::format("{} {}", table.columns[i].name, to_string(table.rows[row][i])));
          break;
        }
      }
      names_.push_back(words.empty() ? "epoch" : fmt::format("{}", fmt::join(words, ", ")));
    }
  }

  BucketSpec spec_;
  const StopFlag* stop_;
  MachineSpec machine_;
  std::vector<const BucketRow*> rows_;
  std::vector<Epoch> epochs_;
  std::vector<std::string> names_;
};

/// The fastest row beside `best` that `is_other` allows; nullopt: none.
template <class IsOther>
std::optional<std::size_t> fastest_other(const BucketStudy& study,
                                         const BucketRow& best,
                                         const IsOther& is_other) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < study.rows.size(); ++i) {
    const BucketRow& row = study.rows[i];
    if (&row == &best || row.data != best.data || !row.fits || row.boundaries.empty() ||
        row.sequences != best.sequences || !is_other(row)) {
      continue;
    }
    if (!found || row.time.total < study.rows[*found].time.total) found = i;
  }
  return found;
}

}  // namespace

std::optional<Sensitivity> epoch_sensitivity(const BucketStudy& study,
                                             const std::vector<std::size_t>& rows,
                                             const StopFlag* stop) {
  const Passes passes(study, rows, stop);
  if (passes.tasks() > max_tasks) return std::nullopt;
  return sensitivity(passes.compared(), {.most_delicate = most_delicate_numbers, .stop = stop});
}

std::optional<Sensitivity> epoch_sensitivity(const BucketStudy& study, const StopFlag* stop) {
  for (std::size_t i = 0; i < study.rows.size(); ++i) {
    const BucketRow& best = study.rows[i];
    if (!best.best || best.data != 0 || best.boundaries.empty()) continue;
    auto other = fastest_other(study, best, [&](const BucketRow& row) {
      return row.setup != best.setup ||
             (row.rule != best.rule && row.boundaries != best.boundaries);
    });
    if (!other) {
      other = fastest_other(
          study, best, [&](const BucketRow& row) { return row.boundaries != best.boundaries; });
    }
    if (!other) return std::nullopt;
    return epoch_sensitivity(study, {i, *other}, stop);
  }
  return std::nullopt;
}

}  // namespace schedlab
