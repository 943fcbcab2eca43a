// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/graph_losses.hpp"
#include "workloads/traces/imported_trace.hpp"
#include "workloads/traces/launch_index.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace schedlab {
namespace {

class ProblemFinder {
 public:
  explicit ProblemFinder(ImportedTrace& trace) : trace_(&trace), index_(trace.calls) {}

  void run() {
    if (trace_->device_rows.empty()) add(Severity::notice, "no_device_activity", trace_->file);
    for (std::uint64_t i = 0; i < index_.duplicates(); ++i) {
      add(Severity::notice, "duplicate_correlation", "several calls have the same correlation");
    }
    compare_with_launches();
    find_launches_without_activity();
    find_losses();
    find_overlaps();
    find_crossings();
  }

 private:
  void add(Severity severity, const char* name, const std::string& example) {
    trace_->problems.add(severity, name, example);
  }

  [[nodiscard]] std::string describe(const DeviceRow& row) const {
    constexpr std::size_t longest_shown = 60;
    return fmt::format("{} on device {}, stream {} at {:.3f} us",
                       trace_->texts[row.name].substr(0, longest_shown),
                       row.device,
                       row.stream,
                       to_us(row.started));
  }
  /// Composes the text only for the first of its kind.
  [[nodiscard]] bool is_new(const char* name) const {
    return !trace_->problems.entries().contains(name);
  }
  void add(Severity severity, const char* name, const DeviceRow& row) {
    add(severity, name, is_new(name) ? describe(row) : std::string{});
  }

  void compare_with_launches() {
    active_.assign(trace_->calls.size(), false);
    for (const DeviceRow& row : trace_->device_rows) {
      const std::optional<std::uint32_t> call = index_.find(row.correlation);
      if (!call) {
        add(Severity::data_loss, "activity_without_launch", row);
        continue;
      }
      active_[*call] = true;
      if (row.started + trace_->resolution < trace_->calls[*call].started) {
        add(Severity::notice, "start_before_launch", row);
      }
    }
  }

  /// While a thread captures a device graph, what it launches does not run.
  void find_launches_without_activity() {
    std::map<HostThreadId, bool> capturing;
    for (std::size_t i = 0; i < trace_->calls.size(); ++i) {
      const CallRow& call = trace_->calls[i];
      const std::string_view name = trace_->texts[call.name];
      if (call.kind == CallKind::capture) {
        capturing[call.thread] = name.find("BeginCapture") != std::string_view::npos;
      }
      if (!launches(call.kind) || active_[i]) continue;
      const bool captured = capturing[call.thread];
      if (call.kind == CallKind::launch_graph && !captured) continue;  // a graph loss
      const char* const problem = captured ? "captured_launch" : "launch_without_activity";
      add(captured ? Severity::info : Severity::notice,
          problem,
          is_new(problem) ? fmt::format("{} with correlation {} at {:.3f} us",
                                        name,
                                        call.correlation,
                                        to_us(call.started))
                          : std::string{});
    }
  }

  void find_losses() {
    trace_->graph_losses = find_graph_losses(*trace_);
    for (const GraphLoss& loss : trace_->graph_losses) {
      add(Severity::data_loss, "graph_launch_under_recorded", schedlab::describe(*trace_, loss));
    }
  }

  /// Rows are sorted by start: whoever starts before the latest end on its stream overlaps.
  void find_overlaps() {
    std::map<std::pair<std::int32_t, std::int64_t>, const DeviceRow*> latest;
    for (const DeviceRow& row : trace_->device_rows) {
      const DeviceRow*& before = latest[{row.device, row.stream}];
      if (before != nullptr && row.started + trace_->resolution < before->ended) {
        const bool one_graph = row.correlation != 0 && row.correlation == before->correlation;
        add(one_graph ? Severity::info : Severity::notice,
            one_graph ? "overlap_in_graph_launch" : "overlap_on_stream",
            row);
      }
      if (before == nullptr || row.ended > before->ended) before = &row;
    }
  }

  /// Spans of one thread nest or are apart.
  void find_crossings() {
    std::map<HostThreadId, std::vector<Time>> open;  // ends, outer ones first
    for (const OperatorRow& row : trace_->operators) {
      std::vector<Time>& ends = open[row.thread];
      while (!ends.empty() && ends.back() <= row.started + trace_->resolution) ends.pop_back();
      if (!ends.empty() && ends.back() + trace_->resolution < row.ended) {
        add(Severity::notice,
            "operators_cross",
            is_new("operators_cross")
                ? fmt::format("{} at {:.3f} us", trace_->texts[row.name], to_us(row.started))
                : std::string{});
      }
      ends.push_back(row.ended);
    }
  }

  ImportedTrace* trace_;
  LaunchIndex index_;
  std::vector<bool> active_;  // by call: has an activity
};

}  // namespace

void find_problems(ImportedTrace& trace) {
  ProblemFinder{trace}.run();
}

}  // namespace schedlab
