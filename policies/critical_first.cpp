// SPDX-License-Identifier: Apache-2.0
#include "policies/critical_first.hpp"

#include "policies/core_group_run.hpp"
#include "policies/critical_first_run.hpp"
#include "policies/option_specs.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/graph/levels.hpp"

#include <queue>
#include <tuple>
#include <utility>

namespace schedlab {
namespace {

using Variant = CriticalFirstOptions::Variant;
using DrainStreams = CriticalFirstOptions::DrainStreams;
using QueueOrder = CriticalFirstOptions::QueueOrder;
using Deciding = CriticalFirstOptions::Dispatch;

/// What workers take: critical tasks, then those with the highest rank, then what came first.
class CriticalTasksFirst final : public ReadyOperators {
 public:
  CriticalTasksFirst(const Problem& problem, QueueOrder order)
      : critical_(critical_lanes(problem.graph).critical) {
    if (order == QueueOrder::by_rank) {
      rank_ = upward_rank(problem.graph, problem.costs.durations());
    }
  }

  void arrive(TaskId task, StreamId /*group*/) override {
    const bool critical = critical_[task] != 0;
    const Duration rank = critical || rank_.empty() ? Duration{0} : rank_[task];
    ready_.push({critical, rank, -arrived_++, task});
  }
  [[nodiscard]] TaskId take(StreamId /*group*/, TaskId /*last*/) override {
    if (ready_.empty()) return TaskId::none();
    const TaskId task = std::get<TaskId>(ready_.top());
    ready_.pop();
    return task;
  }

 private:
  IdVector<TaskId, std::uint8_t> critical_;
  IdVector<TaskId, Duration> rank_;  // empty: in order
  std::priority_queue<std::tuple<bool, Duration, std::int64_t, TaskId>> ready_;
  std::int64_t arrived_ = 0;
};

/// Without a cap as many workers as the host has streams.
std::unique_ptr<OnlinePolicy> workers_of(const Problem& problem,
                                         std::string name,
                                         const CriticalFirstOptions& options) {
  const CriticalLanes lanes = critical_lanes(problem.graph);
  const std::uint32_t streams = 2 * lanes.layer_count + (lanes.all_critical ? 0 : 1);
  return std::make_unique<CoreGroupRun>(
      problem,
      std::move(name),
      CoreGroupOptions{.max_streams =
                           options.max_streams != 0 ? options.max_streams : std::max(streams, 1U)},
      std::make_unique<CriticalTasksFirst>(problem, options.queue_order));
}

std::vector<OptionSpec> option_specs() {
  const CriticalFirstOptions defaults;
  const auto count = [](std::string name, std::uint32_t value, double minimum, std::string doc) {
    return OptionSpec{.name = std::move(name),
                      .default_value = std::int64_t{value},
                      .doc = std::move(doc),
                      .minimum = minimum,
                      .maximum = 1'000'000};
  };
  return {
      {.name = "variant",
       .default_value = std::string{"interleaved"},
       .doc = "When idle streams are looked for: after each level, or after all critical tasks.",
       .allowed = {"interleaved", "enqueue_all_first"}},
      {.name = "priorities",
       .default_value = defaults.priorities,
       .doc = "Streams of critical tasks have a higher priority than the secondary stream."},
      max_streams_option(0, "Most streams to open; 0 = two per layer and a secondary one."),
      {.name = "fill_while_critical",
       .default_value = defaults.fill_while_critical,
       .doc = "Other tasks may run before the last critical task has ended."},
      {.name = "drain_streams",
       .default_value = std::string{"all"},
       .doc = "Streams that take tasks which are not critical.",
       .allowed = {"all", "secondary"}},
      {.name = "queue_order",
       .default_value = std::string{"in_order"},
       .doc = "Tasks that are not critical: those first that became ready first, or that have the "
              "longest path behind them.",
       .allowed = {"in_order", "by_rank"}},
      {.name = "dispatch",
       .default_value = std::string{"host"},
       .doc = "Who decides while the run goes on: the host, by queries, or workers, one a stream, "
              "that take ready tasks, critical ones first (of the options only max_streams and "
              "queue_order then count).",
       .allowed = {"host", "dynamic"}},
      {.name = "sleep_us",
       .default_value = to_us(defaults.sleep),
       .doc = "Sleep of the host after each round of queries.",
       .minimum = 0.1,
       .maximum = 1e6},
      count("queries_per_level",
            defaults.queries_per_level,
            0,
            "Queries after each level of the search (interleaved); 0 = every stream once."),
      count("max_queries",
            defaults.max_queries,
            1,
            "Queries per issued task, on average, after which sleeps grow."),
      count("tasks_per_fill", defaults.tasks_per_fill, 1, "Tasks an idle stream takes at once."),
      count("look_ahead",
            defaults.look_ahead,
            1,
            "Entries of the queue looked at for one that need not wait.")};
}

CriticalFirstOptions read(const Options& given) {
  CriticalFirstOptions options;
  options.variant =
      given.text("variant") == "interleaved" ? Variant::interleaved : Variant::enqueue_all_first;
  options.priorities = given.flag("priorities");
  options.max_streams = count_of(given, "max_streams");
  options.fill_while_critical = given.flag("fill_while_critical");
  options.drain_streams =
      given.text("drain_streams") == "all" ? DrainStreams::all : DrainStreams::secondary;
  options.queue_order =
      given.text("queue_order") == "in_order" ? QueueOrder::in_order : QueueOrder::by_rank;
  options.dispatch = given.text("dispatch") == "host" ? Deciding::host : Deciding::dynamic;
  options.sleep = from_us(given.number("sleep_us"));
  options.queries_per_level = count_of(given, "queries_per_level");
  options.max_queries = count_of(given, "max_queries");
  options.tasks_per_fill = count_of(given, "tasks_per_fill");
  options.look_ahead = count_of(given, "look_ahead");
  return options;
}

}  // namespace

std::string_view CriticalFirst::name() const {
  return granularity_ == Granularity::matmul ? "critical_first_matmul" : "critical_first";
}

std::unique_ptr<OnlinePolicy> CriticalFirst::online(const Problem& problem) const {
  if (options_.dispatch == Deciding::dynamic) {
    return workers_of(problem, std::string{name()}, options_);
  }
  return std::make_unique<CriticalFirstRun>(problem, options_);
}

Plan CriticalFirst::plan(const Problem& problem) const {
  Plan plan = Simulator{}.record(problem, *online(problem)).plan;
  plan.policy = name();
  return plan;
}

PolicyInfo critical_first_info() {
  return {.name = "critical_first",
          .summary =
              "Critical tasks breadth-first on two streams per layer, all others where "
              "queries find an idle stream.",
          .source = "TurboLSTM, section 3 and algorithm 1, repaired",
          .options = option_specs(),
          .make = [](const Options& options) {
            return std::make_unique<CriticalFirst>(read(options), Granularity::fine);
          }};
}

PolicyInfo critical_first_matmul_info() {
  return {.name = "critical_first_matmul",
          .summary = "As critical_first, with every matrix product a task of its own.",
          .source = "TurboLSTM, section 3.3 (Ascend NPU)",
          .options = option_specs(),
          .make = [](const Options& options) {
            return std::make_unique<CriticalFirst>(read(options), Granularity::matmul);
          }};
}

}  // namespace schedlab
