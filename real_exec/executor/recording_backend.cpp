// SPDX-License-Identifier: Apache-2.0
#include "real_exec/executor/recording_backend.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace schedlab {

void RecordingBackend::note(HostCall call) {
  SCHEDLAB_EXPECTS(begun_ == ended_ + 1,
                   fmt::format("the call {} outside a run", to_string(call.kind())));
  calls_.push_back(call);
  if (!failure) return;
  if (const auto text = failure(call)) throw DeviceError(*text);
}

void RecordingBackend::expect_open(StreamId stream) const {
  SCHEDLAB_EXPECTS(streams_.contains(stream) && streams_[stream].open,
                   fmt::format("stream {} is used and does not exist", stream.value()));
}

void RecordingBackend::begin_run(const RunRequest& /*request*/) {
  SCHEDLAB_EXPECTS(begun_ == ended_, "a run begins before the last one ended");
  ++begun_;
  calls_.clear();
  before_start_ = 0;
  queries_ = 0;
  streams_.clear();
  rows_.clear();
}

std::vector<LoadedNode> RecordingBackend::load_graph(const GraphRow& row,
                                                     LaunchObserver* observer) {
  Row made{
      .graph = row.graph, .row = row.row, .tasks = {}, .priorities = row.priorities, .needs = {}};
  std::vector<LoadedNode> nodes;
  for (std::uint32_t node = 0; node < row.shape.node_count(); ++node) {
    const TaskId task = row.shape.task(row.row, node);
    if (observer != nullptr) observer->before_node(task, row.graph, node);
    const auto needs = row.shape.needs(node);
    made.tasks.push_back(task);
    made.needs.emplace_back(needs.begin(), needs.end());
    nodes.push_back({.parts = 1, .priority = row.priorities[node], .needs = made.needs.back()});
    if (observer != nullptr) observer->after_node(task, row.graph, node);
  }
  rows_.push_back(std::move(made));
  if (loaded_rule) loaded_rule(nodes);
  return nodes;
}

CpuClock RecordingBackend::start_clock() {
  before_start_ = calls_.size();
  return CpuClock{};
}

void RecordingBackend::create_stream(StreamId stream, int priority, const StreamSpec& spec) {
  SCHEDLAB_EXPECTS(
      priority >= properties_.greatest_priority && priority <= properties_.least_priority,
      fmt::format("stream {} with priority {}", stream.value(), priority));
  note(HostCall::create_stream(stream));
  if (!streams_.contains(stream)) streams_.resize(stream.value() + 1);
  streams_[stream] = {.priority = priority, .sync = spec.sync, .open = true};
}

void RecordingBackend::destroy_stream(StreamId stream) {
  expect_open(stream);
  note(HostCall::destroy_stream(stream));
  streams_[stream].open = false;
}

void RecordingBackend::launch(StreamId stream, TaskId task) {
  expect_open(stream);
  note(HostCall::launch(stream, task));
}

void RecordingBackend::launch_programmatically(StreamId stream, TaskId task) {
  expect_open(stream);
  note(HostCall::launch(stream, task, true));
}

void RecordingBackend::record(StreamId stream, EventId event) {
  expect_open(stream);
  note(HostCall::record(stream, event));
}

void RecordingBackend::wait(StreamId stream, EventId event) {
  expect_open(stream);
  note(HostCall::wait(stream, event));
}

bool RecordingBackend::idle(StreamId stream) {
  expect_open(stream);
  note(HostCall::query(stream));
  const bool answer = !idle_rule || idle_rule(stream, queries_);
  ++queries_;
  calls_.back() = HostCall::answered_query(stream, answer);
  return answer;
}

void RecordingBackend::synchronize(StreamId stream) {
  expect_open(stream);
  note(HostCall::synchronize_stream(stream));
}

void RecordingBackend::synchronize(EventId event) {
  note(HostCall::synchronize_event(event));
}

void RecordingBackend::synchronize() {
  note(HostCall::synchronize_all());
}

void RecordingBackend::launch_graph(StreamId stream, std::uint32_t graph, std::uint32_t row) {
  expect_open(stream);
  SCHEDLAB_EXPECTS(std::any_of(rows_.begin(),
                               rows_.end(),
                               [&](const Row& r) { return r.graph == graph && r.row == row; }),
                   fmt::format("row {} of graph {} was not loaded", row, graph));
  note(HostCall::graph_launch(stream, graph));
}

void RecordingBackend::end_run() {
  ++ended_;
}

}  // namespace schedlab
