// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/execution_times.hpp"

#include "sim/base/error.hpp"
#include "sim/base/gzip.hpp"
#include "workloads/traces/foreign_readers.hpp"
#include "workloads/traces/launch_index.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace schedlab {
namespace {

using detail::MatchedOperators;
using detail::ProfiledWork;
using detail::TracedOperator;

/// Gives the activities of a profile to the operators that launched them.
class WorkFinder final : public detail::OperatorProfile {
 public:
  WorkFinder(const ImportedTrace& profile, JoinCounts& counts, Diagnostics& problems)
      : profile_(profile), counts_(counts), problems_(problems) {}

  std::vector<ProfiledWork> work_of(const std::vector<TracedOperator>& operators) override {
    const MatchedOperators matched = detail::match_operators(operators, profile_);
    operator_of_.assign(profile_.operators.size(), MatchedOperators::none);
    work_.assign(operators.size(), {});
    rows_.assign(operators.size(), {});
    counts_.operators = operators.size();
    for (std::size_t i = 0; i < operators.size(); ++i) {
      const std::size_t row = matched.rows[i];
      if (row == MatchedOperators::none) {
        problems_.add(Severity::notice, "operator_not_in_profile", std::string{operators[i].name});
        continue;
      }
      ++(matched.by_id ? counts_.matched_by_id : counts_.matched_by_order);
      operator_of_[row] = i;
      work_[i].matched = true;
      work_[i].place = i;
      work_[i].when = profile_.operators[row].started;
      first_ = std::min(first_, profile_.operators[row].started);
      last_ = std::max(last_, profile_.operators[row].ended);
    }
    for (std::uint64_t i = 0; i < matched.other_names; ++i) {
      problems_.add(Severity::notice, "record_function_of_another_name");
    }
    count_unmatched_rows();
    attribute(innermost_operators());
    return std::move(work_);
  }

  void made(std::size_t place, TaskId task) override { made_.emplace_back(place, task); }

  /// By task of a graph of so many.
  [[nodiscard]] IdVector<TaskId, std::vector<std::uint32_t>> rows(std::size_t tasks) const {
    IdVector<TaskId, std::vector<std::uint32_t>> result(tasks);
    for (const auto& [place, task] : made_) result[task] = rows_[place];
    return result;
  }

 private:
  void count_unmatched_rows() {
    for (std::size_t row = 0; row < profile_.operators.size(); ++row) {
      const OperatorRow& op = profile_.operators[row];
      if (operator_of_[row] != MatchedOperators::none || op.kind != OperatorKind::cpu_operator ||
          op.started < first_ || op.ended > last_) {
        continue;
      }
      problems_.add(Severity::notice,
                    "operator_not_in_execution_trace",
                    std::string{profile_.texts[op.name]});
    }
  }

  /// By call: the innermost matched operator around it; none.
  [[nodiscard]] std::vector<std::size_t> innermost_operators() const {
    std::map<HostThreadId, std::vector<std::size_t>> rows;  // matched, outer before inner
    for (std::size_t row = 0; row < profile_.operators.size(); ++row) {
      if (operator_of_[row] != MatchedOperators::none) {
        rows[profile_.operators[row].thread].push_back(row);
      }
    }
    struct Open {
      std::size_t next = 0;
      std::vector<std::size_t> rows;
    };
    std::map<HostThreadId, Open> open;
    std::vector<std::size_t> result(profile_.calls.size(), MatchedOperators::none);
    for (std::size_t i = 0; i < profile_.calls.size(); ++i) {
      const CallRow& call = profile_.calls[i];
      const auto& of_thread = rows[call.thread];
      Open& now = open[call.thread];
      while (now.next < of_thread.size() &&
             profile_.operators[of_thread[now.next]].started <= call.started) {
        now.rows.push_back(of_thread[now.next++]);
      }
      while (!now.rows.empty() && profile_.operators[now.rows.back()].ended < call.ended) {
        now.rows.pop_back();
      }
      if (!now.rows.empty()) result[i] = operator_of_[now.rows.back()];
    }
    return result;
  }

  void attribute(const std::vector<std::size_t>& operators) {
    const LaunchIndex launches{profile_.calls};
    for (std::uint32_t index = 0; index < profile_.device_rows.size(); ++index) {
      const DeviceRow& row = profile_.device_rows[index];
      ++counts_.activities;
      counts_.activity_time += row.ended - row.started;
      const auto call = launches.find(row.correlation);
      if (!call) continue;  // counted when the profile was read
      const CallRow& launch = profile_.calls[*call];
      const std::size_t op = operators[*call];
      if (op == MatchedOperators::none) {
        const bool within = launch.started >= first_ && launch.ended <= last_;
        problems_.add(within ? Severity::data_loss : Severity::info,
                      within ? "activity_without_operator" : "activity_outside_execution_trace",
                      std::string{profile_.texts[row.name]});
        continue;
      }
      ++counts_.attributed;
      counts_.attributed_time += row.ended - row.started;
      rows_[op].push_back(index);
      ProfiledWork& work = work_[op];
      work.when = work.activities++ == 0 ? launch.started : std::min(work.when, launch.started);
      work.device += row.ended - row.started;
    }
  }

  const ImportedTrace& profile_;
  JoinCounts& counts_;
  Diagnostics& problems_;
  std::vector<std::size_t> operator_of_;              // by row of the profile
  std::vector<ProfiledWork> work_;                    // by operator
  std::vector<std::vector<std::uint32_t>> rows_;      // likewise: its activities
  std::vector<std::pair<std::size_t, TaskId>> made_;  // operators that became tasks
  Time first_ = Time::max();                          // of what matched
  Time last_ = Time::min();
};

}  // namespace

TimedExecutionTrace join_execution_trace(std::string_view text,
                                         const std::string& file,
                                         const ImportedTrace& profile) {
  TimedExecutionTrace result;
  ForeignGraph& foreign = result.foreign;
  foreign.format = foreign_format(text, file);
  if (foreign.format != ForeignFormat::execution_trace) {
    throw InputError({.file = file,
                      .pointer = {},
                      .found = "something else",
                      .expected = "an execution trace of PyTorch",
                      .hint = "ExecutionTraceObserver writes one"});
  }
  detail::GraphDraft draft{file, text.size(), foreign.problems};
  WorkFinder finder{profile, result.counts, foreign.problems};
  detail::read_execution_trace(text, draft, &finder);
  if (result.counts.matched() == 0) {
    throw InputError(
        {.file = file,
         .pointer = {},
         .found = fmt::format(
             "{} operators, none of which is in {}", result.counts.operators, profile.file),
         .expected = "the execution trace of the run that was profiled",
         .hint = {}});
  }
  foreign.graph = std::move(draft).finish();
  result.rows = finder.rows(foreign.graph.task_count());
  return result;
}

TimedExecutionTrace join_execution_trace(const std::filesystem::path& path,
                                         const ImportedTrace& profile) {
  return join_execution_trace(read_file_or_gzip(path), path.string(), profile);
}

}  // namespace schedlab
