// SPDX-License-Identifier: Apache-2.0
#include "sim/base/error.hpp"
#include "workloads/pipeline/layer_file.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

constexpr std::string_view separator = " -- ";
constexpr double longest_ms = 1e9;  // eleven days
constexpr double largest_bytes = 1e15;

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

class ProfileReader {
 public:
  explicit ProfileReader(std::string file) : file_(std::move(file)) {}

  LayerGraph read(std::string_view text) {
    graph_.name = file_;
    while (!text.empty()) {
      ++line_;
      const std::size_t end = text.find('\n');
      const std::string_view line = trimmed(text.substr(0, end));
      text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
      if (!line.empty()) read_line(line);
    }
    for (const auto& [from, to, at] : edges_) {
      line_ = at;
      add_edge(from, to);
    }
    return std::move(graph_);
  }

 private:
  struct FileEdge {
    std::string from;
    std::string to;
    std::size_t line = 0;
  };

  [[noreturn]] void refuse(const std::string& found, const std::string& expected) const {
    throw InputError({.file = file_,
                      .pointer = fmt::format("line {}", line_),
                      .found = found,
                      .expected = expected,
                      .hint = {}});
  }

  void read_line(std::string_view line) {
    const std::size_t first = line.find(separator);
    if (first == std::string_view::npos) {
      refuse(fmt::format("\"{}\"", line.substr(0, 40)), "ID -- ID, or ID -- DESCRIPTION -- COSTS");
    }
    const std::string id{trimmed(line.substr(0, first))};
    const std::size_t last = line.rfind(separator);
    if (first == last) {
      edges_.push_back({id, std::string{trimmed(line.substr(first + separator.size()))}, line_});
      return;
    }
    const std::string_view description =
        trimmed(line.substr(first + separator.size(), last - first - separator.size()));
    add_layer(id, description, line.substr(last + separator.size()));
  }

  /// The number behind `key=`; of a list `[a; b]` the sum.
  [[nodiscard]] double field(std::string_view costs, std::string_view key, double most) const {
    const std::size_t at = costs.find(fmt::format("{}=", key));
    if (at == std::string_view::npos) refuse("no " + std::string{key}, fmt::format("{}=...", key));
    std::string_view rest = costs.substr(at + key.size() + 1);
    const bool list = rest.starts_with('[');
    rest = list ? rest.substr(1, rest.find(']') - 1) : rest.substr(0, rest.find(','));
    double sum = 0;
    while (true) {
      const std::string_view word = trimmed(rest.substr(0, rest.find(';')));
      double value = 0;
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
      if (error != std::errc{} || end != word.data() + word.size() || !(value >= 0)) {
        refuse(fmt::format("{}={}", key, word), "a number of at least 0");
      }
      sum += value;
      const std::size_t next = rest.find(';');
      if (!list || next == std::string_view::npos) break;
      rest = rest.substr(next + 1);
    }
    if (!(sum <= most)) refuse(fmt::format("{}={}", key, sum), fmt::format("at most {}", most));
    return sum;
  }

  OperationId timed(const std::string& name, Duration duration) {
    if (duration == Duration{0}) return OperationId::none();
    return graph_.operations.push_back({.name = name,
                                        .kind = TaskKind::fixed,
                                        .task_class = TaskClass::unclassified,
                                        .kernels = {},
                                        .fixed_duration = duration});
  }

  void add_layer(const std::string& id, std::string_view description, std::string_view costs) {
    if (layers_.contains(id) || inputs_.contains(id)) {
      refuse(fmt::format("layer {} for the second time", id), "each layer once");
    }
    const Duration forward = from_us(1000 * field(costs, "forward_compute_time", longest_ms));
    const Duration backward = from_us(1000 * field(costs, "backward_compute_time", longest_ms));
    const auto bytes = [&](const char* key) {
      return Bytes{std::llround(field(costs, key, largest_bytes))};
    };
    Layer layer;
    layer.parameters = bytes("parameter_size");
    layer.activation = bytes("activation_size");
    if (description.starts_with("Input")) {
      inputs_.insert(id);
      return;
    }
    layer.name = fmt::format("{} {}", id, description.substr(0, description.find('(')));
    layer.kept = layer.activation;
    const Duration weight = layer.parameters > Bytes{0} ? backward / 2 : Duration{0};
    layer.forward = timed(layer.name + ".forward", forward);
    layer.backward_data = timed(layer.name + ".backward_data", backward - weight);
    layer.backward_weight = timed(layer.name + ".backward_weight", weight);
    layers_.emplace(id, graph_.layers.push_back(std::move(layer)));
  }

  void add_edge(const std::string& from, const std::string& to) {
    for (const std::string& end : {from, to}) {
      if (!layers_.contains(end) && !inputs_.contains(end)) {
        refuse(fmt::format("an edge of \"{}\"", end), "the ID of a layer of this file");
      }
    }
    if (inputs_.contains(from) || inputs_.contains(to)) return;
    graph_.layers[layers_.at(to)].inputs.push_back(layers_.at(from));
  }

  std::string file_;
  std::size_t line_ = 0;
  LayerGraph graph_;
  std::map<std::string, LayerId> layers_;
  std::set<std::string> inputs_;
  std::vector<FileEdge> edges_;
};

}  // namespace

LayerGraph read_pipedream_profile(std::string_view text, const std::string& file) {
  return ProfileReader(file).read(text);
}

}  // namespace schedlab
