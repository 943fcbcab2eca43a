// SPDX-License-Identifier: Apache-2.0
#include "policies/idle_gaps.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <utility>

namespace schedlab {

void IdleGaps::Chunk::measure() {
  longest = Duration{0};
  for (const Gap& gap : gaps) longest = std::max(longest, gap.end - gap.begin);
}

/// The first chunk with a gap that ends at `end` or later.
std::size_t IdleGaps::first_chunk(Time end) const {
  const auto found = std::partition_point(chunks_.begin(), chunks_.end(), [&](const Chunk& chunk) {
    return chunk.gaps.back().end < end;
  });
  return static_cast<std::size_t>(found - chunks_.begin());
}

/// The first gap that ends at `end` or later.
std::size_t IdleGaps::first_gap(const Chunk& chunk, Time end) {
  const auto found = std::partition_point(
      chunk.gaps.begin(), chunk.gaps.end(), [&](const Gap& gap) { return gap.end < end; });
  return static_cast<std::size_t>(found - chunk.gaps.begin());
}

Time IdleGaps::first_fit(Time ready, Duration length) const {
  for (std::size_t c = first_chunk(ready + length); c < chunks_.size(); ++c) {
    const Chunk& chunk = chunks_[c];
    if (chunk.longest < length) continue;
    for (std::size_t g = first_gap(chunk, ready + length); g < chunk.gaps.size(); ++g) {
      const Time start = std::max(ready, chunk.gaps[g].begin);
      if (start + length <= chunk.gaps[g].end) return start;
    }
  }
  return end_;
}

void IdleGaps::occupy(Time start, Duration length) {
  if (start >= end_) {
    const bool moment_after_moment = start == end_ && length == Duration{0};
    if (start - end_ >= shortest_ && !moment_after_moment) append({end_, start});
    end_ = start + length;
    return;
  }
  const std::size_t c = first_chunk(start + length);
  SCHEDLAB_EXPECTS(c < chunks_.size(), "the stream is not idle at the start of an inserted task");
  split(c, first_gap(chunks_[c], start + length), start, length);
}

void IdleGaps::append(Gap gap) {
  if (chunks_.empty() || chunks_.back().gaps.size() >= largest_chunk) chunks_.emplace_back();
  Chunk& chunk = chunks_.back();
  chunk.gaps.push_back(gap);
  chunk.longest = std::max(chunk.longest, gap.end - gap.begin);
  longest_ = std::max(longest_, chunk.longest);
}

/// Leaves of a gap what is before and after the task.
void IdleGaps::split(std::size_t chunk_index, std::size_t gap_index, Time start, Duration length) {
  Chunk& chunk = chunks_[chunk_index];
  const auto gap = chunk.gaps.begin() + static_cast<std::ptrdiff_t>(gap_index);
  const Gap before{gap->begin, start};
  const Gap after{start + length, gap->end};
  SCHEDLAB_EXPECTS(before.begin <= before.end && after.begin <= after.end,
                   "the stream is not idle while an inserted task runs");
  const bool was_longest = gap->end - gap->begin == chunk.longest;
  // A moment takes no time: the gap after it begins where the one before it would end.
  const bool keep_before =
      before.end - before.begin >= shortest_ && (length > Duration{0} || before.end > before.begin);
  const bool keep_after = after.end - after.begin >= shortest_;
  if (keep_before) *gap = before;
  if (keep_before && keep_after) {
    chunk.gaps.insert(gap + 1, after);
  } else if (keep_after) {
    *gap = after;
  } else if (!keep_before) {
    chunk.gaps.erase(gap);
  }
  if (chunk.gaps.empty()) {
    chunks_.erase(chunks_.begin() + static_cast<std::ptrdiff_t>(chunk_index));
  } else if (chunk.gaps.size() > largest_chunk) {
    halve(chunk_index);
  } else if (was_longest) {
    chunk.measure();
  }
}

void IdleGaps::halve(std::size_t chunk_index) {
  Chunk& chunk = chunks_[chunk_index];
  const auto middle = chunk.gaps.begin() + static_cast<std::ptrdiff_t>(chunk.gaps.size() / 2);
  Chunk upper;
  upper.gaps.assign(middle, chunk.gaps.end());
  upper.measure();
  chunk.gaps.erase(middle, chunk.gaps.end());
  chunk.measure();
  chunks_.insert(chunks_.begin() + static_cast<std::ptrdiff_t>(chunk_index) + 1, std::move(upper));
}

}  // namespace schedlab
