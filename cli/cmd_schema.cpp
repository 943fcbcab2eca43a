// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_schema.hpp"

#include "calibration/device_report.hpp"
#include "studies/buckets/bucket_files.hpp"
#include "studies/buckets/bucket_spec.hpp"
#include "studies/buckets/executed_files.hpp"
#include "studies/comparison/comparison.hpp"
#include "studies/execution/baseline.hpp"
#include "studies/explanation/explanation.hpp"
#include "studies/explanation/import_summary.hpp"
#include "studies/explanation/imported_run.hpp"
#include "studies/explanation/replay_report.hpp"
#include "studies/parallel/parallel_plan.hpp"
#include "studies/partition/partition_study.hpp"
#include "studies/reproduction/engine_study_spec.hpp"
#include "studies/reproduction/published_system.hpp"
#include "studies/reproduction/reproduction_files.hpp"
#include "studies/scenario/run_origin.hpp"
#include "studies/sensitivity/sensitivity_verb.hpp"
#include "studies/spec/spec_schema.hpp"
#include "studies/sweep/column_files.hpp"
#include "studies/sweep/file_schemas.hpp"
#include "studies/training/training_results.hpp"
#include "studies/training/training_spec.hpp"
#include "studies/validation/recording.hpp"
#include "studies/validation/validation_files.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <ostream>
#include <string>
#include <vector>

namespace schedlab {

namespace {

struct Schema {
  const char* name;
  std::string (*text)();
};

/// In the order in which they are listed.
constexpr std::array schemas{Schema{"spec", spec_schema},
                             Schema{"machine", machine_schema},
                             Schema{"graph", graph_schema},
                             Schema{"plan", plan_schema},
                             Schema{"stage_profiles", stage_profiles_schema},
                             Schema{"run", run_origin_schema},
                             Schema{"metrics", metrics_schema},
                             Schema{"memory_plan", memory_plan_schema},
                             Schema{"results", results_schema},
                             Schema{"columns", columns_schema},
                             Schema{"import", import_schema},
                             Schema{"explanation", explanation_schema},
                             Schema{"operator_path", operator_path_schema},
                             Schema{"replay", replay_schema},
                             Schema{"comparison", comparison_schema},
                             Schema{"sensitivity", sensitivity_schema},
                             Schema{"validation", validation_schema},
                             Schema{"recording", recording_schema},
                             Schema{"system", system_schema},
                             Schema{"engine_study", engine_study_schema},
                             Schema{"reproduction", reproduction_schema},
                             Schema{"baseline", baseline_schema},
                             Schema{"device_report", device_report_schema},
                             Schema{"buckets", bucket_spec_schema},
                             Schema{"bucket_results", bucket_results_schema},
                             Schema{"executed_epochs", executed_epochs_schema},
                             Schema{"layers", layers_schema},
                             Schema{"partition", partition_spec_schema},
                             Schema{"partition_results", partition_results_schema},
                             Schema{"parallel", parallel_spec_schema},
                             Schema{"parallel_plan", parallel_plan_schema},
                             Schema{"training", training_spec_schema},
                             Schema{"training_results", training_results_schema}};

/// Former names, which are read for one version.
std::string current_name(std::string name) {
  if (name == "rule_sheet") return "device_report";
  if (name == "executed_passes") return "executed_epochs";
  return name;
}

}  // namespace

CLI::App* add_to(CLI::App& app, SchemaOptions& options) {
  CLI::App* verb = app.add_subcommand("schema", "Print the JSON Schema of specs and files");
  std::vector<std::string> names;
  names.reserve(schemas.size());
  for (const Schema& schema : schemas) names.emplace_back(schema.name);
  verb->add_option("WHICH", options.which, fmt::format("{}", fmt::join(names, ", ")))
      ->transform(current_name)
      ->check(CLI::IsMember(names))
      ->capture_default_str();
  verb->add_flag("--json", options.json, "No effect: a schema is JSON");
  verb->footer("Editors that know JSON Schema complete and check specs with it.");
  return verb;
}

int run(const SchemaOptions& options, const Terminal& terminal) {
  for (const Schema& schema : schemas) {
    if (options.which == schema.name) terminal.out << schema.text() << '\n';
  }
  return exit_done;
}

}  // namespace schedlab
