// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/check/plan_check_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <tuple>

namespace schedlab::checker {

std::vector<Finding> FindingList::take() && {
  std::stable_sort(findings_.begin(), findings_.end(), [](const Finding& a, const Finding& b) {
    return std::tie(a.host, a.call) < std::tie(b.host, b.call);
  });
  while (findings_.size() > limit_) {
    const auto* const most = std::max_element(kept_.begin(), kept_.end());
    const auto kind = static_cast<FindingKind>(most - kept_.begin());
    const auto last = std::find_if(
        findings_.rbegin(), findings_.rend(), [kind](const Finding& f) { return f.kind == kind; });
    findings_.erase(std::next(last).base());
    --kept_[static_cast<std::size_t>(kind)];
  }
  return std::move(findings_);
}

std::string host_name(const Plan& plan, HostId host) {
  if (!plan.hosts.contains(host) || plan.hosts[host].name.empty()) {
    return fmt::format("host {}", host.value());
  }
  return fmt::format("host \"{}\"", plan.hosts[host].name);
}

std::string call_name(const Plan& plan, HostId host, std::size_t call) {
  if (plan.hosts.size() == 1) return fmt::format("call {}", call);
  return fmt::format("call {} of {}", call, host_name(plan, host));
}

std::string tensor_name(const TaskGraph& graph, TensorId tensor) {
  std::string name = graph.tensors().name(tensor);
  if (!name.empty()) return name;
  const auto writers = graph.tensors().writers(tensor);
  if (!writers.empty()) return "output of " + graph.name(writers.front());
  return fmt::format("tensor {}", tensor.value());
}

std::string bytes_text(std::int64_t bytes) {
  constexpr std::array<std::string_view, 5> units{"bytes", "KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return fmt::format("{} {}", bytes, units[0]);
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024.0 && unit + 1 < units.size()) {
    value /= 1024.0;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, units[unit]);
}

}  // namespace schedlab::checker
