// SPDX-License-Identifier: Apache-2.0
#include "studies/buckets/executed_epochs.hpp"

#include "sim/base/rng.hpp"
#include "sim/base/wall_clock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

namespace schedlab {
namespace {

class StudyExecutor {
 public:
  StudyExecutor(const BucketStudy& study, const EpochExecution& request, const StopFlag* stop)
      : study_(study), spec_(*study.spec) {
    struct Sizes {
      std::set<std::int64_t> lengths;
      std::set<std::int64_t> batches;
    };
    std::map<TrainingSetup, Sizes> sizes;
    for (const BucketRow& row : study.rows) {
      Sizes& of_setup = sizes[row.setup.of_steps()];
      of_setup.lengths.insert(row.boundaries.begin(), row.boundaries.end());
      of_setup.batches.insert(row.batch_rows.begin(), row.batch_rows.end());
    }
    const auto listed = [](const std::set<std::int64_t>& all) {
      return std::vector<std::int64_t>(all.begin(), all.end());
    };
    for (const auto& [setup, all] : sizes) {
      if (all.lengths.empty()) continue;
      steps_[setup] = std::make_unique<ExecutedSteps>(
          spec_, setup, listed(all.lengths), listed(all.batches), request, stop);
    }
  }

  [[nodiscard]] ExecutedEpoch predicted(std::size_t index) {
    const BucketRow& row = study_.rows[index];
    ExecutedSteps& steps = steps_of(row);
    ExecutedEpoch epoch;
    epoch.row = index;
    const Epoch data = epoch_of(spec_, row.data, row.setup, row.boundaries, row.batch_rows);
    for (const SequenceBatch& batch : data.batches) {
      const PredictedStep& step =
          steps.predicted(row.boundaries[batch.bucket], row.batch_rows[batch.bucket]);
      epoch.predicted += step.makespan;
      epoch.predicted_peak = std::max(epoch.predicted_peak, step.peak);
    }
    std::map<std::int64_t, std::int64_t> rows;
    for (std::size_t i = 0; i < row.boundaries.size(); ++i) {
      rows[row.boundaries[i]] = row.batch_rows[i];
    }
    const StepTime step = [&](std::int64_t length) {
      return steps.predicted(length, rows.at(length)).makespan;
    };
    epoch.predicted_pass = epoch_time(data, step, {}, spec_.reading);
    return epoch;
  }

  [[nodiscard]] EpochRun run(std::size_t index) {
    const BucketRow& row = study_.rows[index];
    ExecutedSteps& steps = steps_of(row);
    const SequenceCorpus corpus{
        spec_.data[row.data].lengths, steps.input(), steps.output(), spec_.seed};
    return steps.run(epoch_of(spec_, row.data, row.setup, row.boundaries, row.batch_rows),
                     corpus,
                     files_of(row.data, corpus));
  }

  [[nodiscard]] std::string device() const {
    return steps_.empty() ? std::string{"nothing"} : steps_.begin()->second->device();
  }

 private:
  /// Written when they are first needed; nullptr where nothing is read.
  [[nodiscard]] const ChunkFiles* files_of(std::size_t data, const SequenceCorpus& corpus) {
    if (spec_.reading.bytes_per_step == 0) return nullptr;
    std::unique_ptr<ChunkFiles>& files = files_[{data, corpus.step_floats()}];
    if (files == nullptr) {
      files =
          std::make_unique<ChunkFiles>(corpus, spec_.chunk_sequences, spec_.reading.bytes_per_step);
    }
    return files.get();
  }
  [[nodiscard]] ExecutedSteps& steps_of(const BucketRow& row) {
    return *steps_.at(row.setup.of_steps());
  }

  const BucketStudy& study_;
  const BucketSpec& spec_;
  std::map<TrainingSetup, std::unique_ptr<ExecutedSteps>> steps_;
  std::map<std::pair<std::size_t, std::int64_t>, std::unique_ptr<ChunkFiles>> files_;
};

double seconds(const ExecutedEpoch& epoch) {
  return to_seconds(epoch.median().training);
}

/// How many times as fast as the first epoch whose row `is_base`.
template <class IsBase>
void hold_against(const std::vector<ExecutedEpoch>& epochs,
                  const ExecutedEpoch& epoch,
                  const IsBase& is_base,
                  std::optional<double>& predicted,
                  std::optional<double>& measured) {
  const auto base = std::find_if(epochs.begin(), epochs.end(), is_base);
  if (base == epochs.end()) return;
  predicted = to_seconds(base->predicted) / to_seconds(epoch.predicted);
  if (epoch.runs.empty() || base->runs.empty()) return;
  measured = seconds(*base) / seconds(epoch);
}

void compare(const BucketStudy& study, std::vector<ExecutedEpoch>& epochs) {
  for (ExecutedEpoch& epoch : epochs) {
    const BucketRow& row = study.rows[epoch.row];
    const auto is_single = [&](const ExecutedEpoch& other) {
      const BucketRow& one = study.rows[other.row];
      return one.buckets == 1 && one.data == row.data && one.setup == row.setup;
    };
    hold_against(epochs, epoch, is_single, epoch.predicted_speed_up, epoch.measured_speed_up);
    const BucketRow* const plain = plain_row(study, row);
    const auto is_plain = [&](const ExecutedEpoch& other) {
      return &study.rows[other.row] == plain;
    };
    hold_against(
        epochs, epoch, is_plain, epoch.predicted_batching_gain, epoch.measured_batching_gain);
  }
}

/// The rows of one round.
std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed) {
  std::vector<std::size_t> order(count);
  for (std::size_t i = 0; i < count; ++i) order[i] = i;
  Rng rng{seed};
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
  return order;
}

}  // namespace

const EpochRun& ExecutedEpoch::median() const {
  std::vector<const EpochRun*> order;
  for (const EpochRun& run : runs) order.push_back(&run);
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>((order.size() - 1) / 2);
  std::nth_element(order.begin(), middle, order.end(), [](const EpochRun* a, const EpochRun* b) {
    return a->training < b->training;
  });
  return **middle;
}

double ExecutedEpoch::error() const {
  return to_seconds(predicted) / to_seconds(median().training) - 1;
}

std::optional<double> ExecutedEpoch::memory_error() const {
  const Bytes measured = median().tensors_peak;
  if (measured.count() == 0) return std::nullopt;
  return static_cast<double>(predicted_peak.count()) / static_cast<double>(measured.count()) - 1;
}

std::size_t executed_count(const BucketStudy& study) {
  return static_cast<std::size_t>(
      std::count_if(study.rows.begin(), study.rows.end(), [](const BucketRow& row) {
        return !row.boundaries.empty();
      }));
}

void expect_executable(const BucketSpec& spec, const EpochExecution& request) {
  for (const TrainingSetup& setup : spec.training) {
    const ExecutedSteps checked{spec, setup, {1}, {}, request, nullptr};
  }
}

ExecutedStudy execute_epochs(const BucketStudy& study,
                             const EpochExecution& request,
                             StudyProgress& kept,
                             const StopFlag* stop,
                             const BucketObserver& observer) {
  StudyExecutor executor{study, request, stop};
  ExecutedStudy executed;
  executed.device = executor.device();
  executed.date = now_utc();
  // Before anything is measured, so that no prediction can know its answer.
  for (std::size_t row = 0; row < study.rows.size(); ++row) {
    if (study.rows[row].boundaries.empty() || study.rows[row].iterations == 0) continue;
    executed.epochs.push_back(executor.predicted(row));
  }
  std::uint64_t done = 0;
  const std::uint64_t all = executed.epochs.size() * request.repetitions;
  try {
    for (std::uint32_t round = 0; round < request.repetitions; ++round) {
      for (const std::size_t i : shuffled(executed.epochs.size(), study.spec->seed + round)) {
        ExecutedEpoch& epoch = executed.epochs[i];
        std::optional<EpochRun> run = kept.epoch(epoch.row, round);
        if (!run) {
          run = executor.run(epoch.row);
          kept.add_epoch(epoch.row, round, *run);
        }
        epoch.runs.push_back(*run);
        observer(++done, all);
      }
    }
  } catch (const Interrupted&) {
    executed.complete = false;
  }
  compare(study, executed.epochs);
  return executed;
}

}  // namespace schedlab
