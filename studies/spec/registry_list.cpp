// SPDX-License-Identifier: Apache-2.0
#include "studies/spec/registry_list.hpp"

#include "hw_models/host_spec.hpp"
#include "hw_models/node_spec.hpp"
#include "hw_models/registry.hpp"
#include "policies/registry.hpp"
#include "sim/base/file.hpp"
#include "sim/launch/launch.hpp"
#include "studies/spec/presets.hpp"
#include "studies/spec/variability.hpp"
#include "workloads/pipeline/layer_workloads.hpp"
#include "workloads/registry.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <variant>

namespace schedlab {
namespace {

using Json = nlohmann::ordered_json;

std::string shape_of(const Preset& preset) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : preset.options) {
    parts.push_back(fmt::format("{} {}", name, to_string(value)));
  }
  return fmt::format("{} ({})", preset.summary, fmt::join(parts, ", "));
}

std::string numbers_text(std::string text, const std::vector<NumberSource>& numbers) {
  for (const NumberSource& number : numbers) {
    text += fmt::format("\n      {} {} ({}: {})",
                        number.pointer.substr(number.pointer.rfind('/') + 1),
                        number.value,
                        to_string(number.origin),
                        number.text);
  }
  return text;
}

std::string numbers_of(const HostSpec& host) {
  std::string text = host.description;
  if (const auto& cost = host.operator_cost) {
    text += fmt::format(
        "\n      an operator in all: {} to {} us ({})", cost->min_us, cost->max_us, cost->text);
  }
  return numbers_text(std::move(text), host.numbers);
}

std::string range_of(const OptionSpec& option) {
  if (!option.allowed.empty()) return fmt::format("{}", fmt::join(option.allowed, "|"));
  const bool low = option.minimum > -std::numeric_limits<double>::infinity();
  const bool high = option.maximum < std::numeric_limits<double>::infinity();
  if (low && high) return fmt::format("{} to {}", option.minimum, option.maximum);
  if (low) return fmt::format("at least {}", option.minimum);
  return high ? fmt::format("at most {}", option.maximum) : std::string{};
}

Json to_json(const ListedEntry& entry) {
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

}  // namespace

std::vector<ListedSection> registry_sections(std::vector<ListedEntry> systems) {
  std::vector<ListedSection> all(11);
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
  all[10].title = "nodes";
  for (const std::string& name : node_names()) {
    if (name == node_names().front()) continue;  // the machine's own
    const NodeSpec& node = node_spec(name);
    all[10].entries.push_back({name, numbers_text(node.description, node.numbers), {}, {}, true});
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
  all[5].entries = std::move(systems);
  all[6].title = "variability";
  all[6].entries.push_back({"variability",
                            "how the machine scatters from run to run, and how often it is drawn",
                            {},
                            variability_options(),
                            true});
  return all;
}

std::string entry_text(const ListedEntry& entry) {
  std::string text = fmt::format("  {}\n      {}\n", entry.name, entry.summary);
  if (!entry.source.empty()) text += fmt::format("      source: {}\n", entry.source);
  for (const OptionSpec& option : entry.options) {
    std::string facts = range_of(option);
    if (entry.show_defaults) {
      const std::string standard =
          option.required ? "required" : "default " + to_string(option.default_value);
      facts += (facts.empty() ? "" : "; ") + standard;
    }
    text += fmt::format(
        "      {}{}: {}\n", option.name, facts.empty() ? "" : " (" + facts + ")", option.doc);
  }
  return text;
}

std::string sections_json(const std::vector<ListedSection>& sections) {
  Json all = Json::object();
  for (const ListedSection& section : sections) {
    for (const ListedEntry& entry : section.entries) all[section.title].push_back(to_json(entry));
  }
  return all.dump(2) + "\n";
}

bool is_machine(const std::string& name) {
  const std::vector<std::string> names = machine_names();
  return name.ends_with(".json") || name.find('/') != std::string::npos ||
         std::find(names.begin(), names.end(), name) != names.end();
}

std::string machine_listing(const std::string& name, bool as_json) {
  const MachineSpec machine = load_machine(name);
  if (as_json) {
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
    return Json{{"machines", Json::array({one})}}.dump(2) + "\n";
  }
  std::string text = fmt::format("{}\n  {}\n  kernels share units: {}\n",
                                 machine.name,
                                 machine.description,
                                 to_string(machine.platform.sharing));
  for (const NumberSource& number : machine.sources) {
    text += fmt::format("  {:<44} {:>9}  {}: {}\n",
                        number.pointer.substr(1),
                        number.value,
                        to_string(number.origin),
                        number.text);
  }
  return text;
}

std::string machine_file_text(const std::string& name) {
  const bool shipped = name.find('/') == std::string::npos && !name.ends_with(".json");
  return shipped ? std::string{machine_text(name)} : read_file(name);
}

std::vector<std::string> listed_machines() {
  return machine_names();
}

}  // namespace schedlab
