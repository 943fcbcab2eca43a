// SPDX-License-Identifier: Apache-2.0
#include "hw_models/residual_trees.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

namespace schedlab {
namespace {

using Node = ResidualTree::Node;

constexpr std::array<ResidualFeatureInfo, residual_feature_count> asked_features{{
    {'m', "m"},
    {'n', "n"},
    {'k', "k"},
    {'r', "results, m x n"},
    {'p', "m in whole tiles of 64 rows, over m"},
    {'u', "the model's time, us"},
    {'b', "the model's compute over its memory time"},
    {'w', "waves of the model's tiles"},
    {'A', "whole waves over waves, of tiles of 128 x 256"},
    {'B', "likewise of 256 x 128"},
    {'C', "likewise of 128 x 128"},
    {'D', "likewise of 64 x 64"},
}};

/// Reads nodes from a text in preorder.
class TreeReader {
 public:
  explicit TreeReader(std::string_view text) : left_(text) {}

  std::optional<ResidualTree> read() {
    if (!read_node(0) || !left_.empty()) return std::nullopt;
    return std::move(tree_);
  }

 private:
  static constexpr int most_questions = 128;  // one after another; bounds the recursion

  bool read_node(int depth) {
    const std::string_view word = left_.substr(0, left_.find(' '));
    left_.remove_prefix(std::min(left_.size(), word.size() + 1));
    if (word.empty() || depth > most_questions) return false;
    const auto asked = std::ranges::find(
        asked_features, word.front(), [](const ResidualFeatureInfo& i) { return i.letter; });
    const bool leaf = asked == asked_features.end();
    Node node;
    const char* const end = word.data() + word.size();
    const auto [rest, error] = std::from_chars(word.data() + (leaf ? 0 : 1), end, node.number);
    if (error != std::errc{} || rest != end || !std::isfinite(node.number)) return false;
    const std::size_t at = tree_.nodes.size();
    if (at > std::numeric_limits<std::uint16_t>::max()) return false;
    tree_.nodes.push_back(node);
    if (leaf) return true;
    if (!read_node(depth + 1)) return false;
    tree_.nodes[at].asked = static_cast<ResidualFeature>(asked - asked_features.begin());
    tree_.nodes[at].otherwise = static_cast<std::uint16_t>(tree_.nodes.size());
    return read_node(depth + 1);
  }

  std::string_view left_;
  ResidualTree tree_;
};

}  // namespace

std::span<const ResidualFeatureInfo> residual_features() {
  return asked_features;
}

std::string tree_text(const ResidualTree& tree) {
  std::string text;
  for (const Node& node : tree.nodes) {
    if (!text.empty()) text += ' ';
    if (node.otherwise > 0) text += asked_features[static_cast<std::size_t>(node.asked)].letter;
    text += fmt::format("{}", node.number);
  }
  return text;
}

std::optional<ResidualTree> tree_of(std::string_view text) {
  return text.ends_with(' ') ? std::nullopt : TreeReader{text}.read();
}

double residual_percent(const ResidualTree& tree, const ResidualPlace& place) {
  std::size_t at = 0;
  while (tree.nodes[at].otherwise > 0) {
    const Node& node = tree.nodes[at];
    at = place[static_cast<std::size_t>(node.asked)] <= node.number ? at + 1 : node.otherwise;
  }
  return tree.nodes[at].number;
}

double residual_factor(const std::vector<ResidualTree>& trees, const ResidualPlace& place) {
  double percent = 0.0;
  for (const ResidualTree& tree : trees) percent += residual_percent(tree, place);
  return std::exp(percent / 100.0);
}

}  // namespace schedlab
