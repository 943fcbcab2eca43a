// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/metrics_json.hpp"

#include "sim/trace/text_buffer.hpp"
#include "sim/trace/utilization.hpp"

namespace schedlab {

namespace {

/// Writes one JSON object, a key per line.
class ObjectWriter {
 public:
  ObjectWriter(TextBuffer& out, int depth, bool one_line = false)
      : out_(out), depth_(depth), one_line_(one_line) {
    out_ << '{';
  }
  void close() {
    if (!one_line_) line(depth_ - 1);
    out_ << '}';
  }
  TextBuffer& key(std::string_view name) {
    if (!first_) out_ << (one_line_ ? ", " : ",");
    first_ = false;
    if (!one_line_) line(depth_);
    out_.json_string(name) << ": ";
    return out_;
  }
  template <class Value>
  void number(std::string_view name, Value value) {
    key(name) << value;
  }
  void text(std::string_view name, std::string_view value) { key(name).json_string(value); }
  /// NAME_us and NAME_ps.
  void time(std::string_view name, Duration value) {
    key(std::string{name} + "_us").microseconds(value.count());
    key(std::string{name} + "_ps") << value.count();
  }

 private:
  void line(int depth) {
    out_ << '\n';
    for (int i = 0; i < depth; ++i) out_ << "  ";
  }

  TextBuffer& out_;
  int depth_;
  bool one_line_;
  bool first_ = true;
};

/// A list of objects, one per line.
template <class Items, class Write>
void write_list(TextBuffer& out, const Items& items, const Write& write) {
  out << '[';
  bool first = true;
  for (const auto& item : items) {
    out << (first ? "\n    " : ",\n    ");
    first = false;
    ObjectWriter object{out, 2, true};
    write(object, item);
    object.close();
  }
  out << (first ? "]" : "\n  ]");
}

void write_summary(ObjectWriter& root, const Metrics& metrics) {
  root.time("makespan", metrics.makespan);
  root.number("utilization", metrics.utilization);
  root.number("busy_share", metrics.busy_share);
  root.number("mean_concurrency", metrics.mean_concurrency);
  root.number("overlap_share", metrics.overlap_share);
  root.number("matmul_share", metrics.matmul_share);
  root.time("overlap", metrics.overlap);
  root.time("critical_busy", metrics.critical_busy);
  root.number("host_busy_share", metrics.host_busy_share);
  root.number("host_bound_share", metrics.host_bound_share);
  root.time("host_blocked", metrics.host_blocked);
  root.time("load", metrics.load);
  root.time("head_overhead", metrics.head_overhead);
  root.time("collective_wait", metrics.collective_wait);
  root.number("peak_memory_bytes", metrics.peak_memory.count());
  if (metrics.bubble_share) root.number("bubble_share", *metrics.bubble_share);
  if (!metrics.stage_peak_memory.empty()) {
    TextBuffer& out = root.key("stage_peak_memory_bytes");
    std::string_view separator = "[";
    for (const Bytes peak : metrics.stage_peak_memory) {
      out << separator << peak.count();
      separator = ", ";
    }
    out << ']';
  }
  root.number("tasks", metrics.tasks);
  root.number("launches", metrics.launches);
  root.number("host_calls", metrics.host_calls);
  root.number("records", metrics.records);
  root.number("waits", metrics.waits);
  root.number("queries", metrics.queries);
  root.number("events", metrics.events);
  root.number("streams", metrics.streams);
}

void write_over_time(TextBuffer& out, const TraceDocument& document) {
  constexpr std::size_t count = 100;  // a hundredth of the run each
  const auto slices = utilization_in_slices(utilization_over_time(document), count);
  ObjectWriter object{out, 2};
  object.number("slices", slices.size());
  const auto curve = [&](std::string_view name, double UtilizationSlice::*value) {
    object.key(name) << '[';
    std::string_view separator;
    for (const UtilizationSlice& slice : slices) {
      (out << separator).rounded(slice.*value, 6);
      separator = ", ";
    }
    out << ']';
  };
  curve("utilization", &UtilizationSlice::utilization);
  curve("running", &UtilizationSlice::running);
  curve("critical", &UtilizationSlice::critical);
  object.close();
}

void write_bounds(TextBuffer& out, const Metrics& metrics) {
  ObjectWriter bounds{out, 2};
  bounds.time("critical_path", metrics.bounds.critical_path);
  bounds.time("work", metrics.bounds.work);
  bounds.time("host_issue", metrics.bounds.host_issue);
  bounds.text("largest", metrics.bounds.largest_name());
  bounds.number("gap", metrics.gap);
  bounds.close();
}

void write_samples(TextBuffer& out, const Samples& samples) {
  ObjectWriter object{out, 2};
  object.number("count", samples.count());
  const std::vector<SampleSummary> summaries = samples.summaries();
  for (std::size_t i = 0; i < summaries.size(); ++i) {
    if (summaries[i].count == 0) continue;
    ObjectWriter line{object.key(sampled_metrics()[i].name), 3, true};
    line.number("mean", summaries[i].mean);
    line.number("mean_low", summaries[i].mean_low);
    line.number("mean_high", summaries[i].mean_high);
    line.number("median", summaries[i].median);
    line.number("p5", summaries[i].p5);
    line.number("p95", summaries[i].p95);
    line.close();
  }
  object.close();
}

void write_memory(ObjectWriter& line, const DeviceMemory& memory) {
  line.text("device", memory.device);
  line.number("capacity_bytes", memory.capacity.count());
  line.number("persistent_bytes", memory.persistent.count());
  line.number("peak_bytes", memory.peak.count());
  line.number("peak_at_ps", memory.peak_at.time_since_epoch().count());
  TextBuffer& out = line.key("held_at_peak");
  out << '[';
  std::string_view separator;
  for (const MemoryHolder& holder : memory.holders) {
    out << separator;
    separator = ", ";
    ObjectWriter object{out, 3, true};
    object.text("name", holder.name);
    object.number("tensors", holder.tensors);
    object.number("bytes", holder.bytes.count());
    object.close();
  }
  out << ']';
}

void write_path(TextBuffer& out, const TraceCriticalPath& path, const TaskGraph& graph) {
  ObjectWriter object{out, 2};
  object.time("running", path.running);
  object.time("slowed", path.slowed);
  for (std::size_t i = 0; i < path_cause_count; ++i) {
    const auto cause = static_cast<PathCause>(i);
    object.time("waited_for_" + std::string{to_string(cause)}, path.waited_for(cause));
  }
  object.time("tail", path.tail);
  write_list(object.key("tasks"), path.steps, [&graph](ObjectWriter& line, const PathStep& step) {
    line.text("task", graph.name(step.task));
    line.text("cause", to_string(step.cause));
    line.number("waited_ps", step.waited.count());
    line.number("ran_ps", step.ran.count());
    line.number("slowed_ps", step.slowed.count());
  });
  object.close();
}

}  // namespace

std::string metrics_json(const Metrics& metrics,
                         const Problem& problem,
                         const Plan& plan,
                         std::string_view title,
                         const Samples& samples,
                         const TraceDocument* document) {
  TextBuffer out;
  ObjectWriter root{out, 1};
  root.text("schedlab", "metrics");
  root.number("version", 1);
  root.text("title", title);
  root.text("policy", plan.policy);
  root.text("machine", problem.platform.name);
  write_summary(root, metrics);
  if (document != nullptr) write_over_time(root.key("utilization_over_time"), *document);
  write_bounds(root.key("lower_bounds"), metrics);
  if (samples.count() > 0) write_samples(root.key("samples"), samples);
  if (!metrics.memory.empty()) {
    write_list(root.key("memory"), metrics.memory, write_memory);
  }
  const auto stream_line = [&plan](ObjectWriter& line, const StreamUse& use) {
    line.text("stream", plan.stream_name(use.stream));
    line.number("tasks", use.tasks);
    line.number("busy_ps", use.busy.count());
    line.number("idle_ps", use.idle.count());
    line.number("idle_before_ps", use.idle_before.count());
    line.number("idle_between_ps", use.idle_between.count());
    line.number("idle_after_ps", use.idle_after.count());
  };
  write_list(root.key("stream_use"), metrics.stream_use, stream_line);
  const auto operation_line = [](ObjectWriter& line, const OperationUse& use) {
    line.text("operation", use.operation);
    line.number("tasks", use.tasks);
    line.number("running_ps", use.running.count());
    line.number("on_critical_path_ps", use.on_path.count());
  };
  write_list(root.key("operation_use"), metrics.operation_use, operation_line);
  write_path(root.key("critical_path"), metrics.critical_path, problem.graph);
  root.close();
  out << '\n';
  return std::move(out).take();
}

}  // namespace schedlab
