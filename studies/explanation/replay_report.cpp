// SPDX-License-Identifier: Apache-2.0
#include "studies/explanation/replay_report.hpp"

#include "sim/base/schema_parts.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <string>
#include <utility>

namespace schedlab {
namespace {

using Json = nlohmann::ordered_json;

/// As a number that is written with the digits of the trace's times (to_us multiplies by a number
/// that has no exact form).
double exact_us(Duration d) {
  return static_cast<double>(d.count()) / 1e6;
}
double exact_us(Time t) {
  return exact_us(t.time_since_epoch());
}

Json waits_json(const WaitCounts& waits) {
  return {{"recorded", waits.recorded},
          {"launch_order", waits.by_launch_order},
          {"running_work", waits.by_running_work},
          {"without_effect", waits.without_effect},
          {"unresolved", waits.unresolved},
          {"contradicted", waits.contradicted}};
}

Json rank_json(const ReplayReport& report, std::size_t rank) {
  const ReplayDelays& delays = report.model.delays[rank];
  const ReconstructedTrace& order = report.run.orders[rank];
  return {{"trace", report.run.traces[rank].file},
          {"streams", order.streams.size()},
          {"items", order.items.size()},
          {"ties", order.ties.size()},
          {"overlaps", order.overlaps},
          {"stream_waits", waits_json(order.waits)},
          {"host_waits", waits_json(order.host_waits)},
          {"launch_latency_us", exact_us(delays.launch_latency)},
          {"stream_gap_us", exact_us(delays.stream_gap)},
          {"event_latency_us", exact_us(delays.event_latency)},
          {"graph_node_gap_us", exact_us(delays.graph_node_gap)},
          {"wake_up_us", exact_us(delays.wake_up)}};
}

Json change_json(const ChangedRun& change) {
  return {{"change", change.change},
          {"touched", change.replay.touched},
          {"span_us", exact_us(change.span)},
          {"compared_with_us", exact_us(change.compared_with)},
          {"speed_up", change.speed_up()},
          {"base_span_error", change.base_span_error},
          {"note", change.note}};
}

Json list_schema(Json items) {
  return {{"type", "array"}, {"items", std::move(items)}};
}

}  // namespace

std::string replay_text(const ReplayReport& report) {
  const ReplayErrors& errors = report.errors;
  std::string text =
      fmt::format("{} ({})\n",
                  report.run.traces.size() == 1 ? report.run.traces.front().file
                                                : fmt::format("{} ranks", report.run.traces.size()),
                  to_string(report.strength));
  if (splits(report.strength)) {
    text += fmt::format("  learned before {:.3f} us, predicted from there; iterations: {}\n",
                        exact_us(report.model.from),
                        report.model.split.iterations);
    if (report.model.split.iterations == 0) {
      text += "  note: nothing repeats in this trace, so the prediction is an extrapolation\n";
    }
  }
  text += fmt::format("  span {:.3f} us, replayed {:.3f} us ({:+.2f} %)\n",
                      exact_us(errors.measured_span),
                      exact_us(errors.replayed_span),
                      100 * errors.span_error());
  text += fmt::format(
      "  {} starts predicted, {} given; errors: half below {:.3f} us, 90 % below {:.3f} us, all "
      "below {:.3f} us\n",
      errors.tasks,
      errors.given,
      exact_us(errors.start_p50),
      exact_us(errors.start_p90),
      exact_us(errors.start_max));
  if (report.strength == ReplayStrength::calibrated) {
    text += fmt::format(
        "  errors of durations: half below {:.1f} %, 90 % below {:.1f} %; {} kernels not seen "
        "before\n",
        100 * errors.duration_p50,
        100 * errors.duration_p90,
        report.model.unknown_durations);
  }
  if (report.collectives.collectives > 0) {
    text += fmt::format(
        "  {} collectives end at most {:.3f} us apart (measured {:.3f} us), at most {:.3f} us from "
        "when they did\n",
        report.collectives.collectives,
        exact_us(report.collectives.replayed),
        exact_us(report.collectives.measured),
        exact_us(report.collectives.end_error_max));
  }
  if (errors.pauses > 0) {
    text += fmt::format(
        "  {} waits that nothing in the profile explains are as long as they were: {:.3f} us\n",
        errors.pauses,
        exact_us(errors.paused));
  }
  if (!report.what_if.empty())
    text += "what if (behind each: how far off what it starts from is)\n";
  for (const ChangedRun& change : report.what_if) {
    text += fmt::format("  {:32} {:14.3f} us, {:.3f} times as fast ({:+.3f} us), {:+.2f} % off\n",
                        change.change,
                        exact_us(change.span),
                        change.speed_up(),
                        exact_us(change.span - change.compared_with),
                        100 * change.base_span_error);
    if (change.replay.touched == 0) text += "    note: it changes nothing here\n";
    if (!change.note.empty()) text += fmt::format("    note: {}\n", change.note);
  }
  return text;
}

std::string replay_json(const ReplayReport& report) {
  const ReplayErrors& errors = report.errors;
  Json ranks = Json::array();
  for (std::size_t rank = 0; rank < report.run.traces.size(); ++rank) {
    ranks.push_back(rank_json(report, rank));
  }
  Json changes = Json::array();
  for (const ChangedRun& change : report.what_if) changes.push_back(change_json(change));
  const Json document{
      {"schedlab", "replay"},
      {"version", 1},
      {"strength", to_string(report.strength)},
      {"from_us", exact_us(report.model.from)},
      {"iterations", report.model.split.iterations},
      {"predicted", errors.tasks},
      {"given", errors.given},
      {"pauses", {{"count", errors.pauses}, {"total_us", exact_us(errors.paused)}}},
      {"start_error_us",
       {{"p50", exact_us(errors.start_p50)},
        {"p90", exact_us(errors.start_p90)},
        {"max", exact_us(errors.start_max)}}},
      {"duration_error", {{"p50", errors.duration_p50}, {"p90", errors.duration_p90}}},
      {"unknown_durations", report.model.unknown_durations},
      {"measured_span_us", exact_us(errors.measured_span)},
      {"replayed_span_us", exact_us(errors.replayed_span)},
      {"span_error", errors.span_error()},
      {"collectives",
       {{"count", report.collectives.collectives},
        {"replayed_spread_us", exact_us(report.collectives.replayed)},
        {"measured_spread_us", exact_us(report.collectives.measured)},
        {"end_error_max_us", exact_us(report.collectives.end_error_max)}}},
      {"ranks", std::move(ranks)},
      {"what_if", std::move(changes)}};
  return document.dump(2) + "\n";
}

std::string replay_schema() {
  const Json number{{"type", "number"}};
  const Json text{{"type", "string"}};
  const Json count{{"type", "integer"}, {"minimum", 0}};
  const Json waits = schema::whole_object({{"recorded", count},
                                           {"launch_order", count},
                                           {"running_work", count},
                                           {"without_effect", count},
                                           {"unresolved", count},
                                           {"contradicted", count}});
  const Json rank = schema::whole_object({{"trace", text},
                                          {"streams", count},
                                          {"items", count},
                                          {"ties", count},
                                          {"overlaps", count},
                                          {"stream_waits", waits},
                                          {"host_waits", waits},
                                          {"launch_latency_us", number},
                                          {"stream_gap_us", number},
                                          {"event_latency_us", number},
                                          {"graph_node_gap_us", number},
                                          {"wake_up_us", number}});
  const Json change = schema::whole_object({{"change", text},
                                            {"touched", count},
                                            {"span_us", number},
                                            {"compared_with_us", number},
                                            {"speed_up", number},
                                            {"base_span_error", number},
                                            {"note", text}});
  const Json file = schema::whole_object(
      {{"strength",
        {{"enum", {"copied_launches", "copied_host_work", "generated_host", "calibrated"}}}},
       {"from_us", number},
       {"iterations", count},
       {"predicted", count},
       {"given", count},
       {"pauses", schema::whole_object({{"count", count}, {"total_us", number}})},
       {"start_error_us",
        schema::whole_object({{"p50", number}, {"p90", number}, {"max", number}})},
       {"duration_error", schema::whole_object({{"p50", number}, {"p90", number}})},
       {"unknown_durations", count},
       {"measured_span_us", number},
       {"replayed_span_us", number},
       {"span_error", number},
       {"collectives",
        schema::whole_object({{"count", count},
                              {"replayed_spread_us", number},
                              {"measured_spread_us", number},
                              {"end_error_max_us", number}})},
       {"ranks", list_schema(rank)},
       {"what_if", list_schema(change)}});
  return schema::file("replay.json of schedlab replay", "replay", file).dump(2) + "\n";
}

Table replay_items(const ReplayReport& report) {
  Table table;
  for (const char* name : {"rank",
                           "stream",
                           "correlation",
                           "graph",
                           "graph_node",
                           "name",
                           "given",
                           "measured_start_us",
                           "replayed_start_us",
                           "start_error_us",
                           "measured_duration_us",
                           "replayed_duration_us"}) {
    table.columns.push_back({name});
  }
  IdVector<TaskId, const TaskSpan*> replayed(report.model.graph.task_count(), nullptr);
  for (const TaskSpan& span : report.trace.tasks) replayed[span.task] = &span;
  const auto known = [](std::uint64_t number) {
    return number == 0 ? Cell{} : Cell{static_cast<std::int64_t>(number)};
  };
  for (const TaskSpan& measured : report.model.measured.tasks) {
    const TaskSpan* span = replayed[measured.task];
    if (span == nullptr) continue;
    const ReplayModel::Origin& origin = report.model.origins[measured.task];
    const DeviceRow row =
        origin.pause != 0 ? DeviceRow{} : report.run.traces[origin.rank].device_rows[origin.row];
    table.rows.push_back({Cell{std::int64_t{origin.rank}},
                          Cell{report.model.plan.stream_name(measured.stream)},
                          known(row.correlation),
                          known(row.graph),
                          known(row.graph_node),
                          Cell{report.model.graph.operation(measured.task).name},
                          Cell{std::int64_t{report.model.given[measured.task] ? 1 : 0}},
                          Cell{exact_us(measured.started)},
                          Cell{exact_us(span->started)},
                          Cell{exact_us(span->started - measured.started)},
                          Cell{exact_us(measured.duration())},
                          Cell{exact_us(span->duration())}});
  }
  return table;
}

Table replay_changes(const ReplayReport& report) {
  Table table;
  for (const char* name : {"change",
                           "touched",
                           "span_us",
                           "compared_with_us",
                           "speed_up",
                           "base_span_error",
                           "note"}) {
    table.columns.push_back({name});
  }
  for (const ChangedRun& change : report.what_if) {
    table.rows.push_back({Cell{change.change},
                          Cell{std::int64_t{change.replay.touched}},
                          Cell{exact_us(change.span)},
                          Cell{exact_us(change.compared_with)},
                          Cell{change.speed_up()},
                          Cell{change.base_span_error},
                          Cell{change.note}});
  }
  return table;
}

}  // namespace schedlab
