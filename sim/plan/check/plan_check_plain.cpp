// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/check/plan_check_plain.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace schedlab::checker {
namespace {

/// Of all rows together: 2 MiB. A larger plan takes its time anyway.
constexpr std::size_t max_cells = std::size_t{1} << 20U;

/// Launches of one stream. All processors find the larger of eight such numbers at once.
using Count = std::int16_t;
constexpr Count max_launches = std::numeric_limits<Count>::max() - 1;

/// Streams, rounded up to whole vectors.
std::size_t row_width(const Plan& plan) {
  return (plan.streams.size() + 7) / 8 * 8;
}

/// Follows the calls with one vector clock per stream: row[s] = n says that the first n launches of
/// stream s are complete before the next operation of the row's stream starts, before the next call
/// of the host returns, or when the row's event is complete.
class PlainWalk {
 public:
  PlainWalk(const TaskGraph& graph, const Plan& plan)
      : graph_(graph),
        plan_(plan),
        width_(row_width(plan)),
        rows_(width_ * (plan.streams.size() + 1), 0),
        event_rows_(width_ * plan.event_count, 0),
        recorded_(plan.event_count, 0),
        life_(plan.streams.size()),
        host_known_(plan.streams.size(), 0),
        place_(graph.task_count()) {
    collect_accumulations();
  }

  /// False at the first call that is not right.
  [[nodiscard]] bool run() {
    for (const HostCall call : plan_.hosts[HostId{0}].calls) {
      // Most calls of a policy that asks whether streams are idle.
      const bool poll = call.kind() == HostCallKind::query && surely_exists(call.stream());
      if (!poll && !step(call)) return false;
    }
    return launched_ == graph_.task_count();
  }

 private:
  static constexpr Count not_launched = max_launches + 1;
  static constexpr std::uint32_t no_entry = std::numeric_limits<std::uint32_t>::max();

  /// A stream that some call creates does not exist from the start, so that it must not be used
  /// before.
  struct Life {
    bool exists = false;
    bool touched = false;  // by a call before the present one
    bool from_start = false;
  };

  struct Place {
    std::uint32_t stream = 0;
    Count number = not_launched;  // from 1; more than any row says while not launched
  };
  struct Addition {
    TensorId tensor;
    std::uint32_t next = no_entry;  // of the same task
  };

  [[nodiscard]] bool step(HostCall call) {
    switch (call.kind()) {
      case HostCallKind::query:
        return use(call.stream());
      case HostCallKind::sleep:
        return true;
      case HostCallKind::launch:
        return !call.programmatic() && use(call.stream()) &&
               launch(call.stream().value(), call.task());
      case HostCallKind::record:
        return use(call.stream()) && record(call.stream().value(), call.event().value());
      case HostCallKind::wait:
        return use(call.stream()) && wait(call.stream().value(), call.event().value());
      case HostCallKind::synchronize:
        return synchronize(call);
      case HostCallKind::create_stream:
        return create(call.stream());
      case HostCallKind::destroy_stream:
        return destroy(call.stream());
      default:
        return false;
    }
  }

  [[nodiscard]] bool surely_exists(StreamId stream) const {
    return stream.value() < 64 && (existing_ >> stream.value() & 1U) != 0;
  }
  void set_existing(StreamId stream, bool exists) {
    life_[stream.value()].exists = exists;
    if (stream.value() >= 64) return;
    const std::uint64_t bit = std::uint64_t{1} << stream.value();
    existing_ = exists ? existing_ | bit : existing_ & ~bit;
  }
  /// Does the stream exist, maybe from the start?
  [[nodiscard]] bool use(StreamId stream) {
    if (stream.value() >= life_.size()) return false;
    Life& life = life_[stream.value()];
    if (!life.touched) {
      life = {.exists = true, .touched = true, .from_start = true};
      set_existing(stream, true);
    }
    return life.exists;
  }
  [[nodiscard]] bool create(StreamId stream) {
    if (stream.value() >= life_.size()) return false;
    Life& life = life_[stream.value()];
    if (life.exists || life.from_start) return false;
    const std::uint32_t number = stream.value();
    if (life.touched && host_row()[number] < row(number)[number]) return false;  // created again
    life.touched = true;
    set_existing(stream, true);
    return true;
  }
  [[nodiscard]] bool destroy(StreamId stream) {
    if (!use(stream)) return false;
    set_existing(stream, false);
    return true;
  }
  [[nodiscard]] Count* row(std::uint32_t stream) { return rows_.data() + stream * width_; }
  [[nodiscard]] Count* host_row() { return row(static_cast<std::uint32_t>(life_.size())); }
  [[nodiscard]] Count* event_row(std::uint32_t event) {
    return event_rows_.data() + event * width_;
  }
  void join(Count* into, const Count* from) const {
    for (std::size_t i = 0; i < width_; ++i) into[i] = std::max(into[i], from[i]);
  }
  /// The row of the stream's next operation, with what the host has waited for.
  [[nodiscard]] Count* enter(std::uint32_t stream) {
    Count* const mine = row(stream);
    if (host_known_[stream] != host_version_) {
      host_known_[stream] = host_version_;
      join(mine, host_row());
    }
    return mine;
  }

  [[nodiscard]] bool launch(std::uint32_t stream, TaskId task) {
    if (task.value() >= place_.size() || place_[task].number != not_launched) return false;
    Count* const mine = enter(stream);
    const auto ordered = [&](TaskId before) {
      const Place& place = place_[before];
      return mine[place.stream] >= place.number;
    };
    for (const TaskId before : graph_.predecessors(task)) {
      if (!ordered(before)) return false;
    }
    if (!first_addition_.empty()) {
      for (std::uint32_t i = first_addition_[task]; i != no_entry; i = additions_[i].next) {
        TaskId& last = last_writer_[additions_[i].tensor];
        if (last.valid() && !ordered(last)) return false;
        last = task;
      }
    }
    place_[task] = {.stream = stream, .number = ++mine[stream]};
    ++launched_;
    return true;
  }

  [[nodiscard]] bool record(std::uint32_t stream, std::uint32_t event) {
    if (event >= recorded_.size()) return false;
    std::copy_n(enter(stream), width_, event_row(event));
    recorded_[event] = 1;
    return true;
  }

  [[nodiscard]] bool wait(std::uint32_t stream, std::uint32_t event) {
    if (event >= recorded_.size() || recorded_[event] == 0) return false;
    join(enter(stream), event_row(event));
    return true;
  }

  [[nodiscard]] bool synchronize(HostCall call) {
    if (call.stream().valid()) {
      if (!use(call.stream())) return false;
      join(host_row(), row(call.stream().value()));
    } else if (call.argument() == HostCall::none) {
      for (std::uint32_t s = 0; s < life_.size(); ++s) host_row()[s] = row(s)[s];
    } else {
      const std::uint32_t event = call.argument();
      if (event >= recorded_.size() || recorded_[event] == 0) return false;
      join(host_row(), event_row(event));
    }
    ++host_version_;
    return true;
  }

  /// Lists, task by task, the tensors that it adds into.
  void collect_accumulations() {
    const TensorTable& tensors = graph_.tensors();
    for (const TensorId tensor : tensors.ids()) {
      if (!tensors.accumulate(tensor) || tensors.writers(tensor).size() < 2) continue;
      if (first_addition_.empty()) {
        first_addition_.resize(graph_.task_count(), no_entry);
        last_writer_.resize(tensors.size());
      }
      for (const TaskId writer : tensors.writers(tensor)) {
        std::uint32_t& first = first_addition_[writer];
        additions_.push_back({tensor, first});
        first = static_cast<std::uint32_t>(additions_.size() - 1);
      }
    }
  }

  const TaskGraph& graph_;
  const Plan& plan_;
  std::size_t width_;        // of a row: streams, and some that stay 0
  std::vector<Count> rows_;  // of the streams, then that of the host
  std::vector<Count> event_rows_;
  std::vector<std::uint8_t> recorded_;     // by event
  std::vector<Life> life_;                 // by stream
  std::uint64_t existing_ = 0;             // of the first 64 streams: Life::exists
  std::vector<std::uint32_t> host_known_;  // by stream: host_version_ that its row has
  std::uint32_t host_version_ = 0;         // counts what the host waited for
  IdVector<TaskId, Place> place_;
  std::size_t launched_ = 0;
  IdVector<TaskId, std::uint32_t> first_addition_;  // empty: no two tasks add into one tensor
  std::vector<Addition> additions_;
  IdVector<TensorId, TaskId> last_writer_;
};

[[nodiscard]] bool is_plain(const TaskGraph& graph, const PlainFacts& facts, const Plan& plan) {
  return plan.hosts.size() == 1 && plan.messages.empty() && plan.graphs.empty() &&
         facts.ranks <= 1 && !graph.has_ranks() && graph.task_count() <= max_launches &&
         graph.collectives().empty() && plan.partitions.empty() &&
         row_width(plan) * (plan.streams.size() + plan.event_count + 1) <= max_cells &&
         std::all_of(plan.streams.begin(), plan.streams.end(), [&](const StreamSpec& stream) {
           return stream.sync != StreamSync::legacy_default && stream.partition == 0 &&
                  stream.device.value() < facts.devices;
         });
}

[[nodiscard]] bool fits(const TaskGraph& graph, const std::vector<Bytes>& capacities) {
  Bytes together{0};
  for (const TensorId tensor : graph.tensors().ids()) together += graph.tensors().bytes(tensor);
  return std::all_of(capacities.begin(), capacities.end(), [&](Bytes capacity) {
    return capacity == Bytes{0} || together <= capacity;
  });
}

}  // namespace

PlainFacts plain_facts(const Platform& platform, const CheckOptions& options) {
  PlainFacts facts{
      .ranks = platform.ranks, .devices = platform.device_count(), .memory_capacity = {}};
  if (!options.check_memory) return facts;
  facts.memory_capacity.reserve(platform.devices.size());
  for (const Device& device : platform.devices) {
    facts.memory_capacity.push_back(device.memory_capacity);
  }
  return facts;
}

bool passes_fast_check(const TaskGraph& graph, const PlainFacts& facts, const Plan& plan) {
  return is_plain(graph, facts, plan) && fits(graph, facts.memory_capacity) &&
         PlainWalk{graph, plan}.run();
}

}  // namespace schedlab::checker
