// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/axis.hpp"
#include "notebooks_export/report.hpp"

#include <fmt/format.h>

namespace schedlab {

namespace {

constexpr double at_bound = 1.02;           // gap up to which a run counts as optimal
constexpr double much_host_bound = 0.10;    // share of the makespan worth mentioning
constexpr double clearly_different = 0.05;  // of shares

[[nodiscard]] std::string bound_in_words(const std::string& bound) {
  if (bound == "critical_path") return "the critical path of the graph";
  if (bound == "work") return "the work of all tasks on all units";
  if (bound == "latency_path") return "the critical path with its launch and delays";
  if (bound == "host_launch") return "the time the host needs to launch the tasks";
  if (bound == "subset") return "the work between long heads and tails";
  if (bound == "memory") return "the memory traffic between heads and tails";
  if (bound == "host_issue") return "the time the host needs to issue its calls";
  return "its lower bound";
}

/// "utilization 74 %, up from 31 %".
[[nodiscard]] std::string compared(std::string_view what,
                                   std::optional<double> value,
                                   std::optional<double> before) {
  if (!value) return {};
  std::string text = fmt::format("{} {}", what, readable_share(*value));
  if (before && *value > *before + clearly_different) {
    text += fmt::format(", up from {}", readable_share(*before));
  } else if (before && *value < *before - clearly_different) {
    text += fmt::format(", down from {}", readable_share(*before));
  }
  return text;
}

}  // namespace

std::string explain_run(const SweepView& view, const SweepCase& one, const SweepRun& run) {
  const auto number = [&](std::string_view column) { return view.number(run.row, column); };
  const auto of_baseline = [&](std::string_view column) -> std::optional<double> {
    if (!one.baseline || one.runs[*one.baseline].row == run.row) return std::nullopt;
    return view.number(one.runs[*one.baseline].row, column);
  };
  std::string text;
  const auto add = [&text](const std::string& part) {
    if (!part.empty()) text += (text.empty() ? "" : "; ") + part;
  };

  // The calls of this plan say more than the bound of the case, where they take longer.
  const std::string of_plan = view.text(run.row, "bound");
  const bool by_case = of_plan != "host_issue" && number("case_gap");
  const auto gap = number(by_case ? "case_gap" : "gap");
  const std::string bound = bound_in_words(by_case ? view.text(run.row, "case_bound") : of_plan);
  if (gap && *gap > 0) {
    add(*gap <= at_bound ? fmt::format("as short as {} allows", bound)
                         : fmt::format("{} times {}", readable(*gap), bound));
  }
  const auto host_bound = number("host_bound_share");
  if (host_bound && *host_bound >= much_host_bound) {
    // A host that is idle more than the device lacks launches waits for others itself.
    const auto busy = number("host_busy_share");
    const bool hosts_wait = busy && *busy + clearly_different < *host_bound;
    add(hosts_wait
            ? fmt::format("the device is idle before a launch {} of the time, while the host "
                          "waits for something else (busy {})",
                          readable_share(*host_bound),
                          readable_share(*busy))
            : fmt::format("the device waits for the host {} of the time",
                          readable_share(*host_bound)));
  }
  add(compared("utilization", number("utilization"), of_baseline("utilization")));
  const auto overlap = number("overlap_share");
  if (overlap && *overlap > 0.01) {
    add(compared("critical work overlapped", overlap, of_baseline("overlap_share")));
  }
  return text;
}

}  // namespace schedlab
