// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_list.hpp"

#include "hw_models/host_spec.hpp"
#include "hw_models/registry.hpp"
#include "policies/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/launch/launch.hpp"
#include "studies/reproduction/published_system.hpp"
#include "studies/spec/presets.hpp"
#include "studies/spec/variability.hpp"
#include "workloads/pipeline/layer_workloads.hpp"
#include "workloads/registry.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <ostream>
#include <set>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

using Json = nlohmann::ordered_json;

/// One thing a spec may name.
struct Entry {
  std::string name;
  std::string summary;
  std::string source;
  std::vector<OptionSpec> options;
  bool show_defaults = true;
};

struct Section {
  std::string title;
  std::vector<Entry> entries;
};

std::string shape_of(const Preset& preset) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : preset.options) {
    parts.push_back(fmt::format("{} {}", name, to_string(value)));
  }
  return fmt::format("{} ({})", preset.summary, fmt::join(parts, ", "));
}

std::string numbers_of(const HostSpec& host) {
  std::string text = host.description;
  if (const auto& cost = host.operator_cost) {
    text += fmt::format(
        "\n      an operator in all: {} to {} us ({})", cost->min_us, cost->max_us, cost->text);
  }
  for (const NumberSource& number : host.numbers) {
    text += fmt::format("\n      {} {} ({}: {})",
                        number.pointer.substr(number.pointer.rfind('/') + 1),
                        number.value,
                        to_string(number.origin),
                        number.text);
  }
  return text;
}

std::vector<Section> sections() {
  std::vector<Section> all(10);
  all[0].title = "workloads";
  for (const WorkloadInfo& info : workloads()) {
    all[0].entries.push_back({info.name, info.summary, {}, info.options, true});
  }
  all[1].title = "presets";
  for (const Preset& each : presets()) {
    all[1].entries.push_back({each.name, shape_of(each), each.source, {}, true});
  }
  all[2].title = "machines";
  for (const std::string& name : machine_names()) {
    all[2].entries.push_back({name, load_machine(name).description, {}, {}, true});
  }
  all[2].entries.push_back({"{\"base\": NAME, ...}",
                            "any of them with some numbers changed",
                            {},
                            machine_options(),
                            false});
  all[7].title = "hosts";
  for (const std::string& name : host_names()) {
    if (name == host_names().front()) continue;  // the machine's own
    const HostSpec host = host_spec(name);
    all[7].entries.push_back({name, numbers_of(host), {}, {}, true});
  }
  all[8].title = "launch_modes";
  for (const LaunchInfo& info : launch_infos()) {
    all[8].entries.push_back({info.name, info.summary, {}, info.options, true});
  }
  all[9].title = "layers";
  for (const LayerWorkload& info : layer_workloads()) {
    all[9].entries.push_back({info.name, info.summary, {}, info.options, true});
  }
  all[3].title = "cost_models";
  for (const CostModelInfo& info : cost_models()) {
    all[3].entries.push_back({info.name, info.summary, {}, info.options, true});
  }
  all[4].title = "policies";
  for (const PolicyInfo& info : policies()) {
    all[4].entries.push_back({info.name, info.summary, info.source, info.options, true});
  }
  all[5].title = "systems";
  for (const std::string& name : system_names()) {
    const PublishedSystem system = load_system(name);
    all[5].entries.push_back({name, system.title, system.source, {}, true});
  }
  all[6].title = "variability";
  all[6].entries.push_back({"variability",
                            "how the machine scatters from run to run, and how often it is drawn",
                            {},
                            variability_options(),
                            true});
  return all;
}

std::string range_of(const OptionSpec& option) {
  if (!option.allowed.empty()) return fmt::format("{}", fmt::join(option.allowed, "|"));
  const bool low = option.minimum > -std::numeric_limits<double>::infinity();
  const bool high = option.maximum < std::numeric_limits<double>::infinity();
  if (low && high) return fmt::format("{} to {}", option.minimum, option.maximum);
  if (low) return fmt::format("at least {}", option.minimum);
  return high ? fmt::format("at most {}", option.maximum) : std::string{};
}

void print_entry(std::ostream& out, const Entry& entry) {
  out << fmt::format("  {}\n      {}\n", entry.name, entry.summary);
  if (!entry.source.empty()) out << fmt::format("      source: {}\n", entry.source);
  for (const OptionSpec& option : entry.options) {
    std::string facts = range_of(option);
    if (entry.show_defaults) {
      const std::string standard =
          option.required ? "required" : "default " + to_string(option.default_value);
      facts += (facts.empty() ? "" : "; ") + standard;
    }
    out << fmt::format(
        "      {}{}: {}\n", option.name, facts.empty() ? "" : " (" + facts + ")", option.doc);
  }
}

Json to_json(const Entry& entry) {
  Json options = Json::array();
  for (const OptionSpec& option : entry.options) {
    Json one{{"name", option.name}, {"doc", option.doc}};
    if (option.required) {
      one["required"] = true;
    } else if (entry.show_defaults) {
      std::visit([&](const auto& value) { one["default"] = value; }, option.default_value);
    }
    if (!option.allowed.empty()) one["allowed"] = option.allowed;
    if (std::isfinite(option.minimum)) one["minimum"] = option.minimum;
    if (std::isfinite(option.maximum)) one["maximum"] = option.maximum;
    options.push_back(std::move(one));
  }
  Json json{{"name", entry.name}, {"summary", entry.summary}, {"options", std::move(options)}};
  if (!entry.source.empty()) json["source"] = entry.source;
  return json;
}

bool is_machine(const std::string& name) {
  const std::vector<std::string> names = machine_names();
  return name.ends_with(".json") || name.find('/') != std::string::npos ||
         std::find(names.begin(), names.end(), name) != names.end();
}

/// Every number of one machine, with where it comes from.
void print_machine(const MachineSpec& machine, const ListOptions& options, std::ostream& out) {
  if (options.json) {
    Json numbers = Json::array();
    for (const NumberSource& number : machine.sources) {
      numbers.push_back({{"pointer", number.pointer},
                         {"value", number.value},
                         {"origin", to_string(number.origin)},
                         {"text", number.text}});
    }
    const Json one{{"name", machine.name},
                   {"summary", machine.description},
                   {"sharing", to_string(machine.platform.sharing)},
                   {"numbers", std::move(numbers)}};
    out << Json{{"machines", Json::array({one})}}.dump(2) << '\n';
    return;
  }
  out << fmt::format("{}\n  {}\n  kernels share units: {}\n",
                     machine.name,
                     machine.description,
                     to_string(machine.platform.sharing));
  for (const NumberSource& number : machine.sources) {
    out << fmt::format("  {:<44} {:>9}  {}: {}\n",
                       number.pointer.substr(1),
                       number.value,
                       to_string(number.origin),
                       number.text);
  }
}

int list_machine(const ListOptions& options, const Terminal& terminal) {
  const bool shipped =
      options.name.find('/') == std::string::npos && !options.name.ends_with(".json");
  if (options.file) {
    terminal.out << (shipped ? std::string{machine_text(options.name)} : read_file(options.name));
  } else {
    print_machine(load_machine(options.name), options, terminal.out);
  }
  return exit_done;
}

/// Only the sections and entries that were asked for.
std::vector<Section> wanted_sections(const ListOptions& options) {
  std::vector<Section> wanted;
  std::vector<std::string> names;
  for (Section& section : sections()) {
    if (options.what != "all" && options.what != section.title) continue;
    Section kept{section.title, {}};
    for (Entry& entry : section.entries) {
      names.push_back(entry.name);
      if (options.name.empty() || entry.name == options.name) {
        kept.entries.push_back(std::move(entry));
      }
    }
    if (!kept.entries.empty()) wanted.push_back(std::move(kept));
  }
  if (!wanted.empty()) return wanted;
  const std::string close = closest_spelling(options.name, names);
  throw InputError({.file = "NAME",
                    .pointer = {},
                    .found = fmt::format("\"{}\"", options.name),
                    .expected = fmt::format("one of {}", fmt::join(names, ", ")),
                    .hint = close.empty() ? "" : fmt::format("did you mean \"{}\"?", close)});
}

}  // namespace

CLI::App* add_to(CLI::App& app, ListOptions& options) {
  CLI::App* verb =
      app.add_subcommand("list", "List what specs and flags may name, with all options");
  verb->add_option(
          "WHAT",
          options.what,
          "all, workloads, presets, machines, cost_models, policies, systems, variability, "
          "hosts, launch_modes or layers")
      ->check(CLI::IsMember(std::set<std::string>{"all",
                                                  "workloads",
                                                  "presets",
                                                  "machines",
                                                  "cost_models",
                                                  "policies",
                                                  "systems",
                                                  "hosts",
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
    return list_machine(options, terminal);
  }
  if (options.file) {
    throw InputError(
        {.file = "--file",
         .pointer = {},
         .found = fmt::format("\"{} {}\"", options.what, options.name),
         .expected = fmt::format("machines, and one of {}", fmt::join(machine_names(), ", ")),
         .hint = {}});
  }
  Json all = Json::object();
  for (const Section& section : wanted_sections(options)) {
    if (!options.json) terminal.out << section.title << '\n';
    for (const Entry& entry : section.entries) {
      if (options.json) {
        all[section.title].push_back(to_json(entry));
      } else {
        print_entry(terminal.out, entry);
      }
    }
  }
  if (options.json) terminal.out << all.dump(2) << '\n';
  return exit_done;
}

}  // namespace schedlab
