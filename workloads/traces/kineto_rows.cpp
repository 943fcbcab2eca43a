// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/kineto_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>

namespace schedlab::detail {
namespace {

constexpr std::int64_t ps_per_us = 1'000'000;
/// No time is further from the first row's, no span longer: sums of the two, and differences of
/// such sums, fit into 63 bits of picoseconds (106 days).
constexpr std::int64_t longest_us = std::int64_t{25} * 24 * 3600 * 1'000'000;

// CUPTI's numbers for "none" are the largest of 32 bits (CUpti_ActivitySynchronization).
constexpr std::int64_t none_of_32_bits = std::numeric_limits<std::uint32_t>::max();

/// A stream, event or id: negative and CUPTI's "none" are -1.
std::int64_t id_or_none(std::int64_t number) {
  return number < 0 || number == none_of_32_bits ? -1 : number;
}
/// The same, with 0 for "none".
std::uint64_t id_or_zero(std::int64_t number) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(id_or_none(number), 0));
}
/// Schema of 2021: 0 is no operator; ids begin with 1.
std::int64_t operator_id(std::int64_t number) {
  return number > 0 ? number : -1;
}

template <class Number>
Number clamped(std::int64_t number) {
  return static_cast<Number>(std::clamp<std::int64_t>(
      number, std::numeric_limits<Number>::min(), std::numeric_limits<Number>::max()));
}

/// Operators and annotations have arguments of their own with the names of what launches have: a
/// "grid" of theirs is not the grid of a launch.
bool concerns(KinetoCategory category, std::string_view field) {
  if (category != KinetoCategory::cpu_operator && category != KinetoCategory::annotation &&
      category != KinetoCategory::device_annotation) {
    return true;
  }
  constexpr std::array<std::string_view, 9> read = {"ts",
                                                    "dur",
                                                    "id",
                                                    "args",
                                                    "External id",
                                                    "external id",
                                                    "Record function id",
                                                    "Sequence number",
                                                    "Fwd thread id"};
  return std::find(read.begin(), read.end(), field) != read.end();
}

SyncRowKind sync_kind(std::string_view word) {
  if (word == "Event Sync") return SyncRowKind::event;
  if (word == "Stream Wait Event") return SyncRowKind::stream_wait_event;
  if (word == "Stream Sync") return SyncRowKind::stream;
  if (word == "Context Sync") return SyncRowKind::context;
  return SyncRowKind::unknown;
}

}  // namespace

void KinetoRows::problem(Severity severity, const char* name, const KinetoEvent& event) {
  const bool is_new = !trace_->problems.entries().contains(name);
  constexpr std::size_t longest_shown = 60;
  trace_->problems.add(severity,
                       name,
                       is_new ? fmt::format("{} \"{}\" on {}/{}",
                                            event.category_name.substr(0, longest_shown),
                                            event.name.substr(0, longest_shown),
                                            event.process,
                                            event.thread)
                              : std::string{});
}

void KinetoRows::add(const KinetoEvent& event) {
  if (event.phase == 'X') {
    add_span(event);
  } else if (event.phase == 'M') {
    if (event.name == "thread_name") {
      thread_names_[{event.process, event.thread}] = std::string{event.label};
    }
  } else if (event.phase == 's' || event.phase == 'f') {
    if (event.category != KinetoCategory::ignored) add_flow_end(event);
  } else if (event.phase == 'B' || event.phase == 'E') {
    problem(Severity::data_loss, "begin_end_event", event);
  } else if (event.phase == 0) {
    problem(Severity::data_loss, "event_without_phase", event);
  }
}

std::optional<Time> KinetoRows::time_of(const DecimalTime& time) {
  if (!has_origin_) {
    has_origin_ = true;
    trace_->origin_us = time.us;
  }
  // Written so that no difference overflows.
  if (time.us < trace_->origin_us - longest_us || time.us > trace_->origin_us + longest_us) {
    return std::nullopt;
  }
  return Time{Duration{(time.us - trace_->origin_us) * ps_per_us + time.ps}};
}

std::optional<KinetoRows::Span> KinetoRows::span_of(const KinetoEvent& event) {
  if (!event.started) {
    problem(Severity::data_loss, "event_without_time", event);
    return std::nullopt;
  }
  constexpr std::int64_t latest = std::numeric_limits<std::int64_t>::max() - 2 * longest_us;
  if (event.started->us < -latest || event.started->us > latest) {
    problem(Severity::data_loss, "time_out_of_range", event);
    return std::nullopt;
  }
  const std::optional<Time> started = time_of(*event.started);
  DecimalTime lasted = event.lasted.value_or(DecimalTime{});
  if (!event.lasted) {
    problem(Severity::notice, "span_without_end", event);
  } else if (lasted.us < 0) {
    problem(Severity::notice, "negative_duration", event);
    lasted = {};
  }
  if (!started || lasted.us > longest_us) {
    problem(Severity::data_loss, "time_out_of_range", event);
    return std::nullopt;
  }
  return Span{.started = *started, .ended = *started + Duration{lasted.us * ps_per_us + lasted.ps}};
}

void KinetoRows::add_span(const KinetoEvent& event) {
  if (event.category == KinetoCategory::ignored) return;
  if (event.category == KinetoCategory::none || event.category == KinetoCategory::other) {
    problem(Severity::notice, "unknown_category", event);
    return;
  }
  const std::optional<Span> span = span_of(event);
  if (!span) return;
  if (!event.unreadable_field.empty() && concerns(event.category, event.unreadable_field)) {
    const std::string name = fmt::format("unreadable_field: {}", event.unreadable_field);
    problem(Severity::notice, name.c_str(), event);
  }
  switch (event.category) {
    case KinetoCategory::kernel:
    case KinetoCategory::copy:
    case KinetoCategory::memset:
      return add_device(event, *span);
    case KinetoCategory::call:
      return add_call(event, *span);
    case KinetoCategory::device_annotation:
      trace_->device_annotations.push_back({.name = trace_->texts.add(event.name),
                                            .started = span->started,
                                            .ended = span->ended,
                                            .device = clamped<std::int32_t>(event.process),
                                            .stream = event.thread,
                                            .external_id = operator_id(event.external_id)});
      return;
    case KinetoCategory::synchronization:
      return add_synchronization(event, *span);
    case KinetoCategory::accelerator:
      return add_accelerator(event, *span);
    case KinetoCategory::profiler:
      return note_overhead(event, *span);
    default:
      return add_operator(event, *span);
  }
}

/// Short ones are many and tell nothing.
void KinetoRows::note_overhead(const KinetoEvent& event, Span span) {
  constexpr Duration shortest = std::chrono::microseconds{100};
  if (span.ended - span.started < shortest) return;
  trace_->problems.add(Severity::notice,
                       "profiler_overhead",
                       fmt::format("{} held the program up for {:.0f} us from {:.0f} us on",
                                   event.name,
                                   to_us(span.ended - span.started),
                                   to_us(span.started - Time{})));
}

void KinetoRows::add_device(const KinetoEvent& event, Span span) {
  if (event.graph > 0 && event.graph_node == 0 && event.name == "CUDA graph") {
    // A graph as a whole; its nodes are rows if they were recorded.
    problem(Severity::info, "graph_span", event);
    return;
  }
  DeviceRow row;
  row.name = trace_->texts.add(event.name);
  row.kind = event.category == KinetoCategory::kernel ? DeviceActivityKind::kernel
             : event.category == KinetoCategory::copy ? DeviceActivityKind::copy
                                                      : DeviceActivityKind::memset;
  row.started = span.started;
  row.ended = span.ended;
  // The track is that of the device and the stream; what "args" says of them counts first.
  row.device = clamped<std::int32_t>(event.device >= 0 ? event.device : event.process);
  row.stream = event.stream >= 0 ? event.stream : event.thread;
  row.correlation = id_or_zero(event.correlation);
  row.external_id = operator_id(event.external_id);
  row.graph = id_or_zero(event.graph);
  row.graph_node = static_cast<std::uint64_t>(std::max<std::int64_t>(event.graph_node, 0));
  row.bytes = Bytes{std::max<std::int64_t>(event.bytes, -1)};
  row.grid = event.grid;
  row.block = event.block;
  row.registers_per_thread = clamped<std::uint32_t>(event.registers_per_thread);
  row.shared_memory = Bytes{std::max<std::int64_t>(event.shared_memory, 0)};
  row.priority = clamped<std::int32_t>(event.priority);
  row.collective = collective_of(event);
  trace_->device_rows.push_back(row);
}

/// What MTIA's control processor did: copies, programs, and the two halves of an event. A wait is
/// no work, but says who waits for whom.
void KinetoRows::add_accelerator(const KinetoEvent& event, Span span) {
  if (event.name == "event_record") return;
  if (event.name == "event_wait") {
    KinetoEvent wait = event;
    wait.synchronization = "Stream Wait Event";
    return add_synchronization(wait, span);
  }
  KinetoEvent work = event;
  work.category = event.direction.empty() ? KinetoCategory::kernel : KinetoCategory::copy;
  const std::string name = event.direction.empty()
                               ? std::string{event.name}
                               : fmt::format("{} ({})", event.name, event.direction);
  work.name = name;
  add_device(work, span);
}

void KinetoRows::add_call(const KinetoEvent& event, Span span) {
  // MTIA writes the device's side of a call, too.
  if (event.category_name == "mtia_runtime" && event.process == event.device) return;
  trace_->calls.push_back({.name = trace_->texts.add(event.name),
                           .kind = call_kind(event.name),
                           .thread = thread_of(event),
                           .started = span.started,
                           .ended = span.ended,
                           .correlation = id_or_zero(event.correlation),
                           .external_id = operator_id(event.external_id),
                           .stream = id_or_none(event.stream),
                           .event = static_cast<std::uint64_t>(event.event)});
}

void KinetoRows::add_operator(const KinetoEvent& event, Span span) {
  OperatorKind kind = OperatorKind::annotation;
  if (event.category == KinetoCategory::cpu_operator) kind = OperatorKind::cpu_operator;
  if (event.category == KinetoCategory::python_function) kind = OperatorKind::python_function;
  // In 2021 iterations were operators.
  if (event.name.starts_with("ProfilerStep#")) kind = OperatorKind::iteration;
  OperatorRow row{.name = trace_->texts.add(event.name),
                  .kind = kind,
                  .thread = thread_of(event),
                  .started = span.started,
                  .ended = span.ended,
                  .external_id = operator_id(event.external_id),
                  .record_function = operator_id(event.record_function),
                  .sequence_number = std::max<std::int64_t>(event.sequence_number, -1),
                  .forward_thread = event.forward_thread,
                  .shapes = TextId::none(),
                  .types = TextId::none(),
                  .collective = collective_of(event)};
  if (!event.shapes.empty()) row.shapes = trace_->texts.add(event.shapes);
  if (!event.types.empty()) row.types = trace_->texts.add(event.types);
  trace_->operators.push_back(row);
}

void KinetoRows::add_synchronization(const KinetoEvent& event, Span span) {
  trace_->synchronizations.push_back(
      {.kind = sync_kind(event.synchronization.empty() ? event.name : event.synchronization),
       .started = span.started,
       .ended = span.ended,
       .device = clamped<std::int32_t>(event.device >= 0 ? event.device : event.process),
       .stream = id_or_none(event.stream),
       .correlation = id_or_zero(event.correlation),
       .event = id_or_none(event.wait_on_event),
       .wait_on_stream = id_or_none(event.wait_on_stream),
       .record_correlation = id_or_zero(event.wait_on_record)});
}

void KinetoRows::add_flow_end(const KinetoEvent& event) {
  if (!event.started || !has_origin_) return;
  const std::optional<Time> at = time_of(*event.started);
  if (!at) return;
  flow_ends_.push_back({.category = trace_->texts.add(event.category_name),
                        .id = static_cast<std::uint64_t>(event.flow),
                        .begins = event.phase == 's',
                        .thread = thread_of(event),
                        .at = *at});
}

/// An arrow whose other end is missing says nothing.
void KinetoRows::join_flows() {
  const auto key = [](const FlowEnd& end) { return std::pair{end.category, end.id}; };
  std::stable_sort(flow_ends_.begin(), flow_ends_.end(), [&](const FlowEnd& a, const FlowEnd& b) {
    return std::tuple{key(a), !a.begins} < std::tuple{key(b), !b.begins};
  });
  for (std::size_t i = 0; i + 1 < flow_ends_.size(); ++i) {
    const FlowEnd& from = flow_ends_[i];
    const FlowEnd& to = flow_ends_[i + 1];
    if (key(from) != key(to) || !from.begins || to.begins) continue;
    trace_->flows.push_back({.category = from.category,
                             .id = from.id,
                             .from_thread = from.thread,
                             .from = from.at,
                             .to_thread = to.thread,
                             .to = to.at});
  }
  flow_ends_.clear();
}

HostThreadId KinetoRows::thread_of(const KinetoEvent& event) {
  const auto [known, is_new] =
      threads_.try_emplace({event.process, event.thread}, HostThreadId::none());
  if (is_new) {
    known->second =
        trace_->threads.push_back({.process = event.process, .thread = event.thread, .name = {}});
  }
  return known->second;
}

RecordedCollectiveId KinetoRows::collective_of(const KinetoEvent& event) {
  if (!event.has_collective) return RecordedCollectiveId::none();
  const auto [known, is_new] =
      collectives_.try_emplace(event.collective, RecordedCollectiveId::none());
  if (is_new) known->second = trace_->collectives.push_back(event.collective);
  return known->second;
}

void KinetoRows::finish() {
  join_flows();
  for (const auto& [place, id] : threads_) {
    const auto name = thread_names_.find(place);
    if (name != thread_names_.end()) trace_->threads[id].name = name->second;
  }
}

}  // namespace schedlab::detail
