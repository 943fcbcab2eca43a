// SPDX-License-Identifier: Apache-2.0
// Internal to the in-order sweep: what its parts share during one run.
#pragma once

#include "sim/engine/in_order.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace schedlab {

/// Writes spans over those of an earlier run and grows the trace block by block: a span is then
/// written once, and not first cleared and then written, which would cost as much as the sweep.
class SpanWriter {
 public:
  explicit SpanWriter(std::vector<TaskSpan>& spans)
      : spans_(spans), next_(spans.data()), end_(next_ + spans.size()) {}
  SpanWriter(const SpanWriter&) = delete;
  SpanWriter& operator=(const SpanWriter&) = delete;
  ~SpanWriter() { spans_.resize(static_cast<std::size_t>(next_ - spans_.data())); }  // shrinks

  [[nodiscard]] TaskSpan& next() {
    if (next_ == end_) [[unlikely]]
      grow();
    return *next_++;
  }

 private:
  static constexpr std::size_t block = 256;  // 10 KiB: still in the first-level cache when written

  void grow() {
    const std::size_t used = spans_.size();
    if (spans_.capacity() == used) spans_.reserve(2 * used + block);
    spans_.resize(std::min(used + block, spans_.capacity()));
    next_ = spans_.data() + used;
    end_ = spans_.data() + spans_.size();
  }

  std::vector<TaskSpan>& spans_;
  TaskSpan* next_;
  TaskSpan* end_;
};

struct InOrderSweep::Run {
  const Problem& problem;
  const Plan& plan;
  const Host& host;
  const HostCosts& costs;
  Trace& trace;
  SpanWriter& spans;
  bool record_flows;
  bool queue_limit;         // a launch may block
  bool shared_connections;  // a call may wait for a call of another stream
  Time clock{};
  Time last_end{};      // of any task
  Duration blocked{0};  // within the current call
};

/// The stream of a call, opened if this is its first use.
inline InOrderSweep::Stream& InOrderSweep::usable(Run& run, StreamId id) {
  if (id.value() < streams_.size()) [[likely]] {
    Stream& stream = streams_[id.value()];
    if (stream.open) [[likely]]
      return stream;
  }
  return open(run, id);
}

}  // namespace schedlab
