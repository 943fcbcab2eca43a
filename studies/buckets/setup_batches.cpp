// SPDX-License-Identifier: Apache-2.0
#include "studies/buckets/setup_batches.hpp"

#include "sim/base/ceil_div.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace schedlab {

SetupBatches::SetupBatches(const BucketSpec& spec,
                           const TrainingSetup& setup,
                           const StopFlag* stop,
                           StudyProgress* kept)
    : spec_(spec), setup_(setup), stop_(stop), kept_(kept), first_(&steps(setup.batch)) {}

StepSimulation& SetupBatches::steps(std::int64_t batch) {
  std::unique_ptr<StepSimulation>& made = steps_[batch];
  if (!made) {
    TrainingSetup setup = setup_;
    setup.batch = batch;
    made = std::make_unique<StepSimulation>(spec_, setup, stop_, kept_);
  }
  return *made;
}

std::size_t SetupBatches::simulated() const {
  std::size_t sum = 0;
  for (const auto& [batch, steps] : steps_) sum += steps->simulated();
  return sum;
}

std::uint64_t SetupBatches::tasks() const {
  std::uint64_t sum = 0;
  for (const auto& [batch, steps] : steps_) sum += steps->tasks();
  return sum;
}

StoredSteps SetupBatches::stored(const BatchedBuckets& buckets) {
  std::map<std::int64_t, StepSimulation*> by_length;
  for (std::size_t i = 0; i < buckets.boundaries.size(); ++i) {
    by_length[buckets.boundaries[i]] = &steps(buckets.batches[i]);
  }
  StoredSteps made{.step = [by_length](std::int64_t l) { return (*by_length.at(l))(l); },
                   .building = spec_.models};
  made.building.load = [by_length](std::int64_t l) { return by_length.at(l)->load(l); };
  return made;
}

Bytes SetupBatches::memory(std::int64_t length, std::int64_t batch) const {
  return total(training_memory(first_->network(), setup_.recompute, batch, length));
}

std::int64_t SetupBatches::largest(std::int64_t length, std::int64_t longest) const {
  if (setup_.batching == Batching::sequences || length >= longest) return setup_.batch;
  const std::int64_t multiple = spec_.batch_multiple;
  std::int64_t rows = setup_.batch * longest / length / multiple * multiple;
  if (setup_.batching == Batching::memory) {
    rows = largest_batch(memory(longest, setup_.batch), multiple, [&](std::int64_t batch) {
      return memory(length, batch);
    });
  }
  return std::max(rows, setup_.batch);
}

std::int64_t SetupBatches::chunks(std::size_t data) const {
  const auto all = static_cast<std::int64_t>(spec_.data[data].lengths.size());
  return spec_.chunk_sequences == 0 ? 1 : ceil_div(all, spec_.chunk_sequences);
}

std::vector<std::int64_t> SetupBatches::of(std::size_t data, const BatchedBuckets& buckets) const {
  const std::size_t count = buckets.boundaries.size();
  if (setup_.batching == Batching::sequences) {
    return std::vector<std::int64_t>(count, setup_.batch);
  }
  const std::vector<std::int64_t> rows = rows_per_bucket(spec_.data[data].lengths,
                                                         buckets.boundaries,
                                                         {.chunk = spec_.chunk_sequences,
                                                          .seed = spec_.seed,
                                                          .sorted = setup_.sorted,
                                                          .packed = setup_.packed});
  std::vector<std::int64_t> batches;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t most = buckets.batches.empty()
                                  ? largest(buckets.boundaries[i], buckets.boundaries.back())
                                  : buckets.batches[i];
    // Of one rank, in one chunk.
    const std::int64_t of_chunk = ceil_div(rows[i], chunks(data) * setup_.ranks);
    batches.push_back(evened_batch(of_chunk, most, spec_.batch_multiple));
  }
  return batches;
}

BatchedBuckets SetupBatches::optimal(std::size_t data, std::int64_t count) {
  const std::int64_t longest = spec_.data[data].distribution.longest();
  const auto sequences = static_cast<std::int64_t>(spec_.data[data].lengths.size());
  // No batch beyond what one rank has of a chunk.
  const std::int64_t most =
      std::max(setup_.batch,
               std::min(largest(1, longest), ceil_div(sequences, chunks(data) * setup_.ranks)));
  std::map<std::int64_t, InterpolatedSteps> grid;
  for (std::int64_t twice = 2; setup_.batch * twice / 2 <= most;
       twice = twice % 3 == 0 ? twice / 3 * 4 : twice / 2 * 3) {
    const std::int64_t multiple = spec_.batch_multiple;
    const std::int64_t batch =
        std::max(setup_.batch * twice / 2 / multiple * multiple, setup_.batch);
    if (!grid.contains(batch)) grid.emplace(batch, InterpolatedSteps{longest, steps(batch)});
  }
  std::vector<std::int64_t> lengths = spec_.data[data].lengths;
  lengths.push_back(longest);  // the last bucket is always the same
  return optimal_batched_buckets(
      lengths,
      chunks(data) * setup_.ranks,
      count,
      [&](std::int64_t length) {
        std::vector<std::int64_t> fitting;
        const std::int64_t limit = largest(length, longest);
        for (const auto& [batch, steps] : grid) {
          if (batch <= limit) fitting.push_back(batch);
        }
        return fitting;
      },
      [&](std::int64_t length, std::int64_t batch) { return grid.at(batch)(length); });
}

}  // namespace schedlab
