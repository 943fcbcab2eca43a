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

/// The rows of a chunk's sequences, in the order in which they are cut into batches.
SequenceRows rows_of(std::span<const std::uint32_t> order,
                     const std::vector<std::int64_t>& lengths,
                     const BucketBoundaries& boundaries,
                     const EpochOptions& options) {
  if (options.packed) return packed_rows(order, lengths, boundaries);
  SequenceRows all{.rows = {}, .members = {order.begin(), order.end()}};
  all.rows.reserve(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    all.rows.push_back({.length = lengths[order[i]], .first = i, .count = 1});
  }
  return all;
}

/// The next batch: as many rows as the first bucket takes that fits all of them.
std::span<const SequenceRow> next_rows(std::span<const SequenceRow> left,
                                       const Epoch& epoch,
                                       SequenceBatch& batch) {
  for (std::size_t bucket = bucket_of(epoch.boundaries, left.front().length);; ++bucket) {
    SCHEDLAB_EXPECTS(bucket < epoch.boundaries.size(),
                     fmt::format("a sequence of length {}", batch.longest));
    const auto full = static_cast<std::size_t>(epoch.batch_rows[bucket]);
    const auto rows = left.first(std::min(full, left.size()));
    batch.longest = 0;
    for (const SequenceRow& row : rows) batch.longest = std::max(batch.longest, row.length);
    if (batch.longest > epoch.boundaries[bucket]) continue;
    batch.bucket = static_cast<std::uint32_t>(bucket);
    return rows;
  }
}

void add_members(std::span<const SequenceRow> rows,
                 const std::vector<std::uint32_t>& members,
                 const std::vector<std::int64_t>& lengths,
                 SequenceBatch& batch,
                 Epoch& epoch) {
  batch.first = epoch.members.size();
  batch.rows = static_cast<std::uint32_t>(rows.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (std::size_t i = rows[row].first; i < rows[row].first + rows[row].count; ++i) {
      epoch.members.push_back(members[i]);
      epoch.rows.push_back(static_cast<std::uint32_t>(row));
      batch.real_steps += lengths[members[i]];
      ++batch.sequences;
    }
  }
}

/// Adds the batches of one chunk to the pass; `order` are its sequences.
void add_chunk(std::span<const std::uint32_t> order,
               const std::vector<std::int64_t>& lengths,
               const EpochOptions& options,
               Rng& rng,
               Epoch& epoch) {
  const std::size_t first = epoch.batches.size();
  DataChunk chunk;
  for (const std::uint32_t member : order) chunk.real_steps += lengths[member];
  const SequenceRows all = rows_of(order, lengths, epoch.boundaries, options);
  for (std::span<const SequenceRow> left{all.rows}; !left.empty();) {
    SequenceBatch batch;
    const auto rows = next_rows(left, epoch, batch);
    left = left.subspan(rows.size());
    const std::int64_t full = epoch.batch_rows[batch.bucket];
    if (static_cast<std::int64_t>(rows.size()) < full && options.drop_incomplete) {
      for (const SequenceRow& row : rows) {
        epoch.left_out += static_cast<std::int64_t>(row.count);
      }
      continue;
    }
    add_members(rows, all.members, lengths, batch, epoch);
    epoch.batches.push_back(batch);
    epoch.sequences += batch.sequences;
    epoch.real_steps += batch.real_steps;
    epoch.padded_steps += full * epoch.boundaries[batch.bucket];
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

SequenceRows packed_rows(std::span<const std::uint32_t> members,
                         const std::vector<std::int64_t>& lengths,
                         const BucketBoundaries& boundaries) {
  std::map<std::int64_t, std::vector<std::uint32_t>> left;  // by length, the first on top
  for (auto member = members.rbegin(); member != members.rend(); ++member) {
    left[lengths[*member]].push_back(*member);
  }
  SequenceRows all;
  const auto take = [&](auto of_length) {
    SequenceRow& row = all.rows.back();
    row.length += of_length->first;
    ++row.count;
    all.members.push_back(of_length->second.back());
    of_length->second.pop_back();
    if (of_length->second.empty()) left.erase(of_length);
  };
  while (!left.empty()) {
    all.rows.push_back({.length = 0, .first = all.members.size(), .count = 0});
    const std::int64_t capacity = boundaries[bucket_of(boundaries, left.rbegin()->first)];
    take(std::prev(left.end()));
    while (true) {
      const auto too_long = left.upper_bound(capacity - all.rows.back().length - 1);
      if (too_long == left.begin()) break;
      ++all.rows.back().length;  // the step between two sequences
      take(std::prev(too_long));
    }
  }
  std::stable_sort(all.rows.begin(),
                   all.rows.end(),
                   [](const SequenceRow& a, const SequenceRow& b) { return a.length < b.length; });
  return all;
}

namespace {

/// Calls visit(sequences) for each chunk, in the order of reading; `rng` shuffles it.
template <class Visit>
void for_each_chunk(const std::vector<std::int64_t>& lengths,
                    const EpochOptions& options,
                    Rng& rng,
                    const Visit& visit) {
  const auto size = options.chunk == 0 ? lengths.size() : static_cast<std::size_t>(options.chunk);
  std::vector<std::size_t> starts;
  for (std::size_t at = 0; at < lengths.size(); at += size) starts.push_back(at);
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
    visit(std::span<const std::uint32_t>{chunk});
  }
}

}  // namespace

std::vector<std::int64_t> rows_per_bucket(const std::vector<std::int64_t>& lengths,
                                          const BucketBoundaries& boundaries,
                                          const EpochOptions& options) {
  std::vector<std::int64_t> counts(boundaries.size(), 0);
  Rng rng{options.seed};
  for_each_chunk(lengths, options, rng, [&](std::span<const std::uint32_t> chunk) {
    for (const SequenceRow& row : rows_of(chunk, lengths, boundaries, options).rows) {
      ++counts[bucket_of(boundaries, row.length)];
    }
  });
  return counts;
}

Epoch make_epoch(const std::vector<std::int64_t>& lengths,
                 const BucketBoundaries& boundaries,
                 const EpochOptions& options) {
  SCHEDLAB_EXPECTS(options.batch >= 1 && options.chunk >= 0,
                   fmt::format("batch {}, chunk {}", options.batch, options.chunk));
  SCHEDLAB_EXPECTS(options.sorted || !options.packed, "packing of sequences that are not sorted");
  Epoch epoch;
  epoch.batch_rows = options.batch_rows;
  if (epoch.batch_rows.empty()) epoch.batch_rows.assign(boundaries.size(), options.batch);
  SCHEDLAB_EXPECTS(
      epoch.batch_rows.size() == boundaries.size() &&
          std::all_of(
              epoch.batch_rows.begin(), epoch.batch_rows.end(), [](auto n) { return n > 0; }),
      fmt::format("{} batches of {} buckets", epoch.batch_rows.size(), boundaries.size()));
  epoch.boundaries = boundaries;
  Rng rng{options.seed};
  for_each_chunk(lengths, options, rng, [&](std::span<const std::uint32_t> chunk) {
    add_chunk(chunk, lengths, options, rng, epoch);
  });
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
  SCHEDLAB_EXPECTS(reading.producers >= 1, "no thread reads chunks");
  RememberedSteps steps{step};
  ModelCache cache{building};
  EpochTime time;
  if (building.stored && building.cached == 0) {
    for (std::uint32_t bucket = 0; bucket < epoch.boundaries.size(); ++bucket) {
      time.building = checked_sum(time.building, cache.use(bucket, epoch.boundaries[bucket]));
    }
  }
  Duration now = time.building;
  std::vector<Duration> free(static_cast<std::size_t>(reading.producers), Duration{0});
  std::vector<Duration> done;  // chunk by chunk: when it was trained
  Duration step_before{0};     // how long the step before took
  std::size_t next = 0;
  for (const DataChunk& chunk : epoch.chunks) {
    // The producer that is free first starts on a chunk once there is a free slot for it.
    const auto ahead = static_cast<std::size_t>(reading.chunks_ahead) + 1;
    const Duration slot_free = done.size() >= ahead ? done[done.size() - ahead] : Duration{0};
    Duration& read_end = *std::min_element(free.begin(), free.end());
    read_end = checked_sum(std::max(read_end, slot_free), reading_time(chunk, reading));
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
