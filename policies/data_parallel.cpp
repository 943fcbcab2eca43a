// SPDX-License-Identifier: Apache-2.0
#include "policies/data_parallel.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

/// The host program of rank 0, from which that of every other follows by shifting numbers.
class RankProgram {
 public:
  RankProgram(const Plan& single, const TaskGraph& graph, bool overlap)
      : single_(single),
        graph_(graph),
        overlap_(overlap),
        tasks_(static_cast<std::uint32_t>(graph.task_count() / graph.rank_count())),
        events_(single.event_count),
        comm_(static_cast<std::uint32_t>(single.streams.size())) {
    SCHEDLAB_EXPECTS(single.hosts.size() == 1 && single.messages.empty(),
                     "a plan of one host becomes that of every rank");
    SCHEDLAB_EXPECTS(std::size_t{tasks_} * graph.rank_count() == graph.task_count(),
                     "every rank has the same tasks");
    find_parts();
    find_records();
    write();
  }

  [[nodiscard]] const std::vector<HostCall>& calls() const { return calls_; }
  [[nodiscard]] std::uint32_t events() const { return events_; }
  [[nodiscard]] std::uint32_t tasks() const { return tasks_; }
  [[nodiscard]] StreamId comm_stream() const { return comm_; }

 private:
  struct Part {
    TaskId task;
    std::uint32_t missing = 0;      // tasks it waits for that are not launched yet
    std::vector<EventId> recorded;  // behind what it waits for
    EventId done;                   // none: without waits for it
    std::vector<StreamId> seen_by;  // streams that have waited for `done`
    bool launched = false;
  };

  void find_parts() {
    for (std::uint32_t t = 0; t < tasks_; ++t) {
      const TaskId task{t};
      if (!graph_.collectives().of(task).valid()) continue;
      Part part;
      part.task = task;
      part.missing = static_cast<std::uint32_t>(graph_.predecessors(task).size());
      if (!graph_.successors(task).empty()) part.done = EventId{events_++};
      parts_.push_back(std::move(part));
    }
    SCHEDLAB_EXPECTS(!parts_.empty(), "a rank has parts of collectives");
    SCHEDLAB_EXPECTS(parts_.front().task.value() + parts_.size() == tasks_,
                     "the parts come last on their rank");
  }
  [[nodiscard]] Part* part_of(TaskId task) {
    const std::uint32_t first = parts_.front().task.value();
    return task.value() < first || task.value() >= tasks_ ? nullptr : &parts_[task.value() - first];
  }

  /// After which calls an event has to be recorded: the last launch in each stream among what one
  /// part waits for.
  void find_records() {
    const auto& calls = single_.hosts[HostId{0}].calls;
    records_.resize(calls.size());
    // last[part][stream] = call
    std::vector<std::vector<std::pair<StreamId, std::uint32_t>>> last(parts_.size());
    for (std::uint32_t i = 0; i < calls.size(); ++i) {
      if (calls[i].kind() != HostCallKind::launch) continue;
      for (const TaskId after : graph_.successors(calls[i].task())) {
        const Part* part = part_of(after);
        if (part == nullptr) continue;
        auto& streams = last[static_cast<std::size_t>(part - parts_.data())];
        const auto found = std::find_if(streams.begin(), streams.end(), [&](const auto& s) {
          return s.first == calls[i].stream();
        });
        if (found == streams.end()) {
          streams.emplace_back(calls[i].stream(), i);
        } else {
          found->second = i;
        }
      }
    }
    for (std::uint32_t p = 0; p < parts_.size(); ++p) {
      for (const auto& [stream, call] : last[p]) records_[call].push_back(p);
    }
  }

  void write() {
    const auto& calls = single_.hosts[HostId{0}].calls;
    calls_.reserve(calls.size() + 8 * parts_.size());
    place_of_.assign(tasks_, Place::in_order);
    for (std::uint32_t i = 0; i < calls.size(); ++i) {
      if (calls[i].kind() != HostCallKind::launch) {
        calls_.push_back(calls[i]);
      } else if (must_be_held(calls[i].task())) {
        place_of_[calls[i].task().value()] = Place::held;
        held_.push_back(calls[i]);
      } else {
        write_launch(calls[i], records_[i]);
        release_held();
      }
    }
    for (const Part& part : parts_) {
      SCHEDLAB_EXPECTS(part.launched, fmt::format("{} is never ready", graph_.name(part.task)));
    }
    SCHEDLAB_EXPECTS(held_.empty(), "a launch waits for a collective that waits for it");
  }

  /// The plan of one device may launch a task long before the last gradient is there that shares a
  /// collective with one the task needs; the task then comes after the collective, and with it
  /// what depends on it.
  [[nodiscard]] bool must_be_held(TaskId task) {
    const auto before = graph_.predecessors(task);
    return std::any_of(before.begin(), before.end(), [this](TaskId needed) {
      const Part* part = part_of(needed);
      return part != nullptr ? !part->launched : place_of_[needed.value()] == Place::held;
    });
  }

  void release_held() {
    for (std::size_t i = 0; i < held_.size();) {
      const HostCall call = held_[i];
      if (must_be_held(call.task())) {
        ++i;
        continue;
      }
      held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(i));
      place_of_[call.task().value()] = Place::moved;
      std::vector<std::uint32_t> needed_by;
      for (const TaskId after : graph_.successors(call.task())) {
        const Part* part = part_of(after);
        if (part != nullptr) {
          needed_by.push_back(static_cast<std::uint32_t>(part - parts_.data()));
        }
      }
      write_launch(call, needed_by);
      // Events of the given plan were recorded before the task's new place.
      if (!graph_.successors(call.task()).empty()) {
        const EventId event{events_++};
        calls_.push_back(HostCall::record(call.stream(), event));
        moved_.push_back({call.task(), call.stream(), event});
      }
      i = 0;  // earlier ones may have waited for this
    }
  }

  void write_launch(HostCall call, const std::vector<std::uint32_t>& needed_by) {
    wait_for_parts(call);
    wait_for_moved(call);
    calls_.push_back(call);
    // Parts that need this very point of the stream share one event.
    EventId event;
    for (const std::uint32_t p : needed_by) {
      if (!event.valid()) {
        event = EventId{events_++};
        calls_.push_back(HostCall::record(call.stream(), event));
      }
      parts_[p].recorded.push_back(event);
    }
    for (const TaskId after : graph_.successors(call.task())) {
      if (Part* part = part_of(after)) --part->missing;
    }
    launch_ready_parts();
  }

  void wait_for_parts(HostCall launch) {
    for (const TaskId before : graph_.predecessors(launch.task())) {
      Part* part = part_of(before);
      if (part == nullptr) continue;
      auto& seen = part->seen_by;
      if (std::find(seen.begin(), seen.end(), launch.stream()) != seen.end()) continue;
      seen.push_back(launch.stream());
      calls_.push_back(HostCall::wait(launch.stream(), part->done));
    }
  }

  void wait_for_moved(HostCall launch) {
    if (moved_.empty()) return;
    for (const TaskId before : graph_.predecessors(launch.task())) {
      if (part_of(before) != nullptr || place_of_[before.value()] != Place::moved) continue;
      const auto moved = std::find_if(
          moved_.begin(), moved_.end(), [&](const Moved& m) { return m.task == before; });
      if (moved->stream != launch.stream()) {
        calls_.push_back(HostCall::wait(launch.stream(), moved->event));
      }
    }
  }

  void launch_ready_parts() {
    if (!overlap_) {
      const bool all = std::all_of(
          parts_.begin(), parts_.end(), [](const Part& part) { return part.missing == 0; });
      if (!all || parts_.front().launched) return;
      // The communication stream is one after another: the first waits for everything.
      for (const Part& part : parts_) wait_for_recorded(part);
    }
    for (Part& part : parts_) {
      if (part.missing != 0 || part.launched) continue;
      if (overlap_) wait_for_recorded(part);
      calls_.push_back(HostCall::launch(comm_, part.task));
      if (part.done.valid()) calls_.push_back(HostCall::record(comm_, part.done));
      part.launched = true;
    }
  }
  void wait_for_recorded(const Part& part) {
    for (const EventId event : part.recorded) calls_.push_back(HostCall::wait(comm_, event));
  }

  enum class Place : std::uint8_t { in_order, held, moved };
  struct Moved {
    TaskId task;
    StreamId stream;
    EventId event;  // behind it
  };

  const Plan& single_;
  const TaskGraph& graph_;
  bool overlap_;
  std::uint32_t tasks_;   // of a rank
  std::uint32_t events_;  // of a rank
  StreamId comm_;
  std::vector<Part> parts_;
  std::vector<std::vector<std::uint32_t>> records_;  // by call: parts
  std::vector<HostCall> calls_;
  std::vector<Place> place_of_;  // by task
  std::vector<HostCall> held_;   // launches, in the order of the given plan
  std::vector<Moved> moved_;
};

/// The same call on another rank.
HostCall shifted(HostCall call, std::uint32_t streams, std::uint32_t events, std::uint32_t tasks) {
  const auto stream = [&] { return StreamId{call.stream().value() + streams}; };
  const auto event = [&] { return EventId{call.event().value() + events}; };
  switch (call.kind()) {
    case HostCallKind::create_stream:
      return HostCall::create_stream(stream());
    case HostCallKind::destroy_stream:
      return HostCall::destroy_stream(stream());
    case HostCallKind::launch:
      return HostCall::launch(stream(), TaskId{call.task().value() + tasks}, call.programmatic());
    case HostCallKind::record:
      return HostCall::record(stream(), event());
    case HostCallKind::wait:
      return HostCall::wait(stream(), event());
    case HostCallKind::query:
      return call.answer() ? HostCall::answered_query(stream(), *call.answer())
                           : HostCall::query(stream());
    case HostCallKind::synchronize:
      if (call.stream().valid()) return HostCall::synchronize_stream(stream());
      return call.argument() == HostCall::none ? call : HostCall::synchronize_event(event());
    case HostCallKind::sleep:
      return call;
    default:
      throw InfeasibleError(
          fmt::format("a plan with {} calls cannot be repeated on ranks", to_string(call.kind())));
  }
}

}  // namespace

Plan data_parallel_plan(const Plan& single, const TaskGraph& graph, bool overlap) {
  const RankProgram program{single, graph, overlap};
  const std::uint32_t ranks = graph.rank_count();
  const auto streams = static_cast<std::uint32_t>(single.streams.size()) + 1;
  Plan plan;
  plan.policy = single.policy;
  plan.event_count = ranks * program.events();
  plan.streams.reserve(std::size_t{ranks} * streams);
  plan.hosts = IdVector<HostId, HostProgram>(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    for (const StreamSpec& spec : single.streams) {
      StreamSpec copy = spec;
      copy.device = DeviceId{rank};
      plan.streams.push_back(std::move(copy));
    }
    plan.streams.push_back({.device = DeviceId{rank}, .priority = 0, .name = "communication"});
    HostProgram& host = plan.hosts[HostId{rank}];
    host.name = fmt::format("rank {}", rank);
    host.calls.reserve(program.calls().size());
    for (const HostCall call : program.calls()) {
      host.calls.push_back(
          shifted(call, rank * streams, rank * program.events(), rank * program.tasks()));
    }
  }
  return plan;
}

}  // namespace schedlab
