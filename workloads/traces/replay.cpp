// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/replay.hpp"

#include "sim/base/error.hpp"
#include "sim/base/statistics.hpp"
#include "workloads/traces/replay_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace schedlab {
namespace replaying {

RankParts::RankParts(const ReplayRank& rank, ReplayMode mode, Time until)
    : trace(rank.trace),
      order(rank.order),
      launches(rank.trace, rank.order, until),
      delays(fit_delays(rank.trace, rank.order, launches, until)),
      host(rank.trace, rank.order),
      graphs(imported_graphs(rank.trace, rank.order)),
      pauses(rank.trace, rank.order, launches, delays, graphs, host, until),
      from(splits(mode) ? until : Time{}),
      use(rank.order.items.size(), Use::launched),
      pause_before(rank.order.items.size(), TaskId::none()) {
  for (const auto& queue : order.queues) {
    bool launched = false;
    for (const StreamItemId id : queue) {
      const StreamItem& item = order.items[id];
      const Time begun = item.launched() ? trace.calls[item.call].started : item.started;
      if (splits(mode) && item.ended <= from) {
        use[id] = Use::left_out;
      } else if (splits(mode) && begun < from) {
        use[id] = Use::backlog;
      } else if (!item.launched()) {
        use[id] = launched || mode == ReplayMode::copied_launches ? Use::given : Use::earlier;
      }
      launched = launched || item.launched();
    }
  }
}

bool is_collective(const ImportedTrace& trace, const DeviceRow& row) {
  return row.kind == DeviceActivityKind::kernel &&
         (row.collective.valid() || trace.texts[row.name].starts_with("nccl"));
}

KnownDurations::KnownDurations(const ImportedTrace& trace, Time until) {
  for (const DeviceRow& row : trace.device_rows) {
    if (row.ended >= until) continue;
    for (Sum* sum :
         {&by_size_[{row.name, row.bytes.count(), row.grid, row.block}], &by_name_[row.name]}) {
      sum->total += row.ended - row.started;
      ++sum->rows;
    }
  }
}

std::optional<Duration> KnownDurations::of(const DeviceRow& row) const {
  if (const auto found = by_size_.find({row.name, row.bytes.count(), row.grid, row.block});
      found != by_size_.end()) {
    return found->second.total / found->second.rows;
  }
  if (const auto found = by_name_.find(row.name); found != by_name_.end()) {
    return found->second.total / found->second.rows;
  }
  return std::nullopt;
}

namespace {

/// The rank's Time{0} on the clock that all ranks share.
Duration origin(const ImportedTrace& trace, std::int64_t since_us) {
  return std::chrono::microseconds{trace.origin_us - since_us} + trace.origin_rest;
}

void add_streams(std::uint32_t rank, RankParts& parts, ReplayModel& model) {
  parts.first_stream = StreamId{static_cast<std::uint32_t>(model.plan.streams.size())};
  for (const ImportedStream& stream : parts.order.streams) {
    model.plan.streams.push_back({.device = DeviceId{rank},
                                  .priority = 0,
                                  .name = fmt::format("stream {}", stream.stream),
                                  .sync = StreamSync::non_blocking});
  }
}

/// The devices as the delays show them; kernels take no units, as their recorded durations hold
/// what they took from each other.
Platform recorded_platform(const std::vector<RankParts>& ranks) {
  Platform platform = ideal_platform();
  platform.name = "as_recorded";
  const Device ideal = platform.devices[DeviceId{0}];
  platform.devices.clear();
  platform.hosts.clear();
  for (const RankParts& parts : ranks) {
    Device device = ideal;
    device.name = parts.trace.devices.empty() ? "device" : parts.trace.devices.front().name;
    device.launch_latency = parts.delays.launch_latency;
    device.stream_gap = parts.delays.stream_gap;
    device.event_latency = parts.delays.event_latency;
    device.graph_node_gap = parts.delays.graph_node_gap;
    platform.devices.push_back(std::move(device));
    Host host;
    host.costs.wake_up = parts.delays.wake_up;
    host.costs.synchronize = parts.delays.synchronize;
    platform.hosts.push_back(host);
  }
  platform.ranks = ranks.size() > 1 ? static_cast<std::uint32_t>(ranks.size()) : 0;
  return platform;
}

/// Devices whose events are not read, or no events of devices?
std::string no_work_hint(const ImportedTrace& trace) {
  const auto found = trace.problems.entries().find("unknown_category");
  if (found != trace.problems.entries().end()) {
    return fmt::format(
        "{} events are of categories that are not read (first: {}); if they are a "
        "device's, this profiler's format is not known",
        found->second.count,
        found->second.example);
  }
  return "record the activities of the device, too (in PyTorch: activities=[CPU and the device's, "
         "as ProfilerActivity.CUDA])";
}

void expect_work(std::span<const ReplayRank> ranks, ReplayMode mode) {
  SCHEDLAB_EXPECTS(!ranks.empty(), "a replay needs a trace");
  for (const ReplayRank& rank : ranks) {
    if (!rank.order.items.empty()) continue;
    for (const auto& [name, problem] : rank.trace.problems.entries()) {
      if (problem.severity < Severity::data_loss) continue;
      throw InputError(
          {.file = rank.trace.file,
           .pointer = "",
           .found = fmt::format("no activity of a device that can be used ({}: {}, the "
                                "first: {})",
                                name,
                                problem.count,
                                problem.example),
           .expected = "kernels, copies or memsets with their times",
           .hint = "schedlab import says what is odd about the file"});
    }
    throw InputError({.file = rank.trace.file,
                      .pointer = "",
                      .found = "no activity of a device",
                      .expected = "kernels, copies or memsets",
                      .hint = no_work_hint(rank.trace)});
  }
  if (ranks.size() > 1 && splits(mode)) {
    throw InputError({.file = "--mode",
                      .pointer = "",
                      .found = fmt::format("{} for {} ranks", to_string(mode), ranks.size()),
                      .expected = "copied_launches or copied_host_work",
                      .hint = "predict one rank at a time"});
  }
}

/// `values_us`: sorted.
Duration quantile(const std::vector<double>& values_us, double share) {
  return values_us.empty() ? Duration{0} : from_us(percentile(values_us, share));
}

Duration distance(Time a, Time b) {
  return a < b ? b - a : a - b;
}

/// By task.
IdVector<TaskId, const TaskSpan*> spans_of(const Trace& trace, std::size_t tasks) {
  IdVector<TaskId, const TaskSpan*> result(tasks, nullptr);
  for (const TaskSpan& span : trace.tasks) result[span.task] = &span;
  return result;
}

}  // namespace
}  // namespace replaying

ReplayModel make_replay(std::span<const ReplayRank> ranks, ReplayMode mode) {
  replaying::expect_work(ranks, mode);
  ReplayModel model;
  Time until = Time::max();
  if (splits(mode)) {
    model.split = find_split(ranks.front().trace, ranks.front().order);
    until = model.split.when;
    model.from = until.time_since_epoch();
  }
  std::int64_t earliest = ranks.front().trace.origin_us;
  for (const ReplayRank& rank : ranks) earliest = std::min(earliest, rank.trace.origin_us);
  std::vector<replaying::RankParts> parts;
  parts.reserve(ranks.size());
  for (const ReplayRank& rank : ranks) {
    replaying::RankParts& made = parts.emplace_back(rank, mode, until);
    made.shift =
        (ranks.size() > 1 ? replaying::origin(rank.trace, earliest) : Duration{0}) - model.from;
    replaying::add_streams(static_cast<std::uint32_t>(parts.size() - 1), made, model);
    model.delays.push_back(made.delays);
  }
  replaying::make_graph(parts, mode, model);
  model.platform = replaying::recorded_platform(parts);
  model.costs = CostTable(model.graph, model.platform);
  replaying::make_plan(parts, mode, model);
  return model;
}

double ReplayErrors::span_error() const {
  return measured_span == Duration{0} ? 0.0
                                      : static_cast<double>(replayed_span.count()) /
                                                static_cast<double>(measured_span.count()) -
                                            1.0;
}

ReplayErrors replay_errors(const ReplayModel& model, const Trace& replayed) {
  const auto measured = replaying::spans_of(model.measured, model.graph.task_count());
  ReplayErrors result;
  std::vector<double> starts;  // in us
  std::vector<double> durations;
  Time measured_end{};
  Time replayed_end{};
  for (const TaskSpan& span : replayed.tasks) {
    const TaskSpan& truth = *measured[span.task];
    if (model.is_pause(span.task)) {
      ++result.pauses;
      result.paused += span.duration();
      continue;
    }
    measured_end = std::max(measured_end, truth.ended);
    replayed_end = std::max(replayed_end, span.ended);
    if (model.given[span.task]) {
      ++result.given;
      continue;
    }
    ++result.tasks;
    starts.push_back(to_us(replaying::distance(span.started, truth.started)));
    if (truth.duration() > Duration{0}) {
      durations.push_back(std::abs(to_us(span.duration()) / to_us(truth.duration()) - 1.0));
    }
  }
  std::sort(starts.begin(), starts.end());
  std::sort(durations.begin(), durations.end());
  result.start_p50 = replaying::quantile(starts, 0.5);
  result.start_p90 = replaying::quantile(starts, 0.9);
  result.start_max = replaying::quantile(starts, 1.0);
  if (!durations.empty()) {
    result.duration_p50 = percentile(durations, 0.5);
    result.duration_p90 = percentile(durations, 0.9);
  }
  result.measured_span = measured_end.time_since_epoch();
  result.replayed_span = replayed_end.time_since_epoch();
  return result;
}

CollectiveSpread collective_spread(const ReplayModel& model, const Trace& replayed) {
  const auto measured = replaying::spans_of(model.measured, model.graph.task_count());
  const auto run = replaying::spans_of(replayed, model.graph.task_count());
  CollectiveSpread result;
  const auto& table = model.graph.collectives();
  for (const CollectiveId id : table.ids()) {
    ++result.collectives;
    const auto spread = [&](const auto& spans) {
      Time first = Time::max();
      Time last = Time::min();
      for (const TaskId task : table.tasks(id)) {
        first = std::min(first, spans[task]->ended);
        last = std::max(last, spans[task]->ended);
      }
      return last - first;
    };
    result.replayed = std::max(result.replayed, spread(run));
    result.measured = std::max(result.measured, spread(measured));
    for (const TaskId task : table.tasks(id)) {
      result.end_error_max = std::max(result.end_error_max,
                                      replaying::distance(run[task]->ended, measured[task]->ended));
    }
  }
  return result;
}

}  // namespace schedlab
