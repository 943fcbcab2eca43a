// SPDX-License-Identifier: Apache-2.0
#include "studies/buckets/bucket_study.hpp"

#include "sim/base/error.hpp"
#include "studies/buckets/batch_boundaries.hpp"
#include "studies/buckets/setup_batches.hpp"
#include "studies/buckets/step_simulation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

namespace schedlab {
namespace {

constexpr std::string_view per_batch_rule = "per_batch";
constexpr std::string_view dynamic_rule = "dynamic";

/// All rows of one setup.
class SetupStudy {
 public:
  SetupStudy(const BucketSpec& spec,
             const TrainingSetup& setup,
             const StopFlag* stop,
             StudyProgress* kept)
      : spec_(spec), setup_(setup), stop_(stop), batches_(spec, setup, stop, kept) {
    if (!spec.dynamic_launch.empty()) {
      dynamic_steps_.emplace(spec, setup, stop, kept, spec.dynamic_launch);
    }
  }

  [[nodiscard]] StepSimulation& steps() { return batches_.steps(setup_.batch); }
  [[nodiscard]] std::size_t simulated() const { return batches_.simulated(); }

  /// Adds the rows of one data set; those that were done if it throws Interrupted.
  template <class Done>
  void add_rows(std::size_t data, const Done& done, std::vector<BucketRow>& all) {
    std::vector<BucketRow> rows;
    bool stopped = false;
    try {
      make_rows(data, done, rows);
    } catch (const Interrupted&) {
      stopped = true;
    }
    compare(rows);
    std::move(rows.begin(), rows.end(), std::back_inserter(all));
    if (stopped) throw Interrupted("stopped");
  }

 private:
  template <class Done>
  void make_rows(std::size_t data, const Done& done, std::vector<BucketRow>& rows) {
    const LengthDistribution& lengths = spec_.data[data].distribution;
    const InterpolatedSteps between{lengths.longest(), steps()};
    const LengthDistribution batches = batch_lengths(spec_, data, setup_);
    for (const BoundaryRule rule : spec_.rules) {
      for (const std::int64_t count : spec_.counts) {
        BatchedBuckets buckets;
        if (rule != BoundaryRule::optimal) {
          buckets.boundaries = bucket_boundaries(rule, lengths, count, {});
        } else if (setup_.batching == Batching::sequences) {
          buckets.boundaries = optimal_boundaries(lengths, batches, count, between);
        } else {
          buckets = batches_.optimal(data, count);
        }
        buckets.batches = batches_.of(data, buckets);
        rows.push_back(row_of(data, buckets));
        rows.back().rule = to_string(rule);
        rows.back().buckets = count;
        done();
      }
    }
    if (spec_.per_batch) {
      const ModelBuilding anew{
          .build = spec_.models.build, .stored = false, .overlapped = spec_.overlapped};
      const StepTime interpolated = [&](std::int64_t length) {
        return Duration{static_cast<std::int64_t>(between(length))};
      };
      rows.push_back(row_of(data, {.boundaries = every_length(lengths)}, anew, interpolated));
      rows.back().rule = per_batch_rule;
      done();
    }
    if (dynamic_steps_) {
      add_dynamic_row(data, rows);
      done();
    }
  }

  /// Steps without models, and what models gain over them.
  void add_dynamic_row(std::size_t data, std::vector<BucketRow>& rows) {
    const LengthDistribution& lengths = spec_.data[data].distribution;
    const InterpolatedSteps between{lengths.longest(), *dynamic_steps_};
    BucketRow dynamic =
        row_of(data, {.boundaries = every_length(lengths)}, {.stored = false}, [&](std::int64_t l) {
          return Duration{static_cast<std::int64_t>(between(l))};
        });
    dynamic.rule = dynamic_rule;
    dynamic.time.models = 0;
    for (BucketRow& row : rows) {
      if (row.buckets == 0) continue;
      row.break_even_runs =
          break_even_runs(row.time, row.later_building, dynamic.time, row.iterations);
    }
    rows.push_back(std::move(dynamic));
  }

  static BucketBoundaries every_length(const LengthDistribution& lengths) {
    BucketBoundaries all;
    for (std::int64_t length = 1; length <= lengths.longest(); ++length) all.push_back(length);
    return all;
  }

  /// Of stored models, each of its bucket's length and batch.
  BucketRow row_of(std::size_t data, const BatchedBuckets& buckets) {
    const StoredSteps steps = batches_.stored(buckets);
    return row_of(data, buckets, steps.building, steps.step);
  }

  BucketRow row_of(std::size_t data,
                   const BatchedBuckets& made,
                   const ModelBuilding& building,
                   const StepTime& steps) {
    if (stop_requested(stop_)) throw Interrupted("stopped");
    const BucketBoundaries& boundaries = made.boundaries;
    const Epoch epoch = epoch_of(spec_, data, setup_, boundaries, made.batches);
    BucketRow row;
    row.data = data;
    row.setup = setup_;
    row.iterations = static_cast<std::int64_t>(epoch.batches.size());
    row.sequences = epoch.sequences;
    row.padding_share = epoch.batches.empty() ? 0 : epoch.padding_share();
    row.time = epoch_time(epoch, steps, building, spec_.reading);
    if (building.stored) row.later_building = later_building(epoch, building);
    // Beside the one that trains the next one is built.
    const auto buckets = static_cast<std::int64_t>(boundaries.size());
    const auto cached = static_cast<std::int64_t>(building.cached);
    const auto models = building.stored       ? (cached > 0 ? std::min(cached, buckets) : buckets)
                        : building.overlapped ? std::int64_t{2}
                                              : std::int64_t{1};
    row.memory = largest_memory(made) + Bytes{spec_.model_bytes * models};
    row.fits = batches_.capacity().count() == 0 || row.memory <= batches_.capacity();
    if (building.stored) {
      row.boundaries = boundaries;
      row.batch_rows = made.batches;
      row.batches = batches_per_bucket(epoch);
    }
    return row;
  }

  /// Of the bucket that needs most.
  [[nodiscard]] Bytes largest_memory(const BatchedBuckets& made) const {
    if (made.batches.empty()) return batches_.memory(made.boundaries.back(), setup_.batch);
    Bytes most{};
    for (std::size_t i = 0; i < made.boundaries.size(); ++i) {
      most = std::max(most, batches_.memory(made.boundaries[i], made.batches[i]));
    }
    return most;
  }

  static void compare(std::vector<BucketRow>& rows) {
    const auto single = std::find_if(
        rows.begin(), rows.end(), [](const BucketRow& row) { return row.buckets == 1; });
    BucketRow* best = nullptr;
    for (BucketRow& row : rows) {
      if (single != rows.end()) {
        row.speed_up = to_seconds(single->time.total) / to_seconds(row.time.total);
      }
      if (row.fits && (best == nullptr || row.time.total < best->time.total)) best = &row;
    }
    if (best != nullptr) best->chosen = true;
  }

  const BucketSpec& spec_;
  TrainingSetup setup_;
  const StopFlag* stop_;
  SetupBatches batches_;
  std::optional<StepSimulation> dynamic_steps_;
};

}  // namespace

namespace {

std::int64_t longest_of(const BucketSpec& spec) {
  std::int64_t longest = 1;
  for (const SequenceData& data : spec.data) {
    longest = std::max(longest, data.distribution.longest());
  }
  return longest;
}

/// By sequences in a second: setups may leave out others of the last ones.
void mark_best(BucketStudy& study) {
  const auto speed = [](const BucketRow& row) {
    return static_cast<double>(row.sequences) / to_seconds(row.time.total);
  };
  for (std::size_t data = 0; data < study.spec->data.size(); ++data) {
    BucketRow* best = nullptr;
    for (BucketRow& row : study.rows) {
      if (row.data != data || !row.chosen) continue;
      if (best == nullptr || speed(row) > speed(*best)) best = &row;
    }
    if (best != nullptr) best->best = true;
  }
}

}  // namespace

void resolve_batches(BucketSpec& spec) {
  const std::int64_t models =
      spec.model_bytes * *std::max_element(spec.counts.begin(), spec.counts.end());
  for (TrainingSetup& setup : spec.training) {
    if (setup.batch > 0) continue;
    const StepSimulation steps{spec, setup, nullptr};
    if (steps.capacity().count() == 0) {
      throw InputError({.file = spec.file,
                        .pointer = "/training",
                        .found = "\"auto\" on a machine whose memory is not limited",
                        .expected = "a machine with memory_capacity_gib, or a number",
                        .hint = {}});
    }
    setup.batch = largest_batch(steps.capacity(), spec.batch_multiple, [&](std::int64_t batch) {
      return total(training_memory(steps.network(), setup.recompute, batch, longest_of(spec))) +
             Bytes{models};
    });
    if (setup.batch > 0) continue;
    throw InfeasibleError(
        fmt::format("{}: /training: no batch fits with recompute {} beside {} bytes of models; use "
                    "fewer buckets or shorter sequences",
                    spec.file,
                    to_string(setup.recompute),
                    models));
  }
}

Epoch epoch_of(const BucketSpec& spec,
               std::size_t data,
               const TrainingSetup& setup,
               const BucketBoundaries& boundaries,
               std::vector<std::int64_t> batch_rows) {
  for (std::int64_t& rows : batch_rows) rows *= setup.ranks;
  return make_epoch(spec.data[data].lengths,
                    boundaries,
                    {.batch = setup.batch * setup.ranks,
                     .batch_rows = std::move(batch_rows),
                     .chunk = spec.chunk_sequences,
                     .seed = spec.seed,
                     .drop_incomplete = spec.drop_incomplete,
                     .sorted = setup.sorted,
                     .packed = setup.packed});
}

const BucketRow* plain_row(const BucketStudy& study, const BucketRow& row) {
  const TrainingSetup plain = row.setup.plain();
  if (plain == row.setup) return nullptr;
  const auto found =
      std::find_if(study.rows.begin(), study.rows.end(), [&](const BucketRow& other) {
        return other.data == row.data && other.rule == row.rule && other.buckets == row.buckets &&
               other.setup == plain;
      });
  return found == study.rows.end() ? nullptr : &*found;
}

std::uint64_t row_count(const BucketSpec& spec) {
  const std::uint64_t each = spec.rules.size() * spec.counts.size() + (spec.per_batch ? 1 : 0) +
                             (spec.dynamic_launch.empty() ? 0 : 1);
  return spec.data.size() * spec.training.size() * each;
}

BucketStudy run_bucket_study(const BucketSpec& spec,
                             const StopFlag* stop,
                             const BucketObserver& observer,
                             StudyProgress* kept) {
  BucketStudy study;
  study.spec = &spec;
  std::uint64_t done = 0;
  const std::uint64_t all = row_count(spec);
  const std::int64_t longest = longest_of(spec);
  for (const TrainingSetup& setup : spec.training) {
    SetupStudy one{spec, setup, stop, kept};
    study.capacity = one.steps().capacity();
    if (study.capacity.count() > 0) {
      study.largest_batch[setup] =
          largest_batch(study.capacity, spec.batch_multiple, [&](std::int64_t batch) {
            return total(training_memory(one.steps().network(), setup.recompute, batch, longest));
          });
    }
    try {
      for (std::size_t data = 0; data < spec.data.size(); ++data) {
        one.add_rows(
            data, [&] { observer(++done, all); }, study.rows);
      }
    } catch (const Interrupted&) {
      study.complete = false;
    }
    study.simulated += one.simulated();
    if (!study.complete) break;
  }
  mark_best(study);
  for (BucketRow& row : study.rows) {
    const BucketRow* const plain = plain_row(study, row);
    if (plain == nullptr) continue;
    row.batching_gain = to_seconds(plain->time.total) / to_seconds(row.time.total);
  }
  return study;
}

const std::vector<Column>& bucket_columns() {
  static const std::vector<Column> columns = [] {
    std::vector<Column> all;
    for (const char* axis : {"lengths",
                             "batch",
                             "recompute",
                             "ranks",
                             "sorting",
                             "batching",
                             "packing",
                             "rule",
                             "buckets"}) {
      all.push_back({axis, ColumnRole::axis});
    }
    for (const char* metric : {"iterations",
                               "sequences",
                               "padding_share",
                               "epoch_s",
                               "training_s",
                               "building_s",
                               "models_built",
                               "waiting_s",
                               "iteration_us",
                               "sequences_per_s",
                               "speed_up",
                               "batching_gain",
                               "break_even_runs",
                               "memory_bytes",
                               "largest_batch",
                               "fits",
                               "chosen",
                               "best"}) {
      all.push_back({metric, ColumnRole::metric});
    }
    all.push_back({"boundaries", ColumnRole::note});
    all.push_back({"batch_rows", ColumnRole::note});
    return all;
  }();
  return columns;
}

std::vector<std::vector<Cell>> bucket_axis_values(const BucketSpec& spec) {
  std::vector<std::vector<Cell>> values(bucket_columns().size());
  for (const SequenceData& data : spec.data) values[0].emplace_back(data.label);
  for (const TrainingSetup& setup : spec.training) {
    values[1].emplace_back(setup.batch);
    values[2].emplace_back(to_string(setup.recompute));
    values[3].emplace_back(setup.ranks);
    values[4].emplace_back(sorting_name(setup.sorted));
    values[5].emplace_back(std::string{to_string(setup.batching)});
    values[6].emplace_back(packing_name(setup.packed));
  }
  for (const BoundaryRule rule : spec.rules) values[7].emplace_back(std::string{to_string(rule)});
  if (spec.per_batch) values[7].emplace_back(std::string{per_batch_rule});
  if (!spec.dynamic_launch.empty()) values[7].emplace_back(std::string{dynamic_rule});
  for (const std::int64_t count : spec.counts) values[8].emplace_back(count);
  return values;
}

Table bucket_table(const BucketStudy& study) {
  Table table;
  table.columns = bucket_columns();
  for (const BucketRow& row : study.rows) {
    const double seconds = to_seconds(row.time.total);
    const auto largest = study.largest_batch.find(row.setup);
    const auto iterations = static_cast<double>(std::max<std::int64_t>(row.iterations, 1));
    table.rows.push_back({study.spec->data[row.data].label,
                          row.setup.batch,
                          to_string(row.setup.recompute),
                          row.setup.ranks,
                          sorting_name(row.setup.sorted),
                          std::string{to_string(row.setup.batching)},
                          packing_name(row.setup.packed),
                          row.rule,
                          row.buckets,
                          row.iterations,
                          row.sequences,
                          row.padding_share,
                          seconds,
                          to_seconds(row.time.training),
                          to_seconds(row.time.building),
                          row.time.models,
                          to_seconds(row.time.waiting),
                          to_us(row.time.training) / iterations,
                          seconds > 0 ? static_cast<double>(row.sequences) / seconds : 0.0,
                          row.speed_up ? Cell{*row.speed_up} : Cell{},
                          row.batching_gain ? Cell{*row.batching_gain} : Cell{},
                          row.break_even_runs ? Cell{*row.break_even_runs} : Cell{},
                          row.memory.count(),
                          largest == study.largest_batch.end() ? Cell{} : Cell{largest->second},
                          std::int64_t{row.fits ? 1 : 0},
                          std::int64_t{row.chosen ? 1 : 0},
                          std::int64_t{row.best ? 1 : 0},
                          fmt::format("{}", fmt::join(row.boundaries, " ")),
                          fmt::format("{}", fmt::join(row.batch_rows, " "))});
  }
  return table;
}

}  // namespace schedlab
