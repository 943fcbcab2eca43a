// SPDX-License-Identifier: Apache-2.0
#include "hw_models/node_spec.hpp"

#include "hw_models/machine_numbers.hpp"
#include "hw_models/machine_reader.hpp"
#include "hw_models/machine_texts.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace schedlab {
namespace {

constexpr std::string_view own_node = "own";

NodeSpec read_node(const MachineText& text) {
  const std::string file = fmt::format("node {}", text.name);
  MachineReader reader{json_leaves(text.text, file), file};
  NodeSpec node;
  node.name = reader.required_text("/name", "the node's name");
  node.description = reader.required_text("/description", "what it is");
  node.topology = enum_value<Topology>(reader.required_text("/network/topology", "a topology"));
  for (const MachineNumber& field : machine_numbers()) {
    if (field.section != "network") continue;
    static_cast<void>(reader.number(fmt::format("/network/{}", field.name),
                                    {field.minimum, field.maximum, field.integer}));
  }
  reader.refuse_the_rest();
  node.numbers = std::move(reader.sources());
  return node;
}

/// Read once: a sweep asks for them again and again.
const std::vector<NodeSpec>& nodes() {
  static const std::vector<NodeSpec> all = [] {
    std::vector<NodeSpec> read;
    for (const MachineText& text : node_texts()) read.push_back(read_node(text));
    return read;
  }();
  return all;
}

}  // namespace

const std::vector<std::string>& node_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all{std::string{own_node}};
    for (const MachineText& node : node_texts()) all.emplace_back(node.name);
    return all;
  }();
  return names;
}

const NodeSpec& node_spec(std::string_view name) {
  const std::vector<NodeSpec>& all = nodes();
  const auto node =
      std::find_if(all.begin(), all.end(), [&](const NodeSpec& n) { return n.name == name; });
  SCHEDLAB_EXPECTS(node != all.end(), fmt::format("unknown node \"{}\"", name));
  return *node;
}

void apply_node(MachineSpec& machine, std::string_view name) {
  if (name == own_node) return;
  const NodeSpec& node = node_spec(name);
  machine.platform.network.topology = node.topology;
  set_numbers(machine, node.numbers);
}

}  // namespace schedlab
