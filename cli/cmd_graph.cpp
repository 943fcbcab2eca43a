// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_graph.hpp"

#include <CLI/CLI.hpp>

#include <set>
#include <string>

namespace schedlab {

CLI::App* add_to(CLI::App& app, GraphOptions& options) {
  CLI::App* verb = app.add_subcommand("graph", "Look at a task graph, or convert it");
  verb->add_option("INPUT",
                   options.input,
                   "Spec with one workload, or graph file (JSON, text, DOT, STG, and those that "
                   "import reads)")
      ->required();
  verb->add_option("--machine", options.machine, "Machine whose times are used")
      ->capture_default_str();
  auto* to = verb->add_option("--to", options.to, "Convert to json, text, dot or graphml")
                 ->check(CLI::IsMember(std::set<std::string>{"json", "text", "dot", "graphml"}));
  verb->add_option("-o,--out", options.out, "File for the conversion; else standard output")
      ->needs(to);
  verb->add_flag("--json", options.json, std::string{json_help});
  verb->footer("A spec's own machine counts before --machine where it names one.");
  return verb;
}

}  // namespace schedlab
