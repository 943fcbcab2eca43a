// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policies/policy_info.hpp"

#include <string>
#include <utility>

namespace schedlab {

/// A plan that was written by hand or saved from a run (docs/plan_format.md), for the graph it
/// names its tasks of: a published experiment, a recording, a schedule of another program. Cost: as
/// reading the file.
class PlanFile final : public Policy {
 public:
  explicit PlanFile(std::string path) : path_(std::move(path)) {}

  [[nodiscard]] std::string_view name() const override { return "plan_file"; }
  /// Throws InputError with file and JSON pointer: no such file, not a plan, or not of this graph.
  [[nodiscard]] Plan plan(const Problem& problem) const override;

 private:
  std::string path_;
};

[[nodiscard]] PolicyInfo plan_file_info();

}  // namespace schedlab
