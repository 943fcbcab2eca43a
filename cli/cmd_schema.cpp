// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_schema.hpp"

#include "cli/baseline.hpp"
#include "cli/buckets/bucket_files.hpp"
#include "cli/buckets/bucket_spec.hpp"
#include "cli/calibrate/rule_sheet.hpp"
#include "cli/explain/explanation.hpp"
#include "cli/explain/run_origin.hpp"
#include "cli/file_schemas.hpp"
#include "cli/reproduce/published_system.hpp"
#include "cli/reproduce/reproduction_files.hpp"
#include "cli/spec_schema.hpp"
#include "hw_models/machine_spec.hpp"

#include <CLI/CLI.hpp>

#include <ostream>
#include <set>

namespace schedlab {

CLI::App* add_to(CLI::App& app, SchemaOptions& options) {
  CLI::App* verb = app.add_subcommand("schema", "Print the JSON Schema of specs and files");
  verb->add_option("WHICH",
                   options.which,
                   "spec, machine, graph, plan, run, results, explanation, system, reproduction, "
                   "baseline, rule_sheet, buckets or bucket_results")
      ->check(CLI::IsMember(std::set<std::string>{"spec",
                                                  "machine",
                                                  "graph",
                                                  "plan",
                                                  "run",
                                                  "results",
                                                  "explanation",
                                                  "system",
                                                  "reproduction",
                                                  "baseline",
                                                  "rule_sheet",
                                                  "buckets",
                                                  "bucket_results"}))
      ->capture_default_str();
  verb->add_flag("--json", options.json, "No effect: a schema is JSON");
  verb->footer("Editors that know JSON Schema complete and check specs with it.");
  return verb;
}

int run(const SchemaOptions& options, const Terminal& terminal) {
  std::string text;
  if (options.which == "machine") {
    text = machine_schema();
  } else if (options.which == "graph") {
    text = graph_schema();
  } else if (options.which == "plan") {
    text = plan_schema();
  } else if (options.which == "results") {
    text = results_schema();
  } else if (options.which == "run") {
    text = run_origin_schema();
  } else if (options.which == "explanation") {
    text = explanation_schema();
  } else if (options.which == "system") {
    text = system_schema();
  } else if (options.which == "reproduction") {
    text = reproduction_schema();
  } else if (options.which == "baseline") {
    text = baseline_schema();
  } else if (options.which == "rule_sheet") {
    text = rule_sheet_schema();
  } else if (options.which == "buckets") {
    text = bucket_spec_schema();
  } else if (options.which == "bucket_results") {
    text = bucket_results_schema();
  } else {
    text = spec_schema();
  }
  terminal.out << text << '\n';
  return exit_done;
}

}  // namespace schedlab
