// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_explain.hpp"

#include "cli/explain/explanation.hpp"
#include "cli/output_folder.hpp"
#include "cli/run_files.hpp"
#include "notebooks_export/csv.hpp"
#include "sim/base/file.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ostream>
#include <utility>

namespace schedlab {
namespace {

RunFiles write_explanation(const std::filesystem::path& folder, const Explanation& explanation) {
  RunFiles files;
  const auto write = [&](const char* name, std::string_view bytes) {
    write_file_atomically(folder / name, bytes);
    files.files.emplace_back(name);
  };
  write("explain.json", explanation_json(explanation));
  write("explain.csv", table_csv(gaps_table(explanation)));
  write("report.html", explanation_html(explanation));
  write_picture(folder, "bound", explanation_picture(explanation), files);
  return files;
}

}  // namespace

CLI::App* add_to(CLI::App& app, ExplainOptions& options) {
  CLI::App* verb =
      app.add_subcommand("explain", "Say who waits for whom in a run, and what if not");
  verb->add_option("RUN", options.input, "Folder of simulate, execute or validate, or a trace.json")
      ->required();
  verb->add_option("-o,--out", options.out, "Folder for tables, report and picture");
  verb->add_flag("--what-if", options.what_if, "Simulate the run again with changes");
  verb->add_option("--bins", options.bins, "Slices of the makespan")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  verb->add_flag("--overwrite", options.overwrite, "Replace the folder if it is in use");
  verb->add_flag("--json", options.json, std::string{json_help});
  verb->footer(
      "Writes explain.json, explain.csv (every gap of every stream by cause), report.html and\n"
      "bound.svg. docs/explain.md defines each word.");
  return verb;
}

int run(const ExplainOptions& options, const Terminal& terminal) {
  Explanation explanation = explain(load_explained_run(options.input), options.bins);
  if (options.what_if) explanation.what_if = what_if(explanation.run, terminal.stop);
  RunFiles files;
  if (!options.out.empty()) {
    OutputFolder folder(options.out, options.overwrite);
    files = write_explanation(folder.path(), explanation);
    folder.publish();
  }
  for (const std::string& notice : files.notices) terminal.err << "note: " << notice << '\n';
  if (options.json) {
    terminal.out << explanation_json(explanation);
    return exit_done;
  }
  terminal.out << explanation_text(explanation);
  if (!options.out.empty()) {
    terminal.out << fmt::format("{}: {}\n", options.out, fmt::join(files.files, ", "));
  }
  return exit_done;
}

}  // namespace schedlab
