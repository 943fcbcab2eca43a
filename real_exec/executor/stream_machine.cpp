// SPDX-License-Identifier: Apache-2.0
#include "real_exec/executor/stream_machine.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace schedlab {
namespace {

constexpr std::uint32_t mask_bits = 64;

}  // namespace

StreamMachine::StreamMachine(const TaskGraph& graph,
                             const CpuWork& work,
                             std::uint32_t levels,
                             std::uint32_t workers)
    : graph_(graph),
      work_(work),
      levels_(levels),
      workers_(std::max(workers, 1U)),
      tasks_(graph.task_count()),
      queues_(levels) {
  SCHEDLAB_EXPECTS(levels > 0, "a stream machine without priority levels");
  if (graph.collectives().size() > 0) {
    throw InfeasibleError("the CPU executor runs one device: the graph has collectives");
  }
}

void StreamMachine::open(const IdVector<StreamId, StreamSpec>& streams,
                         const std::vector<DeviceGraph>& graphs) {
  for (const StreamId id : streams.ids()) create_stream(id, streams[id]);
  for (std::uint32_t graph = 0; graph < graphs.size(); ++graph) load_graph(graph, graphs[graph]);
}

void StreamMachine::load_graph(std::uint32_t graph, const DeviceGraph& shape) {
  if (graphs_.size() <= graph) graphs_.resize(graph + 1);
  graphs_[graph].graph = &shape;
  graphs_[graph].successors = std::make_unique<GraphSuccessors>(shape);
}

std::uint32_t StreamMachine::level_of(int priority) const {
  const int levels = static_cast<int>(levels_);
  const int urgency = priority >= 0 ? 0 : std::min(-priority, levels - 1);
  return static_cast<std::uint32_t>(levels - 1 - urgency);
}

void StreamMachine::create_stream(StreamId stream, const StreamSpec& spec) {
  if (spec.device != DeviceId{0}) {
    throw InfeasibleError(fmt::format("the CPU executor runs one device: stream {} is on device {}",
                                      stream.value(),
                                      spec.device.value()));
  }
  if (spec.sync == StreamSync::legacy_default) {
    throw InfeasibleError(fmt::format(
        "the CPU executor has no legacy default stream: stream {} is one; leave out the key "
        "default_stream",
        stream.value()));
  }
  const Stream closed;
  if (streams_.size() <= stream.value()) streams_.resize(stream.value() + 1, closed);
  Stream& opened = streams_[stream];
  opened.spec = spec;
  opened.level = level_of(spec.priority);
  opened.open = true;
}

StreamMachine::Stream& StreamMachine::usable(StreamId stream) {
  SCHEDLAB_EXPECTS(streams_.contains(stream) && streams_[stream].open,
                   fmt::format("stream {} is used and does not exist", stream.value()));
  return streams_[stream];
}

void StreamMachine::push(StreamId stream, Item item, Time now) {
  Stream& to = usable(stream);
  to.items.push_back(item);
  ++to.pending;
  ++pending_;
  if (!to.busy) advance(stream, now);
}

void StreamMachine::launch(StreamId stream, TaskId task, Time now) {
  SCHEDLAB_EXPECTS(tasks_.contains(task), fmt::format("launch of task {}", task.value()));
  TaskState& state = tasks_[task];
  SCHEDLAB_EXPECTS(!state.launched, fmt::format("{} is launched twice", graph_.name(task)));
  state.launched = true;
  state.stream = stream;
  state.submitted = now;
  launch_order_.push_back(task);
  push(stream, {ItemKind::task, task.value(), 0}, now);
}

void StreamMachine::record(StreamId stream, EventId event, Time now) {
  if (latest_.size() <= event.value()) latest_.resize(event.value() + 1, none);
  const auto index = static_cast<std::uint32_t>(records_.size());
  records_.push_back({.stream = stream, .event = event, .waiters = {}});
  latest_[event.value()] = index;
  push(stream, {ItemKind::record, index, 0}, now);
}

void StreamMachine::wait(StreamId stream, EventId event, Time now) {
  usable(stream);
  if (event.value() >= latest_.size() || latest_[event.value()] == none) return;
  push(stream, {ItemKind::wait, latest_[event.value()], 0}, now);
}

void StreamMachine::dispatch_by(DispatchingPolicy& policy, Time now) {
  policy_ = &policy;
  dispatch({}, now);
}

void StreamMachine::dispatch(std::span<const StreamId> ended, Time now) {
  for (const DispatchedCall& made : policy_->dispatch(ended, now)) {
    const HostCall call = made.call;
    if (call.kind() == HostCallKind::launch) {
      launch(call.stream(), call.task(), now);
    } else if (call.kind() == HostCallKind::record) {
      record(call.stream(), call.event(), now);
    } else {
      wait(call.stream(), call.event(), now);
    }
  }
}

bool StreamMachine::complete(EventId event) const {
  return event.value() >= latest_.size() || latest_[event.value()] == none ||
         records_[latest_[event.value()]].complete;
}

void StreamMachine::graph_launch(StreamId stream, std::uint32_t graph, Time now) {
  SCHEDLAB_EXPECTS(graph < graphs_.size(), fmt::format("graph {} does not exist", graph));
  Graph& launched = graphs_[graph];
  SCHEDLAB_EXPECTS(launched.launched < launched.graph->launch_count(),
                   fmt::format("graph {} is launched more often than it has tasks", graph));
  const std::uint32_t row = launched.launched++;
  const auto run = static_cast<std::uint32_t>(graph_runs_.size());
  GraphRun made{.graph = graph, .stream = stream, .needs = {}, .left = 0, .row = row};
  made.left = launched.graph->node_count();
  for (std::uint32_t node = 0; node < made.left; ++node) {
    made.needs.push_back(static_cast<std::uint32_t>(launched.graph->needs(node).size()));
    const TaskId task = launched.graph->task(row, node);
    SCHEDLAB_EXPECTS(tasks_.contains(task) && !tasks_[task].launched,
                     fmt::format("task {} is launched twice or does not exist", task.value()));
    TaskState& state = tasks_[task];
    state.launched = true;
    state.stream = launched.graph->stream(node);
    state.submitted = now;
    state.graph = run;
    state.node = node;
    launch_order_.push_back(task);
  }
  graph_runs_.push_back(std::move(made));
  push(stream, {ItemKind::graph, run, row}, now);
}

/// Handles what is at the head of a stream until something there takes time.
void StreamMachine::advance(StreamId stream, Time now) {
  Stream& of = streams_[stream];
  while (!of.busy && !of.items.empty()) {
    const Item item = of.items.front();
    switch (item.kind) {
      case ItemKind::record:
        of.items.pop_front();
        --of.pending;
        --pending_;
        complete_record(item.argument, now);
        break;
      case ItemKind::wait: {
        Record& record = records_[item.argument];
        if (!record.complete) {
          of.busy = true;
          record.waiters.push_back(stream);
          return;
        }
        of.items.pop_front();
        --of.pending;
        --pending_;
        if (record.stream != stream) {
          flows_.push_back({record.event, record.stream, stream, record.completed, now});
        }
        break;
      }
      case ItemKind::task:
        of.busy = true;
        start_task(TaskId{item.argument}, of.level);
        return;
      case ItemKind::graph: {
        of.busy = true;
        Graph& graph = graphs_[graph_runs_[item.argument].graph];
        if (graph.running) {
          graph.waiting.push_back(item.argument);
        } else {
          start_graph(item.argument, now);
        }
        return;
      }
    }
  }
}

/// The head of a stream is done.
void StreamMachine::pop(StreamId stream, Time now) {
  Stream& of = streams_[stream];
  of.items.pop_front();
  --of.pending;
  --pending_;
  of.busy = false;
  advance(stream, now);
}

void StreamMachine::complete_record(std::uint32_t record, Time now) {
  records_[record].complete = true;
  records_[record].completed = now;
  const std::vector<StreamId> waiters = std::move(records_[record].waiters);
  for (const StreamId stream : waiters) {
    streams_[stream].busy = false;  // its head, a wait for this record, is looked at again
    advance(stream, now);
  }
}

void StreamMachine::start_graph(std::uint32_t run, Time now) {
  GraphRun& starting = graph_runs_[run];
  Graph& graph = graphs_[starting.graph];
  graph.running = true;
  if (starting.left == 0) {
    graph.running = false;
    pop(starting.stream, now);
    return;
  }
  const std::uint32_t own_level = streams_[starting.stream].level;
  for (std::uint32_t node = 0; node < graph.graph->node_count(); ++node) {
    const TaskId task = graph.graph->task(starting.row, node);
    tasks_[task].level = graph.graph->node_priorities && streams_.contains(tasks_[task].stream)
                             ? streams_[tasks_[task].stream].level
                             : own_level;
    if (starting.needs[node] == 0) start_task(task, tasks_[task].level);
  }
}

void StreamMachine::start_task(TaskId task, std::uint32_t level) {
  tasks_[task].level = level;
  tasks_[task].kernel = 0;
  enqueue_kernel(task, false);
}

void StreamMachine::enqueue_kernel(TaskId task, bool in_front) {
  TaskState& state = tasks_[task];
  state.next_block = 0;
  state.blocks = std::max(work_.blocks(task, state.kernel), 1U);
  state.unfinished = state.blocks;
  state.left =
      state.blocks >= mask_bits ? ~std::uint64_t{0} : (std::uint64_t{1} << state.blocks) - 1;
  ready_ += state.blocks;
  auto& queue = queues_[state.level];
  if (in_front) {
    queue.push_front(task);
  } else {
    queue.push_back(task);
  }
}

/// The first of the worker's own part of the blocks that is left, else the first of all.
std::uint32_t StreamMachine::choose_block(TaskState& state, std::uint32_t worker) const {
  if (state.blocks > mask_bits) return state.next_block;
  const auto edge = [&](std::uint32_t w) {  // blocks of the workers before w
    return std::min(w, workers_) * state.blocks / workers_;
  };
  const std::uint32_t first = edge(worker);
  const std::uint32_t last = edge(worker + 1);
  std::uint64_t own = state.left >> first << first;
  if (last < mask_bits) own &= (std::uint64_t{1} << last) - 1;
  const auto block = static_cast<std::uint32_t>(std::countr_zero(own != 0 ? own : state.left));
  state.left &= ~(std::uint64_t{1} << block);
  return block;
}

/// Whose turn it is in a queue that is not empty.
std::deque<TaskId>::iterator StreamMachine::next_in(std::deque<TaskId>& queue,
                                                    std::uint32_t worker) const {
  if (policy_ == nullptr || streams_.size() != workers_) return queue.begin();
  const auto own = std::find_if(queue.begin(), queue.end(), [&](TaskId task) {
    return tasks_[task].stream == StreamId{worker};
  });
  return own == queue.end() ? queue.begin() : own;
}

std::optional<BlockOfWork> StreamMachine::take(std::uint32_t worker) {
  if (ready_ == 0) return std::nullopt;
  for (auto& queue : queues_) {
    if (queue.empty()) continue;
    const auto next = next_in(queue, worker);
    const TaskId task = *next;
    TaskState& state = tasks_[task];
    const BlockOfWork block{task, state.kernel, choose_block(state, worker)};
    ++state.next_block;
    if (state.next_block == state.blocks) queue.erase(next);
    --ready_;
    ++running_;
    return block;
  }
  return std::nullopt;
}

void StreamMachine::finish(const BlockOfWork& block, Time started, Time ended) {
  --running_;
  TaskState& state = tasks_[block.task];
  if (!state.started_any || started < state.started) state.started = started;
  state.started_any = true;
  state.ended = std::max(state.ended, ended);
  if (--state.unfinished > 0) return;
  if (++state.kernel < work_.kernel_count(block.task)) {
    enqueue_kernel(block.task, true);
    return;
  }
  complete_task(block.task, state.ended);
}

void StreamMachine::complete_task(TaskId task, Time now) {
  TaskState& state = tasks_[task];
  state.done = true;
  ++completed_;
  if (state.graph == none) {
    pop(state.stream, now);
    if (policy_ != nullptr && idle(state.stream)) dispatch({&state.stream, 1}, now);
  } else {
    complete_node(state, now);
  }
}

void StreamMachine::complete_node(const TaskState& state, Time now) {
  GraphRun& run = graph_runs_[state.graph];
  Graph& graph = graphs_[run.graph];
  for (const std::uint32_t next : graph.successors->of(state.node)) {
    if (--run.needs[next] == 0) {
      const TaskId task = graph.graph->task(run.row, next);
      start_task(task, tasks_[task].level);
    }
  }
  if (--run.left > 0) return;
  const StreamId stream = run.stream;
  graph.running = false;
  if (!graph.waiting.empty()) {
    const std::uint32_t next = graph.waiting.front();
    graph.waiting.pop_front();
    start_graph(next, now);
  }
  pop(stream, now);
}

std::vector<TaskSpan> StreamMachine::spans(Time until) const {
  std::vector<TaskSpan> spans;
  spans.reserve(launch_order_.size());
  for (const TaskId task : launch_order_) {
    const TaskState& state = tasks_[task];
    if (!state.started_any) continue;
    spans.push_back({.task = task,
                     .stream = state.stream,
                     .host = HostId{0},
                     .device = DeviceId{0},
                     .submitted = std::min(state.submitted, state.started),
                     .started = state.started,
                     .ended = state.done ? state.ended : std::max(until, state.started)});
  }
  return spans;
}

std::string StreamMachine::describe_queues() const {
  constexpr std::size_t max_shown = 8;
  std::string text;
  std::size_t shown = 0;
  for (const StreamId id : streams_.ids()) {
    const Stream& stream = streams_[id];
    if (stream.items.empty()) continue;
    if (shown++ == max_shown) {
      text += "\n  ...";
      break;
    }
    const std::string name =
        stream.spec.name.empty() ? fmt::format("stream {}", id.value()) : stream.spec.name;
    const Item& head = stream.items.front();
    std::string what;
    switch (head.kind) {
      case ItemKind::wait: {
        const Record& record = records_[head.argument];
        what = fmt::format("waits for event {}, recorded in stream {}",
                           record.event.value(),
                           record.stream.value());
        break;
      }
      case ItemKind::task:
        what = fmt::format("is at task {}", graph_.name(TaskId{head.argument}));
        break;
      case ItemKind::graph:
        what = fmt::format("is at graph {}", graph_runs_[head.argument].graph);
        break;
      case ItemKind::record:
        what = "is at a record";
        break;
    }
    text += fmt::format("\n  {} {}, {} behind it", name, what, stream.items.size() - 1);
  }
  return text;
}

}  // namespace schedlab
