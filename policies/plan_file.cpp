// SPDX-License-Identifier: Apache-2.0
#include "policies/policy_info.hpp"
#include "sim/base/file.hpp"
#include "sim/plan/plan_json.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace schedlab {
namespace {

/// In the order of Granularity.
constexpr std::array<std::string_view, 5> granularity_words{
    "coarse", "fine", "matmul", "data_and_weight", "kernel_and_weight"};

Granularity granularity_of(const std::string& word) {
  const auto found = std::find(granularity_words.begin(), granularity_words.end(), word);
  return static_cast<Granularity>(found - granularity_words.begin());
}

/// A plan that was written by hand or saved from a run (docs/plan_format.md), for the graph it
/// names its tasks of: a published experiment, a recording, a schedule of another program. Cost: as
/// reading the file.
class PlanFile final : public Policy {
 public:
  PlanFile(std::string path, Granularity granularity)
      : path_(std::move(path)), granularity_(granularity) {}

  [[nodiscard]] std::string_view name() const override { return "plan_file"; }
  [[nodiscard]] Granularity granularity() const override { return granularity_; }
  /// Throws InputError with file and JSON pointer: no such file, not a plan, or not of this graph.
  [[nodiscard]] Plan plan(const Problem& problem) const override;

 private:
  std::string path_;
  Granularity granularity_;
};

Plan PlanFile::plan(const Problem& problem) const {
  return plan_from_json(read_file(path_), problem.graph, path_);
}

}  // namespace

PolicyInfo plan_file_info() {
  return {.name = "plan_file",
          .summary = "A plan that was written or saved before, for the graph it was made for.",
          .source = "this project",
          .options = {{.name = "path",
                       .default_value = std::string{},
                       .doc = "The plan file, relative to the spec.",
                       .required = true},
                      {.name = "granularity",
                       .default_value = std::string{"fine"},
                       .doc = "What the plan's tasks are, where the workload leaves that open.",
                       .allowed = {granularity_words.begin(), granularity_words.end()}}},
          .make =
              [](const Options& options) {
                return std::make_unique<PlanFile>(options.text("path"),
                                                  granularity_of(options.text("granularity")));
              },
          .ready_made = true};
}

}  // namespace schedlab
