// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/attribution.hpp"

#include "sim/base/error.hpp"
#include "sim/trace/wait_causes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace schedlab {

namespace {

[[nodiscard]] DeviceBound bound_of(WaitCause cause) {
  switch (cause) {
    case WaitCause::host:
      return DeviceBound::host_bound;
    case WaitCause::dependency:
      return DeviceBound::dependency_bound;
    case WaitCause::latency:
      return DeviceBound::latency_bound;
    case WaitCause::nothing_left:
      return DeviceBound::nothing_left;
    default:
      return DeviceBound::other_bound;
  }
}

template <class Sums, class Word>
void add(Sums& sums, Word word, Duration duration) {
  sums[static_cast<std::size_t>(word)] += duration;
}

class Attributor {
 public:
  Attributor(const Problem& problem, const Plan& plan, const Trace& trace)
      : problem_(problem),
        plan_(plan),
        trace_(trace),
        index_(trace, problem.graph, problem.platform.device_count()),
        causes_(problem, plan, trace, index_) {
    result_.makespan = trace.makespan();
    result_.devices = problem.platform.device_count();
  }

  [[nodiscard]] Attribution attribute(const TraceCriticalPath& path, std::size_t bins) {
    follow_devices();
    follow_streams();
    result_.path = path.spans;
    result_.path_bound = path.bound;
    fill_bins(bins);
    fill_regions();
    return std::move(result_);
  }

 private:
  void add_span(DeviceId device, DeviceBound bound, Time begin, Time end, TaskId task) {
    if (end <= begin) return;
    result_.spans.push_back({device, bound, begin, end, task});
    add(result_.bound, bound, end - begin);
  }

  void follow_devices() {
    std::vector<std::vector<std::uint32_t>> by_start(result_.devices);
    for (const std::uint32_t i : index_.by_start()) {
      const TaskSpan& span = trace_.tasks[i];
      if (problem_.graph.operation(span.task).kind == TaskKind::host) continue;
      by_start[span.device.value()].push_back(i);
    }
    for (const DeviceId device : problem_.platform.device_ids()) {
      Time until{};
      for (const std::uint32_t i : by_start[device.value()]) {
        const TaskSpan& span = trace_.tasks[i];
        for (const WaitCauses::Part& part : causes_.parts(i, until)) {
          add_span(device, bound_of(part.cause), part.begin, part.end, span.task);
        }
        add_span(device,
                 DeviceBound::device_bound,
                 std::max(span.started, until),
                 span.ended,
                 span.task);
        until = std::max(until, span.ended);
      }
      add_span(device, DeviceBound::nothing_left, until, trace_.ended, TaskId::none());
    }
  }

  void follow_streams() {
    std::vector<std::vector<std::uint32_t>> by_start(plan_.streams.size());
    for (const std::uint32_t i : index_.by_start()) {
      by_start[trace_.tasks[i].stream.value()].push_back(i);
    }
    for (const StreamId stream : plan_.streams.ids()) {
      Time until{};
      for (const std::uint32_t i : by_start[stream.value()]) {
        const TaskSpan& span = trace_.tasks[i];
        if (span.started > until) {
          StreamGap gap{stream, span.task, until, span.started, {}};
          for (const WaitCauses::Part& part : causes_.parts(i, until)) {
            add(gap.by_cause, part.cause, part.end - part.begin);
          }
          add_gap(gap);
        }
        until = std::max(until, span.ended);
      }
      StreamGap rest{stream, TaskId::none(), until, trace_.ended, {}};
      add(rest.by_cause, WaitCause::nothing_left, rest.duration());
      if (rest.duration() > Duration{0}) add_gap(rest);
    }
  }

  void add_gap(const StreamGap& gap) {
    result_.gaps.push_back(gap);
    for (std::size_t i = 0; i < wait_cause_count; ++i) result_.idle_by_cause[i] += gap.by_cause[i];
  }

  /// Calls visit(bin, begin, end) for the bins that [begin, end) lies in.
  template <class Visitor>
  void for_each_bin(Time begin, Time end, Visitor visit) {
    auto bin = std::upper_bound(
        result_.bins.begin(), result_.bins.end(), begin, [](Time time, const BoundBin& one) {
          return time < one.end;
        });
    for (; bin != result_.bins.end() && bin->begin < end; ++bin) {
      visit(*bin, std::min(end, bin->end) - std::max(begin, bin->begin));
    }
  }

  void fill_bins(std::size_t count) {
    // Long runs: makespan * bin would overflow.
    const auto edge = [&](std::size_t bin) {
      const auto n = static_cast<std::int64_t>(count);
      const auto i = static_cast<std::int64_t>(bin);
      const std::int64_t whole = result_.makespan.count();
      return Time{Duration{whole / n * i + whole % n * i / n}};
    };
    for (std::size_t i = 0; i < count; ++i) {
      result_.bins.push_back({edge(i), edge(i + 1), {}, {}});
    }
    for (const BoundSpan& span : result_.spans) {
      for_each_bin(span.begin, span.end, [&](BoundBin& bin, Duration time) {
        add(bin.devices, span.bound, time);
      });
    }
    for (const PathSpan& span : result_.path) {
      for_each_bin(span.begin, span.end, [&](BoundBin& bin, Duration time) {
        add(bin.path, span.bound, time);
      });
    }
  }

  template <class Value>
  void fill_region(std::string_view tag, Value value_of) {
    std::map<std::int32_t, RegionShare> regions;
    const auto region = [&](TaskId task) -> RegionShare& {
      const std::int32_t value = task.valid() ? value_of(problem_.graph.tags(task)) : -1;
      RegionShare& found = regions[value];
      found.tag = tag;
      found.value = value;
      return found;
    };
    for (const TaskSpan& span : trace_.tasks) ++region(span.task).tasks;
    for (const BoundSpan& span : result_.spans) {
      add(region(span.task).devices, span.bound, span.end - span.begin);
    }
    if (regions.empty() || regions.rbegin()->first < 0) return;
    for (const auto& [value, share] : regions) result_.regions.push_back(share);
  }

  void fill_regions() {
    fill_region("layer", [](const Tags& tags) { return std::int32_t{tags.layer}; });
    fill_region("step", [](const Tags& tags) { return tags.step; });
    fill_region("stage", [](const Tags& tags) { return std::int32_t{tags.stage}; });
    fill_region("microbatch", [](const Tags& tags) { return tags.microbatch; });
  }

  const Problem& problem_;
  const Plan& plan_;
  const Trace& trace_;
  ReleaseIndex index_;
  WaitCauses causes_;
  Attribution result_;
};

[[nodiscard]] double ratio(Duration part, Duration whole) {
  return whole == Duration{0}
             ? 0.0
             : static_cast<double>(part.count()) / static_cast<double>(whole.count());
}

}  // namespace

std::string_view to_string(WaitCause cause) {
  constexpr std::array<std::string_view, wait_cause_count> words{"dependency",
                                                                 "host",
                                                                 "latency",
                                                                 "connection",
                                                                 "copy_engine",
                                                                 "priority",
                                                                 "resource",
                                                                 "other",
                                                                 "nothing_left"};
  return words.at(static_cast<std::size_t>(cause));
}

std::string_view to_string(DeviceBound bound) {
  constexpr std::array<std::string_view, device_bound_count> words{"device_bound",
                                                                   "host_bound",
                                                                   "dependency_bound",
                                                                   "latency_bound",
                                                                   "other_bound",
                                                                   "nothing_left"};
  return words.at(static_cast<std::size_t>(bound));
}

double Attribution::share(DeviceBound which) const {
  return ratio(bound[static_cast<std::size_t>(which)],
               makespan * static_cast<std::int64_t>(devices));
}

double Attribution::path_share(PathBound which) const {
  return ratio(path_bound[static_cast<std::size_t>(which)], makespan);
}

Attribution attribute(const Problem& problem,
                      const Plan& plan,
                      const Trace& trace,
                      const TraceCriticalPath& path,
                      std::size_t bins) {
  SCHEDLAB_EXPECTS(bins > 0, "no bins");
  for (const TaskSpan& span : trace.tasks) {
    SCHEDLAB_EXPECTS(span.task.value() < problem.graph.task_count(),
                     fmt::format("task {}", span.task.value()));
    SCHEDLAB_EXPECTS(plan.streams.contains(span.stream), problem.graph.name(span.task));
    SCHEDLAB_EXPECTS(problem.platform.has_device(span.device), problem.graph.name(span.task));
  }
  return Attributor{problem, plan, trace}.attribute(path, bins);
}

}  // namespace schedlab
