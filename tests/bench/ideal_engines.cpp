// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/ideal_engines.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <queue>
#include <tuple>

namespace schedlab::bench {
namespace {

constexpr std::uint32_t nil = 0xFFFFFFFFU;

/// Min-heap of keys time << 10 | stream with four children a node; a stream has one event at most.
class KeyHeap {
 public:
  static constexpr unsigned stream_bits = 10;
  explicit KeyHeap(std::uint32_t streams) : keys_(streams + 8) {}

  static std::uint64_t key(std::int64_t time, std::uint32_t stream) {
    return (static_cast<std::uint64_t>(time) << stream_bits) | stream;
  }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::int64_t time() const {
    return static_cast<std::int64_t>(keys_[0] >> stream_bits);
  }
  [[nodiscard]] std::uint32_t stream() const {
    return static_cast<std::uint32_t>(keys_[0] & ((1U << stream_bits) - 1U));
  }
  void push(std::uint64_t key) {
    std::uint32_t i = size_++;
    while (i > 0) {
      const std::uint32_t parent = (i - 1) / 4;
      if (keys_[parent] <= key) break;
      keys_[i] = keys_[parent];
      i = parent;
    }
    keys_[i] = key;
  }
  void replace_top(std::uint64_t key) {
    std::uint32_t i = 0;
    for (;;) {
      const std::uint32_t first = 4 * i + 1;
      if (first >= size_) break;
      const std::uint32_t last = std::min(first + 4, size_);
      std::uint32_t least = first;
      for (std::uint32_t c = first + 1; c < last; ++c) {
        least = keys_[c] < keys_[least] ? c : least;
      }
      if (keys_[least] >= key) break;
      keys_[i] = keys_[least];
      i = least;
    }
    keys_[i] = key;
  }
  void pop() {
    const std::uint64_t last = keys_[--size_];
    if (size_ != 0) replace_top(last);
  }

 private:
  std::vector<std::uint64_t> keys_;
  std::uint32_t size_ = 0;
};

}  // namespace

BareRun ideal_sweep(const BareGraph& g, std::vector<std::int64_t>& started) {
  std::vector<std::int64_t> free_from(g.streams, 0);
  std::fill(started.begin(), started.end(), 0);  // holds the ready time until the task is reached
  BareRun run;
  for (std::uint32_t i = 0; i < g.task_count(); ++i) {
    std::int64_t& stream = free_from[g.stream[i]];
    const std::int64_t start = std::max(started[i], stream);
    const std::int64_t end = start + g.duration[i];
    started[i] = start;
    stream = end;
    run.makespan = std::max(run.makespan, end);
    for (std::uint32_t e = g.offset[i]; e < g.offset[i + 1]; ++e) {
      std::int64_t& ready = started[g.successors[e]];
      ready = std::max(ready, end);
    }
  }
  run.done = g.task_count();
  return run;
}

BareRun ideal_in_order(const BareGraph& g, std::vector<std::int64_t>& started) {
  std::vector<std::uint8_t> open(g.predecessor_count);
  std::vector<std::uint32_t> next(g.task_count(), nil);
  std::vector<std::uint32_t> head(g.streams, nil);
  std::vector<std::uint32_t> last(g.streams, nil);
  std::vector<std::uint32_t> running(g.streams, nil);
  for (std::uint32_t i = 0; i < g.task_count(); ++i) {
    const std::uint32_t s = g.stream[i];
    (last[s] == nil ? head[s] : next[last[s]]) = i;
    last[s] = i;
  }
  KeyHeap heap(g.streams);
  BareRun run;
  const auto take = [&](std::uint32_t s) {
    const std::uint32_t i = head[s];
    running[s] = i;
    head[s] = next[i];
    started[i] = run.makespan;
    return KeyHeap::key(run.makespan + g.duration[i], s);
  };
  for (std::uint32_t s = 0; s < g.streams; ++s) {
    if (head[s] != nil && open[head[s]] == 0) heap.push(take(s));
  }
  while (!heap.empty()) {
    run.makespan = heap.time();
    const std::uint32_t s = heap.stream();
    const std::uint32_t i = running[s];
    running[s] = nil;
    ++run.done;
    for (std::uint32_t e = g.offset[i]; e < g.offset[i + 1]; ++e) {
      const std::uint32_t j = g.successors[e];
      if (--open[j] != 0) continue;
      const std::uint32_t other = g.stream[j];
      if (other != s && running[other] == nil && head[other] == j) heap.push(take(other));
    }
    if (head[s] != nil && open[head[s]] == 0) {
      heap.replace_top(take(s));
    } else {
      heap.pop();
    }
  }
  return run;
}

BareRun ideal_fifo(const BareGraph& g, std::vector<std::int64_t>& started) {
  std::vector<std::uint8_t> open(g.predecessor_count);
  std::vector<std::uint32_t> next(g.task_count());
  std::vector<std::uint32_t> head(g.streams, nil);
  std::vector<std::uint32_t> tail(g.streams, nil);
  std::vector<std::uint32_t> running(g.streams, nil);
  KeyHeap heap(g.streams);
  BareRun run;
  const auto ready = [&](std::uint32_t j) {
    const std::uint32_t s = g.stream[j];
    if (running[s] == nil) {
      running[s] = j;
      started[j] = run.makespan;
      heap.push(KeyHeap::key(run.makespan + g.duration[j], s));
      return;
    }
    next[j] = nil;
    (head[s] == nil ? head[s] : next[tail[s]]) = j;
    tail[s] = j;
  };
  for (std::uint32_t i = 0; i < g.task_count(); ++i) {
    if (open[i] == 0) ready(i);
  }
  while (!heap.empty()) {
    run.makespan = heap.time();
    const std::uint32_t s = heap.stream();
    const std::uint32_t i = running[s];
    ++run.done;
    const std::uint32_t following = head[s];
    running[s] = following;
    if (following != nil) {
      head[s] = next[following];
      started[following] = run.makespan;
      heap.replace_top(KeyHeap::key(run.makespan + g.duration[following], s));
    } else {
      heap.pop();
    }
    for (std::uint32_t e = g.offset[i]; e < g.offset[i + 1]; ++e) {
      if (--open[g.successors[e]] == 0) ready(g.successors[e]);
    }
  }
  return run;
}

BareRun textbook_fifo(const BareGraph& g, std::vector<std::int64_t>& started) {
  struct Node {
    std::vector<std::uint32_t> successors;
    std::uint32_t open = 0;
    std::uint32_t stream = 0;
    std::int64_t duration = 0;
  };
  std::vector<Node> nodes(g.task_count());
  for (std::uint32_t i = 0; i < g.task_count(); ++i) {
    nodes[i] = {{g.successors.begin() + g.offset[i], g.successors.begin() + g.offset[i + 1]},
                g.predecessor_count[i],
                g.stream[i],
                g.duration[i]};
  }
  using Event = std::tuple<std::int64_t, std::uint64_t, std::uint32_t>;  // time, sequence, task
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
  std::vector<std::deque<std::uint32_t>> queues(g.streams);
  std::vector<char> busy(g.streams, 0);
  std::uint64_t sequence = 0;
  BareRun run;
  const auto start = [&](std::uint32_t i) {
    busy[nodes[i].stream] = 1;
    started[i] = run.makespan;
    events.emplace(run.makespan + nodes[i].duration, sequence++, i);
  };
  const auto ready = [&](std::uint32_t i) {
    if (busy[nodes[i].stream] != 0) {
      queues[nodes[i].stream].push_back(i);
    } else {
      start(i);
    }
  };
  for (std::uint32_t i = 0; i < g.task_count(); ++i) {
    if (nodes[i].open == 0) ready(i);
  }
  while (!events.empty()) {
    const auto [time, number, task] = events.top();
    events.pop();
    run.makespan = time;
    ++run.done;
    auto& queue = queues[nodes[task].stream];
    busy[nodes[task].stream] = 0;
    if (!queue.empty()) {
      start(queue.front());
      queue.pop_front();
    }
    for (const std::uint32_t after : nodes[task].successors) {
      if (--nodes[after].open == 0) ready(after);
    }
  }
  return run;
}

}  // namespace schedlab::bench
