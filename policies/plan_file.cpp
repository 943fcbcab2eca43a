// SPDX-License-Identifier: Apache-2.0
#include "policies/policy_info.hpp"
#include "sim/base/file.hpp"
#include "sim/plan/plan_json.hpp"

#include <string>
#include <utility>

namespace schedlab {
namespace {

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

Plan PlanFile::plan(const Problem& problem) const {
  return plan_from_json(read_file(path_), problem.graph, path_);
}

}  // namespace

PolicyInfo plan_file_info() {
  return {
      .name = "plan_file",
      .summary = "A plan that was written or saved before, for the graph it was made for.",
      .source = "this project",
      .options = {{.name = "path",
                   .default_value = std::string{},
                   .doc = "The plan file, relative to the spec.",
                   .required = true}},
      .make =
          [](const Options& options) { return std::make_unique<PlanFile>(options.text("path")); },
      .ready_made = true};
}

}  // namespace schedlab
