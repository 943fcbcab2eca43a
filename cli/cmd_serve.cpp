// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_serve.hpp"

#include <CLI/CLI.hpp>

#include <string>

namespace schedlab {

CLI::App* add_to(CLI::App& app, ServeOptions& options) {
  CLI::App* verb = app.add_subcommand("serve", "Show the results in a folder to a browser here");
  verb->add_option("FOLDER", options.folder, "Results, or a folder with results in it")->required();
  verb->add_option("--port", options.port, "Of 127.0.0.1; 0: any that is free")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  verb->add_flag("--json", options.json, std::string{json_help});
  verb->footer(
      "Lists results, opens reports and timelines, and hands traces to Perfetto's page, which "
      "needs\n"
      "the network. Nothing is written; files outside of the folder, hidden ones and symbolic "
      "links\n"
      "are not served. Only this computer is answered. Ctrl-C ends it.");
  return verb;
}

}  // namespace schedlab
