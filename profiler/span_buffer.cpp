// SPDX-License-Identifier: Apache-2.0
#include "profiler/span_buffer.hpp"

#include "profiler/cpu_clock.hpp"

#include <algorithm>
#include <tuple>

namespace schedlab {

std::vector<BlockSpan> merge_spans(const std::vector<const SpanBuffer*>& buffers) {
  std::vector<BlockSpan> all;
  std::size_t count = 0;
  for (const SpanBuffer* buffer : buffers) count += buffer->size();
  all.reserve(count);
  for (const SpanBuffer* buffer : buffers) {
    for (std::size_t i = 0; i < buffer->size(); ++i) all.push_back((*buffer)[i]);
  }
  std::sort(all.begin(), all.end(), [](const BlockSpan& a, const BlockSpan& b) {
    return std::tuple{a.started, a.worker, a.ended} < std::tuple{b.started, b.worker, b.ended};
  });
  return all;
}

Duration recording_overhead() {
  constexpr int batches = 64;
  constexpr int per_batch = 64;
  const CpuClock clock;
  SpanBuffer buffer;
  std::vector<Duration> costs;
  for (int batch = 0; batch < batches; ++batch) {
    const Time before = clock.now();
    for (int i = 0; i < per_batch; ++i) {
      const Time started = clock.now();
      buffer.add({.task = TaskId{0}, .started = started, .ended = clock.now()});
    }
    costs.push_back((clock.now() - before) / per_batch);
  }
  std::nth_element(costs.begin(), costs.begin() + batches / 2, costs.end());
  return costs[batches / 2];
}

}  // namespace schedlab
