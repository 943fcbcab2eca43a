// SPDX-License-Identifier: Apache-2.0
#include "studies/base/findings_text.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace schedlab {
namespace {

constexpr std::size_t max_shown_findings = 10;

}  // namespace

std::string findings_text(const std::vector<Finding>& findings, const std::string& prefix) {
  const std::size_t shown = std::min(findings.size(), max_shown_findings);
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) {
    text += fmt::format(
        "{}{}{}: {}", i == 0 ? "" : "\n", prefix, to_string(findings[i].kind), findings[i].message);
  }
  if (shown < findings.size()) {
    text += fmt::format("\n{}{} more", prefix, findings.size() - shown);
  }
  return text;
}

void expect_runnable(const std::vector<Finding>& findings, const std::string& reason) {
  if (findings.empty()) return;
  std::string message =
      "the plan cannot be run to its end; the plan checker says what is wrong:\n" +
      findings_text(findings, "  ");
  if (!reason.empty()) message += "\n  where the run broke off: " + reason;
  throw InfeasibleError(message);
}

}  // namespace schedlab
