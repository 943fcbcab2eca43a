// SPDX-License-Identifier: Apache-2.0
#include "cli/reference/reference_page.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <utility>

namespace schedlab {
namespace {

using Json = nlohmann::ordered_json;

std::string plain(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string code(const std::string& text) {
  return text.empty() ? "" : fmt::format("`{}`", text);
}

/// Limits that are there only because a number has to end somewhere are not shown.
constexpr double practically_unlimited = 1e9;

std::string range_words(const Json& schema) {
  const bool low = schema.contains("minimum");
  const bool high =
      schema.contains("maximum") && schema["maximum"].get<double>() < practically_unlimited;
  if (low && high)
    return fmt::format("{} to {}", plain(schema["minimum"]), plain(schema["maximum"]));
  if (low) return fmt::format("at least {}", plain(schema["minimum"]));
  return high ? fmt::format("at most {}", plain(schema["maximum"])) : std::string{};
}

/// What one value may be; of a choice of one value or a list of them, the value.
std::string values_names(const Json& schema) {
  if (schema.contains("anyOf")) return values_names(schema["anyOf"][0]);
  if (schema.contains("$ref")) {
    const auto target = schema["$ref"].get<std::string>();
    const std::string name = target.substr(target.rfind('/') + 1);
    return fmt::format("[{0}](#{0})", name);
  }
  if (schema.contains("title")) return schema["title"].get<std::string>();
  if (schema.contains("enum")) {
    std::string words;
    for (const Json& word : schema["enum"]) {
      words += fmt::format("{}{}", words.empty() ? "" : ", ", code(plain(word)));
    }
    return words;
  }
  if (schema.value("type", "") == "array") {
    return "list of " + values_names(schema["items"]);
  }
  const std::string range = range_words(schema);
  return fmt::format("{}{}{}", schema.value("type", ""), range.empty() ? "" : ", ", range);
}

std::string default_words(const Json& schema, const std::string& name, const Json& required) {
  for (const Json& key : required) {
    if (key == name) return "required";
  }
  return schema.contains("default") ? code(plain(schema["default"])) : "";
}

bool is_tag(const Json& schema) {
  return schema.contains("const");
}

/// A table of the keys of an object; empty for one without keys of its own.
std::string keys_table(const Json& object, bool with_defaults = true) {
  std::string rows;
  for (const auto& [name, schema] : object["properties"].items()) {
    if (is_tag(schema) || name == "label") continue;
    rows += fmt::format("| `{}` | {} |", name, table_cell(values_names(schema)));
    if (with_defaults) {
      rows += fmt::format(" {} |",
                          default_words(schema, name, object.value("required", Json::array())));
    }
    rows += fmt::format(" {} |\n", table_cell(schema.value("description", "")));
  }
  if (rows.empty()) return {};
  const std::string head = with_defaults
                               ? "| key | values | default | meaning |\n|---|---|---|---|\n"
                               : "| key | values | meaning |\n|---|---|---|\n";
  return "\n" + head + rows;
}

std::string page_head(const std::string& title, const std::string& intro) {
  return fmt::format("# {}\n\n{}\n\n{}\n", title, generated_note, intro);
}

/// One section for every alternative of a part of a spec that has a name (key `tag`), in the order
/// of the registry.
std::string named_objects(const Json& definition, const char* tag, const Json& listed) {
  std::string text;
  for (const Json& object : definition["anyOf"]) {
    if (!object.contains("properties") || !object["properties"].contains(tag)) continue;
    const Json& name = object["properties"][tag];
    if (!is_tag(name)) continue;
    text += fmt::format("\n## {}\n\n{}\n", plain(name["const"]), object.value("description", ""));
    for (const Json& entry : listed) {
      if (entry["name"] == name["const"] && entry.contains("source")) {
        text += fmt::format("\nSource: {}.\n", plain(entry["source"]));
      }
    }
    text += keys_table(object);
  }
  return text;
}

/// Entries without options, as a table.
std::string entry_table(const Json& entries) {
  std::string text = "\n| name | what it is |\n|---|---|\n";
  for (const Json& entry : entries) {
    const auto summary = entry["summary"].get<std::string>();
    text += fmt::format(
        "| `{}` | {}{} |\n",
        plain(entry["name"]),
        table_cell(summary.substr(0, summary.find('\n'))),
        entry.contains("source") ? fmt::format(" ({})", table_cell(plain(entry["source"]))) : "");
  }
  return text;
}

std::string machines_page(const Json& listed, const Json& definitions) {
  Json machines = Json::array();
  for (const Json& entry : listed["machines"]) {
    if (entry["options"].empty()) machines.push_back(entry);
  }
  std::string text = page_head(
      "Machines",
      "`\"machine\": NAME` in a spec, the path of a machine file, or `{\"base\": NAME, ...}` with "
      "some of the keys below. Every number of a machine says where it comes from: "
      "[machine_format.md](../machine_format.md), [adding_a_machine.md](../adding_a_machine.md).");
  text += entry_table(machines);
  text +=
      "\n## Hosts\n\nOf the key `host`: what a framework costs per operator "
      "([launch_modes.md](../launch_modes.md)); `schedlab list hosts` prints the numbers.\n";
  text += entry_table(listed["hosts"]);
  text +=
      "\n## Nodes\n\nOf the key `node`: how devices and nodes are connected "
      "([several_devices.md](../several_devices.md#the-network)); `schedlab list nodes` prints the "
      "numbers.\n";
  text += entry_table(listed["nodes"]);
  text += "\n## Keys that change a machine\n";
  for (const Json& object : definitions["machine"]["anyOf"]) {
    if (object.contains("properties")) text += keys_table(object, false);
  }
  return text;
}

std::string spec_page(const Json& schema) {
  std::string text = page_head(
      "Keys of a spec",
      "Of the JSON Schema that `schedlab schema spec` prints; [spec_format.md](../spec_format.md) "
      "explains them. A list in the place of a value is an axis of the sweep. Any object below "
      "`workload`, `machine`, `cost_model`, `policy` or `launch` may have a `label`, its name in "
      "results.");
  text += keys_table(schema);
  const auto section = [&](const char* name, const std::string& body) {
    text += fmt::format("\n## {}\n{}", name, body);
  };
  const Json& definitions = schema["definitions"];
  section(
      "workload",
      "\nA preset's name, or an object with `kind` or `preset`: [workloads.md](workloads.md).\n");
  section("machine",
          "\nA name, a path, or an object with `base` or `path`: [machines.md](machines.md).\n");
  section("cost_model", "\nA name, or an object with `name`: [cost_models.md](cost_models.md).\n");
  section("policy", "\nA name, or an object with `name`: [policies.md](policies.md).\n");
  section("launch",
          "\nA name, or an object with `name` ([launch_modes.md](../launch_modes.md)).\n");
  std::string modes = named_objects(definitions["launch"], "name", Json::array());
  for (std::size_t at = modes.find("\n## "); at != std::string::npos;
       at = modes.find("\n## ", at + 5)) {
    modes.insert(at + 1, "#");
  }
  text += modes;
  section("variability",
          fmt::format("\n{} ([variability.md](../variability.md)).\n{}",
                      plain(definitions["variability"]["description"]),
                      keys_table(definitions["variability"])));
  for (const Json& object : definitions["ranks"]["anyOf"]) {
    if (!object.contains("properties")) continue;
    section("ranks",
            fmt::format(
                "\nA number, or an object: {} ([several_devices.md](../several_devices.md)).\n{}",
                plain(object["description"]),
                keys_table(object)));
  }
  return text;
}

}  // namespace

std::string table_cell(std::string_view text) {
  std::string cell{text};
  for (char& c : cell) {
    if (c == '\n') c = ' ';
    if (c == '|') c = '/';
  }
  return cell;
}

std::vector<ReferencePage> registry_pages(const std::string& list_json,
                                          const std::string& schema_json) {
  const Json listed = Json::parse(list_json, nullptr, false);
  const Json schema = Json::parse(schema_json, nullptr, false);
  SCHEDLAB_EXPECTS(listed.is_object(), "schedlab list --json");
  SCHEDLAB_EXPECTS(schema.is_object() && schema.contains("definitions"), "schedlab schema spec");
  const Json& definitions = schema["definitions"];
  std::string workloads =
      page_head("Workloads",
                "`\"workload\": {\"kind\": NAME, ...}` in a spec, or the name of a preset.") +
      named_objects(definitions["workload"], "kind", listed["workloads"]) +
      "\n## Presets\n\nOf kind `lstm`, with backward pass unless `pass` says otherwise.\n" +
      entry_table(listed["presets"]);
  std::string policies =
      page_head(
          "Policies",
          "`\"policy\": NAME` in a spec, or `{\"name\": NAME, ...}` with some of the keys. How "
          "to add one: [adding_a_policy.md](../adding_a_policy.md). Where tasks tie, their order "
          "in "
          "the file decides ([how much](../list_scheduling.md#ties)).") +
      named_objects(definitions["policy"], "name", listed["policies"]);
  std::string cost_models =
      page_head(
          "Cost models",
          "`\"cost_model\": NAME` in a spec, or `{\"name\": NAME, ...}` with some of the keys. "
          "What they compute: [cost_models.md](../cost_models.md).") +
      named_objects(definitions["cost_model"], "name", listed["cost_models"]);
  return {{"spec.md", spec_page(schema)},
          {"workloads.md", std::move(workloads)},
          {"policies.md", std::move(policies)},
          {"cost_models.md", std::move(cost_models)},
          {"machines.md", machines_page(listed, definitions)}};
}

}  // namespace schedlab
