// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_list.hpp"

#include "sim/base/error.hpp"
#include "sim/base/spelling.hpp"
#include "studies/execution/execution_device.hpp"
#include "studies/reproduction/published_system.hpp"
#include "studies/spec/registry_list.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ostream>
#include <set>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

std::vector<ListedEntry> published_systems() {
  std::vector<ListedEntry> entries;
  for (const std::string& name : system_names()) {
    const PublishedSystem system = load_system(name);
    entries.push_back({.name = name, .summary = system.title, .source = system.source});
  }
  return entries;
}

/// Only the sections and entries that were asked for.
std::vector<ListedSection> wanted_sections(const ListOptions& options) {
  std::vector<ListedSection> wanted;
  std::vector<std::string> names;
  std::vector<ListedSection> sections = registry_sections(published_systems());
  // Not the same everywhere: not part of "all".
  if (options.what == "devices") sections = {listed_devices()};
  for (ListedSection& section : sections) {
    if (options.what != "all" && options.what != section.title) continue;
    ListedSection kept{section.title, {}};
    for (ListedEntry& entry : section.entries) {
      names.push_back(entry.name);
      if (options.name.empty() || entry.name == options.name) {
        kept.entries.push_back(std::move(entry));
      }
    }
    if (!kept.entries.empty()) wanted.push_back(std::move(kept));
  }
  if (!wanted.empty()) return wanted;
  refuse_unknown("NAME", {}, fmt::format("\"{}\"", options.name), options.name, names);
}

}  // namespace

CLI::App* add_to(CLI::App& app, ListOptions& options) {
  CLI::App* verb =
      app.add_subcommand("list", "List what specs and flags may name, with all options");
  verb->add_option(
          "WHAT",
          options.what,
          "all, workloads, presets, machines, cost_models, policies, systems, variability, "
          "hosts, nodes, launch_modes or layers; devices: those of this computer")
      ->check(CLI::IsMember(std::set<std::string>{"all",
                                                  "workloads",
                                                  "presets",
                                                  "devices",
                                                  "machines",
                                                  "cost_models",
                                                  "policies",
                                                  "systems",
                                                  "hosts",
                                                  "nodes",
                                                  "launch_modes",
                                                  "layers",
                                                  "variability"}))
      ->capture_default_str();
  verb->add_option("NAME",
                   options.name,
                   "Only this one; a machine (also the path of a file) with all its numbers and "
                   "their sources");
  verb->add_flag("--file", options.file, "Print the file of a machine, to copy and change");
  verb->add_flag("--json", options.json, "Print JSON");
  return verb;
}

int run(const ListOptions& options, const Terminal& terminal) {
  if (options.what == "machines" && is_machine(options.name)) {
    terminal.out << (options.file ? machine_file_text(options.name)
                                  : machine_listing(options.name, options.json));
    return exit_done;
  }
  if (options.file) {
    throw InputError(
        {.file = "--file",
         .pointer = {},
         .found = fmt::format("\"{} {}\"", options.what, options.name),
         .expected = fmt::format("machines, and one of {}", fmt::join(listed_machines(), ", ")),
         .hint = {}});
  }
  const std::vector<ListedSection> wanted = wanted_sections(options);
  if (options.json) {
    terminal.out << sections_json(wanted);
    return exit_done;
  }
  for (const ListedSection& section : wanted) {
    terminal.out << section.title << '\n';
    for (const ListedEntry& entry : section.entries) terminal.out << entry_text(entry);
  }
  return exit_done;
}

}  // namespace schedlab
