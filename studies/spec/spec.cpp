// SPDX-License-Identifier: Apache-2.0
#include "studies/spec/spec.hpp"

#include "sim/base/file.hpp"
#include "studies/base/former_keys.hpp"
#include "studies/base/schema_check.hpp"
#include "studies/spec/axis_range.hpp"
#include "studies/spec/spec_schema.hpp"

#include <map>
#include <utility>

namespace schedlab {
namespace {

/// Made once: buckets and sweeps read thousands of specs.
const PreparedSchema& prepared_spec_schema() {
  static const PreparedSchema schema{spec_schema()};
  return schema;
}

std::string text_or(const JsonNode& root, std::string_view key, const std::string& fallback) {
  const JsonNode* node = root.find(key);
  return node == nullptr ? fallback : node->text();
}

std::vector<std::vector<std::string>> zip_groups(const JsonNode* node) {
  std::vector<std::vector<std::string>> groups;
  if (node == nullptr) return groups;
  for (const JsonNode& group : node->items) {
    std::vector<std::string>& pointers = groups.emplace_back();
    for (const JsonNode& pointer : group.items) pointers.push_back(pointer.text());
  }
  return groups;
}

/// Of `"adaptive": true` all defaults.
std::optional<AdaptiveChoice> adaptive_of(const JsonNode* node) {
  if (node == nullptr) return std::nullopt;
  std::map<std::string, OptionValue> given;
  if (node->kind == JsonKind::boolean && !std::get<bool>(node->scalar)) return std::nullopt;
  for (std::size_t i = 0; i < node->keys.size(); ++i) given[node->keys[i]] = node->items[i].scalar;
  return adaptive_choice(resolve_options("adaptive", adaptive_options(), given));
}

}  // namespace

Spec load_spec(const std::string& path, std::ostream* notes) {
  // What a spec in a pipe names is looked for in the current folder, not in that of the pipe.
  const bool file = std::filesystem::is_regular_file(path);
  std::string text = with_new_keys(read_file(path), "spec", path, notes);
  return parse_spec(std::move(text),
                    path,
                    file ? std::filesystem::path{path}.parent_path() : std::filesystem::path{});
}

Spec parse_spec(std::string text, std::string file, std::filesystem::path folder) {
  Spec spec;
  text = with_new_keys(std::move(text), "spec", file, nullptr);
  spec.root = parse_json_node(text, file);
  prepared_spec_schema().check(spec.root, file);
  spec.adaptive = adaptive_of(spec.root.find("adaptive"));
  expand_ranges(spec.root, file, spec.ranges);
  spec.name = text_or(spec.root, "name", std::filesystem::path{file}.stem().string());
  spec.description = text_or(spec.root, "description", {});
  spec.baseline = text_or(spec.root, "baseline", {});
  spec.zip = zip_groups(spec.root.find("zip"));
  if (const JsonNode* check = spec.root.find("check")) spec.check = std::get<bool>(check->scalar);
  if (const JsonNode* like = spec.root.find("like_for_like")) {
    spec.like_for_like = std::get<bool>(like->scalar);
  }
  spec.check_memory = text_or(spec.root, "memory", "check") == "check";
  spec.file = std::move(file);
  spec.folder = std::move(folder);
  spec.text = std::move(text);
  return spec;
}

}  // namespace schedlab
