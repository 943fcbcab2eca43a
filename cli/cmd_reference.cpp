// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_reference.hpp"

#include "cli/cmd_list.hpp"
#include "cli/reference/command_pages.hpp"
#include "cli/reference/reference_page.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "studies/base/version.hpp"
#include "studies/spec/spec_schema.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace schedlab {
namespace {

namespace fs = std::filesystem;

/// What `schedlab list --json` prints.
std::string listed() {
  std::ostringstream out;
  std::ostringstream err;
  ListOptions options;
  options.json = true;
  (void)run(options, Terminal{.out = out, .err = err, .interactive = false, .stop = nullptr});
  return out.str();
}

std::vector<std::string> write_pages(const CLI::App& program, const fs::path& folder) {
  fs::create_directories(folder);
  std::vector<ReferencePage> pages = registry_pages(listed(), spec_schema());
  pages.push_back({"command_line.md", command_line_page(program)});
  std::vector<std::string> files;
  for (const ReferencePage& page : pages) {
    write_file_atomically(folder / page.file, page.text);
    files.push_back((folder / page.file).string());
  }
  return files;
}

}  // namespace

CLI::App* add_to(CLI::App& app, ReferenceOptions& options) {
  CLI::App* verb = app.add_subcommand(
      "reference", "Write the reference pages, the manual page or the shell completion");
  verb->add_option("FORMAT", options.format, "markdown, man or bash_completion")
      ->check(CLI::IsMember(std::set<std::string>{"markdown", "man", "bash_completion"}))
      ->required();
  verb->add_option("-o,--out", options.out, "File to write; of markdown a folder")->required();
  verb->add_flag("--json", options.json, std::string{json_help});
  verb->footer(
      "Everything is made of what the program itself checks: registries, JSON Schema, verbs.\n"
      "An installation holds the manual page and the completion.");
  options.program = &app;
  return verb;
}

int run(const ReferenceOptions& options, const Terminal& terminal) {
  SCHEDLAB_EXPECTS(options.program != nullptr, "ReferenceOptions::program");
  std::vector<std::string> files{options.out};
  if (options.format == "markdown") {
    files = write_pages(*options.program, options.out);
  } else if (options.format == "man") {
    write_file_atomically(options.out,
                          manual_page(*options.program, std::string{program_version()}));
  } else {
    write_file_atomically(options.out, bash_completion(*options.program));
  }
  if (options.json) {
    const nlohmann::ordered_json summary{
        {"verb", "reference"}, {"format", options.format}, {"files", files}};
    terminal.out << summary.dump(2) << '\n';
  } else {
    for (const std::string& file : files) terminal.out << file << '\n';
  }
  return exit_done;
}

}  // namespace schedlab
