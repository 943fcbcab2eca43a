// SPDX-License-Identifier: Apache-2.0
#include "studies/explanation/replay_report.hpp"

#include "sim/sweep/field_table.hpp"
#include "workloads/traces/kernel_overlap.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

Fields<WaitCounts> wait_fields() {
  using W = WaitCounts;
  return {{"recorded", &W::recorded},
          {"launch_order", &W::by_launch_order},
          {"running_work", &W::by_running_work},
          {"without_effect", &W::without_effect},
          {"unresolved", &W::unresolved},
          {"contradicted", &W::contradicted}};
}

/// One rank of a replay.
struct ReplayedRank {
  const ImportedTrace& trace;
  const ReconstructedTrace& order;
  const ReplayDelays& delays;
};

Fields<ReplayedRank> rank_fields() {
  using D = ReplayDelays;
  using R = ReplayedRank;
  return {{"trace", [](const R& r) { return r.trace.file; }},
          {"streams", [](const R& r) { return r.order.streams.size(); }},
          {"items", [](const R& r) { return r.order.items.size(); }},
          {"dependencies", [](const R& r) { return r.order.dependencies.size(); }},
          inlined<R>([](const R& r) { return data_loss(r.trace); }, data_loss_fields()),
          {"graph_losses", [](const R& r) { return graph_losses(r.trace); }, graph_loss_fields()},
          {"overlaps", [](const R& r) { return r.order.overlaps; }},
          {"stream_waits", [](const R& r) { return r.order.waits; }, wait_fields()},
          {"host_waits", [](const R& r) { return r.order.host_waits; }, wait_fields()},
          inlined<R>([](const R& r) -> const D& { return r.delays; },
                     {{"launch_latency_us", &D::launch_latency},
                      {"stream_gap_us", &D::stream_gap},
                      {"event_latency_us", &D::event_latency},
                      {"graph_node_gap_us", &D::graph_node_gap},
                      {"wake_up_us", &D::wake_up}})};
}

Fields<ChangedRun> change_fields() {
  using C = ChangedRun;
  return {{"change", &C::change},
          {"touched", [](const C& c) { return c.replay.touched; }},
          {"span_us", &C::span},
          {"compared_with_us", &C::compared_with},
          {"speed_up", &C::speed_up},
          {"base_span_error", &C::base_span_error},
          {"note", &C::note}};
}

Fields<ReplayErrors> error_fields() {
  using E = ReplayErrors;
  return {
      {"predicted", &E::tasks},
      {"given", &E::given},
      {"pauses", itself, Fields<E>{{"count", &E::pauses}, {"total_us", &E::paused}}},
      {"start_error_us",
       itself,
       Fields<E>{{"p50", &E::start_p50}, {"p90", &E::start_p90}, {"max", &E::start_max}}},
      {"duration_error", itself, Fields<E>{{"p50", &E::duration_p50}, {"p90", &E::duration_p90}}}};
}

Fields<ReplayReport> report_fields() {
  using C = CollectiveSpread;
  using E = ReplayErrors;
  using R = ReplayReport;
  const Fields<C> collectives{{"count", &C::collectives},
                              {"replayed_spread_us", &C::replayed},
                              {"measured_spread_us", &C::measured},
                              {"end_error_max_us", &C::end_error_max}};
  const auto ranks = [](const R& r) {
    std::vector<ReplayedRank> all;
    for (std::size_t i = 0; i < r.run.traces.size(); ++i) {
      all.push_back({r.run.traces[i], r.run.orders[i], r.model.delays[i]});
    }
    return all;
  };
  return {{"mode", [](const R& r) { return r.mode; }},
          {"cost_evidence", [](const R& r) { return r.evidence(); }},
          {"from_us", [](const R& r) { return r.model.from; }},
          {"iterations", [](const R& r) { return r.model.split.iterations; }},
          inlined<R>(&R::errors, error_fields()),
          {"unknown_durations", [](const R& r) { return r.model.unknown_durations; }},
          inlined<R>(&R::errors,
                     {{"measured_span_us", &E::measured_span},
                      {"replayed_span_us", &E::replayed_span},
                      {"span_error", &E::span_error}}),
          {"collectives", &R::collectives, collectives},
          {"ranks", ranks, rank_fields()},
          {"what_if", &R::what_if, change_fields()}};
}

}  // namespace

std::string replay_text(const ReplayReport& report) {
  const ReplayErrors& errors = report.errors;
  std::string text;
  std::string mark;
  for (const ImportedTrace& trace : report.run.traces) {
    const DataLoss loss = data_loss(trace);
    for (const std::string& said : {loss.lost, loss.assumed}) {
      if (!said.empty()) text += fmt::format("{}: {}\n", trace.file, said);
    }
    mark = mark.empty() ? loss.mark() : mark;
  }
  text +=
      fmt::format("{} ({})\n",
                  report.run.traces.size() == 1 ? report.run.traces.front().file
                                                : fmt::format("{} ranks", report.run.traces.size()),
                  to_string(report.mode));
  if (splits(report.mode)) {
    text += fmt::format("  learned before {:.3f} us, predicted from there; iterations: {}\n",
                        exact_us(report.model.from),
                        report.model.split.iterations);
    if (report.model.split.iterations == 0) {
      text += "  note: nothing repeats in this trace, so the prediction is an extrapolation\n";
    }
  }
  text += fmt::format("  span {:.3f} us, replayed {:.3f} us ({:+.2f} %){}\n",
                      exact_us(errors.measured_span),
                      exact_us(errors.replayed_span),
                      100 * errors.span_error(),
                      mark);
  text += fmt::format(
      "  {} starts predicted, {} given; errors: half below {:.3f} us, 90 % below {:.3f} us, all "
      "below {:.3f} us\n",
      errors.tasks,
      errors.given,
      exact_us(errors.start_p50),
      exact_us(errors.start_p90),
      exact_us(errors.start_max));
  if (report.mode == ReplayMode::calibrated) {
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
  Json document{{"schedlab", "replay"}, {"version", 1}};
  report_fields().add_to(document, report);
  return document.dump(2) + "\n";
}

std::string replay_schema() {
  return schema::file("replay.json of schedlab replay", "replay", report_fields().schema())
             .dump(2) +
         "\n";
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
                           "assumed",
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
                          Cell{std::int64_t{row.assumed ? 1 : 0}},
                          Cell{exact_us(measured.started)},
                          Cell{exact_us(span->started)},
                          Cell{exact_us(span->started - measured.started)},
                          Cell{exact_us(measured.duration())},
                          Cell{exact_us(span->duration())}});
  }
  return table;
}

Table replay_overlaps(const ReplayReport& report) {
  using Row = PartOf<ImportedTrace, KernelOverlap>;
  const auto shape = [](const std::array<std::uint32_t, 3>& of) {
    return fmt::format("{}x{}x{}", of[0], of[1], of[2]);
  };
  const auto median = [](const std::vector<Duration>& of) { return KernelOverlap::median(of); };
  static const Fields<Row> fields{
      {"rank", [](const Row& r) { return r.whole.rank; }},
      {"operation", [](const Row& r) { return std::string{r.whole.texts[r.part.name]}; }},
      {"grid", [shape](const Row& r) { return shape(r.part.grid); }},
      {"block", [shape](const Row& r) { return shape(r.part.block); }},
      {"alone", [](const Row& r) { return r.part.alone.size(); }},
      {"alone_us", [median](const Row& r) { return median(r.part.alone); }},
      {"beside", [](const Row& r) { return r.part.beside.size(); }},
      {"beside_us", [median](const Row& r) { return median(r.part.beside); }},
      {"alone_known", [](const Row& r) { return r.part.known_alone() > Duration{0} ? 1 : 0; }}};
  Table table;
  for (const ImportedTrace& trace : report.run.traces) {
    const std::vector<KernelOverlap> overlaps = kernel_overlaps(trace);
    Table rows = table_of(fields, parts_of(trace, overlaps));
    table.columns = rows.columns;
    std::move(rows.rows.begin(), rows.rows.end(), std::back_inserter(table.rows));
  }
  return table;
}

Table replay_changes(const ReplayReport& report) {
  return table_of(change_fields(), report.what_if);
}

}  // namespace schedlab
