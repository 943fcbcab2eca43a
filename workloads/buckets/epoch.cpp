// SPDX-License-Identifier: Apache-2.0
#include "workloads/buckets/epoch.hpp"

#include "sim/base/ceil_div.hpp"
#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace schedlab {
namespace {

/// Fisher and Yates, so that the order is the same with every library.
template <class Item>
void shuffle(std::span<Item> items, Rng& rng) {
  for (std::size_t i = items.size(); i > 1; --i) {
    std::swap(items[i - 1], items[rng.below(i)]);
  }
}

/// Adds the batches of one chunk to the pass; `order` are its sequences.
void add_chunk(std::span<const std::uint32_t> order,
               const std::vector<std::int64_t>& lengths,
               const EpochOptions& options,
               Rng& rng,
               Epoch& epoch) {
  const auto full = static_cast<std::size_t>(options.batch);
  const std::size_t first = epoch.batches.size();
  DataChunk chunk;
  for (std::size_t at = 0; at < order.size(); at += full) {
    const auto members = order.subspan(at, std::min(full, order.size() - at));
    SequenceBatch batch;
    batch.sequences = static_cast<std::uint32_t>(members.size());
    for (const std::uint32_t member : members) {
      batch.longest = std::max(batch.longest, lengths[member]);
      batch.real_steps += lengths[member];
    }
    chunk.real_steps += batch.real_steps;
    if (members.size() < full && options.drop_incomplete) {
      epoch.left_out += static_cast<std::int64_t>(members.size());
      break;
    }
    batch.bucket = static_cast<std::uint32_t>(bucket_of(epoch.boundaries, batch.longest));
    batch.first = epoch.members.size();
    epoch.members.insert(epoch.members.end(), members.begin(), members.end());
    epoch.batches.push_back(batch);
    epoch.sequences += static_cast<std::int64_t>(members.size());
    epoch.real_steps += batch.real_steps;
    epoch.padded_steps += options.batch * epoch.boundaries[batch.bucket];
  }
  shuffle(std::span{epoch.batches}.subspan(first), rng);
  chunk.batches = epoch.batches.size() - first;
  epoch.chunks.push_back(chunk);
}

/// Simulates each length once.
class RememberedSteps {
 public:
  explicit RememberedSteps(const StepTime& step) : step_(step) {}
  Duration operator()(std::int64_t length) {
    const auto [found, fresh] = known_.try_emplace(length, 0);
    if (fresh) found->second = step_(length);
    return found->second;
  }

 private:
  const StepTime& step_;
  std::map<std::int64_t, Duration> known_;
};

/// Which stored models there are, while batches come.
class ModelCache {
 public:
  explicit ModelCache(const ModelBuilding& building) : building_(building) {}

  /// What it takes to have the model of a bucket; 0: it is there.
  [[nodiscard]] Duration use(std::uint32_t bucket, std::int64_t length) {
    const auto found = std::find(models_.begin(), models_.end(), bucket);
    const bool built = found == models_.end();
    if (built) {
      models_.push_back(bucket);
      if (building_.cached > 0 && models_.size() > building_.cached) models_.erase(models_.begin());
      ++count_;
    } else {
      std::rotate(found, found + 1, models_.end());
    }
    return built ? cost(length) : Duration{0};
  }
  [[nodiscard]] Duration cost(std::int64_t length) const {
    return building_.build + (building_.load ? building_.load(length) : Duration{0});
  }
  [[nodiscard]] std::int64_t built() const { return count_; }

 private:
  const ModelBuilding& building_;
  std::vector<std::uint32_t> models_;  // buckets, the one used last at the end
  std::int64_t count_ = 0;
};

Duration checked_sum(Duration a, Duration b) {
  if (b > Duration::max() - a) {
    throw InfeasibleError("one epoch over the data takes longer than 106 days of simulated time");
  }
  return a + b;
}

Duration reading_time(const DataChunk& chunk, const ChunkReading& reading) {
  Duration time = reading.latency;
  if (reading.bandwidth.count() > 0) {
    time += Bytes{chunk.real_steps * reading.bytes_per_step} / reading.bandwidth;
  }
  return time;
}

}  // namespace

Epoch make_epoch(const std::vector<std::int64_t>& lengths,
                 const BucketBoundaries& boundaries,
                 const EpochOptions& options) {
  SCHEDLAB_EXPECTS(options.batch >= 1 && options.chunk >= 0,
                   fmt::format("batch {}, chunk {}", options.batch, options.chunk));
  Epoch epoch;
  epoch.batch = options.batch;
  epoch.boundaries = boundaries;
  const auto size = options.chunk == 0 ? lengths.size() : static_cast<std::size_t>(options.chunk);
  std::vector<std::size_t> starts;
  for (std::size_t at = 0; at < lengths.size(); at += size) starts.push_back(at);
  Rng rng{options.seed};
  shuffle(std::span{starts}, rng);
  std::vector<std::uint32_t> chunk;
  for (const std::size_t start : starts) {
    chunk.resize(std::min(size, lengths.size() - start));
    std::iota(chunk.begin(), chunk.end(), static_cast<std::uint32_t>(start));
    if (options.sorted) {
      std::stable_sort(chunk.begin(), chunk.end(), [&](std::uint32_t a, std::uint32_t b) {
        return lengths[a] < lengths[b];
      });
    }
    add_chunk(chunk, lengths, options, rng, epoch);
  }
  return epoch;
}

std::vector<std::int64_t> batches_per_bucket(const Epoch& epoch) {
  std::vector<std::int64_t> counts(epoch.boundaries.size(), 0);
  for (const SequenceBatch& batch : epoch.batches) ++counts[batch.bucket];
  return counts;
}

EpochTime epoch_time(const Epoch& epoch,
                     const StepTime& step,
                     const ModelBuilding& building,
                     const ChunkReading& reading) {
  RememberedSteps steps{step};
  ModelCache cache{building};
  EpochTime time;
  if (building.stored && building.cached == 0) {
    for (std::uint32_t bucket = 0; bucket < epoch.boundaries.size(); ++bucket) {
      time.building = checked_sum(time.building, cache.use(bucket, epoch.boundaries[bucket]));
    }
  }
  Duration now = time.building;
  Duration read_end{0};        // of the chunk that was read last
  std::vector<Duration> done;  // chunk by chunk: when it was trained
  Duration step_before{0};     // how long the step before took
  std::size_t next = 0;
  for (const DataChunk& chunk : epoch.chunks) {
    // The reader starts on a chunk once there is room for it.
    const auto ahead = static_cast<std::size_t>(reading.chunks_ahead) + 1;
    const Duration room = done.size() >= ahead ? done[done.size() - ahead] : Duration{0};
    read_end = checked_sum(std::max(read_end, room), reading_time(chunk, reading));
    if (read_end > now) {
      time.waiting += read_end - now;
      now = read_end;
      step_before = Duration{0};  // nothing to build while it waits: the lengths come with the data
    }
    for (const std::size_t end = next + chunk.batches; next < end; ++next) {
      const SequenceBatch& batch = epoch.batches[next];
      Duration delay{0};
      if (building.stored) {
        delay = cache.use(batch.bucket, epoch.boundaries[batch.bucket]);
      } else {
        const Duration hidden = building.overlapped ? step_before : Duration{0};
        delay = std::max(cache.cost(batch.longest) - hidden, Duration{0});
        ++time.models;
      }
      time.building += delay;
      now = checked_sum(now, delay);
      step_before = steps(building.stored ? epoch.boundaries[batch.bucket] : batch.longest);
      now = checked_sum(now, step_before);
      time.training += step_before;
    }
    done.push_back(now);
  }
  time.total = now;
  time.models += cache.built();
  return time;
}

Duration later_building(const Epoch& epoch, const ModelBuilding& building) {
  SCHEDLAB_EXPECTS(building.stored, "models that are not stored");
  if (building.cached == 0) return Duration{0};
  ModelCache cache{building};
  Duration sum{0};
  for (int pass = 0; pass < 2; ++pass) {
    sum = Duration{0};
    for (const SequenceBatch& batch : epoch.batches) {
      sum = checked_sum(sum, cache.use(batch.bucket, epoch.boundaries[batch.bucket]));
    }
  }
  return sum;
}

std::optional<double> break_even_runs(const EpochTime& first,
                                      Duration later,
                                      const EpochTime& without,
                                      std::int64_t runs) {
  const Duration gain = without.training - first.training - later;
  if (gain <= Duration{0}) return std::nullopt;
  const Duration spared = std::max(first.building - later, Duration{0});
  return to_seconds(spared) / to_seconds(gain) * static_cast<double>(runs);
}

}  // namespace schedlab
