// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/ideal_engines.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace schedlab::bench {
namespace {

constexpr std::uint32_t nil = 0xFFFFFFFFU;
constexpr std::uint32_t capacity = 1024;
// Of the parts in their order, in 1/1024 of the device; the most urgent priority is 0.
constexpr std::array<std::uint32_t, 5> demand{100, 300, 300, 500, 500};
constexpr std::array<std::uint32_t, 5> priority{0, 1, 1, 2, 3};
constexpr std::uint32_t priorities = 4;
constexpr double close = 1e-3;  // ps; what rounding may leave of a kernel

/// The kernels of one priority: all go on at one relative speed, so that one clock is exact.
struct Class {
  struct Entry {
    double end = 0;  // on the class's clock
    std::uint32_t stream = 0;
  };
  std::array<Entry, 64> heap{};
  std::uint32_t size = 0;
  std::uint32_t wanted = 0;
  double clock = 0;
  double speed = 0;

  void push(Entry entry) {
    std::uint32_t i = size++;
    for (; i > 0 && heap[(i - 1) / 2].end > entry.end; i = (i - 1) / 2) heap[i] = heap[(i - 1) / 2];
    heap[i] = entry;
  }
  void pop() {
    const Entry last = heap[--size];
    std::uint32_t i = 0;
    for (;;) {
      std::uint32_t child = 2 * i + 1;
      if (child >= size) break;
      if (child + 1 < size && heap[child + 1].end < heap[child].end) ++child;
      if (heap[child].end >= last.end) break;
      heap[i] = heap[child];
      i = child;
    }
    heap[i] = last;
  }
};

class Sharing {
 public:
  Sharing(const BareGraph& graph, std::vector<std::int64_t>& started)
      : g_(graph),
        started_(started),
        missing_(graph.predecessor_count),
        next_(graph.task_count(), nil),
        head_(graph.streams, nil),
        tail_(graph.streams, nil),
        running_(graph.streams, nil) {}

  BareRun run() {
    for (std::uint32_t i = 0; i < g_.task_count(); ++i) {
      if (missing_[i] == 0) ready(i);
    }
    while (active_ != 0) step();
    run_.makespan = static_cast<std::int64_t>(now_);
    return run_;
  }

 private:
  void start(std::uint32_t task) {
    const std::uint32_t stream = g_.stream[task];
    Class& c = classes_[priority[g_.part[task]]];
    running_[stream] = task;
    started_[task] = static_cast<std::int64_t>(now_);
    c.wanted += demand[g_.part[task]];
    c.push({c.clock + static_cast<double>(g_.duration[task]), stream});
    ++active_;
  }
  void ready(std::uint32_t task) {
    const std::uint32_t stream = g_.stream[task];
    if (running_[stream] == nil) return start(task);
    (head_[stream] == nil ? head_[stream] : next_[tail_[stream]]) = task;
    tail_[stream] = task;
  }
  void finish(std::uint32_t stream) {
    const std::uint32_t task = running_[stream];
    running_[stream] = nil;
    ++run_.done;
    if (head_[stream] != nil) {
      const std::uint32_t following = head_[stream];
      head_[stream] = next_[following];
      start(following);
    }
    for (std::uint32_t e = g_.offset[task]; e < g_.offset[task + 1]; ++e) {
      if (--missing_[g_.successors[e]] == 0) ready(g_.successors[e]);
    }
  }
  void step() {
    std::uint32_t left = capacity;
    double elapsed = std::numeric_limits<double>::infinity();
    for (Class& c : classes_) {
      if (c.size == 0) continue;
      c.speed = c.wanted <= left ? 1.0 : static_cast<double>(left) / c.wanted;
      left -= std::min(left, c.wanted);
      if (c.speed > 0) elapsed = std::min(elapsed, (c.heap[0].end - c.clock) / c.speed);
    }
    now_ += elapsed;
    std::uint64_t finished = 0;  // by stream
    for (Class& c : classes_) {
      if (c.size == 0) continue;
      c.clock += c.speed * elapsed;
      while (c.size != 0 && c.heap[0].end <= c.clock + close) {
        const std::uint32_t stream = c.heap[0].stream;
        c.pop();
        c.wanted -= demand[g_.part[running_[stream]]];
        finished |= std::uint64_t{1} << stream;
        --active_;
      }
      if (c.size == 0) c.clock = 0;  // keeps rounding small
    }
    for (; finished != 0; finished &= finished - 1) {
      finish(static_cast<std::uint32_t>(__builtin_ctzll(finished)));
    }
  }

  const BareGraph& g_;
  std::vector<std::int64_t>& started_;
  std::vector<std::uint8_t> missing_;
  std::vector<std::uint32_t> next_;  // in its stream
  std::vector<std::uint32_t> head_;  // by stream
  std::vector<std::uint32_t> tail_;
  std::vector<std::uint32_t> running_;
  std::array<Class, priorities> classes_{};
  std::uint32_t active_ = 0;
  double now_ = 0;
  BareRun run_;
};

}  // namespace

BareRun ideal_sharing(const BareGraph& graph, std::vector<std::int64_t>& started) {
  return Sharing{graph, started}.run();
}

}  // namespace schedlab::bench
