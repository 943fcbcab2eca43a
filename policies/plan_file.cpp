// SPDX-License-Identifier: Apache-2.0
#include "policies/plan_file.hpp"

#include "sim/base/file.hpp"
#include "sim/plan/plan_json.hpp"

namespace schedlab {

Plan PlanFile::plan(const Problem& problem) const {
  return plan_from_json(read_file(path_), problem.graph, path_);
}

PolicyInfo plan_file_info() {
  return {.name = "plan_file",
          .summary = "A plan that was written or saved before, for the graph it was made for.",
          .source = "this project",
          .options = {{.name = "path",
                       .default_value = std::string{},
                       .doc = "The plan file, relative to the spec.",
                       .required = true}},
          .make = [](const Options& options) {
            return std::make_unique<PlanFile>(options.text("path"));
          }};
}

}  // namespace schedlab
