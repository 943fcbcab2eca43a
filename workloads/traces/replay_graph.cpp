// SPDX-License-Identifier: Apache-2.0
#include "sim/base/error.hpp"
#include "workloads/traces/replay_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

namespace schedlab::replaying {
namespace {

TaskKind copy_kind(std::string_view name) {
  const auto has = [&](std::string_view word) { return name.find(word) != std::string_view::npos; };
  if (has("HtoD") || has("HOST_TO_DEVICE")) return TaskKind::copy_host_to_device;
  if (has("DtoH") || has("DEVICE_TO_HOST")) return TaskKind::copy_device_to_host;
  return TaskKind::copy_device_to_device;
}

TaskKind kind_of(const ImportedTrace& trace, const DeviceRow& row) {
  if (row.kind == DeviceActivityKind::copy) return copy_kind(trace.texts[row.name]);
  return is_collective(trace, row) ? TaskKind::collective : TaskKind::fixed;
}

class GraphMaker {
 public:
  GraphMaker(std::vector<RankParts>& ranks, ReplayMode mode, ReplayModel& model)
      : ranks_(ranks), mode_(mode), model_(model) {}

  void run() {
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
      add_tasks(rank);
      add_pauses(rank);
    }
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) add_edges(ranks_[rank]);
    if (ranks_.size() > 1) join_collectives();
    model_.graph = std::move(builder_).build();
    measure();
  }

 private:
  OperationId operation(const ImportedTrace& trace, const DeviceRow& row) {
    return operation(std::string{trace.texts[row.name]}, kind_of(trace, row));
  }

  OperationId operation(const std::string& name, TaskKind kind) {
    const auto [place, added] = operations_.try_emplace({name, kind});
    if (added) {
      Operation made;
      made.name = name;
      made.kind = kind;
      place->second = builder_.add_operation(std::move(made));
    }
    return place->second;
  }

  void add_tasks(std::uint32_t rank) {
    RankParts& parts = ranks_[rank];
    std::optional<KnownDurations> known;
    if (mode_ == ReplayMode::calibrated) known.emplace(parts.trace, parts.from);
    parts.task_of.assign(parts.trace.device_rows.size(), TaskId::none());
    std::vector<bool> used(parts.trace.device_rows.size(), false);
    for (const StreamItemId item : parts.order.items.ids()) {
      if (parts.use[item] == Use::left_out) continue;
      for (const std::uint32_t row : parts.order.rows_of(item)) {
        used[row] =
            parts.trace.device_rows[row].ended > parts.from || parts.use[item] != Use::backlog;
      }
    }
    const auto begins = busy_begins(parts);
    for (std::uint32_t index = 0; index < used.size(); ++index) {
      if (!used[index]) continue;
      const DeviceRow& row = parts.trace.device_rows[index];
      Duration duration = std::max(Duration{0}, row.ended - std::max(begins[index], parts.from));
      if (known && row.started >= parts.from) {
        const auto expected = known->of(row);
        model_.unknown_durations += expected ? 0U : 1U;
        duration = expected.value_or(duration);
      }
      const Tags tags{
          .layer = -1, .stage = -1, .step = iteration(parts.trace, row), .microbatch = -1};
      parts.task_of[index] = builder_.add_task(operation(parts.trace, row), tags, duration);
      model_.origins.push_back({.rank = rank, .row = index});
      if (ranks_.size() > 1) builder_.set_rank(parts.task_of[index], rank);
      durations_.push_back(duration);
    }
  }

  /// A pause that ended at `ended`, on the trace's clock.
  TaskId add_pause(std::uint32_t rank,
                   ReplayModel::Origin origin,
                   Duration length,
                   StreamId stream,
                   Time ended) {
    const TaskId task =
        builder_.add_task(operation(std::string{pause_name}, TaskKind::host), {}, length);
    model_.origins.push_back(origin);
    if (ranks_.size() > 1) builder_.set_rank(task, rank);
    durations_.push_back(length);
    const RankParts& parts = ranks_[rank];
    const Time until = std::max(Time{}, parts.run_time(ended));
    const Time from = std::max(Time{}, until - length);
    pauses_[task] = {.task = task,
                     .stream = parts.plan_stream(stream),
                     .host = HostId{rank},
                     .device = DeviceId{rank},
                     .submitted = from,
                     .started = from,
                     .ended = until};
    return task;
  }

  void add_pauses(std::uint32_t rank) {
    RankParts& parts = ranks_[rank];
    const ImportedTrace& trace = parts.trace;
    for (const StreamItemId id : parts.order.items.ids()) {
      const Duration length = parts.pauses.before(id);
      if (length == Duration{0} || parts.use[id] != Use::launched) continue;
      const StreamItem& item = parts.order.items[id];
      parts.pause_before[id] = add_pause(rank,
                                         {rank, parts.order.rows_of(id).front(), -1},
                                         length,
                                         item.stream,
                                         item.started - parts.delays.stream_gap);
    }
    for (std::uint32_t graph = 0; graph < parts.graphs.size(); ++graph) {
      for (std::uint32_t node = 0; node < parts.graphs[graph].node_count(); ++node) {
        add_node_pauses(rank, graph, node);
      }
    }
    if (mode_ == ReplayMode::copied_launches) return;  // its host waits for nothing
    for (std::size_t step = 0; step < parts.order.host.size(); ++step) {
      const CallRow& call = trace.calls[parts.order.host[step].call];
      const Duration length = parts.pauses.after(step);
      if (length == Duration{0} || call.started < parts.from) continue;
      const Time ended = call.ended - parts.delays.wake_up;
      const StreamId stream = idle_stream(parts, step, ended - length);
      if (!stream.valid()) continue;
      const StreamItemId item = parts.order.host[step].item;
      const std::uint32_t row =
          item.valid() ? parts.order.rows_of(item).back() : ReplayModel::Origin::no_row;
      parts.pause_after[step] = {stream, add_pause(rank, {rank, row, 1}, length, stream, ended)};
    }
  }

  void add_node_pauses(std::uint32_t rank, std::uint32_t graph, std::uint32_t node) {
    RankParts& parts = ranks_[rank];
    const auto& lengths = parts.pauses.before_node(graph, node);
    for (std::size_t launch = 0; launch < lengths.size(); ++launch) {
      const StreamItemId item = parts.graphs[graph].launches[launch];
      if (!parts.whole_graph(item)) continue;
      const std::uint32_t row = parts.order.rows_of(item)[node];
      const Time started = parts.trace.device_rows[row].started;
      parts.pause_before_node[{item, node}] = add_pause(rank,
                                                        {rank, row, -1},
                                                        lengths[launch],
                                                        parts.order.items[item].stream,
                                                        started - parts.delays.graph_node_gap);
    }
  }

  /// A stream whose work had ended by then, as far as it had been launched before the step: that of
  /// what the step waits for, or of what was launched last before it, if it is one.
  [[nodiscard]] StreamId idle_stream(const RankParts& parts, std::size_t step, Time when) const {
    const Time called = parts.trace.calls[parts.order.host[step].call].started;
    const auto idle = [&](StreamId stream) {
      const auto& queue = parts.order.queues[stream];
      return std::all_of(queue.begin(), queue.end(), [&](StreamItemId id) {
        const StreamItem& item = parts.order.items[id];
        const Time begun = item.launched() ? parts.trace.calls[item.call].started : item.started;
        return begun >= called || item.ended <= when;
      });
    };
    StreamItemId near = parts.order.host[step].item;
    for (std::size_t i = step; i-- > 0 && !near.valid();) {
      if (parts.order.host[i].kind == HostStepKind::launch) near = parts.order.host[i].item;
    }
    if (near.valid() && idle(parts.order.items[near].stream)) return parts.order.items[near].stream;
    for (const StreamId stream : parts.order.streams.ids()) {
      if (idle(stream)) return stream;
    }
    return StreamId::none();
  }

  /// From when on a row keeps its stream busy: its start. Of those from before the recording, of
  /// which it is unknown what they waited for, from the end of the one before them.
  static std::vector<Time> busy_begins(const RankParts& parts) {
    std::vector<Time> result;
    for (const DeviceRow& row : parts.trace.device_rows) result.push_back(row.started);
    for (const auto& queue : parts.order.queues) {
      Time free{};
      for (const StreamItemId item : queue) {
        if (parts.use[item] != Use::earlier) break;
        for (const std::uint32_t row : parts.order.rows_of(item)) {
          const Time ended = parts.trace.device_rows[row].ended;
          result[row] = std::min(ended, free);
          free = std::max(free, ended + parts.delays.stream_gap);
        }
      }
    }
    return result;
  }

  /// Number of the annotated iteration in which a row started; -1 = none.
  std::int32_t iteration(const ImportedTrace& trace, const DeviceRow& row) {
    if (annotations_.first != &trace) {
      annotations_ = {&trace, {}};
      for (const OperatorRow& op : trace.operators) {
        if (op.kind == OperatorKind::iteration) annotations_.second.push_back(op.started);
      }
    }
    const auto& begins = annotations_.second;
    const auto next = std::upper_bound(begins.begin(), begins.end(), row.started);
    return static_cast<std::int32_t>(next - begins.begin()) - 1;
  }

  [[nodiscard]] std::vector<TaskId> tasks_of(const RankParts& parts, StreamItemId item) const {
    std::vector<TaskId> result;
    for (const std::uint32_t row : parts.order.rows_of(item)) {
      if (parts.task_of[row].valid()) result.push_back(parts.task_of[row]);
    }
    return result;
  }

  /// What must run before anything that waits for the item, and what waits for what it waits for.
  struct Ends {
    std::vector<TaskId> first;
    std::vector<TaskId> last;
  };
  void add_edges(const RankParts& parts) {
    IdVector<StreamItemId, Ends> ends(parts.order.items.size());
    for (const StreamItemId item : parts.order.items.ids()) {
      const auto tasks = tasks_of(parts, item);
      if (!tasks.empty() && !parts.whole_graph(item)) {
        for (std::size_t i = 1; i < tasks.size(); ++i) builder_.add_edge(tasks[i - 1], tasks[i]);
        ends[item] = {.first = {tasks.front()}, .last = {tasks.back()}};
      }
    }
    for (const ImportedGraph& graph : parts.graphs) add_nodes(parts, graph, ends);
    for (const StreamItemId item : parts.order.items.ids()) {
      const TaskId pause = parts.pause_before[item];
      if (!pause.valid()) continue;
      for (const TaskId task : ends[item].first) builder_.add_edge(pause, task);
      ends[item].first = {pause};
    }
    for (const auto& [step, pause] : parts.pause_after) {
      const StreamItemId item = parts.order.host[step].item;
      if (!item.valid()) continue;
      for (const TaskId task : ends[item].last) builder_.add_edge(task, pause.second);
    }
    const auto connect = [&](StreamItemId from, StreamItemId to) {
      for (const TaskId a : ends[from].last) {
        for (const TaskId b : ends[to].first) builder_.add_edge(a, b);
      }
    };
    for (const auto& queue : parts.order.queues) {
      StreamItemId before;
      for (const StreamItemId item : queue) {
        if (ends[item].first.empty()) continue;
        if (before.valid()) connect(before, item);
        before = item;
      }
    }
    for (const StreamDependency& dependency : parts.order.dependencies)
      connect(dependency.from, dependency.to);
  }

  void add_nodes(const RankParts& parts,
                 const ImportedGraph& graph,
                 IdVector<StreamItemId, Ends>& ends) {
    std::vector<bool> needed(graph.node_count(), false);
    for (const auto& needs : graph.needs) {
      for (const std::uint32_t need : needs) needed[need] = true;
    }
    for (const StreamItemId launch : graph.launches) {
      if (!parts.whole_graph(launch)) continue;
      const auto tasks = tasks_of(parts, launch);
      for (std::uint32_t node = 0; node < graph.node_count(); ++node) {
        const auto paused = parts.pause_before_node.find({launch, node});
        const bool pauses = paused != parts.pause_before_node.end();
        for (const std::uint32_t need : graph.needs[node]) {
          builder_.add_edge(tasks[need], pauses ? paused->second : tasks[node]);
        }
        if (pauses) builder_.add_edge(paused->second, tasks[node]);
        if (graph.needs[node].empty()) ends[launch].first.push_back(tasks[node]);
        if (!needed[node]) ends[launch].last.push_back(tasks[node]);
      }
    }
  }

  /// By rank the tasks of collectives, by start.
  [[nodiscard]] std::vector<TaskId> collectives_of(const RankParts& parts) const {
    std::vector<TaskId> result;
    for (std::uint32_t row = 0; row < parts.task_of.size(); ++row) {
      if (parts.task_of[row].valid() && is_collective(parts.trace, parts.trace.device_rows[row])) {
        result.push_back(parts.task_of[row]);
      }
    }
    return result;
  }

  [[nodiscard]] std::string_view name_of(TaskId task) const {
    const auto [rank, row, pause] = model_.origins[task];
    return ranks_[rank].trace.texts[ranks_[rank].trace.device_rows[row].name];
  }

  void expect_same(const std::vector<TaskId>& first,
                   const std::vector<TaskId>& other,
                   const RankParts& parts) const {
    const std::size_t both = std::min(first.size(), other.size());
    std::size_t k = 0;
    while (k < both && name_of(first[k]) == name_of(other[k])) ++k;
    if (k == first.size() && k == other.size()) return;
    throw InputError(
        {.file = parts.trace.file,
         .pointer = fmt::format("collective {}", k),
         .found = k < other.size() ? std::string{name_of(other[k])} : "no more",
         .expected = k < first.size()
                         ? fmt::format("{}, as in {}", name_of(first[k]), ranks_.front().trace.file)
                         : fmt::format("no more, as in {}", ranks_.front().trace.file),
         .hint = "ranks that are replayed together must be of the same steps of one "
                 "job"});
  }

  void join_collectives() {
    std::vector<std::vector<TaskId>> by_rank;
    for (const RankParts& parts : ranks_) {
      by_rank.push_back(collectives_of(parts));
      expect_same(by_rank.front(), by_rank.back(), parts);
    }
    for (std::size_t k = 0; k < by_rank.front().size(); ++k) {
      const CollectiveId joined = builder_.add_collective({});
      Duration shortest = Duration::max();
      for (const auto& tasks : by_rank) shortest = std::min(shortest, durations_[tasks[k]]);
      for (const auto& tasks : by_rank) {
        builder_.joins(tasks[k], joined);
        builder_.set_duration(tasks[k], shortest);
      }
    }
  }

  void measure() {
    for (const TaskId task : model_.graph.tasks()) {
      if (const auto pause = pauses_.find(task); pause != pauses_.end()) {
        model_.measured.tasks.push_back(pause->second);
        continue;
      }
      const auto [rank, index, none] = model_.origins[task];
      const RankParts& parts = ranks_[rank];
      const DeviceRow& row = parts.trace.device_rows[index];
      const Time started = parts.run_time(std::max(row.started, parts.from));
      model_.measured.tasks.push_back({.task = task,
                                       .stream = StreamId::none(),
                                       .host = HostId{rank},
                                       .device = DeviceId{rank},
                                       .submitted = started,
                                       .started = started,
                                       .ended = parts.run_time(row.ended)});
      model_.measured.ended = std::max(model_.measured.ended, parts.run_time(row.ended));
    }
    for (RankParts& parts : ranks_) {
      for (const StreamItemId item : parts.order.items.ids()) {
        for (const TaskId task : tasks_of(parts, item)) {
          TaskSpan& span = model_.measured.tasks[task.value()];
          span.stream = parts.plan_stream(parts.order.items[item].stream);
          if (parts.use[item] != Use::launched) continue;
          const Time returned =
              parts.run_time(parts.trace.calls[parts.order.items[item].call].ended);
          span.submitted = std::clamp(returned, Time{}, span.started);
        }
      }
    }
  }

  std::vector<RankParts>& ranks_;
  ReplayMode mode_;
  ReplayModel& model_;
  TaskGraphBuilder builder_;
  std::map<std::pair<std::string, TaskKind>, OperationId> operations_;
  std::pair<const ImportedTrace*, std::vector<Time>> annotations_{nullptr, {}};
  IdVector<TaskId, Duration> durations_;
  std::map<TaskId, TaskSpan> pauses_;  // as measured
};

}  // namespace

void make_graph(std::vector<RankParts>& ranks, ReplayMode mode, ReplayModel& model) {
  GraphMaker(ranks, mode, model).run();
}

}  // namespace schedlab::replaying
