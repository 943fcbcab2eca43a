// SPDX-License-Identifier: Apache-2.0
#include "policies/pipeline/rank_programs.hpp"

#include "policies/pipeline/crossing_messages.hpp"
#include "policies/pipeline/interleave.hpp"
#include "policies/pipeline/pass_tasks.hpp"
#include "sim/base/error.hpp"
#include "sim/pipeline/pipeline_work.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

/// The messages of a graph, found by the task that makes or needs them.
class MessageIndex {
 public:
  explicit MessageIndex(const TaskGraph& graph)
      : graph_(graph),
        messages_(rank_messages(graph)),
        posted_(messages_.size(), 0),
        waited_for_(messages_.size(), 0) {}

  [[nodiscard]] const std::vector<RankMessage>& all() const { return messages_; }
  /// Calls visit(message) for what the task makes for other ranks.
  template <class Visitor>
  void for_each_made(TaskId task, Visitor visit) const {
    for (std::uint32_t i = first_of(task); i < messages_.size() && messages_[i].producer == task;
         ++i) {
      visit(i);
    }
  }
  /// ... for what it needs of other ranks.
  template <class Visitor>
  void for_each_needed(TaskId task, Visitor visit) const {
    const std::uint32_t rank = graph_.rank(task);
    for (const TaskId before : graph_.predecessors(task)) {
      if (graph_.rank(before) == rank) continue;
      std::uint32_t i = first_of(before);
      while (messages_[i].to != rank) ++i;
      visit(i);
    }
  }
  /// The receiver's calls; true the first time.
  [[nodiscard]] bool post(std::uint32_t message) { return std::exchange(posted_[message], 1) == 0; }
  [[nodiscard]] bool posted(std::uint32_t message) const { return posted_[message] != 0; }
  [[nodiscard]] bool wait_for(std::uint32_t message) {
    return std::exchange(waited_for_[message], 1) == 0;
  }

 private:
  [[nodiscard]] std::uint32_t first_of(TaskId producer) const {
    const auto less = [](const RankMessage& m, TaskId task) { return m.producer < task; };
    return static_cast<std::uint32_t>(
        std::lower_bound(messages_.begin(), messages_.end(), producer, less) - messages_.begin());
  }

  const TaskGraph& graph_;
  std::vector<RankMessage> messages_;
  std::vector<std::uint8_t> posted_;  // by message
  std::vector<std::uint8_t> waited_for_;
};

/// Writes the program of one rank after the other.
class RankProgramWriter {
 public:
  RankProgramWriter(const Problem& problem,
                    const std::string& policy,
                    const RankProgramOptions& options)
      : graph_(problem.graph),
        costs_(problem.costs),
        options_(options),
        shape_(pipeline_shape(problem.graph, policy)),
        ranks_(pipeline_ranks(problem.graph)),
        tasks_(problem.graph, shape_, ranks_),
        messages_(problem.graph) {
    plan_.policy = policy;
    plan_.hosts = IdVector<HostId, HostProgram>(graph_.rank_count());
    for (const RankMessage& message : messages_.all()) {
      plan_.messages.push_back({.from = HostId{graph_.rank(message.producer)},
                                .to = HostId{message.to},
                                .bytes = message.bytes,
                                .one_sided = options.transfers == PipelineTransfers::one_sided
                                                 ? OneSided::put
                                                 : OneSided::none});
    }
  }

  [[nodiscard]] const PipelineShape& shape() const { return shape_; }
  [[nodiscard]] const PipelineRanks& ranks() const { return ranks_; }

  /// The orders of all ranks of a replica: who sends when decides who would be stuck.
  void know_orders(const std::vector<StepOrder>& orders) {
    if (options_.transfers == PipelineTransfers::blocking) {
      crossing_.emplace(graph_, tasks_, ranks_, orders, messages_.all());
    }
  }

  void write(std::uint32_t rank, const StepOrder& order) {
    calls_ = &plan_.hosts[HostId{rank}].calls;
    plan_.hosts[HostId{rank}].name = fmt::format("rank {}", rank);
    sent_.clear();
    begin_streams(rank);
    gathers_ = StreamId::none();
    exchanges_ = StreamId::none();
    gathered_.clear();
    used_.clear();
    begin_parts(rank);
    const std::uint32_t line = ranks_.line(rank);
    std::span<const PipelineStep> steps = overlapping(order, 0);
    post_receives(line, steps);
    for (std::size_t next = steps.size(); !steps.empty(); next += steps.size()) {
      const std::span<const PipelineStep> after = overlapping(order, next);
      post_receives(line, after);
      if (hides_messages_only(line, steps)) {
        for (std::size_t i = 0; i < steps.size(); ++i) add_steps(line, steps.subspan(i, 1));
      } else {
        add_steps(line, steps);
      }
      steps = after;
    }
    launch_parts(true);
    for (const std::uint32_t message : sent_) calls_->push_back(HostCall::wait_message(message));
    for (const TaskId task : tasks_.updates(rank)) launch_update(task);
  }

  [[nodiscard]] Plan take() { return std::move(plan_); }

 private:
  /// A part of a collective on the present rank.
  struct Part {
    TaskId task;
    std::size_t missing = 0;  // tasks it waits for that are not launched yet
    bool at_end = false;
    bool launched = false;
    EventId done{};
  };

  /// The tasks of a step, one after another.
  struct Chain {
    std::vector<TaskId> tasks{};
    std::size_t next = 0;
    EventId exchanged = EventId::none();  // behind its last collective, unless that was waited for
  };

  /// The steps from `begin` on that overlap; none at the end.
  [[nodiscard]] static std::span<const PipelineStep> overlapping(const StepOrder& order,
                                                                 std::size_t begin) {
    if (begin == order.size()) return {};
    return {order.data() + begin, end_of_overlap(order, begin) - begin};
  }

  template <class Visitor>
  void for_each_task(std::uint32_t line, std::span<const PipelineStep> steps, Visitor visit) const {
    for (const PipelineStep& step : steps) {
      for (const std::span<const TaskId> pass : tasks_.of(line, step)) {
        for (const TaskId task : pass) visit(task);
      }
    }
  }

  void begin_streams(std::uint32_t rank) {
    const std::vector<std::uint32_t> stages = shape_.stages_of(ranks_.place(rank));
    std::string name =
        fmt::format("stage{} {}", stages.size() > 1 ? "s" : "", fmt::join(stages, ", "));
    if (ranks_.replicas > 1) {
      name = fmt::format(
          "replica {} {}", rank / ranks_.tensor_parallel / ranks_.places, std::move(name));
    }
    if (ranks_.tensor_parallel > 1) {
      name = fmt::format("{} part {}", std::move(name), rank % ranks_.tensor_parallel);
    }
    compute_ =
        plan_.streams.push_back({.device = DeviceId{rank}, .priority = 0, .name = std::move(name)});
  }

  void begin_parts(std::uint32_t rank) {
    parts_.clear();
    comm_ = StreamId::none();
    for (const TaskId task : tasks_.parts(rank)) {
      const auto joined = graph_.collectives().tasks(graph_.collectives().of(task));
      // Ranks of one stage have like programs; where stages differ, the order of the graph is the
      // one that all agree on.
      const bool one_stage = std::all_of(joined.begin(), joined.end(), [&](TaskId other) {
        return ranks_.place(graph_.rank(other)) == ranks_.place(rank);
      });
      parts_.push_back({.task = task,
                        .missing = graph_.predecessors(task).size(),
                        .at_end = !one_stage || options_.sums == GradientSums::after_passes});
    }
    if (parts_.empty()) return;
    comm_ =
        plan_.streams.push_back({.device = DeviceId{rank}, .priority = 0, .name = "communication"});
  }

  /// The steps, and what they make leaves behind them.
  void add_steps(std::uint32_t line, std::span<const PipelineStep> steps) {
    launch(line, steps);
    if (options_.sums == GradientSums::before_sending && launch_parts(false)) {
      calls_->push_back(HostCall::synchronize_stream(comm_));
    }
    send(line, steps);
    if (options_.sums == GradientSums::overlapped) launch_parts(false);
  }

  /// Steps without collectives follow one another: messages of one travel while the next computes.
  /// (Blocking messages keep the order that they cross in.)
  [[nodiscard]] bool hides_messages_only(std::uint32_t line,
                                         std::span<const PipelineStep> steps) const {
    if (steps.size() < 2 || options_.overlap != StepOverlap::interleaved ||
        options_.transfers == PipelineTransfers::blocking) {
      return false;
    }
    bool exchanges = false;
    for_each_task(line, steps, [&](TaskId task) { exchanges = exchanges || is_exchange(task); });
    return !exchanges;
  }

  void post_receives(std::uint32_t line, std::span<const PipelineStep> steps) {
    if (options_.transfers != PipelineTransfers::overlapped) return;
    for_each_task(line, steps, [this](TaskId task) {
      messages_.for_each_needed(task, [this](std::uint32_t message) {
        if (messages_.post(message)) calls_->push_back(HostCall::irecv(message));
      });
    });
  }

  void launch(std::uint32_t line, std::span<const PipelineStep> steps) {
    if (steps.size() > 1) {
      for_each_task(line, steps, [this](TaskId task) {
        messages_.for_each_needed(task, [this](std::uint32_t message) { receive(message); });
      });
    }
    if (steps.size() > 1 && options_.overlap == StepOverlap::interleaved) {
      return launch_interleaved(line, steps);
    }
    for_each_task(line, steps, [this](TaskId task) { launch(task); });
  }

  /// Steps share the device task by task. Ranks that share collectives must agree on the order: it
  /// is that of the first of them.
  void launch_interleaved(std::uint32_t line, std::span<const PipelineStep> steps) {
    const std::uint32_t first = line / ranks_.tensor_parallel * ranks_.tensor_parallel;
    std::vector<Chain> chains(steps.size());
    std::vector<std::vector<ChainTask>> timed(steps.size());
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const std::span<const PipelineStep> step = steps.subspan(i, 1);
      for_each_task(line, step, [&](TaskId task) { chains[i].tasks.push_back(task); });
      for_each_task(first, step, [&](TaskId task) {
        timed[i].push_back({costs_.duration(task), is_exchange(task)});
      });
    }
    for (const std::size_t i : interleave(timed)) launch_next(chains[i]);
    for (Chain& chain : chains) wait_for_exchange(chain);
  }

  void launch_next(Chain& chain) {
    const TaskId task = chain.tasks[chain.next++];
    if (is_exchange(task)) {
      // Behind another exchange of the chain it is in order anyway.
      launch_exchange(task, !chain.exchanged.valid());
      chain.exchanged = record(exchanges_);
      return;
    }
    wait_for_exchange(chain);
    launch(task);
  }

  [[nodiscard]] bool is_exchange(TaskId task) const {
    return graph_.collectives().of(task).valid() && !gathers(task);
  }

  void wait_for_exchange(Chain& chain) {
    if (chain.exchanged.valid()) calls_->push_back(HostCall::wait(compute_, chain.exchanged));
    chain.exchanged = EventId::none();
  }

  void launch_exchange(TaskId task, bool behind_compute) {
    if (!exchanges_.valid()) {
      exchanges_ =
          plan_.streams.push_back({.device = compute_device(), .priority = -1, .name = "exchange"});
    }
    messages_.for_each_needed(task, [this](std::uint32_t message) { receive(message); });
    if (behind_compute) calls_->push_back(HostCall::wait(exchanges_, record(compute_)));
    calls_->push_back(HostCall::launch(exchanges_, task));
    note_launched(task);
  }

  [[nodiscard]] bool gathers(TaskId task) const {
    const PipelineWork work = *pipeline_work(graph_.tags(task));
    return work == PipelineWork::gather_forward || work == PipelineWork::gather_backward;
  }

  EventId record(StreamId stream) {
    const EventId event{plan_.event_count++};
    calls_->push_back(HostCall::record(stream, event));
    return event;
  }

  /// On a stream of its own, no more ahead than `prefetch` of those that were used up.
  void launch_gather(TaskId task) {
    if (!gathers_.valid()) {
      gathers_ = plan_.streams.push_back(
          {.device = compute_device(), .priority = 0, .name = "parameters"});
    }
    if (used_.size() > options_.prefetch) {
      calls_->push_back(HostCall::wait(gathers_, used_[used_.size() - 1 - options_.prefetch]));
    }
    calls_->push_back(HostCall::launch(gathers_, task));
    gathered_[task] = record(gathers_);
  }

  [[nodiscard]] DeviceId compute_device() const { return plan_.streams[compute_].device; }

  /// Is it the last on the rank that reads what `gather` brought?
  [[nodiscard]] bool last_reader(TaskId gather, TaskId task) const {
    const auto readers = graph_.successors(gather);
    return std::none_of(
        readers.begin(), readers.end(), [task](TaskId other) { return task < other; });
  }

  void launch(TaskId task) {
    if (gathers(task)) return launch_gather(task);
    messages_.for_each_needed(task, [this](std::uint32_t message) { receive(message); });
    bool uses_up = false;
    if (gathers_.valid()) {
      for (const TaskId before : graph_.predecessors(task)) {
        const auto gather = gathered_.find(before);
        if (gather == gathered_.end()) continue;
        calls_->push_back(HostCall::wait(compute_, gather->second));
        uses_up = uses_up || last_reader(before, task);
      }
    }
    calls_->push_back(HostCall::launch(compute_, task));
    if (uses_up) used_.push_back(record(compute_));
    note_launched(task);
  }

  void note_launched(TaskId task) {
    if (parts_.empty()) return;
    for (const TaskId after : graph_.successors(task)) {
      const auto part = std::find_if(
          parts_.begin(), parts_.end(), [after](const Part& p) { return p.task == after; });
      if (part != parts_.end()) --part->missing;
    }
  }

  void receive(std::uint32_t message) {
    if (options_.transfers != PipelineTransfers::overlapped) {
      if (messages_.post(message)) calls_->push_back(HostCall::receive(message));
      return;
    }
    if (messages_.wait_for(message)) calls_->push_back(HostCall::wait_message(message));
  }

  /// What the steps made for others leaves once all their passes are done.
  void send(std::uint32_t line, std::span<const PipelineStep> steps) {
    made_.clear();
    for_each_task(line, steps, [this](TaskId task) {
      messages_.for_each_made(task, [this](std::uint32_t message) { made_.push_back(message); });
    });
    if (made_.empty()) return;
    calls_->push_back(HostCall::synchronize_stream(compute_));
    if (options_.transfers == PipelineTransfers::blocking) return send_blocking();
    for (const std::uint32_t message : made_) start_send(message);
  }

  void start_send(std::uint32_t message) {
    calls_->push_back(HostCall::isend(message));
    sent_.push_back(message);
  }

  /// One after the other, as with MPI_Send; where the other side sends at the same time, at once
  /// with what it sends, as with MPI_Sendrecv. Labels are not waited for.
  void send_blocking() {
    std::erase_if(made_, [this](std::uint32_t message) {
      const bool labels =
          pipeline_work(graph_.tags(messages_.all()[message].producer)) == PipelineWork::labels;
      if (labels) start_send(message);
      return labels;
    });
    coming_.clear();
    for (const std::uint32_t message : made_) {
      crossing_->for_each_crossing(
          message,
          [this](std::uint32_t other) { return messages_.posted(other); },
          [this](std::uint32_t other) {
            if (messages_.post(other)) coming_.push_back(other);
          });
    }
    if (coming_.empty()) {
      for (const std::uint32_t message : made_) calls_->push_back(HostCall::send(message));
      return;
    }
    for (const std::uint32_t message : made_) calls_->push_back(HostCall::isend(message));
    for (const std::uint32_t message : coming_) calls_->push_back(HostCall::receive(message));
    for (const std::uint32_t message : made_) calls_->push_back(HostCall::wait_message(message));
  }

  /// Those that are ready; `end`: all that are left, in the order of the graph. Are there any?
  bool launch_parts(bool end) {
    EventId ready;
    for (Part& part : parts_) {
      if (part.launched || (!end && (part.at_end || part.missing > 0))) continue;
      SCHEDLAB_EXPECTS(part.missing == 0, fmt::format("{} is never ready", graph_.name(part.task)));
      if (!ready.valid()) {
        ready = EventId{plan_.event_count++};
        calls_->push_back(HostCall::record(compute_, ready));
        calls_->push_back(HostCall::wait(comm_, ready));
      }
      calls_->push_back(HostCall::launch(comm_, part.task));
      part.done = EventId{plan_.event_count++};
      calls_->push_back(HostCall::record(comm_, part.done));
      part.launched = true;
    }
    return ready.valid();
  }

  void launch_update(TaskId task) {
    for (const Part& part : parts_) {
      const auto before = graph_.predecessors(task);
      if (std::find(before.begin(), before.end(), part.task) != before.end()) {
        calls_->push_back(HostCall::wait(compute_, part.done));
      }
    }
    calls_->push_back(HostCall::launch(compute_, task));
  }

  const TaskGraph& graph_;
  const CostTable& costs_;
  RankProgramOptions options_;
  PipelineShape shape_;
  PipelineRanks ranks_;
  PassTasks tasks_;
  MessageIndex messages_;
  std::optional<CrossingMessages> crossing_;  // of blocking transfers
  Plan plan_;

  // Of the present rank.
  std::vector<HostCall>* calls_ = nullptr;
  StreamId compute_;
  StreamId comm_;
  StreamId gathers_;                    // none(): no parameters are gathered
  StreamId exchanges_;                  // none(): nothing was interleaved
  std::map<TaskId, EventId> gathered_;  // by the task that gathers
  std::vector<EventId> used_;           // behind the last that reads what was gathered, in order
  std::vector<Part> parts_;
  std::vector<std::uint32_t> sent_;
  std::vector<std::uint32_t> made_;    // messages of the present step
  std::vector<std::uint32_t> coming_;  // that it receives while it sends
};

}  // namespace

Plan rank_programs(const Problem& problem,
                   const std::string& policy,
                   const StepOrderOf& order,
                   const RankProgramOptions& options) {
  RankProgramWriter writer{problem, policy, options};
  const PipelineShape& shape = writer.shape();
  std::vector<StepOrder> orders;
  for (std::uint32_t rank = 0; rank < shape.ranks; ++rank) orders.push_back(order(shape, rank));
  writer.know_orders(orders);
  for (std::uint32_t rank = 0; rank < problem.graph.rank_count(); ++rank) {
    writer.write(rank, orders[writer.ranks().place(rank)]);
  }
  Plan plan = writer.take();
  if (plan.task_count() != problem.graph.task_count()) {
    throw ContractViolation(fmt::format("{} leaves out passes of the pipeline", policy));
  }
  return plan;
}

}  // namespace schedlab
