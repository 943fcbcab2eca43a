// SPDX-License-Identifier: Apache-2.0
#include "studies/scenario/decision.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace schedlab {
namespace {

/// By PathBound: who it is, and what a change of it does.
struct Decider {
  std::string_view who;
  std::string_view change;  ///< with how much; empty: none that a user can make
};
constexpr std::array<Decider, path_bound_count> deciders{
    {{"the device", "kernels that take 1 % less shorten the run by {:.2f} %"},
     {"the host", "a host that is 1 % faster shortens the run by {:.2f} %"},
     {"latency", "launches on their way and gaps between tasks, which no faster kernel shortens"},
     {"the network", "messages that take 1 % less shorten the run by {:.2f} %"}}};

}  // namespace

std::string who_decides(const TraceCriticalPath& path) {
  const auto most = static_cast<std::size_t>(
      std::max_element(path.bound.begin(), path.bound.end()) - path.bound.begin());
  const double share = path.share(static_cast<PathBound>(most));
  if (share == 0.0) return "nothing decides: the run takes no time";
  const std::string change = fmt::format(fmt::runtime(deciders.at(most).change), share);
  if (share >= 0.5) {
    return fmt::format(
        "{} decides {:.1f} % of the makespan: {}", deciders.at(most).who, 100 * share, change);
  }
  std::string parts;
  for (std::size_t i = 0; i < path_bound_count; ++i) {
    const double part = path.share(static_cast<PathBound>(i));
    if (part == 0.0) continue;
    parts +=
        fmt::format("{}{} {:.1f} %", parts.empty() ? "" : ", ", deciders.at(i).who, 100 * part);
  }
  return fmt::format("no single part decides: {} of the makespan", parts);
}

}  // namespace schedlab
