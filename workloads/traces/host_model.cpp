// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/host_model.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace schedlab {
namespace {

constexpr std::size_t min_iterations = 3;  // assumed: two may be a warm-up and the real one

using StepName = std::pair<TextId, TextId>;  // call and activity

StepName name_of(const ImportedTrace& trace,
                 const ReconstructedTrace& order,
                 const HostStep& step) {
  const TextId call = trace.calls[step.call].name;
  if (step.kind != HostStepKind::launch || order.items[step.item].graph) return {call, TextId{}};
  return {call, trace.device_rows[order.rows_of(step.item).front()].name};
}

Duration mean(const std::vector<Duration>& values) {
  Duration sum{0};
  for (const Duration value : values) sum += value;
  return sum / static_cast<std::int64_t>(values.size());
}

/// The begins of annotated iterations, by time.
std::vector<Time> annotated_iterations(const ImportedTrace& trace) {
  std::vector<Time> result;
  for (const OperatorRow& row : trace.operators) {
    if (row.kind == OperatorKind::iteration) result.push_back(row.started);
  }
  return result;
}

/// The shortest period with which the names of launches repeat to the end of the trace, from some
/// launch in its first half on: {first launch, period}; period 0 if there is none.
std::pair<std::size_t, std::size_t> find_period(const std::vector<StepName>& names) {
  constexpr std::size_t least = 10;     // assumed: fewer launches are a pattern, not an iteration
  constexpr std::size_t most = 20'000;  // assumed: iterations are shorter, and the search ends
  for (std::size_t period = least; period <= std::min(names.size() / 2, most); ++period) {
    std::size_t same = 0;
    for (std::size_t i = names.size(); i-- > period && names[i] == names[i - period];) ++same;
    if (same >= period && same + period >= names.size() / 2) {
      return {names.size() - same - period, period};
    }
  }
  return {0, 0};
}

}  // namespace

HostModel::HostModel(const ImportedTrace& trace, const ReconstructedTrace& order)
    : trace_(trace), order_(order) {
  std::map<StepName, Sort> known;
  Time free{};
  for (std::size_t i = 0; i < order.host.size(); ++i) {
    const HostStep& step = order.host[i];
    const CallRow& call = trace.calls[step.call];
    recorded_.push_back(std::max(Duration{0}, (waits(i) ? call.started : call.ended) - free));
    free = std::max(free, call.ended);
    const auto sort = static_cast<Sort>(known.size());
    sorts_.push_back(known.try_emplace(name_of(trace, order, step), sort).first->second);
  }
}

bool HostModel::waits(std::size_t step) const {
  const HostStep& made = order_.host[step];
  return made.kind != HostStepKind::launch || order_.items[made.item].holds_host;
}

HostModel::Key HostModel::key(int level, std::size_t step) const {
  constexpr Sort first = 0xFFFFFFFFU;
  switch (level) {
    case 0:
      return {0, step == 0 ? first : sorts_[step - 1], sorts_[step]};
    case 1:
      return {1, 0, sorts_[step]};
    case 2:
      return {2, 0, static_cast<Sort>(trace_.calls[order_.host[step].call].kind)};
    default:
      return {3, 0, 0};
  }
}

void HostModel::learn(Time until) {
  std::map<Key, std::vector<Duration>> samples;
  learned_ = 0;
  for (std::size_t step = 0; step < recorded_.size(); ++step) {
    if (trace_.calls[order_.host[step].call].ended >= until) continue;
    ++learned_;
    for (int level = 0; level <= 3; ++level) samples[key(level, step)].push_back(recorded_[step]);
  }
  expected_.clear();
  for (const auto& [which, times] : samples) expected_.emplace(which, mean(times));
}

Duration HostModel::expected(std::size_t step) const {
  for (int level = 0; level <= 3; ++level) {
    if (const auto found = expected_.find(key(level, step)); found != expected_.end()) {
      return found->second;
    }
  }
  return Duration{0};
}

ReplaySplit find_split(const ImportedTrace& trace, const ReconstructedTrace& order) {
  std::vector<StepName> names;
  std::vector<Time> begins;
  for (const HostStep& step : order.host) {
    if (step.kind != HostStepKind::launch) continue;
    names.push_back(name_of(trace, order, step));
    begins.push_back(trace.calls[step.call].started);
  }
  if (begins.size() < 2) {
    throw InputError({.file = trace.file,
                      .pointer = "",
                      .found = fmt::format("{} launches of device work", begins.size()),
                      .expected = "at least two: one part to learn from, one to predict",
                      .hint = ""});
  }
  std::vector<Time> iterations = annotated_iterations(trace);
  // Launches must lie on both sides of the middle.
  const auto middle = [&] { return iterations[iterations.size() / 2]; };
  if (iterations.size() >= min_iterations && middle() > begins.front() &&
      middle() <= begins.back()) {
    return {.when = middle(),
            .iterations = static_cast<std::uint32_t>(iterations.size()),
            .annotated = true};
  }
  if (const auto [first, period] = find_period(names);
      period != 0 && (begins.size() - first) / period >= min_iterations) {
    iterations.clear();
    for (std::size_t i = first; i < begins.size(); i += period) iterations.push_back(begins[i]);
    return {.when = middle(),
            .iterations = static_cast<std::uint32_t>(iterations.size()),
            .annotated = false};
  }
  return {.when = begins[begins.size() / 2], .iterations = 0, .annotated = false};
}

}  // namespace schedlab
