// SPDX-License-Identifier: Apache-2.0
#include "sim/base/error.hpp"
#include "workloads/formats/dot_scanner.hpp"
#include "workloads/formats/dot_tasks.hpp"
#include "workloads/formats/graph_dot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

using detail::DotAttribute;
using detail::DotNode;
using detail::DotScanner;
using detail::DotSetting;
using detail::DotSettings;
using detail::DotToken;
using Nodes = std::vector<std::uint32_t>;

constexpr int deepest = 64;  // assumed; subgraphs in subgraphs

/// Reads front to back. Subgraphs only group nodes; what Graphviz draws with is left aside.
class Reader {
 public:
  Reader(std::string_view text, const std::string& file)
      : file_(file), scan_(text, file), pairs_(text.size()), tasks_(scan_, text.size()) {}

  [[nodiscard]] TaskGraph read() {
    read_graph();
    TaskGraphBuilder builder;
    builder.reserve(nodes_.size(), edges_.size());
    for (const DotNode& node : nodes_) tasks_.add(builder, node);
    for (const auto& [from, to] : edges_) builder.add_edge(TaskId{from}, TaskId{to});
    try {
      return std::move(builder).build();
    } catch (const InputError& error) {
      auto problem = error.problem();
      problem.file = file_;
      throw InputError(problem);
    }
  }

 private:
  /// Defaults of nodes, shared by all nodes named under them.
  using Defaults = std::shared_ptr<const DotSettings>;

  void read_graph() {
    if (scan_.at_word("strict")) (void)scan_.take();
    if (scan_.at_word("graph")) {
      scan_.refuse("an undirected graph", "\"digraph\"", "dependencies have a direction");
    }
    if (!scan_.at_word("digraph")) scan_.refuse(scan_.shown(), "\"digraph\"");
    (void)scan_.take();
    if (scan_.peek().kind == DotToken::Kind::id) (void)scan_.take();
    Nodes named;
    read_block(nullptr, named, 0);
    if (scan_.peek().kind != DotToken::Kind::end) {
      scan_.refuse(scan_.shown(), "the end of the file: one graph in each");
    }
  }

  /// "{ statements }"; adds the nodes it names.
  void read_block(Defaults defaults, Nodes& named, int depth) {
    if (depth > deepest) {
      scan_.refuse("subgraphs within each other", fmt::format("at most {} levels", deepest));
    }
    scan_.expect('{', "before statements");
    while (!scan_.accept('}')) {
      read_statement(defaults, named, depth);
      (void)scan_.accept(';');
    }
  }

  void read_statement(Defaults& defaults, Nodes& named, int depth) {
    if (scan_.at_word("node")) {
      (void)scan_.take();
      DotSettings settings = defaults ? *defaults : DotSettings{};
      read_attributes(&settings);
      keep_latest(settings);
      defaults = std::make_shared<const DotSettings>(std::move(settings));
      return;
    }
    if (scan_.at_word("edge") || scan_.at_word("graph")) {
      (void)scan_.take();
      read_attributes(nullptr);
      return;
    }
    Nodes from;
    bool is_node = false;
    if (!read_end(defaults, from, is_node, depth)) return;
    named.insert(named.end(), from.begin(), from.end());
    bool is_edge = false;
    while (scan_.peek().kind == DotToken::Kind::arrow) {
      (void)scan_.take();
      is_edge = true;
      Nodes to;
      bool ignored = false;
      if (!read_end(defaults, to, ignored, depth)) {
        scan_.refuse("an assignment after \"->\"", "a node or a subgraph");
      }
      add_edges(from, to);
      named.insert(named.end(), to.begin(), to.end());
      from = std::move(to);
    }
    if (is_edge || !is_node) {
      read_attributes(nullptr);
    } else {
      read_attributes(&nodes_[from.front()].own);
    }
  }

  /// A node or a subgraph; false for "name = value", which says how to draw.
  bool read_end(const Defaults& defaults, Nodes& nodes, bool& is_node, int depth) {
    const bool word = scan_.at_word("subgraph");
    if (word) {
      (void)scan_.take();
      if (scan_.peek().kind == DotToken::Kind::id) (void)scan_.take();
    }
    if (word || scan_.at_sign('{')) {
      read_block(defaults, nodes, depth + 1);
      std::sort(nodes.begin(), nodes.end());
      nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
      return true;
    }
    DotToken id = scan_.expect_id("a node, a subgraph or \"}\"");
    if (scan_.accept('=')) {
      (void)scan_.expect_id("a value");
      return false;
    }
    for (int part = 0; part < 2 && scan_.accept(':'); ++part) {
      (void)scan_.expect_id("a port");
    }
    is_node = true;
    nodes.push_back(node(std::move(id.text), defaults));
    return true;
  }

  std::uint32_t node(std::string id, const Defaults& defaults) {
    const auto [entry, is_new] = index_.try_emplace(id, static_cast<std::uint32_t>(nodes_.size()));
    if (is_new) nodes_.push_back({.id = std::move(id), .defaults = defaults, .own = {}});
    return entry->second;
  }

  /// Any number of "[name=value, ...]"; those of tasks go to `settings` if it is given.
  void read_attributes(DotSettings* settings) {
    while (scan_.accept('[')) {
      while (!scan_.accept(']')) {
        const DotToken name = scan_.expect_id("an attribute or \"]\"");
        scan_.expect('=', "after an attribute's name");
        DotToken value = scan_.expect_id("an attribute's value");
        if (settings != nullptr) set(*settings, name, std::move(value.text));
        if (!scan_.accept(',')) (void)scan_.accept(';');
      }
    }
  }

  void set(DotSettings& settings, const DotToken& name, std::string value) {
    const std::vector<std::string>& names = detail::dot_attribute_names();
    const auto found = std::find(names.begin(), names.end(), name.text);
    if (found != names.end()) {
      settings.push_back({.attribute = static_cast<DotAttribute>(found - names.begin()),
                          .value = std::move(value),
                          .line = name.line});
      return;
    }
    if (std::find(names.begin(), names.end(), name.text + "_us") != names.end()) {
      scan_.refuse(fmt::format("the attribute \"{}\"", name.text),
                   "one with its unit",
                   fmt::format("{}_us is in microseconds", name.text),
                   name.line);
    }
    // Graphviz's own attributes have no underscore but for "_background" and the like.
    if (name.text.find('_', 1) == std::string::npos) return;
    const std::string close = closest_spelling(name.text, names);
    if (!close.empty()) {
      scan_.refuse(fmt::format("the attribute \"{}\"", name.text),
                   "an attribute of tasks, or one of Graphviz",
                   fmt::format("did you mean \"{}\"?", close),
                   name.line);
    }
  }

  /// Repeated defaults must not grow with every "node [...]".
  static void keep_latest(DotSettings& settings) {
    DotSettings latest;
    for (auto s = settings.rbegin(); s != settings.rend(); ++s) {
      const bool known = std::any_of(latest.begin(), latest.end(), [&](const DotSetting& other) {
        return other.attribute == s->attribute;
      });
      if (!known) latest.push_back(std::move(*s));
    }
    settings = std::move(latest);
  }

  void add_edges(const Nodes& from, const Nodes& to) {
    if (!pairs_.add_pairs(from.size(), to.size())) {
      scan_.refuse(
          fmt::format("an edge from each of {} nodes to each of {}", from.size(), to.size()),
          "fewer edges between subgraphs, for the size of the file");
    }
    for (const std::uint32_t a : from) {
      for (const std::uint32_t b : to) edges_.emplace_back(a, b);
    }
  }

  std::string file_;
  DotScanner scan_;
  detail::GraphTotals pairs_;
  detail::DotTasks tasks_;
  std::unordered_map<std::string, std::uint32_t> index_;  // looked up only, never walked over
  std::vector<DotNode> nodes_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges_;
};

}  // namespace

TaskGraph read_dot(std::string_view text, const std::string& file) {
  return Reader{text, file}.read();
}

bool is_dot(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos) return false;
  const std::string_view rest = text.substr(start);
  return rest.rfind("digraph", 0) == 0 || rest.rfind("strict", 0) == 0 ||
         rest.rfind("graph", 0) == 0 || rest.rfind("//", 0) == 0 || rest.rfind("/*", 0) == 0;
}

}  // namespace schedlab
