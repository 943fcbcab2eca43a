// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/cpu/cpu_work.hpp"
#include "sim/base/ids.hpp"
#include "sim/base/units.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/plan/device_graph.hpp"
#include "sim/plan/dispatching_policy.hpp"
#include "sim/plan/plan.hpp"
#include "sim/trace/trace.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace schedlab {

/// One block that a worker is to run.
struct BlockOfWork {
  TaskId task;
  std::uint32_t kernel = 0;
  std::uint32_t block = 0;
};

/// Streams, events and device graphs of one run, with the simulator's semantics
/// (docs/machine_model.md), and the blocks that are ready. It has no clock and no threads: callers
/// hold one lock around all members.
///
/// A free worker takes a block of the kernel that became ready first on the most urgent level that
/// has one; nothing that runs is evicted. Of that kernel's blocks it takes one of its own part, if
/// any is left: each worker then meets the same columns of the same weights again and finds them in
/// its cache. The next kernel of a task goes before the tasks that wait on its level, as the task
/// holds its place until it is complete.
class StreamMachine {
 public:
  /// References must outlive this. `levels`: priorities that are told apart, see
  /// Device::level_of. Throws InfeasibleError for what it cannot run: several devices or hosts,
  /// messages, collectives, a legacy default stream.
  StreamMachine(const TaskGraph& graph,
                const CpuWork& work,
                std::uint32_t levels,
                std::uint32_t workers = 1);

  /// The streams that exist from the start, and the plan's graphs, which must outlive this.
  void open(const IdVector<StreamId, StreamSpec>& streams, const std::vector<DeviceGraph>& graphs);
  void create_stream(StreamId stream, const StreamSpec& spec);
  /// All rows of the plan's graph of this number. `shape` must outlive this.
  void load_graph(std::uint32_t graph, const DeviceGraph& shape);

  /// From now on workers take tasks as the policy says, whenever a stream has nothing left; with as
  /// many streams as workers, a worker takes tasks of the stream with its number first. `policy`
  /// must outlive the run.
  void dispatch_by(DispatchingPolicy& policy, Time now);

  // Host calls. ContractViolation for a task launched twice or an unknown stream or graph.
  void launch(StreamId stream, TaskId task, Time now);
  void record(StreamId stream, EventId event, Time now);
  void wait(StreamId stream, EventId event, Time now);
  void graph_launch(StreamId stream, std::uint32_t graph, Time now);
  [[nodiscard]] bool idle(StreamId stream) const { return streams_[stream].pending == 0; }
  /// Is the event's latest record (if any) complete?
  [[nodiscard]] bool complete(EventId event) const;
  /// Nothing is pending in any stream.
  [[nodiscard]] bool all_idle() const { return pending_ == 0; }

  // Workers.
  [[nodiscard]] bool has_ready() const { return ready_ != 0; }
  /// Blocks that may be taken now.
  [[nodiscard]] std::size_t ready_blocks() const { return ready_; }
  [[nodiscard]] std::optional<BlockOfWork> take(std::uint32_t worker = 0);
  /// Notes the end of a block that was taken.
  void finish(const BlockOfWork& block, Time started, Time ended);
  /// Taken and not finished.
  [[nodiscard]] std::uint32_t running() const { return running_; }

  /// Tasks that have started, in launch order; those that have not ended (a run that failed) end
  /// at `until`.
  [[nodiscard]] std::vector<TaskSpan> spans(Time until) const;
  [[nodiscard]] const std::vector<EventFlow>& flows() const { return flows_; }
  /// What every stream that is not idle waits for, for the message of a deadlock.
  [[nodiscard]] std::string describe_queues() const;
  [[nodiscard]] std::size_t completed_tasks() const { return completed_; }

 private:
  enum class ItemKind : std::uint8_t { task, record, wait, graph };
  struct Item {
    ItemKind kind = ItemKind::task;
    std::uint32_t argument = 0;  // task, record, record waited for, graph
    std::uint32_t row = 0;       // of a graph
  };
  struct Stream {
    StreamSpec spec;
    std::uint32_t level = 0;
    bool open = false;
    bool busy = false;  // its head runs, or waits for a record
    std::uint32_t pending = 0;
    std::deque<Item> items;
  };
  // What one call of record captured.
  struct Record {
    StreamId stream;
    EventId event;
    bool complete = false;
    Time completed{};
    std::vector<StreamId> waiters;
  };
  struct TaskState {
    StreamId stream;
    std::uint32_t graph = none;  // index of the launch in graph_runs_, or none
    std::uint32_t node = 0;
    std::uint32_t level = 0;
    std::uint32_t kernel = 0;
    std::uint64_t left = 0;        // blocks not taken, of kernels with at most 64
    std::uint32_t next_block = 0;  // taken so far
    std::uint32_t blocks = 0;
    std::uint32_t unfinished = 0;  // blocks of the kernel that runs
    bool started_any = false;
    bool launched = false;
    bool done = false;
    Time submitted{};
    Time started{};
    Time ended{};
  };
  struct GraphRun {
    std::uint32_t graph = 0;
    StreamId stream;
    std::vector<std::uint32_t> needs;  // left, by node
    std::uint32_t left = 0;
    std::uint32_t row = 0;
  };
  struct Graph {
    const DeviceGraph* graph = nullptr;
    std::unique_ptr<GraphSuccessors> successors;
    std::uint32_t launched = 0;  // rows given out
    bool running = false;
    std::deque<std::uint32_t> waiting{};  // runs whose stream has come to them
  };
  static constexpr std::uint32_t none = 0xFFFFFFFFU;

  [[nodiscard]] std::uint32_t level_of(int priority) const;
  Stream& usable(StreamId stream);
  void push(StreamId stream, Item item, Time now);
  void advance(StreamId stream, Time now);
  void dispatch(std::span<const StreamId> ended, Time now);
  [[nodiscard]] std::deque<TaskId>::iterator next_in(std::deque<TaskId>& queue,
                                                     std::uint32_t worker) const;
  void start_task(TaskId task, std::uint32_t level);
  void enqueue_kernel(TaskId task, bool in_front);
  [[nodiscard]] std::uint32_t choose_block(TaskState& state, std::uint32_t worker) const;
  void complete_task(TaskId task, Time now);
  void pop(StreamId stream, Time now);
  void complete_record(std::uint32_t record, Time now);
  void start_graph(std::uint32_t run, Time now);
  void complete_node(const TaskState& state, Time now);

  const TaskGraph& graph_;
  const CpuWork& work_;
  std::uint32_t levels_;
  std::uint32_t workers_;
  DispatchingPolicy* policy_ = nullptr;
  IdVector<StreamId, Stream> streams_;
  std::vector<std::uint32_t> latest_;  // record of each event, or none
  std::vector<Record> records_;
  IdVector<TaskId, TaskState> tasks_;
  std::vector<TaskId> launch_order_;
  std::vector<Graph> graphs_;
  std::vector<GraphRun> graph_runs_;
  std::vector<std::deque<TaskId>> queues_;  // by level
  std::vector<EventFlow> flows_;
  std::size_t ready_ = 0;  // blocks
  std::size_t pending_ = 0;
  std::size_t completed_ = 0;
  std::uint32_t running_ = 0;
};

}  // namespace schedlab
