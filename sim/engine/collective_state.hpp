// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/engine/sharing/kernel_heap.hpp"
#include "sim/plan/policy.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace schedlab::engine {

/// Who of each collective has started. The parts of a collective hold what they occupy until the
/// last of them has all it needs; its duration counts from then, and all end together.
///
/// Where collectives contend (CollectiveCosts::contend), all parts advance at one rate: the least
/// of what each device and the links allow at that moment, 1 for a collective alone. What one of
/// these holds up is not offered to others in another. Rates are multiples of 2^-32, rounded down,
/// never 0; progress is exact, so that one that nothing slows down lasts its duration to the
/// picosecond.
class CollectiveState {
 public:
  static constexpr std::uint64_t full_rate = std::uint64_t{1} << 32U;

  void reset(const Problem& problem) {
    const TaskGraph& graph = problem.graph;
    table_ = graph.collectives().empty() ? nullptr : &graph.collectives();
    costs_ = &problem.costs;
    contend_ = table_ != nullptr && problem.platform.network.collectives.contend;
    if (table_ == nullptr) return;
    started_.assign(table_->size(), 0U);
    streams_.resize(table_->offset(CollectiveId{static_cast<std::uint32_t>(table_->size())}));
    ends_.clear();
    changed_.clear();
    if (!contend_) return;
    running_.assign(table_->size(), Running{});
    rates_.assign(streams_.size(), full_rate);
  }

  [[nodiscard]] bool contend() const { return contend_; }
  [[nodiscard]] bool contains(TaskId task) const {
    return table_ != nullptr && table_->of(task).valid();
  }

  struct Complete {
    CollectiveId id = CollectiveId::none();
    std::span<const StreamId> streams;  ///< empty: somebody is missing
    Duration duration{0};
  };
  /// The task's part has started, in this stream.
  Complete start(TaskId task, StreamId stream) {
    const CollectiveId id = table_->of(task);
    const std::uint32_t first = table_->offset(id);
    streams_[first + started_[id]++] = stream;
    const auto tasks = table_->tasks(id);
    if (started_[id] < tasks.size()) return {};
    return {.id = id, .streams = {streams_.data() + first, tasks.size()}, .duration = duration(id)};
  }

  [[nodiscard]] std::uint32_t started(CollectiveId id) const { return started_[id]; }
  /// The streams in which parts have started so far.
  [[nodiscard]] std::span<const StreamId> streams(CollectiveId id) const {
    return {streams_.data() + table_->offset(id), started_[id]};
  }

  // Where collectives contend.
  /// All parts have started; `flow`: its number among Transfers, or none.
  void begin(const Complete& complete, std::uint32_t flow, Time now) {
    Running& running = running_[complete.id];
    running.left = Wide{static_cast<std::uint64_t>(complete.duration.count())} << 32U;
    running.updated = now;
    running.flow = flow;
    for (std::uint32_t i = 0; i < complete.streams.size(); ++i) {
      const std::uint32_t stream = complete.streams[i].value();
      if (stream >= part_of_.size()) part_of_.resize(stream + 1);
      part_of_[stream] = {complete.id, table_->offset(complete.id) + i};
    }
    ends_.set(complete.id.value(), (now + complete.duration).time_since_epoch().count());
  }
  /// What the device of the stream allows the part in it; update() must follow.
  void set_rate(StreamId stream, std::uint64_t rate) {
    const Part& part = part_of_[stream.value()];
    if (rates_[part.at] == rate) return;
    rates_[part.at] = rate;
    mark(part.id);
  }
  /// What the links allow; update() must follow.
  void set_link_rate(CollectiveId id, double rate) {
    Running& running = running_[id];
    const auto wanted = static_cast<std::uint64_t>(rate * static_cast<double>(full_rate));
    running.link_rate = std::clamp<std::uint64_t>(wanted, 1, full_rate);
    mark(id);
  }
  void update(Time now) {
    for (const CollectiveId id : changed_) change_rate(id, running_[id], now);
    changed_.clear();
  }
  /// Time::max(): none is under way.
  [[nodiscard]] Time next_end() const { return Time{Duration{ends_.next_time()}}; }
  struct Ended {
    CollectiveId id = CollectiveId::none();
    std::uint32_t flow = 0;
  };
  /// What ends at next_end().
  Ended pop_end() {
    const CollectiveId id{ends_.pop()};
    return {id, running_[id].flow};
  }

  [[nodiscard]] std::size_t memory_bytes() const {
    return started_.raw().capacity() * sizeof(std::uint32_t) +
           streams_.capacity() * sizeof(StreamId) + running_.raw().capacity() * sizeof(Running) +
           rates_.capacity() * sizeof(std::uint64_t) + part_of_.capacity() * sizeof(Part) +
           ends_.memory_bytes();
  }

 private:
  __extension__ using Wide = unsigned __int128;

  struct Running {
    Wide left = 0;  ///< ps at full rate, times full_rate, at `updated`
    Time updated{};
    std::uint64_t rate = full_rate;
    std::uint64_t link_rate = full_rate;
    std::uint32_t flow = 0;
    bool changed = false;
  };
  struct Part {
    CollectiveId id = CollectiveId::none();
    std::uint32_t at = 0;  ///< in rates_
  };

  void mark(CollectiveId id) {
    if (running_[id].changed) return;
    running_[id].changed = true;
    changed_.push_back(id);
  }
  void change_rate(CollectiveId id, Running& running, Time now) {
    running.changed = false;
    const auto rates = rates_.begin() + table_->offset(id);
    const std::uint64_t rate = std::min(
        running.link_rate,
        *std::min_element(rates, rates + static_cast<std::ptrdiff_t>(table_->tasks(id).size())));
    if (rate == running.rate) return;
    const auto elapsed = static_cast<std::uint64_t>((now - running.updated).count());
    running.left -= std::min(running.left, Wide{running.rate} * elapsed);
    running.updated = now;
    running.rate = rate;
    constexpr Wide longest = KernelHeap::never / 4;
    const auto needed =
        static_cast<std::int64_t>(std::min<Wide>(longest, (running.left + (rate - 1)) / rate));
    ends_.set(id.value(), now.time_since_epoch().count() + needed);
  }
  /// Where single tasks have durations of their own (measured, or with noise), the slowest part.
  [[nodiscard]] Duration duration(CollectiveId id) const {
    if (costs_->task_durations().empty()) return costs_->duration(id);
    Duration longest{0};
    for (const TaskId task : table_->tasks(id)) {
      longest = std::max(longest, costs_->duration(task));
    }
    return longest;
  }

  const CollectiveTable* table_ = nullptr;
  const CostTable* costs_ = nullptr;
  bool contend_ = false;
  IdVector<CollectiveId, std::uint32_t> started_;
  std::vector<StreamId> streams_;  // as the table's tasks; in the order of their start
  IdVector<CollectiveId, Running> running_;
  std::vector<std::uint64_t> rates_;   // of parts, as streams_: what their devices allow
  std::vector<Part> part_of_;          // by stream: its last part of a collective
  std::vector<CollectiveId> changed_;  // whose rates may have changed
  KernelHeap ends_;                    // of those under way
};

}  // namespace schedlab::engine
