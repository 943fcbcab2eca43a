// SPDX-License-Identifier: Apache-2.0
#include "workloads/buckets/bucket_batches.hpp"

#include "sim/base/ceil_div.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace schedlab {
namespace {

/// Sequences up to an end of a bucket, of all chunks.
struct BucketEnd {
  std::int64_t length = 0;
  std::int64_t sequences = 0;
};

std::vector<BucketEnd> bucket_ends(std::span<const std::int64_t> lengths) {
  std::vector<std::int64_t> sorted(lengths.begin(), lengths.end());
  std::sort(sorted.begin(), sorted.end());
  std::vector<BucketEnd> all;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (i + 1 < sorted.size() && sorted[i + 1] == sorted[i]) continue;
    all.push_back({.length = sorted[i], .sequences = static_cast<std::int64_t>(i) + 1});
  }
  if (all.size() <= exact_lengths) return all;
  std::vector<BucketEnd> some;
  for (std::size_t i = 1; i <= exact_lengths; ++i) {
    const std::size_t at = (i * sorted.size() + exact_lengths - 1) / exact_lengths;
    const auto end = std::lower_bound(
        all.begin(), all.end(), static_cast<std::int64_t>(at), [](const BucketEnd& e, auto n) {
          return e.sequences < n;
        });
    if (some.empty() || end->length > some.back().length) some.push_back(*end);
  }
  return some;
}

/// The dynamic programme: least cost of all sequences up to end i in at most k buckets, of which
/// the last ends there.
class BatchedSplit {
 public:
  BatchedSplit(std::vector<BucketEnd> ends,
               std::int64_t chunks,
               const BatchChoices& choices,
               const BatchCost& cost)
      : ends_(std::move(ends)), chunks_(chunks) {
    for (const BucketEnd& end : ends_) {
      std::vector<Choice>& made = choices_.emplace_back();
      for (const std::int64_t batch : choices(end.length)) {
        made.push_back({.batch = batch, .step = cost(end.length, batch)});
      }
      SCHEDLAB_EXPECTS(!made.empty(), fmt::format("no batch at length {}", end.length));
      std::sort(made.begin(), made.end(), [](const Choice& a, const Choice& b) {
        return a.batch < b.batch;
      });
    }
  }

  [[nodiscard]] BatchedBuckets split(std::int64_t count) {
    const std::size_t size = ends_.size();
    std::vector<double> best(size);
    std::vector<std::vector<std::size_t>> from;  // by number of buckets less 1: bucket begins after
    from.emplace_back(size, none);
    for (std::size_t i = 0; i < size; ++i) best[i] = bucket(none, i).cost;
    for (std::int64_t k = 2; k <= std::min(count, static_cast<std::int64_t>(size)); ++k) {
      std::vector<double> next = best;
      std::vector<std::size_t> begins(size, same);
      for (std::size_t i = 1; i < size; ++i) {
        for (std::size_t j = 0; j < i; ++j) {
          const double sum = best[j] + bucket(j, i).cost;
          if (sum >= next[i]) continue;
          next[i] = sum;
          begins[i] = j;
        }
      }
      best = std::move(next);
      from.push_back(std::move(begins));
    }
    return traced(from, best.back());
  }

 private:
  struct Choice {
    std::int64_t batch = 0;
    double step = 0;
  };
  struct Chosen {
    std::int64_t batch = 0;
    double cost = std::numeric_limits<double>::infinity();
  };
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t same = none - 1;  // no better than with a bucket less

  /// The bucket after end `before` up to end `last`.
  [[nodiscard]] Chosen bucket(std::size_t before, std::size_t last) const {
    const std::int64_t below = before == none ? 0 : ends_[before].sequences;
    const std::int64_t of_chunk = ceil_div(ends_[last].sequences - below, chunks_);
    Chosen chosen;
    for (const Choice& choice : choices_[last]) {
      const auto steps = static_cast<double>(chunks_ * ceil_div(of_chunk, choice.batch));
      if (steps * choice.step < chosen.cost) {
        chosen = {.batch = choice.batch, .cost = steps * choice.step};
      }
    }
    return chosen;
  }

  [[nodiscard]] BatchedBuckets traced(const std::vector<std::vector<std::size_t>>& from,
                                      double cost) const {
    BatchedBuckets found;
    found.cost = cost;
    std::size_t end = ends_.size() - 1;
    for (std::size_t k = from.size(); k-- > 0 && end != none;) {
      if (from[k][end] == same) continue;
      found.boundaries.push_back(ends_[end].length);
      found.batches.push_back(bucket(from[k][end], end).batch);
      end = from[k][end];
    }
    std::reverse(found.boundaries.begin(), found.boundaries.end());
    std::reverse(found.batches.begin(), found.batches.end());
    return found;
  }

  std::vector<BucketEnd> ends_;
  std::int64_t chunks_;
  std::vector<std::vector<Choice>> choices_;  // by end, rising
};

}  // namespace

BatchedBuckets optimal_batched_buckets(std::span<const std::int64_t> lengths,
                                       std::int64_t chunks,
                                       std::int64_t count,
                                       const BatchChoices& choices,
                                       const BatchCost& cost) {
  SCHEDLAB_EXPECTS(
      !lengths.empty() && chunks >= 1 && count >= 1,
      fmt::format("{} sequences, {} chunks, {} buckets", lengths.size(), chunks, count));
  return BatchedSplit{bucket_ends(lengths), chunks, choices, cost}.split(count);
}

std::int64_t evened_batch(std::int64_t rows, std::int64_t largest, std::int64_t multiple) {
  if (rows < 1) return largest;
  const std::int64_t steps = ceil_div(rows, largest);
  return std::min(largest, ceil_div(ceil_div(rows, steps), multiple) * multiple);
}

}  // namespace schedlab
