// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/traces/imported_trace.hpp"
#include "workloads/traces/kineto_event.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace schedlab::detail {

/// Makes rows of events.
class KinetoRows {
 public:
  explicit KinetoRows(ImportedTrace& trace) : trace_(&trace) {}

  void add(const KinetoEvent& event);
  /// Joins the ends of arrows and names the threads: after the last event.
  void finish();

 private:
  struct Span {
    Time started{};
    Time ended{};
  };
  struct FlowEnd {
    TextId category;
    std::uint64_t id = 0;
    bool begins = false;
    HostThreadId thread;
    Time at{};
  };

  void add_span(const KinetoEvent& event);
  void note_overhead(const KinetoEvent& event, Span span);
  void add_device(const KinetoEvent& event, Span span);
  void add_accelerator(const KinetoEvent& event, Span span);
  void add_call(const KinetoEvent& event, Span span);
  void add_operator(const KinetoEvent& event, Span span);
  void add_synchronization(const KinetoEvent& event, Span span);
  void add_flow_end(const KinetoEvent& event);
  void join_flows();

  [[nodiscard]] std::optional<Time> time_of(const DecimalTime& time);
  [[nodiscard]] std::optional<Span> span_of(const KinetoEvent& event);
  [[nodiscard]] HostThreadId thread_of(const KinetoEvent& event);
  [[nodiscard]] RecordedCollectiveId collective_of(const KinetoEvent& event);
  void problem(Severity severity, const char* name, const KinetoEvent& event);

  ImportedTrace* trace_;
  bool has_origin_ = false;
  std::map<std::pair<std::int64_t, std::int64_t>, HostThreadId> threads_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::string> thread_names_;
  std::map<CollectiveInfo, RecordedCollectiveId> collectives_;
  std::vector<FlowEnd> flow_ends_;
};

}  // namespace schedlab::detail
