// SPDX-License-Identifier: Apache-2.0
#include "policies/critical_first_run.hpp"

#include "sim/graph/levels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace schedlab {
namespace {

constexpr std::size_t nothing = std::numeric_limits<std::size_t>::max();
constexpr Duration longest_sleep = std::chrono::seconds{1};  // assumed; a call holds up to 4.29 s
constexpr std::uint64_t free_queries = 10'000;               // assumed
constexpr std::size_t walks_told_ahead = 8;
constexpr std::size_t calls_told_ahead = 4096;  // so that they take little memory

HostCall sleep_of(Duration sleep) {
  return HostCall::sleep_ns(
      static_cast<std::uint32_t>(std::chrono::ceil<std::chrono::nanoseconds>(sleep).count()));
}

}  // namespace

CriticalFirstRun::CriticalFirstRun(const Problem& problem, const CriticalFirstOptions& options)
    : graph_(problem.graph),
      options_(options),
      lanes_(critical_lanes(problem.graph)),
      accumulations_(problem.graph),
      order_(problem.graph.task_count()),
      missing_(problem.graph.task_count(), 0),
      sequence_(problem.graph.task_count(), 0),
      event_of_(problem.graph.task_count()) {
  if (!accumulations_.empty()) {
    const TensorTable& tensors = graph_.tensors();
    last_writer_.resize(tensors.size());
    writers_left_.resize(tensors.size(), 0);
    for (const TensorId tensor : tensors.ids()) {
      writers_left_[tensor] = static_cast<std::uint32_t>(tensors.writers(tensor).size());
    }
  }
  if (options.queue_order == CriticalFirstOptions::QueueOrder::by_rank) {
    rank_ = upward_rank(graph_, problem.costs.durations());
  }
  for (const TaskId task : graph_.tasks()) {
    missing_[task] = static_cast<std::uint32_t>(graph_.predecessors(task).size());
    if (missing_[task] > 0) continue;
    if (lanes_.critical[task] != 0) {
      level_.push_back(task);
    } else {
      enqueue(task);
    }
  }
}

void CriticalFirstRun::enqueue(TaskId task) {
  const auto place =
      rank_.empty() ? queue_.end()
                    : std::upper_bound(queue_.begin(), queue_.end(), task, [&](auto a, auto b) {
                        return rank_[a] > rank_[b];
                      });
  queue_.insert(place, task);
}

std::optional<OnlineStep> CriticalFirstRun::next(const HostView& view) {
  take_answer(view);
  while (next_call_ == calls_.size() && state_ != State::done) advance();
  if (next_call_ == calls_.size()) return std::nullopt;
  const HostCall call = calls_[next_call_++];
  std::optional<OnlineStep> decided{OnlineStep{.call = call, .stream = {}}};
  if (call.kind() == HostCallKind::query) {
    asked_ = call.stream();
  } else if (call.kind() == HostCallKind::create_stream) {
    decided->stream = opened_[call.stream()];
  }
  return decided;
}

std::span<const HostCall> CriticalFirstRun::decided(const HostView& view) {
  take_answer(view);
  while (!asks_next() && state_ != State::done && calls_.size() < calls_told_ahead) advance();
  const auto left = std::span{calls_}.subspan(next_call_);
  const auto other = std::find_if(left.begin(), left.end(), [](HostCall call) {
    const HostCallKind kind = call.kind();
    return kind != HostCallKind::launch && kind != HostCallKind::record &&
           kind != HostCallKind::wait;
  });
  return {left.begin(), other};
}

void CriticalFirstRun::made(std::size_t count) {
  next_call_ += count;
}

/// Would advance() decide for a query or a sleep?
bool CriticalFirstRun::asks_next() const {
  return (state_ == State::filling && !queue_.empty() && queries_left_in_round() > 0) ||
         (state_ == State::draining && !queue_.empty() && next_level_.empty());
}

/// Of the level that is being filled.
std::size_t CriticalFirstRun::queries_left_in_round() const {
  const std::size_t most = options_.queries_per_level == 0
                               ? walk_.size()
                               : std::min<std::size_t>(options_.queries_per_level, walk_.size());
  return asked_in_round_ < most ? most - asked_in_round_ : 0;
}

std::span<const HostCall> CriticalFirstRun::polls(const HostView& view) {
  const bool polling = state_ == State::filling || state_ == State::draining;
  if (!polling || next_call_ != calls_.size() || queue_.empty()) return {};
  if (state_ == State::draining && !next_level_.empty()) return {};
  if (asked_.valid() && view.last_query.value_or(false)) return {};
  if (state_ == State::filling) {
    if (cursor_ >= walk_.size()) return {};
    const std::size_t count = std::min(queries_left_in_round(), walk_.size() - cursor_);
    offered_polls_ = std::span{polls_}.subspan(cursor_, count);
    return offered_polls_;
  }
  // Past the allowance the length of a sleep depends on the time it begins at.
  if (queries_ + walks_told_ahead * walk_.size() > allowed_queries()) return {};
  offered_polls_ = std::span{polls_}.subspan(cursor_);
  return offered_polls_;
}

void CriticalFirstRun::polled(std::size_t count) {
  asked_ = offered_polls_[count - 1].stream();  // none() if it was a sleep
  cursor_ += count;
  std::size_t sleeps = 0;
  if (state_ == State::draining) {  // a walk ends with a sleep
    sleeps = cursor_ / (walk_.size() + 1);
    cursor_ %= walk_.size() + 1;
  }
  const auto queries = static_cast<std::uint32_t>(count - sleeps);
  asked_in_round_ += queries;
  queries_ += queries;
}

void CriticalFirstRun::advance() {
  switch (state_) {
    case State::issuing:
      if (next_in_level_ < level_.size()) {
        issue_next_critical();
      } else {
        end_level();
      }
      break;
    case State::filling:
      if (queue_.empty() || queries_left_in_round() == 0) {
        state_ = State::issuing;
      } else {
        ask_or_sleep();
      }
      break;
    case State::draining:
      if (!next_level_.empty()) {  // of the next iteration: its parameters are there
        state_ = State::issuing;
      } else if (queue_.empty()) {
        state_ = State::done;
      } else {
        ask_or_sleep();
      }
      break;
    case State::done:
      break;
  }
}

void CriticalFirstRun::issue_next_critical() {
  const TaskId task = level_[next_in_level_++];
  const Lanes& lanes = lanes_of(lanes_.layer[task]);
  issue(task, lanes_.second[task] != 0 ? lanes.second : lanes.first);
}

void CriticalFirstRun::end_level() {
  level_.swap(next_level_);
  next_level_.clear();
  next_in_level_ = 0;
  const bool critical_done = level_.empty();
  if (critical_done && !options_.fill_while_critical) {
    for (const StreamId stream : primaries_) {
      calls_.push_back(HostCall::synchronize_stream(stream));
    }
  }
  const bool fill_now = options_.fill_while_critical &&
                        options_.variant == CriticalFirstOptions::Variant::interleaved;
  if (critical_done || (fill_now && !queue_.empty())) {
    open_secondary();
    state_ = critical_done ? State::draining : State::filling;
    asked_in_round_ = 0;
    if (critical_done || options_.queries_per_level == 0) cursor_ = 0;
  }
}

/// The next query of a walk over the streams; in the drain, a sleep at the end of each walk.
void CriticalFirstRun::ask_or_sleep() {
  if (cursor_ >= walk_.size()) {
    cursor_ = 0;
    if (state_ == State::draining) {
      calls_.push_back(sleep_call());
      return;
    }
  }
  ++asked_in_round_;
  ++queries_;
  calls_.push_back(HostCall::query(walk_[cursor_++]));
}

/// Long tasks must not cost a query every few microseconds: past the allowance sleeps grow with the
/// time already waited, first by little, then by as much again.
HostCall CriticalFirstRun::sleep_call() const {
  const std::uint64_t allowed = allowed_queries();
  Duration sleep = options_.sleep;
  if (queries_ > allowed) {
    const Duration waited = now_ - busy_since_;
    sleep = std::clamp(
        queries_ > 2 * allowed ? waited : waited / 16, sleep, std::max(sleep, longest_sleep));
  }
  return sleep_of(sleep);
}

std::uint64_t CriticalFirstRun::allowed_queries() const {
  return free_queries + std::uint64_t{options_.max_queries} * issued_;
}

/// Of the query that was made last, if any, and forgets what was handed out.
void CriticalFirstRun::take_answer(const HostView& view) {
  now_ = view.now;
  if (next_call_ == calls_.size()) {
    calls_.clear();
    next_call_ = 0;
  }
  const StreamId stream = std::exchange(asked_, StreamId::none());
  if (!stream.valid() || !view.last_query.value_or(false)) return;
  busy_since_ = now_;
  for (std::uint32_t i = 0; i < complete_.size(); ++i) {
    complete_[i] = std::max(complete_[i], order_.known(stream, StreamId{i}));
  }
  fill(stream);
}

/// Hands tasks of the queue to an idle stream.
void CriticalFirstRun::fill(StreamId stream) {
  // On a primary stream a task that waits would hold up critical tasks behind it.
  const bool may_block = state_ == State::draining || !is_primary(stream);
  for (std::uint32_t i = 0; i < options_.tasks_per_fill && !queue_.empty(); ++i) {
    const std::size_t index = choose(stream, may_block);
    if (index == nothing) return;
    const TaskId task = queue_[index];
    queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(index));
    issue(task, stream);
  }
}

/// The first entry of the queue that could start at once; without one the head, if it may wait.
std::size_t CriticalFirstRun::choose(StreamId stream, bool may_block) const {
  const std::size_t window = std::min<std::size_t>(queue_.size(), options_.look_ahead);
  for (std::size_t i = 0; i < window; ++i) {
    if (!must_wait(queue_[i], stream)) return i;
  }
  return may_block ? 0 : nothing;
}

bool CriticalFirstRun::must_wait(TaskId task, StreamId stream) const {
  const auto may_be_running = [&](TaskId before) {
    return !order_.ordered(before, stream) &&
           complete_[order_.stream_of(before).value()] < order_.position(before);
  };
  for (const TaskId before : graph_.predecessors(task)) {
    if (may_be_running(before)) return true;
  }
  const auto tensors = accumulations_.of(task);
  return std::any_of(tensors.begin(), tensors.end(), [&](TensorId tensor) {
    return last_writer_[tensor].valid() && may_be_running(last_writer_[tensor]);
  });
}

const CriticalFirstRun::Lanes& CriticalFirstRun::lanes_of(std::uint32_t layer) {
  if (layer >= layer_lanes_.size()) layer_lanes_.resize(layer + 1);
  Lanes& lanes = layer_lanes_[layer];
  if (lanes.first.valid()) return lanes;
  const std::uint32_t rank = 2 * layers_reached_++;
  const int priority = options_.priorities ? -1 : 0;
  // One stream of the cap is kept for the secondary stream, if there are two at all.
  const std::uint32_t reserved = lanes_.all_critical || options_.max_streams == 1 ? 0 : 1;
  const auto stream = [&](std::uint32_t lane) {
    if (options_.max_streams == 0 || primaries_.size() + reserved < options_.max_streams) {
      primaries_.push_back(open(fmt::format("primary_{}", 2 * layer + lane), priority));
      return primaries_.back();
    }
    return primaries_[(rank + lane) % primaries_.size()];
  };
  lanes.first = stream(0);
  lanes.second = stream(1);
  return lanes;
}

/// Also fixes which streams queries walk over: the primary ones opened so far, then the secondary.
void CriticalFirstRun::open_secondary() {
  if (!secondary_.valid() && !lanes_.all_critical && options_.max_streams != 1) {
    secondary_ = open("secondary", 0);
  }
  const std::size_t streams = order_.stream_count();
  if (walk_of_ == streams) return;
  walk_of_ = streams;
  walk_.clear();
  if (options_.drain_streams == CriticalFirstOptions::DrainStreams::all || !secondary_.valid()) {
    walk_ = primaries_;
  }
  if (secondary_.valid()) walk_.push_back(secondary_);
  polls_.clear();
  for (std::size_t i = 0; i < walks_told_ahead; ++i) {
    for (const StreamId stream : walk_) polls_.push_back(HostCall::answered_query(stream, false));
    polls_.push_back(sleep_of(options_.sleep));
  }
}

StreamId CriticalFirstRun::open(std::string name, int priority) {
  const StreamId stream = order_.add_stream();
  tail_.push_back(TaskId::none());
  uncovered_.push_back({});
  complete_.push_back(0);
  opened_.push_back({.device = DeviceId{0}, .priority = priority, .name = std::move(name)});
  calls_.push_back(HostCall::create_stream(stream));
  return stream;
}

}  // namespace schedlab
