// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/imported_trace.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace schedlab {
namespace {

constexpr std::int64_t ps_per_us = 1'000'000;
constexpr std::int64_t ps_per_ns = 1'000;

/// Calls `visit` with the start and end of every row.
template <class Trace, class Visit>
void for_each_span(Trace& trace, const Visit& visit) {
  const auto all = [&](auto& rows) {
    for (auto& row : rows) visit(row.started, row.ended);
  };
  all(trace.device_rows);
  all(trace.calls);
  all(trace.operators);
  all(trace.device_annotations);
  all(trace.synchronizations);
}

template <class Row, class Key>
void sort_rows(std::vector<Row>& rows, const Key& key) {
  const auto before = [&](const Row& a, const Row& b) { return key(a) < key(b); };
  if (!std::is_sorted(rows.begin(), rows.end(), before)) {
    std::stable_sort(rows.begin(), rows.end(), before);
  }
}

void sort_all(ImportedTrace& trace) {
  const auto by_correlation = [](const auto& row) {
    return std::tuple{row.started, row.ended, row.correlation};
  };
  const auto outer_first = [](const auto& row) {
    return std::pair{row.started, -row.ended.time_since_epoch()};
  };
  sort_rows(trace.device_rows, by_correlation);
  sort_rows(trace.calls, by_correlation);
  sort_rows(trace.synchronizations, by_correlation);
  sort_rows(trace.operators, outer_first);
  sort_rows(trace.device_annotations, outer_first);
  sort_rows(trace.flows, [](const FlowRow& row) { return std::tuple{row.from, row.to, row.id}; });
}

/// All times are multiples of it, counted from a whole microsecond.
Duration resolution_of(const ImportedTrace& trace) {
  bool whole_us = true;
  bool whole_ns = true;
  for_each_span(trace, [&](Time started, Time ended) {
    for (const Time time : {started, ended}) {
      const std::int64_t ps = time.time_since_epoch().count();
      whole_us = whole_us && ps % ps_per_us == 0;
      whole_ns = whole_ns && ps % ps_per_ns == 0;
    }
  });
  return whole_us ? Duration{ps_per_us} : whole_ns ? Duration{ps_per_ns} : Duration{1};
}

}  // namespace

TextTable::TextTable(const TextTable& other) {
  for (const std::string& text : other.texts_) add(text);
}

TextTable& TextTable::operator=(const TextTable& other) {
  if (this != &other) *this = TextTable{other};
  return *this;
}

TextId TextTable::add(std::string_view text) {
  const auto found = ids_.find(text);
  if (found != ids_.end()) return found->second;
  const TextId id{static_cast<std::uint32_t>(texts_.size())};
  ids_.emplace(texts_.emplace_back(text), id);
  return id;
}

TextId TextTable::find(std::string_view text) const {
  const auto found = ids_.find(text);
  return found == ids_.end() ? TextId::none() : found->second;
}

std::string_view TextTable::operator[](TextId id) const {
  return id.valid() ? std::string_view{texts_[id.value()]} : std::string_view{};
}

ImportedCounts count(const ImportedTrace& trace) {
  ImportedCounts counts;
  std::set<std::pair<std::int32_t, std::int64_t>> streams;
  for (const DeviceRow& row : trace.device_rows) {
    counts.kernels += row.kind == DeviceActivityKind::kernel ? 1U : 0U;
    counts.copies += row.kind == DeviceActivityKind::copy ? 1U : 0U;
    counts.memsets += row.kind == DeviceActivityKind::memset ? 1U : 0U;
    streams.emplace(row.device, row.stream);
  }
  counts.streams = streams.size();
  for (const CallRow& call : trace.calls) {
    counts.launches += launches(call.kind) ? 1U : 0U;
    counts.graph_launches += call.kind == CallKind::launch_graph ? 1U : 0U;
  }
  Time first = Time::max();
  Time last = Time::min();
  for_each_span(trace, [&](Time started, Time ended) {
    first = std::min(first, started);
    last = std::max(last, ended);
  });
  if (first <= last) counts.span = last - first;
  return counts;
}

void put_in_order(ImportedTrace& trace) {
  trace.resolution = resolution_of(trace);
  Time first = Time::max();
  for_each_span(trace, [&](Time started, Time) { first = std::min(first, started); });
  if (first != Time::max()) {
    const Duration shift = first.time_since_epoch();
    for_each_span(trace, [&](Time& started, Time& ended) {
      started -= shift;
      ended -= shift;
    });
    for (FlowRow& flow : trace.flows) {
      flow.from -= shift;
      flow.to -= shift;
    }
    const std::int64_t ps = (trace.origin_rest + shift).count();
    const std::int64_t whole = ps / ps_per_us - (ps % ps_per_us < 0 ? 1 : 0);
    trace.origin_us += whole;
    trace.origin_rest = Duration{ps - whole * ps_per_us};
  }
  sort_all(trace);
}

}  // namespace schedlab
