// SPDX-License-Identifier: Apache-2.0
#include "hw_models/json_leaves.hpp"

#include "sim/base/json_node.hpp"

#include <utility>

namespace schedlab {
namespace {

void collect(JsonNode& node, std::vector<JsonLeaf>& leaves) {
  for (JsonNode& item : node.items) collect(item, leaves);
  if (!node.items.empty()) return;
  JsonLeaf& leaf = leaves.emplace_back();
  leaf.pointer = std::move(node.pointer);
  if (!node.is_scalar()) return;
  std::visit([&](auto& value) { leaf.value = std::move(value); }, node.scalar);
}

}  // namespace

std::vector<JsonLeaf> json_leaves(std::string_view text, const std::string& file) {
  JsonNode root = parse_json_node(text, file);
  std::vector<JsonLeaf> leaves;
  collect(root, leaves);
  return leaves;
}

std::string last_key(std::string_view pointer) {
  std::string key{pointer.substr(pointer.rfind('/') + 1)};
  for (std::size_t at = key.find('~'); at != std::string::npos; at = key.find('~', at + 1)) {
    const bool slash = at + 1 < key.size() && key[at + 1] == '1';
    key.replace(at, 2, slash ? "/" : "~");
  }
  return key;
}

}  // namespace schedlab
