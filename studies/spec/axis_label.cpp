// SPDX-License-Identifier: Apache-2.0
#include "studies/spec/axis_label.hpp"

#include "sim/base/error.hpp"
#include "sim/base/file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <type_traits>

namespace schedlab {
namespace {

constexpr std::array<std::string_view, 5> identity_keys{"name", "base", "path", "kind", "preset"};

std::string identity(const JsonNode& object) {
  for (std::size_t i = 0; i < object.keys.size(); ++i) {
    if (!is_identity_key(object.keys[i]) || object.items[i].kind != JsonKind::string) continue;
    const std::string& word = object.items[i].text();
    return object.keys[i] == "path" ? std::filesystem::path{word}.stem().string() : word;
  }
  return {};
}

/// "base(knob=1, other=2)" of the values that are no lists.
std::string full_label(const JsonNode& object) {
  std::vector<std::string> knobs;
  for (std::size_t i = 0; i < object.keys.size(); ++i) {
    if (is_identity_key(object.keys[i]) || !object.items[i].is_scalar()) continue;
    knobs.push_back(fmt::format("{}={}", object.keys[i], to_string(object.items[i].scalar)));
  }
  if (knobs.empty()) return identity(object);
  return fmt::format("{}({})", identity(object), fmt::join(knobs, ", "));
}

std::string short_label(const JsonNode& object) {
  const JsonNode* label = object.find("label");
  return label != nullptr ? label->text() : identity(object);
}

/// What the machine file at `path` calls itself; nullopt if there is no such file, or no such name:
/// whoever reads the machine says what is wrong.
std::optional<std::string> name_in_file(const std::filesystem::path& path) {
  if (path.extension() != ".json") return std::nullopt;
  try {
    const JsonNode machine = parse_json_node(read_file(path.string()), path.string());
    const JsonNode* name = machine.find("name");
    if (name == nullptr || name->kind != JsonKind::string) return std::nullopt;
    return name->text();
  } catch (const InputError&) {
    return std::nullopt;
  }
}

/// Does an element have lists of its own? Then the columns of those tell its rows from others.
bool has_axes(const JsonNode& item) {
  return std::any_of(item.items.begin(), item.items.end(), [](const JsonNode& member) {
    return member.kind == JsonKind::array;
  });
}

Cell scalar_cell(const JsonNode& node) {
  if (const auto* integer = std::get_if<std::int64_t>(&node.scalar)) return *integer;
  if (const auto* number = std::get_if<double>(&node.scalar)) return *number;
  return to_string(node.scalar);
}

}  // namespace

bool is_identity_key(std::string_view key) {
  return std::find(identity_keys.begin(), identity_keys.end(), key) != identity_keys.end();
}

std::vector<Cell> axis_labels(const JsonNode& list) {
  std::map<std::string, int> uses;
  for (const JsonNode& item : list.items) {
    ++uses[item.kind == JsonKind::object ? short_label(item) : to_string(scalar_cell(item))];
  }
  std::vector<Cell> labels;
  for (const JsonNode& item : list.items) {
    if (item.kind != JsonKind::object) {
      labels.push_back(scalar_cell(item));
      continue;
    }
    const std::string word = short_label(item);
    labels.emplace_back(uses[word] > 1 && item.find("label") == nullptr ? full_label(item) : word);
  }
  return labels;
}

void expect_told_apart(const JsonNode& list, const std::string& file) {
  const std::vector<Cell> labels = axis_labels(list);
  std::map<Cell, std::size_t> seen;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (has_axes(list.items[i])) continue;
    const auto [first, added] = seen.emplace(labels[i], i);
    if (added) continue;
    const bool is_object = list.items[i].kind == JsonKind::object;
    throw InputError(
        {.file = file,
         .pointer = list.items[i].pointer,
         .found = fmt::format(
             "\"{}\" again, as in {}", to_string(labels[i]), list.items[first->second].pointer),
         .expected = "each alternative of an axis once",
         .hint = is_object ? "if they differ, give each a \"label\" of its own" : ""});
  }
}

std::vector<Cell> machine_labels(const JsonNode& list, const std::filesystem::path& folder) {
  JsonNode named = list;
  for (JsonNode& item : named.items) {
    if (item.kind != JsonKind::string) continue;
    if (const auto name = name_in_file(folder / item.text())) item.scalar = *name;
  }
  std::vector<Cell> labels = axis_labels(named);
  const std::set<Cell> different(labels.begin(), labels.end());
  return different.size() == labels.size() ? labels : axis_labels(list);
}

std::string component_label(const JsonNode& node) {
  return node.kind == JsonKind::object ? short_label(node) : to_string(scalar_cell(node));
}

std::string to_string(const Cell& cell) {
  return std::visit(
      [](const auto& value) -> std::string {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::monostate>) {
          return {};
        } else {
          return fmt::format("{}", value);
        }
      },
      cell);
}

}  // namespace schedlab
